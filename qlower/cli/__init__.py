"""The command `qlower`: one file a sub-command, each with `register` and a runner."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qlower.diagnostics import LOGGER, QlowerError
from qlower.files.replacing import FULL
from qlower.version import __version__

if TYPE_CHECKING:
    from qlower.cli.progress import StatusHandler

EXAMPLE = """example:
  qlower run model.tflite --input image.npy
  qlower inspect model.tflite --at arith --layer conv_1
  qlower COMMAND --help
"""

INPUT_ERROR, OUR_BUG, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
"""Exit codes besides 0. A wrong command line is the user's input as well."""


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors look like all our errors."""

    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise QlowerError(message, help=f"see {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    handler = _log_to_stderr()
    try:
        options = make_parser().parse_args(given)
        handler.be_verbose(options.verbose)
        code = options.run(options)
        sys.stdout.flush()
        for observer in options.observers:
            observer.finish()
        return code
    except SystemExit as error:  # --help and --version
        return error.code if isinstance(error.code, int) else INPUT_ERROR
    except QlowerError as error:
        if debug:
            raise
        _show(error)
        return INPUT_ERROR
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, which is its right; Python must not flush into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except MemoryError:
        print("error: the model needs more memory than there is", file=sys.stderr)
        return INPUT_ERROR
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.errno in FULL:
            # Python must not flush into it again either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print(f"error: cannot write: {error.strerror}", file=sys.stderr)
            return INPUT_ERROR
        from qlower.cli.crash import report_crash

        report_crash(error, given)
        return OUR_BUG
    finally:
        LOGGER.removeHandler(handler)


def make_parser() -> ArgumentParser:
    """The parser of the whole command line."""
    from qlower.cli import (
        bench,
        bisect,
        compile,
        contracts,
        import_,
        inspect,
        lint,
        run,
    )

    parser = ArgumentParser(
        prog="qlower",
        description="A compiler for quantized neural networks whose arithmetic is a "
        "contract.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"qlower {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, dest="command"
    )
    common = ArgumentParser(add_help=False)
    common.set_defaults(observers=())
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
    for command in (import_, inspect, lint, run, compile, bisect, bench, contracts):
        command.register(commands, common)
    return parser


def _show(error: QlowerError) -> None:
    sys.stdout.flush()
    print(error, file=sys.stderr)


def _log_to_stderr() -> StatusHandler:
    """Warnings always; what is being done, on a terminal only, or with -v."""
    from qlower.cli.progress import StatusHandler

    handler = StatusHandler()
    LOGGER.addHandler(handler)
    LOGGER.propagate = False
    LOGGER.setLevel(logging.INFO if sys.stderr.isatty() else logging.WARNING)
    return handler
