"""Parts of a compilation that are made once, and found by what they are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol


class Parts(Protocol):
    """What has been made, by the hash of all that decides what is made of it."""

    def find(self, digest: bytes) -> bytes | None:
        """What was made of that; None for what is new."""
        ...

    def keep(self, digest: bytes, made: bytes) -> None:
        """Remember what was made."""
        ...


@dataclass
class PartsInMemory:
    """Parts of one compilation; how often one was found is counted."""

    made: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    found: int = 0

    def find(self, digest: bytes) -> bytes | None:
        made = self.made.get(digest)
        self.found += made is not None
        return made

    def keep(self, digest: bytes, made: bytes) -> None:
        self.made[digest] = made


def digest_of(content: Iterable[bytes]) -> bytes:
    """The hash of some texts, whose borders count."""
    digest = hashlib.sha256()
    for part in content:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


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


@contextmanager
def kept_at_least_in(parts: Parts) -> Generator[None]:
    """`kept_in`, but where a block around this one says where, it is there."""
    with kept_in(_PARTS.get() or parts):
        yield


def find_or_make(content: Sequence[bytes], make: Callable[[], bytes]) -> bytes:
    """What `make` gives, or gave before: `content` must decide that, with the text of
    the compiler. Nothing is found or kept outside of `kept_in`."""
    parts = _PARTS.get()
    if parts is None:
        return make()
    digest = digest_of(content)
    made = parts.find(digest)
    if made is None:
        made = make()
        parts.keep(digest, made)
    return made
