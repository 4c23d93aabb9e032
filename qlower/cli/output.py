"""Tables on standard output, in the format that was asked for."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from qlower.cli.parser import OUTPUT, section
from qlower.cli.progress import clear_status
from qlower.diagnostics import printable_lines
from qlower.report.table import FORMATS, Format, Row, Table


def add_format(parser: argparse.ArgumentParser, default: Format = "plain") -> None:
    """The options that say how a table is written."""
    group = section(parser, OUTPUT)
    group.add_argument(
        "--format",
        choices=FORMATS,
        default=default,
        help=f"how a table is written (default: {default}); plain is as wide as the "
        "terminal",
    )
    group.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="the same as --format json",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option of commands whose text isn't one table."""
    section(parser, OUTPUT).add_argument(
        "--json", action="store_true", help="write everything as JSON"
    )


def print_table(table: Table[Row], options: argparse.Namespace) -> None:
    """Print in the format of `add_format`, in a terminal no wider than that."""
    clear_status()
    show(table.render(options.format, terminal_width()))


def show(text: str) -> None:
    """Print lines, whose names may come from models and of files, escaped."""
    print(printable_lines(text))


def terminal_width() -> int | None:
    """Characters of a line ($COLUMNS, or what the terminal has); None for a file or a
    pipe, which take lines of any length."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return None
