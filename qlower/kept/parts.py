"""Parts of a compilation that are made once, and found by what they are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from qlower.process.ambient import Ambient


class Parts(Protocol):
    """Results by the hash of everything that decides them."""

    def find(self, digest: bytes) -> bytes | None:
        """The result for that hash; None if there is none."""
        ...

    def keep(self, digest: bytes, made: bytes) -> None:
        """Remember what was made."""
        ...


_SMALL_BYTES = 1 << 16
"""Bytes of the largest part that is kept in memory: weights are in what is larger, and
those are hardly there twice."""


@dataclass
class PartsInMemory:
    """Small parts of one compilation."""

    made: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    def find(self, digest: bytes) -> bytes | None:
        return self.made.get(digest)

    def keep(self, digest: bytes, made: bytes) -> None:
        if len(made) <= _SMALL_BYTES:
            self.made[digest] = made


def digest_of(content: Iterable[bytes]) -> bytes:
    """The hash of some texts, whose borders count."""
    digest = hashlib.sha256()
    for part in content:
        digest.update(b"%d " % len(part) + part)
    return digest.digest()


_PARTS: Ambient[Parts | None] = Ambient("parts", None)


def kept_in(parts: Parts) -> AbstractContextManager[None]:
    """While the block runs, this thread finds and keeps parts there."""
    return _PARTS.within(parts)


def are_kept() -> bool:
    """Whether parts are found and kept here."""
    return _PARTS.get() is not None


def last_kept(content: Iterable[bytes]) -> bytes | None:
    """The value last kept by `keep_last` under a name that `content` makes."""
    parts = _PARTS.get()
    return None if parts is None else parts.find(digest_of(content))


def keep_last(content: Iterable[bytes], made: bytes) -> None:
    """Keep a value that may differ each time; its reader must check what it belongs
    to."""
    parts = _PARTS.get()
    if parts is not None:
        parts.keep(digest_of(content), made)


def kept_at_least_in(parts: Parts) -> AbstractContextManager[None]:
    """`kept_in`, but where a block around this one says where, it is there."""
    return kept_in(_PARTS.get() or parts)


def find_or_make(content: Iterable[bytes], make: Callable[[], bytes]) -> bytes:
    """The result of `make`, new or kept: `content` must decide it, with the text of the
    compiler. Nothing is found or kept outside of `kept_in`."""
    (made,) = find_or_make_all([content], lambda _: [make()])
    return made


def find_or_make_all(
    contents: Sequence[Iterable[bytes]], make: Callable[[list[int]], list[bytes]]
) -> list[bytes]:
    """`find_or_make` for each of the contents; `make` is given the positions of those
    that are new, to make all of them together."""
    parts = _PARTS.get()
    if parts is None:
        return make(list(range(len(contents))))
    digests = [digest_of(content) for content in contents]
    found = {digest: parts.find(digest) for digest in dict.fromkeys(digests)}
    new = [digest for digest, made in found.items() if made is None]
    if new:
        made_now = make([digests.index(digest) for digest in new])
        for digest, made in zip(new, made_now, strict=True):
            parts.keep(digest, made)
            found[digest] = made
    return [made for digest in digests if (made := found[digest]) is not None]
