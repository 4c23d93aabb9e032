"""How much work something is, whatever the machine: calls of functions."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Calls:
    """Calls so far, of Python's functions and of built-in ones."""

    count: int = 0


@contextmanager
def counted_calls() -> Generator[Calls]:
    """Count the calls that this thread makes while the block runs."""
    calls = Calls()

    def see(frame: FrameType, event: str, argument: object) -> None:
        calls.count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        yield calls
    finally:
        sys.setprofile(before)
