"""Fewer searches for cyclic garbage while modules are made, and none in the end.

A compilation uses most of its objects until its end: Python's own searches, one for
every 700 new objects, find almost nothing and take a tenth of the time. Arrays come and
go, and others of their size follow: returning memory after each array and faulting it
back in, page by page, costs 5 %.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

from qlower.process.forking import hold_while_forking

NEW_OBJECTS = 1_000_000
"""Objects between two searches, of a compilation."""

_LOCK = Lock()
hold_while_forking(_LOCK)
_BEFORE: list[tuple[int, int, int]] = []
"""The settings before each block that is running, in some thread."""


def search_rarely() -> None:
    """Have this process, if it is a command of qlower, collect garbage rarely, and not
    again when it ends, which took a quarter of a small model's compilation."""
    gc.set_threshold(NEW_OBJECTS)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def keep_freed_memory() -> bool:
    """Have this process, if it is a command of qlower, keep freed memory, where its C
    library is glibc.

    The result says whether it does. Arrays of more than `_LARGE` bytes are returned to
    the system.
    """
    import ctypes  # which help doesn't need

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # as a C library or a system has it
        return False
    options = {_M_TRIM_THRESHOLD: _KEPT, _M_MMAP_THRESHOLD: _LARGE}
    return all([mallopt(option, size) for option, size in options.items()])


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""From glibc's `malloc.h`."""

_KEPT, _LARGE = 1 << 27, 1 << 25
"""Bytes that are kept, and of an array that is memory of its own: glibc's greatest."""


@contextmanager
def rare_collections() -> Generator[None, None, None]:
    """Collect garbage rarely while the block runs, in all threads.

    After the last of such blocks the settings are those from before the first. A
    process that never collects stays that way.
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
