"""Fewer searches for cyclic garbage while modules are made, and none in the end.

What a compilation makes it mostly uses till its end: Python's own searches, one for
every 700 new objects, find next to nothing there and take a tenth of the time.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

NEW_OBJECTS = 1_000_000
"""Objects between two searches, of a compilation."""

_LOCK = Lock()
_BEFORE: list[tuple[int, int, int]] = []
"""What was set before each block that is running, in some thread."""


def search_rarely() -> None:
    """Have a process of ours look for garbage rarely, and not once more when it ends,
    which took a quarter of what a small model's compilation did."""
    gc.set_threshold(NEW_OBJECTS)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


@contextmanager
def rare_collections() -> Generator[None, None, None]:
    """While the block runs, the process looks for garbage rarely, in all threads.

    After the last of such blocks it does as before the first. A process that never
    looks is left to that.
    """
    with _LOCK:
        threshold, *others = gc.get_threshold()
        _BEFORE.append(gc.get_threshold())
        if threshold:
            gc.set_threshold(max(threshold, NEW_OBJECTS), *others)
    try:
        yield
    finally:
        with _LOCK:
            gc.set_threshold(*_BEFORE.pop())
