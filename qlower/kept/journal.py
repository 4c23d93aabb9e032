"""The files that a piece of work has read and its warnings, which show whether it is
current.

Every user's file is read by `read_file`. While a journal is kept, it notes the content,
and a file that is read again has the content of the first time: two readings in one
compilation can't see two states of a file that is being edited.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path

from qlower.diagnostics import LOGGER, QlowerError
from qlower.process.ambient import Ambient

_KEPT: Ambient[Journal | None] = Ambient("journal", None)


@dataclass(eq=False)
class Journal:
    """The hash of every file other than the model, by the name under which it was read
    (empty for a missing file), and the text of every warning.

    `contents` has the bytes of all files until they are forgotten. `folder` is that of
    the model's file: what is read there may be what the model names (`beside_model`).
    """

    folder: str | None = None
    hashes: dict[str, bytes] = field(default_factory=dict[str, bytes])
    contents: dict[str, bytes] = field(default_factory=dict[str, bytes])
    warnings: list[str] = field(default_factory=list[str])
    _read: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def beside_model(self) -> dict[str, bytes]:
        """`hashes` of the files in the model's folder, by their names seen from there:
        the same model in another folder reads others under these names."""
        if self.folder is None:
            return {}
        start = os.path.join(self.folder, "")
        return {
            name.removeprefix(start): found
            for name, found in self.hashes.items()
            if name.startswith(start) and not os.path.isabs(name.removeprefix(start))
        }

    def has_read(
        self, hashes: Mapping[str, bytes], beside_model: Mapping[str, bytes]
    ) -> bool:
        """Whether these files have these contents, and then note that they were read;
        names in `beside_model` are seen from the model's folder."""
        folder = self.folder or ""
        moved = {os.path.join(folder, name): h for name, h in beside_model.items()}
        for name, expected in (*hashes.items(), *moved.items()):
            with suppress(OSError, QlowerError):
                self.read(name)
            if self._read.get(name) != expected:
                LOGGER.debug("%s has changed", name)
                return False
        self.hashes |= {**hashes, **moved}
        return True

    def read(self, name: str) -> bytes:
        """The bytes of a file, not noted in `hashes`; raises as `read_file`."""
        content = self.contents.get(name)
        if content is None:
            try:
                content = Path(name).read_bytes()
                found = hashlib.sha256(content).digest()
            except OSError:
                self._note(name, b"")
                raise
            self._note(name, found)
            self.contents[name] = content
        return content

    def note(self, name: str) -> None:
        """Note in `hashes` what `read` found."""
        self.hashes[name] = self._read.get(name, b"")

    def _note(self, name: str, found: bytes) -> None:
        if self._read.setdefault(name, found) != found:
            raise QlowerError(f"{name} changed while it was compiled")

    @contextmanager
    def kept(self) -> Generator[None]:
        """While the block runs, this thread's readings and warnings are noted here."""
        if _KEPT.get() is self:
            yield
            return
        handler = _Collector(self.warnings)
        LOGGER.addHandler(handler)
        try:
            with _KEPT.within(self):
                yield
        finally:
            LOGGER.removeHandler(handler)


def read_file(path: str | PathLike[str]) -> bytes:
    """The bytes of a file, the same in all of a journal; raises OSError, or QlowerError
    for a file whose content was forgotten and has changed."""
    journal = _KEPT.get()
    if journal is None:
        return Path(path).read_bytes()
    name = fspath(path)
    try:
        return journal.read(name)
    finally:
        journal.note(name)


def beside(file: str | PathLike[str], name: str) -> str:
    """A path that a file has relative to itself, as it is seen from the working
    directory."""
    folder = os.path.dirname(file)
    return str(Path(folder, name)) if folder else name


def read_given(source: str | PathLike[str] | bytes) -> bytes:
    """Bytes that are given as they are, or as the name of a model's file.

    The name isn't noted: a lookup of what was made of a model starts from the model's
    content. Raises `QlowerError` if there is no such file or it can't be read.
    """
    if isinstance(source, bytes):
        return source
    journal = _KEPT.get()
    try:
        if journal is None:
            return Path(source).read_bytes()
        return journal.read(fspath(source))
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
