"""`qlower cache`: what compilations left to be found again."""

from __future__ import annotations

import argparse

from qlower.cli.options import add_command
from qlower.cli.output import add_format, print_table
from qlower.cli.parser import ArgumentParser, Commands

EXAMPLE = """  qlower cache
  qlower cache --clear

$QLOWER_CACHE_DIR is its folder, and is empty for no cache; $QLOWER_CACHE_MEGABYTES
limits its size (default: 1024)."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "show where the cache is and how large, or clear it"
    parser = add_command(commands, common, "cache", summary, EXAMPLE)
    parser.add_argument("--clear", action="store_true", help="remove all that is in it")
    add_format(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what there is, after clearing it if that is asked for."""
    from qlower.cli.tables.cache_table import cache_table
    from qlower.kept.cache import clear

    if options.clear:
        clear()
    print_table(cache_table(), options)
    return 0
