"""The ends of commands: exit codes, and messages on failures."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from itertools import pairwise
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit

from qlower.cli.colour import complain
from qlower.diagnostics import QlowerError
from qlower.files.replacing import FULL


class ExitCode(IntEnum):
    """The exit codes of `qlower` and `qlower-opt`."""

    DONE = 0
    WRONG_INPUT = 1
    FOUND = WRONG_INPUT
    USAGE = 2
    OUR_BUG = os.EX_SOFTWARE
    INTERRUPTED = 130
    BROKEN_PIPE = 141


MEANINGS: Mapping[ExitCode, str] = {
    ExitCode.DONE: "success: everything that was asked for is written",
    ExitCode.WRONG_INPUT: "invalid input: a file, a value or the machine; or a finding "
    "of lint, diff, verify or bisect",
    ExitCode.USAGE: "no such command or option, or one is missing",
    ExitCode.OUR_BUG: "internal error of qlower; the message says how to reproduce it",
    ExitCode.INTERRUPTED: "interrupted from the keyboard",
    ExitCode.BROKEN_PIPE: "the reader of the output was closed",
}


_LAST_ADDRESSES = 16 << 20
"""Bytes that may be left when Python asks for more than there are."""


class UsageError(QlowerError):
    """A command line that has not the form that the command takes."""


def exit_codes() -> str:
    """The codes with their meanings, as the end of a help text."""
    lines = [f"  {code.value:>3}  {meaning}" for code, meaning in MEANINGS.items()]
    return "\n".join(["exit codes:", *lines])


def ending(
    run: Callable[[], int], tool: str, arguments: Sequence[str], *, debug: bool = False
) -> int:
    """The exit code of `run`, whose exceptions are printed on standard error.

    `tool` and `arguments` repeat the command line in reports of internal errors. With
    `debug`, errors and bugs are raised. With results as JSON, the error is printed as
    JSON on standard output, too.
    """

    def complain_of(error: QlowerError, kind: str) -> None:
        sys.stdout.flush()
        if _is_json(arguments):
            _print_json({"kind": kind, **error.to_dict()})
        complain(str(error))

    try:
        code = run()
        sys.stdout.flush()
        return code
    except SystemExit as error:  # --help and --version
        return error.code if isinstance(error.code, int) else ExitCode.USAGE
    except QlowerError as error:
        if debug:
            raise
        is_usage = isinstance(error, UsageError)
        complain_of(error, "usage" if is_usage else "input")
        return ExitCode.USAGE if is_usage else ExitCode.WRONG_INPUT
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _write_nowhere()
        return ExitCode.BROKEN_PIPE
    except MemoryError:
        complain_of(QlowerError("the model needs more memory than there is"), "input")
        return ExitCode.WRONG_INPUT
    except RecursionError:
        if debug:
            raise
        complain("error: what is given is nested too deeply")
        return ExitCode.WRONG_INPUT
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.errno in FULL:
            _write_nowhere()
            complain(f"error: cannot write: {error.strerror}")
            return ExitCode.WRONG_INPUT
        room = getrlimit(RLIMIT_AS)[0]
        is_library = isinstance(error, OSError | ImportError)
        if room != RLIM_INFINITY and (is_library or _had_no_more(room)):
            what = "too few for a library" if is_library else "too few"
            few = QlowerError(
                f"the {room >> 20} MB of addresses that `ulimit -v` allows are"
                f" {what}: {str(error).strip().partition('.')[0]}"
            )
            complain_of(few, "input")
            return ExitCode.WRONG_INPUT
        from qlower.cli.crash import report_crash

        if _is_json(arguments):
            message = f"{type(error).__name__}: {error}"
            _print_json({"kind": "bug", "message": message})
        report_crash(error, arguments, tool)
        return ExitCode.OUR_BUG


def _had_no_more(room: int) -> bool:
    """Whether this process had nearly all of `room` bytes of addresses at some time.

    Python itself may then raise anything, as "'frame' object is not callable".
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return False  # only Linux says it
    except MemoryError:
        return True
    peak = int(status.partition("VmPeak:")[2].split()[0]) << 10
    return peak > room - _LAST_ADDRESSES


def _print_json(failure: Mapping[str, object]) -> None:
    from qlower.tables.json_text import json_text

    print(json_text({"error": failure}), flush=True)


def _is_json(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON on standard output; `bench` names a file."""
    if list(arguments[:1]) == ["bench"]:
        return "--json=-" in arguments or ("--json", "-") in pairwise(arguments)
    return (
        "--json" in arguments
        or "--format=json" in arguments
        or ("--format", "json") in pairwise(arguments)
    )


def _write_nowhere() -> None:
    """Keep Python from flushing once more into an output that takes nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
