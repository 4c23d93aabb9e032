"""Arrays in `.npy` and `.npz` files, read with care and written reproducibly."""

from __future__ import annotations

import io
import math
import re
import zipfile
import zlib
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from qlower.diagnostics import QlowerError, printable
from qlower.files.zip_entries import open_entry

Array: TypeAlias = NDArray[Any]
"""A tensor or lanes; a model or a file says the element type, so Python's can't."""

LONGEST_NAME = 1000
"""Letters of a name in an archive."""

_Header: TypeAlias = tuple[tuple[int, ...], bool, np.dtype[np.generic]]


class _NpyFormat(Protocol):
    """The part of `numpy.lib.format` that is used here, which older releases leave
    untyped."""

    def write_array(
        self, fp: IO[bytes], array: Array, *, allow_pickle: bool
    ) -> None: ...

    def read_magic(self, fp: BinaryIO) -> tuple[int, int]: ...

    def read_array_header_1_0(self, fp: BinaryIO) -> _Header: ...

    def read_array_header_2_0(self, fp: BinaryIO) -> _Header: ...


_npy_format = cast(_NpyFormat, np.lib.format)


def unmasked(given: object) -> Array:
    """Numbers as an array. Raises `QlowerError` for a masked array with elements that
    are masked: none of them has a value."""
    # numpy says nothing of the types in numpy.ma
    if np.any(getattr(given, "mask", False)):
        raise QlowerError(
            "an array has masked elements, which have no values",
            help="array.filled(value) gives them one",
        )
    return np.asarray(given)


def read_arrays(path: Path) -> dict[str, Array]:
    """Every array of an `.npz` file by name; an `.npy` file has one, named by its stem.

    The header is held against the size of the file before anything is allocated, and
    pickled objects are refused.
    """
    if path.suffix not in (".npy", ".npz"):
        raise QlowerError(f"{path}: arrays are read from .npy and .npz files")
    try:
        if path.suffix == ".npy":
            with path.open("rb") as stream:
                size = path.stat().st_size
                return {path.stem: read_npy(stream, size)}
        with path.open("rb") as stream:
            return _read_npz(stream)
    except FileNotFoundError as error:
        raise QlowerError(f"cannot read {path}: {error.strerror}") from error
    except _DAMAGED as error:
        raise _unreadable(path, error) from error


def arrays_of(stream: BinaryIO, path: str | Path) -> dict[str, Array]:
    """Every array of the `.npz` file with this content, as `read_arrays` has it; `path`
    is for messages."""
    try:
        return _read_npz(stream)
    except _DAMAGED as error:
        raise _unreadable(path, error) from error


def _read_npz(stream: BinaryIO) -> dict[str, Array]:
    with zipfile.ZipFile(stream) as archive:
        arrays: dict[str, Array] = {}
        for member in archive.infolist():
            with open_entry(archive, member) as part:
                data = io.BytesIO(part.read())
            name = member.filename.removesuffix(".npy")
            arrays[name] = read_npy(data, len(data.getbuffer()))
        return arrays


_DAMAGED = (
    *(ValueError, OSError, EOFError, NotImplementedError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error),
)


def _unreadable(path: str | Path, error: Exception) -> QlowerError:
    reason = error.strerror if isinstance(error, OSError) else None
    reason = reason or str(error).split("\n")[0]
    return QlowerError(f"cannot read {path}: {reason}")


def write_arrays(stream: BinaryIO, arrays: Mapping[str, Array]) -> None:
    """Write an uncompressed `.npz`; equal arrays give equal bytes. Names are those of
    `entry_name`, with a number where two would be the same."""
    content = io.BytesIO()  # a zip archive needs to seek, which a pipe can't
    with zipfile.ZipFile(content, "w") as archive:
        taken: set[str] = set()
        for name, array in arrays.items():
            safe = entry_name(name)
            numbered = (f"{safe}_{number}" for number in count(2))
            safe = next(one for one in chain([safe], numbered) if one not in taken)
            taken.add(safe)
            entry = zipfile.ZipInfo(f"{safe}.npy")
            with archive.open(entry, "w", force_zip64=True) as member:
                _npy_format.write_array(
                    member, np.asanyarray(array), allow_pickle=False
                )
    stream.write(content.getbuffer())


def entry_name(name: str) -> str:
    """A name as that of a file in an archive, which stays in the folder that it is
    unpacked into: no letter but printable ones, no backslash, root, drive or `..`."""
    text = printable(name[:LONGEST_NAME]).replace("\\", "_")
    root, *parts = text.split("/")
    if not root or re.match(r"[A-Za-z]:(\D|$)", root):  # but TensorFlow's `x:0`
        root = f"_{root}"
    return "/".join("_" * len(p) if p in (".", "..") else p for p in (root, *parts))


def read_header(stream: BinaryIO) -> _Header:
    """Shape, whether in Fortran's order, and type of the array that begins there.

    Raises ValueError for what no array of numbers has.
    """
    readers = {
        (1, 0): _npy_format.read_array_header_1_0,
        (2, 0): _npy_format.read_array_header_2_0,
    }
    version = _npy_format.read_magic(stream)
    if version not in readers:
        raise ValueError(f"array format {version} is not supported")
    try:
        shape, fortran_order, dtype = readers[version](stream)
    except (EOFError, OSError, ValueError):
        raise
    except Exception as error:  # numpy reads the text of a header as Python's
        reason = str(error).split("\n")[0]
        raise ValueError(f"the header of an array is damaged: {reason}") from error
    if dtype.hasobject:
        raise ValueError("it holds pickled Python objects")
    if any(extent < 0 for extent in shape):
        raise ValueError(f"the shape {shape} is negative")
    return shape, fortran_order, dtype


def read_npy(stream: BinaryIO, size: int) -> Array:
    """Read one array in the format of `.npy` from a stream of `size` bytes, at its
    beginning; ValueError for a damaged one, or one that holds pickled objects."""
    shape, fortran_order, dtype = read_header(stream)
    needed = math.prod(shape) * dtype.itemsize
    if needed != size - stream.tell():
        raise ValueError(
            f"it has {size - stream.tell()} bytes of data, "
            f"shape {shape} of {dtype} needs {needed}"
        )
    data = np.frombuffer(stream.read(needed), dtype)
    return data.reshape(shape, order="F" if fortran_order else "C")
