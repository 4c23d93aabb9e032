"""Arrays in files that say something else: types, shapes, headers, entries, numbers."""

from __future__ import annotations

import io
import random
import re
import warnings
import zipfile
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .damage import damaged

Arrays = dict[str, NDArray[np.generic]]

TYPES = (
    *("i1", "u1", "i2", ">i2", "i4", "i8", "u8", "f2", "f4", "f8", "?", "c8"),
    *("U3", "S2", "M8[s]", "V5", "O"),
)
"""What an array's type becomes; no file holds the last one but as a pickle."""

SPECIAL = (0, -1, 127, 128, 255, 1 << 31, -(1 << 63), float("nan"), float("inf"), 1e300)
HEADERS = (
    *((rb"'shape': \([^)]*\)", b"'shape': " + new) for new in (
        *(b"()", b"(0,)", b"(-1,)", b"(1, 2, 2, 1, 0)", b"(99999999999, 99999999)"),
        *(b"(1.5,)", b"(True, 2)", b"'x'", b"None", b"(((((((((1,),),),),),),),)"),
    )),
    *((rb"'descr': '[^']*'", b"'descr': " + new) for new in (
        *(b"'|O'", b"'<f99'", b"'<i8'", b"[('a', '<i1')]", b"[]", b"1", b"'<U9999999'"),
    )),
    (rb"'fortran_order': False", b"'fortran_order': True"),
    (rb"'fortran_order': False", b"'fortran_order': 7"),
    (rb"'fortran_order': False, ", b""),
    (rb"\{.*\}", b"{" * 400),
    (rb"\{.*\}", b"__import__('os').abort()"),
)  # fmt: skip
"""Parts of the text that begins an array, and what they become."""


def npz(arrays: Arrays, compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of arrays, whatever their types."""
    return _archive([(f"{n}.npy", npy(a)) for n, a in arrays.items()], compression)


def npy(array: NDArray[np.generic]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def damaged_npy(data: bytes, choice: random.Random) -> bytes:
    """An array with others' elements, type or shape, or another header's text."""
    turn = choice.random()
    if turn < 0.35:
        pattern, new = choice.choice(HEADERS)
        return re.sub(pattern, lambda _: new, data, count=1)
    if turn < 0.45:
        return data[:6] + bytes([choice.randrange(5), choice.randrange(3)]) + data[8:]
    array = np.load(io.BytesIO(data), allow_pickle=False)
    return npy(choice.choice(_CHANGES)(array, choice))


def damaged_npz(data: bytes, choice: random.Random) -> bytes:
    """An archive whose arrays, names or entries are others."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        entries = [(name, file.read(name)) for name in file.namelist()]
    compression = zipfile.ZIP_STORED
    for _ in range(choice.choice((1, 1, 2))):
        place = choice.randrange(len(entries))
        name, content = entries[place]
        match choice.randrange(8):
            case 0 if len(entries) > 1:
                del entries[place]
            case 1:
                new = choice.choice(("", "../x.npy", "x.txt", "n" * 999, "\n.npy", "/"))
                entries[place] = new, content
            case 2:
                entries.append((name, content))  # twice under one name
            case 3:
                compression = choice.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
            case 4:
                entries[place] = name, damaged(content, choice)
            case _:
                entries[place] = name, damaged_npy(content, choice)
    return _archive(entries, compression)


def _archive(entries: list[tuple[str, bytes]], compression: int) -> bytes:
    written = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(written, "w") as file:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, data in entries:
            file.writestr(zipfile.ZipInfo(name), data, compression)
    return written.getvalue()


def _other_type(
    array: NDArray[np.generic], choice: random.Random
) -> NDArray[np.generic]:
    return array.astype(object).astype(choice.choice(TYPES))


def _other_shape(
    array: NDArray[np.generic], choice: random.Random
) -> NDArray[np.generic]:
    shapes = ((), (0,), (-1,), (1, *array.shape), array.shape[::-1], (*array.shape, 0))
    return np.resize(array, tuple(abs(n) for n in choice.choice(shapes)))


def _other_size(
    array: NDArray[np.generic], choice: random.Random
) -> NDArray[np.generic]:
    return np.repeat(array, choice.choice((0, 2, 1000)), axis=0)


def _other_elements(
    array: NDArray[np.generic], choice: random.Random
) -> NDArray[np.generic]:
    new = choice.choice(SPECIAL)
    kind = "f8" if isinstance(new, float) else "i8"
    changed = array.astype(choice.choice((kind, "f4", "f8")))
    with np.errstate(all="ignore"):
        changed.reshape(-1)[:: choice.choice((1, 3))] = new
    return changed


_CHANGES: tuple[
    Callable[[NDArray[np.generic], random.Random], NDArray[np.generic]], ...
] = (_other_type, _other_shape, _other_size, _other_elements)
