"""Tables on standard output, in the format that was asked for."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from qlower.cli.progress import clear_status
from qlower.diagnostics import QlowerError, printable_lines
from qlower.files.replacing import write_text
from qlower.tables.table import Row, Table

if TYPE_CHECKING:
    from qlower.cli.tables.junit import Case


class Drawn(Protocol):
    """Figures that can be drawn."""

    def plot(self, path: Path, /) -> None:
        """Write a picture, .svg or .png."""
        ...


def check_plot(options: argparse.Namespace) -> None:
    """Refuse a picture's file in another format, before anything is computed."""
    if options.plot is not None and Path(options.plot).suffix not in (".svg", ".png"):
        raise QlowerError(f"--plot {options.plot!r} ends with neither .svg nor .png")


def write_plot(options: argparse.Namespace, found: Drawn) -> None:
    """Draw the picture of --plot, if it was asked for."""
    if options.plot is not None:
        found.plot(Path(options.plot))


def write_junit(
    options: argparse.Namespace, cases: Callable[[], Sequence[Case]]
) -> None:
    """Write the file of --junit, if it was asked for."""
    if options.junit is None:
        return
    from qlower.cli.tables.junit import junit_text

    suite = f"qlower {options.command}"
    write_text(options.junit, lambda: junit_text(suite, cases()))


def print_table(table: Table[Row], options: argparse.Namespace) -> None:
    """Print in the format of --format, in a terminal no wider than that."""
    show(table.render(options.format, terminal_width()))


def show(text: str) -> None:
    """Print lines, whose names may come from models and of files, escaped, in place of
    the status line."""
    clear_status()
    print(printable_lines(text))


def terminal_width() -> int | None:
    """Characters of a line ($COLUMNS, or what the terminal has); None for a file or a
    pipe, which take lines of any length."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return None
