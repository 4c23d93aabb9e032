"""Usage of `qlower targets`: its options and help."""

SUMMARY = "list targets, their CPUs and features"

EXAMPLE = """  qlower targets
  qlower targets aarch64-linux-gnu"""

OPTIONS = """
target TARGET ?  a triple or its first part, or host: list its CPUs and features
@format plain
"""
