"""Processes that fork while another of their threads compiles.

The child has that thread's locks, but no thread that would ever release them: neither
those of LLVM, nor those of modules that the thread was importing.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from importlib import import_module
from threading import RLock, get_ident

PATIENCE_SECONDS = 10.0
"""The longest time that a fork waits for imports of other threads."""

_LOCKS: list[AbstractContextManager[object]] = []
"""Locks that no other thread may hold in a fork."""

_HELD: list[AbstractContextManager[object]] = []
"""Locks that the current fork holds: one may have been added since it began."""

_MODULE_LOCKS: dict[str, Callable[[], object]] = getattr(
    import_module("importlib._bootstrap"), "_module_locks", {}
)
"""Weak references to the locks of modules that are being imported, by name."""


def hold_while_forking(lock: AbstractContextManager[object]) -> None:
    """Have each fork wait until no other thread holds the lock."""
    _LOCKS.append(lock)


def _imported_by_others() -> list[str]:
    """The modules that other threads are importing."""
    return [
        name
        for name, reference in [*_MODULE_LOCKS.items()]
        if getattr(reference(), "owner", None) not in (None, get_ident())
    ]


def _hold() -> None:
    """Wait for imports, since some modules, such as NumPy's, can't be imported a second
    time; then for the locks."""
    end = time.monotonic() + PATIENCE_SECONDS
    while _imported_by_others() and time.monotonic() < end:
        time.sleep(0.001)
    for lock in [*_LOCKS]:
        lock.__enter__()
        _HELD.append(lock)


def _release() -> None:
    while _HELD:
        _HELD.pop().__exit__(None, None, None)


def _begin_child() -> None:
    """Release what the fork held, and what threads held that are gone: a module that
    was half imported is imported anew."""
    _release()
    for name in _imported_by_others():
        del _MODULE_LOCKS[name]
        sys.modules.pop(name, None)
    if sys.version_info < (3, 12):
        _unlock_properties()


def _unlock_properties() -> None:
    """Give all cached properties new locks: until Python 3.12 each of them has one,
    which it holds, for all objects, while it computes that of any."""
    classes: list[type] = [object]
    while classes:
        one = classes.pop()
        classes += type.__subclasses__(one)
        for found in vars(one).values():
            if isinstance(found, cached_property):
                vars(found)["lock"] = RLock()


def survive_forks() -> None:
    """Let this process fork at any time; to be called once."""
    os.register_at_fork(
        before=_hold, after_in_parent=_release, after_in_child=_begin_child
    )
