"""Usage of `qlower cache`: its options and help."""

from __future__ import annotations

from qlower.cli.output import add_format
from qlower.cli.parser import ArgumentParser

SUMMARY = "show where the cache is and how large, or clear it"

EXAMPLE = """  qlower cache
  qlower cache --clear

$QLOWER_CACHE_DIR is its folder, and is empty for no cache; $QLOWER_CACHE_MEGABYTES
limits its size (default: 1024)."""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    parser.add_argument("--clear", action="store_true", help="remove all that is in it")
    add_format(parser)
