"""Options that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from qlower.cli.parser import GENERAL, ArgumentParser, Commands, section
from qlower.cli.rows import add_rows
from qlower.cli.usage.shared import SHARED

if TYPE_CHECKING:
    from qlower.compilation.passes import Observer


class Action(NamedTuple):
    """One more word of a command: the function in `qlower.cli` that runs it, its
    summary, an example, and the rows of its options."""

    run: str
    summary: str
    example: str
    options: str


def add_command(
    commands: Commands,
    common: ArgumentParser,
    name: str,
    summary: str,
    example: str,
) -> ArgumentParser:
    """A sub-command with the common options and an example below its help."""
    parser = commands.add_parser(
        name,
        add_help=False,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n{example}",
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # --layer is no --layer-contract
    )
    add_help(parser)
    return parser


def add_common() -> ArgumentParser:
    """The parser of the options that every command has."""
    common = ArgumentParser(add_help=False)
    general = section(common, GENERAL)
    general.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="log each step; -vv also what passes did and what the cache had; -vvv "
        "also the IR after each pass (all on standard error)",
    )
    general.add_argument(
        "--debug", action="store_true", help="show a traceback for every error"
    )
    return common


def add_help(parser: ArgumentParser) -> None:
    section(parser, GENERAL).add_argument(
        "-h", "--help", action="help", help="show this help and exit"
    )


def add_options(parser: argparse.ArgumentParser, rows: str) -> None:
    """Add the arguments and options that rows state (`qlower.cli.rows`)."""
    add_rows(parser, rows, SHARED)


def make_observers(options: argparse.Namespace) -> tuple[Observer, ...]:
    """The observers that --dump-ir, --timing and -vvv ask for."""
    given = vars(options)
    folder, is_timed = given.get("dump_ir"), given.get("timing", False)
    if folder is None and not is_timed and options.verbose < 3:
        return ()
    from qlower.compilation.observers import IrFiles, IrPrinter, Timing

    observers: list[Observer] = []
    if folder is not None:
        observers.append(IrFiles(Path(folder)))
    if is_timed:
        observers.append(Timing())
    if options.verbose >= 3:
        observers.append(IrPrinter())
    return tuple(observers)
