"""Values that code in a block sees without being passed them.

Four things are ambient, because layers that know neither are between those that set
them and those that use them: where parts are kept and what was read (`kept`), what
passes count (`tally`), and what observes a compilation (`compilation.observing`).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Ambient(Generic[Value]):
    """A value of this thread: `default` outside of all blocks."""

    def __init__(self, name: str, default: Value) -> None:
        self._variable = ContextVar(name, default=default)

    def get(self) -> Value:
        """The value of the innermost block."""
        return self._variable.get()

    @contextmanager
    def within(self, value: Value) -> Generator[None]:
        """Give the variable this value while the block runs."""
        token = self._variable.set(value)
        try:
            yield
        finally:
            self._variable.reset(token)
