"""Usage of `qlower cache`: its options and help."""

SUMMARY = "show where the cache is and how large, or clear it"

EXAMPLE = """  qlower cache
  qlower cache --clear

$QLOWER_CACHE_DIR is its folder, and is empty for no cache; $QLOWER_CACHE_MEGABYTES
limits its size (default: 1024)."""

OPTIONS = """
--clear  remove all that is in it
@format plain
"""
