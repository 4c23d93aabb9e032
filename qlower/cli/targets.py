"""`qlower targets`: what `--target`, `--cpu` and `--features` take."""

from __future__ import annotations

import argparse

from qlower.cli.options import add_command
from qlower.cli.output import add_format, print_table
from qlower.cli.parser import ArgumentParser, Commands

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
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print one of the two tables."""
    from qlower.cli.tables.target_table import name_table, target_table
    from qlower.codegen.targets.resolve import architecture_of, host_target

    if options.target is None:
        print_table(target_table(), options)
        return 0
    is_host = options.target == "host"
    triple = host_target().triple if is_host else options.target
    print_table(name_table(architecture_of(triple)), options)
    return 0
