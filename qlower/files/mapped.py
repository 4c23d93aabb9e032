"""Arrays in files, mapped into memory: read as far as they are used."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array, read_header
from qlower.files.zip_entries import open_entry


@dataclass(frozen=True)
class MappedFile:
    """An array of an `.npy` file, or of the member `name` of an `.npz`."""

    path: Path
    name: str | None = None


def open_arrays(paths: Sequence[Path]) -> dict[str, MappedFile]:
    """The arrays in `.npy` files by their stems, in `.npz` files by their names."""
    found: dict[str, MappedFile] = {}
    for path in paths:
        if path.suffix == ".npy":
            found[path.stem] = MappedFile(path)
            continue
        if path.suffix != ".npz":
            raise QlowerError(f"{path}: arrays are read from .npy and .npz files")
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except (OSError, zipfile.BadZipFile) as error:
            raise _unreadable(path, error) from error
        found.update({n.removesuffix(".npy"): MappedFile(path, n) for n in names})
    return found


def map_array(file: MappedFile) -> Array:
    """The array. What is compressed is first unpacked into a temporary file.

    Raises QlowerError for pickled objects, an array in Fortran's order, or a header
    that the file's size contradicts.
    """
    try:
        with file.path.open("rb") as stream:
            if file.name is None:
                return _map(stream)
            with zipfile.ZipFile(stream) as archive:
                member = archive.getinfo(file.name)
                if member.compress_type == zipfile.ZIP_STORED:
                    stream.seek(member.header_offset + 26)
                    lengths = stream.read(4)
                    skip = int.from_bytes(lengths[:2], "little")
                    skip += int.from_bytes(lengths[2:], "little")
                    stream.seek(member.header_offset + 30 + skip)
                    return _map(stream)
                with (
                    open_entry(archive, member) as packed,
                    tempfile.TemporaryFile() as whole,
                ):
                    shutil.copyfileobj(packed, whole)
                    whole.seek(0)
                    return _map(whole)
    except (
        EOFError,
        KeyError,
        NotImplementedError,
        OSError,
        RuntimeError,
        SyntaxError,
        TypeError,
        ValueError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise _unreadable(file.path, error) from error


def _map(stream: BinaryIO) -> Array:
    """Map the array whose `.npy` form begins at the stream's position."""
    shape, is_fortran, dtype = read_header(stream)
    if is_fortran and len(shape) > 1:
        raise ValueError(
            "only arrays in C order can be mapped: numpy.ascontiguousarray"
        )
    if 0 in shape:
        return np.empty(shape, dtype)
    # numpy multiplies the sizes in 64 bits, which wrap.
    needed = math.prod(shape) * dtype.itemsize
    left = os.fstat(stream.fileno()).st_size - stream.tell()
    if needed > left:
        raise ValueError(
            f"it has {left} bytes of data, shape {shape} of {dtype} needs {needed}"
        )
    return np.memmap(stream, dtype, "r", stream.tell(), shape)


def _unreadable(path: Path, error: Exception) -> QlowerError:
    reason = error.strerror if isinstance(error, OSError) else None
    return QlowerError(f"cannot read {path}: {reason or error}")
