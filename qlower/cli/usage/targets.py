"""How `qlower targets` is called."""

from __future__ import annotations

from qlower.cli.options import add_command
from qlower.cli.output import add_format
from qlower.cli.parser import ArgumentParser, Commands, runner

EXAMPLE = """  qlower targets
  qlower targets aarch64-linux-gnu"""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "list targets, their CPUs and features"
    parser = add_command(commands, common, "targets", summary, EXAMPLE)
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="a triple or its first part, or host: list its CPUs and features",
    )
    add_format(parser)
    parser.set_defaults(run=runner("qlower.cli.targets:run"))
