"""Parts of a compilation that are made once, and found by what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Parts(Protocol):
    """What has been made, by its content: by all that decides what is made of it."""

    def find(self, content: Sequence[bytes]) -> bytes | None:
        """What was made of that; None for what is new."""
        ...

    def keep(self, content: Sequence[bytes], made: bytes) -> None:
        """Remember what was made."""
        ...


_PARTS: ContextVar[Parts | None] = ContextVar("parts", default=None)


@contextmanager
def kept_in(parts: Parts) -> Generator[None]:
    """While the block runs, this thread finds and keeps parts there."""
    token = _PARTS.set(parts)
    try:
        yield
    finally:
        _PARTS.reset(token)


def are_kept() -> bool:
    """Whether parts are found and kept here."""
    return _PARTS.get() is not None


def find_or_make(content: Sequence[bytes], make: Callable[[], bytes]) -> bytes:
    """What `make` gives, or gave before: `content` must decide that, with the text of
    the compiler. Nothing is found or kept outside of `kept_in`."""
    parts = _PARTS.get()
    if parts is None:
        return make()
    made = parts.find(content)
    if made is None:
        made = make()
        parts.keep(content, made)
    return made
