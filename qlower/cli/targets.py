"""`qlower targets`: what `--target`, `--cpu` and `--features` take."""

from __future__ import annotations

import argparse

from qlower.cli.output import print_table
from qlower.cli.tables.target_table import name_table, target_table
from qlower.codegen.targets.resolve import architecture_of, host_target


def run(options: argparse.Namespace) -> int:
    """Print one of the two tables."""
    if options.target is None:
        print_table(target_table(), options)
        return 0
    is_host = options.target == "host"
    triple = host_target().triple if is_host else options.target
    print_table(name_table(architecture_of(triple)), options)
    return 0
