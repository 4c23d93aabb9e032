"""Writing results: all or nothing, and refused before long work, not after it."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from qlower.diagnostics import QlowerError


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """A stream whose content becomes the file `path` when the block ends well.

    The temporary file is made immediately, so that an output that can't be written is
    noticed before the work; when the block fails, `path` is as it was.
    """
    if os.path.isdir(path):
        raise QlowerError(f"cannot write {path}: it is a directory")
    if os.path.exists(path) and not os.path.isfile(
        path
    ):  # a device or a pipe: never replace it
        with writing(path):
            stream = path.open("wb")
        with stream:
            yield stream
        return
    with writing(path):
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:50]}.", dir=path.parent)
    temporary = Path(name)
    try:
        with not_full(path), os.fdopen(handle, "wb") as stream:
            yield stream
        with writing(path):
            _give_default_mode(temporary)
            os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def replacing_files(directory: Path) -> Generator[Path]:
    """A temporary folder whose files move into `directory` when the block ends well,
    those of its folders into folders there.

    `directory` is created if need be, and removed again when the block fails.
    """
    created = not os.path.exists(directory)
    if not created and not os.path.isdir(directory):
        raise QlowerError(f"cannot write into {directory}: it is not a directory")
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".qlower-", dir=directory))
    complete = False
    try:
        with not_full(directory):
            yield temporary
        files = sorted(path for path in temporary.rglob("*") if path.is_file())
        targets = [directory / file.relative_to(temporary) for file in files]
        for target in targets:
            if target.is_dir():
                raise QlowerError(f"{target} is a directory")
        with writing(directory):
            for file, target in zip(files, targets, strict=True):
                target.parent.mkdir(exist_ok=True)
                os.replace(file, target)
        complete = True
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if created and not complete:
            with suppress(OSError):
                directory.rmdir()


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Report any operating-system error as one about writing `path`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise QlowerError(f"cannot write {path}: {error.strerror}") from error


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk, or of a limit, that takes no more."""


@contextmanager
def not_full(path: Path) -> Generator[None]:
    """Report a full disk as an error about writing `path`; other errors pass."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise QlowerError(f"cannot write {path}: {error.strerror}") from error


def write_text(path: str, make: Callable[[], str]) -> None:
    """Write the text that `make` gives to a file, or to standard output for `-`."""
    if path == "-":
        sys.stdout.write(make())
        return
    with replacing(Path(path)) as stream:
        stream.write(make().encode())


def _give_default_mode(path: Path) -> None:
    """Temporary files are private; a result has the permissions of any new file."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
