"""Messages on standard error, in colour where a terminal shows it."""

from __future__ import annotations

import os
import re
import sys

from qlower.diagnostics import printable_lines

_BOLD, _RESET = "\x1b[1m", "\x1b[0m"
_COLOURS = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;35m",
    "note": "\x1b[1;36m",
    "help": "\x1b[1;32m",
}
_HEAD = re.compile(rf"^(\S.*?:\d+:\d+: )?({'|'.join(_COLOURS)}):", re.MULTILINE)


def complain(text: str) -> None:
    """Print a message whose lines begin with `error:`, `note:` and the like."""
    shown = printable_lines(text)
    print(painted(shown) if wants_colour() else shown, file=sys.stderr)


def wants_colour() -> bool:
    """Whether standard error takes colour: never with $NO_COLOR, always with
    $FORCE_COLOR, else on a terminal that isn't dumb."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def painted(text: str) -> str:
    """The message with the heads of its lines in colour, and places in bold."""

    def paint(match: re.Match[str]) -> str:
        place = f"{_BOLD}{match[1]}{_RESET}" if match[1] else ""
        return f"{place}{_COLOURS[match[2]]}{match[2]}:{_RESET}"

    return _HEAD.sub(paint, text)
