"""`qlower cache`: what compilations left to be found again."""

from __future__ import annotations

import argparse

from qlower.cli.output import print_table
from qlower.cli.tables.cache_table import cache_table
from qlower.kept.cache import clear


def run(options: argparse.Namespace) -> int:
    """Print what there is, after clearing it if that is asked for."""
    if options.clear:
        clear()
    print_table(cache_table(), options)
    return 0
