"""Usage of `qlower targets`: its options and help."""

from __future__ import annotations

from qlower.cli.output import add_format
from qlower.cli.parser import ArgumentParser

SUMMARY = "list targets, their CPUs and features"

EXAMPLE = """  qlower targets
  qlower targets aarch64-linux-gnu"""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="a triple or its first part, or host: list its CPUs and features",
    )
    add_format(parser)
