"""The command `qlower`: `usage` has the options and help of each sub-command, the file
of its name here runs it."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import cast

from qlower.cli.exit_codes import ExitCode, ending, exit_codes
from qlower.cli.options import (
    Action,
    add_command,
    add_common,
    add_help,
    add_options,
    make_observers,
)
from qlower.cli.parser import (
    COMMAND,
    GENERAL,
    ArgumentParser,
    Commands,
    group_commands,
    runner,
    section,
)
from qlower.cli.progress import StatusHandler
from qlower.compilation.observing import observed_by
from qlower.diagnostics import LOGGER, without_repeats
from qlower.files.addresses import refuse_address
from qlower.process.garbage import keep_freed_memory, search_rarely
from qlower.process.quick_imports import import_quickly
from qlower.version import __version__

EXAMPLE = """example:
  qlower run model.tflite --input image.npy
  qlower inspect model.tflite --at arith --layer conv_1
  qlower COMMAND --help
"""

TASKS = {
    "look at a model": ("inspect", "trace", "report"),
    "compare systems": ("diff", "identify", "validate", "contracts", "cost", "explore"),
    "prove what holds for all inputs": ("verify", "lint", "bisect"),
    "build and run": ("import_", "run", "improve", "bench", "cache"),
    "ship": ("compile", "targets", "vectors"),
}
"""The files of commands by what they are for, in the order of the help. A file is named
after its command."""

COMMANDS = tuple(file for files in TASKS.values() for file in files)

ABOUT_ALL = ("completion", "help")
"""The files of commands about the command line itself, which take the whole parser."""

ABOUT = "about qlower"
"""The title of what `ABOUT_ALL` registers."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # NumPy's threads are started when it is imported; what they cost we don't get back.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    search_rarely()
    import_quickly()
    level, handler = LOGGER.level, _log_to_stderr()

    def run() -> int:
        for word in given:
            refuse_address(word)
        options = make_parser(*given[:1]).parse_args(given)
        keep_freed_memory()
        handler.be_verbose(options.verbose)
        with without_repeats(), observed_by(make_observers(options)):
            code: int = options.run(options)
            sys.stdout.flush()
        return code

    try:
        return ending(run, "qlower", given, debug="--debug" in given)
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)  # a program that calls this has its own


def make_parser(first: str | None = None) -> ArgumentParser:
    """The parser of the command line: with all commands, or with the first word's
    alone if that is one of `COMMANDS`, which takes far less."""
    parser = ArgumentParser(
        prog="qlower",
        description="A compiler for quantized neural networks whose arithmetic is a "
        "contract.",
        epilog=f"{EXAMPLE}\n{exit_codes()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    section(parser, GENERAL).add_argument(
        "-V", "--version", action="version", version=f"qlower {__version__}"
    )
    add_help(parser)
    commands = parser.add_subparsers(metavar="COMMAND", dest=COMMAND)
    common = add_common()
    alone = [command for command in COMMANDS if command.rstrip("_") == first]
    for command in alone or COMMANDS:
        add_usage(commands, common, command)
    for command in () if alone else ABOUT_ALL:
        import_module(f"qlower.cli.{command}").register(commands, common, parser)
    if not alone:
        group_commands(parser, commands, _task)
    parser.set_defaults(run=partial(_show_help, parser), verbose=0)
    return parser


def add_usage(commands: Commands, common: ArgumentParser, file: str) -> None:
    """Add the command of a file, with its summary, example and options."""
    usage = import_module(f"qlower.cli.usage.{file}")
    name = file.rstrip("_")
    parser = add_command(commands, common, name, usage.SUMMARY, usage.EXAMPLE)
    parser.set_defaults(run=runner(f"qlower.cli.{file}:run"))
    if actions := cast("Mapping[str, Action]", getattr(usage, "ACTIONS", {})):
        words = parser.add_subparsers(title="actions", metavar="ACTION")
        for word, action in actions.items():
            own = add_command(words, common, word, action.summary, action.example)
            own.set_defaults(run=runner(f"qlower.cli.{action.run}"))
            add_options(own, action.options)
    add_options(parser, usage.OPTIONS)


def _task(command: str) -> str:
    """The purpose of a command."""
    titles = (
        title
        for title, files in TASKS.items()
        if command in (file.rstrip("_") for file in files)
    )
    return next(titles, ABOUT)


def _show_help(parser: ArgumentParser, options: argparse.Namespace) -> int:
    """Print the help where no command is given, which isn't success, as for git."""
    parser.print_help()
    return ExitCode.USAGE


def _log_to_stderr() -> StatusHandler:
    """Warnings always; what is being done, on a terminal only, or with -v."""
    handler = StatusHandler()
    LOGGER.addHandler(handler)
    LOGGER.propagate = False
    LOGGER.setLevel(logging.INFO if sys.stderr.isatty() else logging.WARNING)
    return handler
