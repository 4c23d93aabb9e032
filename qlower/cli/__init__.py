"""The command `qlower`: one file a sub-command, each with `register` and a runner."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from qlower.cli.exit_codes import ExitCode, ending, exit_codes
from qlower.cli.options import make_observers
from qlower.cli.parser import COMMAND, ArgumentParser
from qlower.diagnostics import LOGGER
from qlower.garbage import keep_freed_memory, search_rarely
from qlower.generated_code import keep_generated_code
from qlower.observing import observed_by
from qlower.quick_imports import import_quickly
from qlower.version import __version__

if TYPE_CHECKING:
    from qlower.cli.progress import StatusHandler

EXAMPLE = """example:
  qlower run model.tflite --input image.npy
  qlower inspect model.tflite --at arith --layer conv_1
  qlower COMMAND --help
"""

COMMANDS = (
    "import_",
    "inspect",
    "lint",
    "run",
    "compile",
    "diff",
    "trace",
    "report",
    "vectors",
    "identify",
    "verify",
    "bisect",
    "validate",
    "bench",
    "contracts",
    "targets",
    "cache",
)
"""The files of commands, which are called like them, in the order of the help."""

ABOUT_ALL = ("completion", "help")
"""The files of commands that tell of all others, and take the whole parser."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # NumPy's threads are started when it is imported; what they cost we don't get back.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    search_rarely()
    keep_generated_code()
    import_quickly()
    handler = _log_to_stderr()

    def run() -> int:
        options = make_parser(*given[:1]).parse_args(given)
        keep_freed_memory()
        handler.be_verbose(options.verbose)
        with observed_by(make_observers(options)):
            code: int = options.run(options)
            sys.stdout.flush()
        return code

    try:
        return ending(run, "qlower", given, debug="--debug" in given)
    finally:
        LOGGER.removeHandler(handler)


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
    )
    parser.add_argument(
        "-V", "--version", action="version", version=f"qlower {__version__}"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest=COMMAND)
    common = ArgumentParser(add_help=False)
    common.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="say each step; -vv also what the passes did and the cache found, -vvv "
        "also print the IR after each pass (all on standard error)",
    )
    common.add_argument(
        "--debug", action="store_true", help="show a traceback for every error"
    )
    alone = [command for command in COMMANDS if command.rstrip("_") == first]
    for command in alone or COMMANDS:
        import_module(f"qlower.cli.{command}").register(commands, common)
    for command in () if alone else ABOUT_ALL:
        import_module(f"qlower.cli.{command}").register(commands, common, parser)
    parser.set_defaults(run=partial(_show_help, parser), verbose=0)
    return parser


def _show_help(parser: ArgumentParser, options: argparse.Namespace) -> int:
    """Print the help where no command is given, which isn't success, as for git."""
    parser.print_help()
    return ExitCode.USAGE


def _log_to_stderr() -> StatusHandler:
    """Warnings always; what is being done, on a terminal only, or with -v."""
    from qlower.cli.progress import StatusHandler

    handler = StatusHandler()
    LOGGER.addHandler(handler)
    LOGGER.propagate = False
    LOGGER.setLevel(logging.INFO if sys.stderr.isatty() else logging.WARNING)
    return handler
