"""Progress on a terminal; nothing when standard error is piped."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from qlower.cli.colour import complain
from qlower.diagnostics import LOGGER, printable

Item = TypeVar("Item")

CLEAR_LINE = "\r\x1b[K"


class StatusHandler(logging.Handler):
    """Prints warnings as lines, and lesser records as one line that is overwritten."""

    def __init__(self) -> None:
        super().__init__()
        self._keeps_lines = False

    def be_verbose(self, level: int) -> None:
        """Print all as lines: from 1 on what is being done, from 2 on also why."""
        if level > 0:
            self._keeps_lines = True
            LOGGER.setLevel(logging.INFO if level == 1 else logging.DEBUG)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        clear = CLEAR_LINE if sys.stderr.isatty() else ""
        if record.levelno >= logging.WARNING or self._keeps_lines:
            print(clear, end="", file=sys.stderr)
            complain(text)
        elif clear:
            print(f"{clear}{printable(text)} ...", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        clear_status()
        super().close()


def clear_status() -> None:
    """Remove the status line."""
    if sys.stderr.isatty():
        print(CLEAR_LINE, end="", file=sys.stderr, flush=True)


def progress(items: Iterable[Item], title: str) -> Iterator[Item]:
    """Go through `items` with a bar on a terminal, if `tqdm` is installed."""
    total = len(items) if isinstance(items, Sized) else None
    if not sys.stderr.isatty() or total == 1:
        yield from items
        return
    clear_status()
    try:
        from tqdm import tqdm
    except ImportError:
        yield from items
        return
    yield from tqdm(items, desc=title, total=total, leave=False, file=sys.stderr)
