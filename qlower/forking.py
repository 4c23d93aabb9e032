"""Locks in processes that fork while another of their threads compiles.

The child has that thread's locks, but no thread that would ever release them.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from functools import cached_property
from threading import RLock


def hold_while_forking(lock: AbstractContextManager[object]) -> None:
    """Have each fork wait until no other thread holds the lock."""

    def release() -> None:
        lock.__exit__(None, None, None)

    os.register_at_fork(
        before=lock.__enter__, after_in_parent=release, after_in_child=release
    )


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


if sys.version_info < (3, 12):
    os.register_at_fork(after_in_child=_unlock_properties)
