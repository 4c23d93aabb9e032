"""The cache's folder: files that are found by name, and are whole or not there.

An entry begins with a checksum of its name and its content: one that was cut short,
damaged, or put under another name is a miss. It appears by an atomic rename, and one of
another user's is never read. The folder keeps to a size, and what each process may add
before it looks: what was not used for longest goes first. A cache that can't be read or
written, or whose disk is full, is no error: there is none then.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from qlower.diagnostics import LOGGER, QlowerError

MOST_DIGITS = 18
"""The most digits of a number of megabytes: no folder holds as many."""

DIRECTORY = "QLOWER_CACHE_DIR"
"""Environment variable with the cache's folder; empty for no cache."""

LIMIT = "QLOWER_CACHE_MEGABYTES"
"""Environment variable with what the folder may hold, in units of 2^20 bytes."""

DEFAULT_MEGABYTES = 1024

KINDS = {".qo": "models", ".part": "parts of layers", ".tuned": "schedules"}
"""The kinds of the cache's files, by suffix; `.tmp` are being written. Other files in
the folder are left alone."""

_MAGIC = b"qlower cache 3\n"
_DIGEST_BYTES = hashlib.sha256().digest_size

_ABANDONED_SECONDS = 3600
"""Age of a temporary file whose writer was killed."""

_SHARE = 64
"""A process looks at all entries when it first writes into the folder, and whenever it
has written this part of the limit again: they are thousands."""

_UNSEEN: dict[Path, int] = {}
"""The bytes that this process wrote into a folder since it looked at all entries."""


def cache_folder() -> Path | None:
    """$QLOWER_CACHE_DIR, else `qlower` in the user's cache; None for no cache."""
    chosen = os.environ.get(DIRECTORY)
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "qlower"
    except RuntimeError:  # a user without a home
        return None


def cache_limit() -> int:
    """The bytes that the folder may hold; QlowerError for a variable that is no number.

    With 0 nothing is kept.
    """
    text = os.environ.get(LIMIT, str(DEFAULT_MEGABYTES))
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise QlowerError(f"{LIMIT} is {text!r}, not a number of megabytes from 0 on")
    return int(text) << 20


def cache_size() -> tuple[Counter[str], int]:
    """The number of files in the cache, by suffix, and the bytes of all."""
    entries = _entries()
    counts = Counter(os.path.splitext(path)[1] for path, _ in entries)
    return counts, sum(state.st_size for _, state in entries)


def clear() -> int:
    """Remove all that is cached; returns how many bytes that was."""
    removed = 0
    for path, state in _entries():
        with suppress(FileNotFoundError):
            os.unlink(path)
            removed += state.st_size
    return removed


def find_entry(path: Path) -> bytes | None:
    """The content of an entry, which counts as used; None if there is none."""
    try:
        # Nothing that waits for a writer, as a pipe does, may hold a compilation up.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            state = os.fstat(handle)
            if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid():
                LOGGER.debug("the entry %s is not this user's", path)
                return None
            head, checksum = file.read(len(_MAGIC)), file.read(_DIGEST_BYTES)
            body = file.read()
    except OSError:
        return None
    if head != _MAGIC or _checksum(path, [body]) != checksum:
        LOGGER.debug("the entry %s is damaged", path)
        return None
    with suppress(OSError):  # gone meanwhile, or on a disk that is read only
        os.utime(path)
    return body


def keep_entry(path: Path, *body: bytes) -> None:
    """Write an entry, given in pieces, in one step, and make room for it; failing to is
    no error."""
    keep_entries({path: body})


def keep_entries(entries: Mapping[Path, Sequence[bytes]]) -> None:
    """Write entries, each in one step, and make room for them; after one that can't be
    written no other is tried."""
    try:
        for path, body in entries.items():
            _write(path, body)
        _evict()
    except OSError as error:
        LOGGER.info("not cached: %s", error.strerror)


def keep_before_others(path: Path, *body: bytes) -> None:
    """Write an entry in one step; `keep_entries` makes room for it later."""
    try:
        _write(path, body)
    except OSError as error:
        LOGGER.info("not cached: %s", error.strerror)


def _write(path: Path, body: Sequence[bytes]) -> None:
    """Unless it is larger than all that may be kept."""
    size = sum(map(len, body))
    if size > cache_limit():
        return
    checksum = _checksum(path, body)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines((_MAGIC, checksum, *body))
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    if path.parent in _UNSEEN:
        _UNSEEN[path.parent] += size


def _checksum(path: Path, body: Sequence[bytes]) -> bytes:
    """The hash of an entry's name and content."""
    digest = hashlib.sha256(f"{path.name}\n".encode())
    for piece in body:
        digest.update(piece)
    return digest.digest()


def _entries() -> list[tuple[str, os.stat_result]]:
    """The paths of the cache's files, the one that was not used for longest first:
    strings, as a `Path` of each of thousands takes longer than the look at them."""
    folder = cache_folder()
    if folder is None:
        return []
    suffixes = (*KINDS, ".tmp")
    found: list[tuple[str, os.stat_result]] = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as files:
        for file in files:
            if file.name.endswith(suffixes):
                with suppress(FileNotFoundError):  # another process removed it
                    found.append((file.path, file.stat(follow_symlinks=False)))
    return sorted(found, key=lambda entry: entry[1].st_mtime_ns)


def _evict() -> None:
    """Remove the longest unused entries beyond the limit, and what killed writers
    left; nothing while this process has written little since it last did."""
    folder, limit = cache_folder(), cache_limit()
    if folder is None or _UNSEEN.get(folder, limit) < limit // _SHARE:
        return
    _UNSEEN[folder] = 0
    entries = _entries()
    size = sum(state.st_size for _, state in entries)
    abandoned = time.time() - _ABANDONED_SECONDS
    for path, state in entries:
        is_temporary = path.endswith(".tmp")
        if state.st_mtime < abandoned if is_temporary else size > limit:
            with suppress(FileNotFoundError):  # another process removed it
                os.unlink(path)
            size -= state.st_size
