"""What a piece of work has read and warned of, so that it can be told to be current.

Whoever reads a file of the user's does it by `read_file`. While a journal is kept, it
notes the content, and a file that is read again is what it was the first time: two
readings in one compilation can't see two states of a file that is being edited.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path

from qlower.diagnostics import LOGGER, QlowerError

_KEPT: ContextVar[Journal | None] = ContextVar("journal", default=None)


@dataclass(eq=False)
class Journal:
    """The hash of every file that was read, by the name it was read under, and its
    content until that is forgotten; and the text of every warning."""

    hashes: dict[str, bytes] = field(default_factory=dict[str, bytes])
    contents: dict[str, bytes] = field(default_factory=dict[str, bytes])
    warnings: list[str] = field(default_factory=list[str])

    @contextmanager
    def kept(self) -> Generator[None]:
        """While the block runs, this thread's readings and warnings are noted here."""
        if _KEPT.get() is self:
            yield
            return
        token = _KEPT.set(self)
        handler = _Collector(self.warnings)
        LOGGER.addHandler(handler)
        try:
            yield
        finally:
            LOGGER.removeHandler(handler)
            _KEPT.reset(token)


def read_file(path: str | PathLike[str]) -> bytes:
    """The bytes of a file, the same in all of a journal; raises OSError, or QlowerError
    for a file whose content was forgotten and is another now."""
    journal = _KEPT.get()
    if journal is None:
        return Path(path).read_bytes()
    name = fspath(path)
    content = journal.contents.get(name)
    if content is None:
        content = Path(path).read_bytes()
        found = hashlib.sha256(content).digest()
        if journal.hashes.setdefault(name, found) != found:
            raise QlowerError(f"{name} changed while it was compiled")
        journal.contents[name] = content
    return content


def read_given(source: str | PathLike[str] | bytes) -> bytes:
    """Bytes that are given as they are, or as the name of a file for `read_file`.

    Raises `QlowerError` if there is no such file or it can't be read.
    """
    if isinstance(source, bytes):
        return source
    try:
        return read_file(source)
    except OSError as error:
        message = f"cannot read {fspath(source)}: {error.strerror}"
        raise QlowerError(message) from error


class _Collector(logging.Handler):
    """Collects the warnings of the thread that made it."""

    def __init__(self, warnings: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._warnings = warnings
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self._warnings.append(record.getMessage())
