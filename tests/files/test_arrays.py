"""Arrays in files: what is written, what is read, and each bound at its edge."""

from __future__ import annotations

import errno
import io
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.files.arrays import (
    LONGEST_NAME,
    arrays_of,
    entry_name,
    read_arrays,
    read_npy,
    unmasked,
    write_arrays,
)
from qlower.files.mapped import MappedFile, map_array, open_arrays
from qlower.files.zip_entries import open_entry
from qlower.model.signature import Array

ARRAYS: dict[str, Array] = {
    "plain": np.arange(6, dtype=np.int8).reshape(2, 3),
    "words": np.array([1, -2, 1 << 40], np.int64),
    "scalar": np.array(-1.5),
    "empty": np.zeros((2, 0, 3), np.float32),
    "bits": np.array([True, False]),
    "fortran": np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
}


def npy(array: Array, version: tuple[int, int] | None = None) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version, allow_pickle=True)
    return stream.getvalue()


def with_header(text: str, data: bytes = b"") -> bytes:
    """An array's file with this text in its header."""
    padded = text.encode() + b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded + data


def header(shape: str, dtype: str = "'|i1'") -> str:
    return f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}}}"


DAMAGED: dict[str, tuple[bytes, str]] = {
    "a byte too few": (
        npy(ARRAYS["plain"])[:-1],
        "it has 5 bytes of data, shape (2, 3) of int8 needs 6",
    ),
    "a byte too many": (
        npy(ARRAYS["plain"]) + b"\0",
        "it has 7 bytes of data, shape (2, 3) of int8 needs 6",
    ),
    "words": (
        npy(ARRAYS["words"])[:-8],
        "it has 16 bytes of data, shape (3,) of int64 needs 24",
    ),
    "another version": (
        npy(ARRAYS["plain"], (3, 0)),
        "array format (3, 0) is not supported",
    ),
    "objects": (npy(np.array([{}], object)), "it holds pickled Python objects"),
    "a negative extent": (
        with_header(header("(2, -1)")),
        "the shape (2, -1) is negative",
    ),
    "no tuple": (with_header(header("3")), "shape is not valid: 3"),
    "no Python": (with_header("["), "the header of an array is damaged: "),
    "long": (with_header(" " * 10001), "Header info length (10"),
    "deep": (with_header("(" * 900), "the header of an array is damaged: "),
    "no type": (
        with_header(header("(1,)", "'?!'"), b"\0"),
        "descr is not a valid dtype descriptor: '?!'",
    ),
    "nothing": (b"", "EOF: reading magic string, expected 8 bytes got 0"),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_what_is_written_is_read(
    name: str, version: tuple[int, int], tmp_path: Path
) -> None:
    array, path = ARRAYS[name], tmp_path / "x.npy"
    path.write_bytes(npy(array, version))
    np.savez_compressed(tmp_path / "y.npz", x=array)
    for file in ("x.npy", "y.npz"):
        found = read_arrays(tmp_path / file)
        assert [*found] == ["x"]
        assert found["x"].dtype == array.dtype
        np.testing.assert_array_equal(found["x"], array, strict=True)


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_array_is_refused(name: str, tmp_path: Path) -> None:
    data, reason = DAMAGED[name]
    path, archive = tmp_path / "x.npy", tmp_path / "x.npz"
    path.write_bytes(data)
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("x.npy", data)
    for one in (path, archive):
        with pytest.raises(QlowerError) as caught:
            read_arrays(one)
        assert caught.value.message.startswith(f"cannot read {one}: {reason}")
        assert "\n" not in caught.value.message
    with archive.open("rb") as stream, pytest.raises(QlowerError) as caught:
        arrays_of(stream, "given")
    assert caught.value.message.startswith(f"cannot read given: {reason}")


def test_files_that_hold_no_arrays(tmp_path: Path) -> None:
    for name, reason in (
        ("none.npy", f"cannot read {tmp_path}/none.npy: No such file or directory"),
        ("none.npz", f"cannot read {tmp_path}/none.npz: No such file or directory"),
        ("x.bin", f"{tmp_path}/x.bin: arrays are read from .npy and .npz files"),
        ("text.npz", f"cannot read {tmp_path}/text.npz: File is not a zip file"),
        ("dir.npy", f"cannot read {tmp_path}/dir.npy: Is a directory"),
    ):
        (tmp_path / "text.npz").write_text("text")
        (tmp_path / "dir.npy").mkdir(exist_ok=True)
        with pytest.raises(QlowerError) as caught:
            read_arrays(tmp_path / name)
        assert caught.value.message == reason


def test_an_array_within_a_longer_stream_is_no_file() -> None:
    """It begins at the beginning, and its size is that of the rest."""
    data = npy(ARRAYS["words"])
    assert read_npy(io.BytesIO(data), len(data)).tolist() == [1, -2, 1 << 40]
    for size in (len(data) - 1, len(data) + 1):
        with pytest.raises(ValueError, match="needs 24"):
            read_npy(io.BytesIO(data), size)


def test_masked_elements_have_no_values() -> None:
    assert unmasked([1, 2]).tolist() == [1, 2]
    masked: Any = np.ma.masked_array([1, 2, 3], mask=[False] * 3)
    assert type(unmasked(masked)) is np.ndarray
    for mask in ([True, False, False], [False, False, True]):
        masked = np.ma.masked_array([1, 2, 3], mask=mask)
        with pytest.raises(QlowerError, match="has masked elements, which") as caught:
            unmasked(masked)
        assert caught.value.help == "array.filled(value) gives them one"


NAMES = {
    "": "_",
    "a": "a",
    "a/b": "a/b",
    "/a": "_/a",
    "//a": "_//a",
    ".": "_",
    "..": "__",
    "...": "...",
    "a/../b/./c": "a/__/b/_/c",
    "a\\b": "a_b",
    "\\a": "_a",
    "c:": "_c:",
    "Z:x": "_Z:x",
    "x:0": "x:0",
    "x:0/c:y": "x:0/c:y",
    "xy:z": "xy:z",
    "1:z": "1:z",
    "a\x1bb": "a_x1bb",
    "é": "é",
    "x" * LONGEST_NAME: "x" * LONGEST_NAME,
    "x" * (LONGEST_NAME + 1): "x" * LONGEST_NAME,
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_entries(name: str) -> None:
    assert entry_name(name) == NAMES[name]
    assert entry_name(NAMES[name]) in (NAMES[name], f"_{NAMES[name]}")


def test_equal_arrays_give_equal_bytes_and_names_are_numbered() -> None:
    names = ("a", "..", "__", "a_2", "./a", "_/a", "__")
    arrays = {name: np.array(number) for number, name in enumerate(names)}
    arrays["a\\2"] = np.array(9)
    written: list[bytes] = []
    for order in ("C", "F"):
        stream = io.BytesIO()
        given = {name: np.array(one, order=order) for name, one in arrays.items()}
        write_arrays(stream, given)
        written.append(stream.getvalue())
    assert written[0] == written[1]
    with zipfile.ZipFile(io.BytesIO(written[0])) as archive:
        members = archive.infolist()
    assert [one.filename for one in members] == [
        *("a.npy", "__.npy", "___2.npy", "a_2.npy", "_/a.npy", "_/a_2.npy"),
        "a_2_2.npy",
    ]
    assert {one.compress_type for one in members} == {zipfile.ZIP_STORED}
    assert {one.date_time for one in members} == {(1980, 1, 1, 0, 0, 0)}
    found = arrays_of(io.BytesIO(written[0]), "x")
    assert [int(one) for one in found.values()] == [0, 1, 6, 3, 4, 5, 9]


def test_a_pipe_takes_an_archive() -> None:
    class Pipe(io.RawIOBase):
        written = b""

        def writable(self) -> bool:
            return True

        def seekable(self) -> bool:
            return False

        def write(self, data: Any) -> int:
            self.written += bytes(data)
            return len(data)

    pipe = Pipe()
    write_arrays(pipe, {"x": ARRAYS["plain"]})  # pyright: ignore[reportArgumentType]
    found = arrays_of(io.BytesIO(pipe.written), "x")
    np.testing.assert_array_equal(found["x"], ARRAYS["plain"])


def test_objects_are_not_written() -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        write_arrays(io.BytesIO(), {"x": np.array([{}], object)})


LONG = "n" * 300
"""A name whose length takes two bytes."""


def stored(path: Path, extra: bytes = b"") -> None:
    """An archive with two arrays as they are, the second after a long name."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("first.npy", npy(ARRAYS["words"]))
        entry = zipfile.ZipInfo(f"{LONG}.npy")
        entry.extra = extra
        archive.writestr(entry, npy(ARRAYS["plain"]))


EXTRA = struct.pack("<HH", 0x7777, 400) + bytes(400)
"""A field of a local header, whose length takes two bytes, too."""


@pytest.mark.parametrize("extra", [b"", EXTRA])
def test_what_is_stored_is_mapped_where_it_lies(extra: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    stored(path, extra)
    files = open_arrays([path])
    assert [*files] == ["first", LONG]
    for name, array in (("first", ARRAYS["words"]), (LONG, ARRAYS["plain"])):
        found = map_array(files[name])
        assert isinstance(found, np.memmap)
        assert not found.flags.writeable
        np.testing.assert_array_equal(found, array)


def mapped(path: Path, write: Callable[[Path], object]) -> Array:
    write(path)
    (file,) = open_arrays([path]).values()
    return map_array(file)


def column(data: Sequence[int]) -> Array:
    return np.asfortranarray(np.array(data, np.int8))


@pytest.mark.parametrize("name", ["plain", "words", "scalar", "empty", "bits"])
@pytest.mark.parametrize("suffix", ["npy", "npz", "stored.npz"])
def test_mapped_arrays_are_those_that_are_read(
    name: str, suffix: str, tmp_path: Path
) -> None:
    array = ARRAYS[name]
    writers: dict[str, Callable[[Path], object]] = {
        "npy": lambda path: path.write_bytes(npy(array)),
        "npz": lambda path: np.savez_compressed(path, x=array),
        "stored.npz": lambda path: np.savez(path, x=array),
    }
    found = mapped(tmp_path / f"x.{suffix}", writers[suffix])
    np.testing.assert_array_equal(found, array, strict=True)


def test_a_row_of_any_order_is_mapped_a_turned_matrix_is_not(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    data = npy(np.arange(3, dtype=np.int8)).replace(b"False", b"True ")
    assert mapped(path, lambda one: one.write_bytes(data)).tolist() == [0, 1, 2]
    with pytest.raises(QlowerError) as caught:
        mapped(path, lambda one: one.write_bytes(npy(ARRAYS["fortran"])))
    assert caught.value.message == (
        f"cannot read {path}: only arrays in C order can be mapped:"
        " numpy.ascontiguousarray"
    )


def test_a_header_may_not_ask_for_more_than_there_is(tmp_path: Path) -> None:
    """In a file of its own; in an archive what follows is there, too."""
    path = tmp_path / "x.npy"
    data = npy(ARRAYS["words"])
    longer = mapped(path, lambda one: one.write_bytes(data + b"\0"))
    assert longer.tolist() == [1, -2, 1 << 40]
    with pytest.raises(QlowerError) as caught:
        mapped(path, lambda one: one.write_bytes(data[:-1]))
    assert caught.value.message == (
        f"cannot read {path}: it has 23 bytes of data, shape (3,) of int64 needs 24"
    )
    wide = header(f"({1 << 33}, {1 << 31})", "'<i4'")
    with pytest.raises(QlowerError, match=f"needs {1 << 66}"):
        mapped(path, lambda one: one.write_bytes(with_header(wide)))


def test_files_that_hold_nothing_to_map(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=ARRAYS["plain"])
    (tmp_path / "text.npz").write_text("text")
    for name, reason in (
        ("none.npz", f"cannot read {tmp_path}/none.npz: No such file or directory"),
        ("x.bin", f"{tmp_path}/x.bin: arrays are read from .npy and .npz files"),
        ("text.npz", f"cannot read {tmp_path}/text.npz: File is not a zip file"),
    ):
        with pytest.raises(QlowerError) as caught:
            open_arrays([tmp_path / name])
        assert caught.value.message == reason
    for file, reason in (
        (MappedFile(tmp_path / "none.npy"), "No such file or directory"),
        (MappedFile(tmp_path / "x.npz", "y.npy"), "There is no item named"),
    ):
        with pytest.raises(QlowerError) as caught:
            map_array(file)
        assert f"cannot read {file.path}: " in caught.value.message
        assert reason in caught.value.message


def test_what_is_packed_and_damaged_is_not_mapped(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=ARRAYS["plain"])
    with zipfile.ZipFile(path) as archive:
        (member,) = archive.infolist()
    data = bytearray(path.read_bytes())
    lengths = struct.unpack_from("<2H", data, member.header_offset + 26)
    data[member.header_offset + 30 + sum(lengths)] = 7  # no kind of block
    path.write_bytes(data)
    with pytest.raises(QlowerError, match="invalid block type"):
        map_array(MappedFile(path, "x.npy"))


def test_arrays_of_several_files_have_their_names(tmp_path: Path) -> None:
    np.save(tmp_path / "a.b.npy", ARRAYS["plain"])
    np.savez(tmp_path / "z.npz", x=ARRAYS["plain"], y=ARRAYS["words"])
    paths = [tmp_path / "a.b.npy", tmp_path / "z.npz"]
    assert open_arrays(paths) == {
        "a.b": MappedFile(paths[0]),
        "x": MappedFile(paths[1], "x.npy"),
        "y": MappedFile(paths[1], "y.npy"),
    }


def test_an_entry_that_begins_where_another_does_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", npy(ARRAYS["plain"]))
        archive.writestr("b.npy", npy(ARRAYS["plain"]))
    with zipfile.ZipFile(path) as archive:
        first, second = archive.infolist()
        assert open_entry(archive, second).read() == npy(ARRAYS["plain"])
        second.header_offset = first.header_offset
        second.filename = second.orig_filename = first.orig_filename
        end: Any = second
        if hasattr(end, "_end_offset"):
            end._end_offset = first.header_offset
            with pytest.raises(zipfile.BadZipFile, match=r"[Oo]verlap"):
                open_entry(archive, second)


def test_an_error_of_the_system_is_named_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "x.npy"
    path.write_bytes(npy(ARRAYS["plain"]))
    monkeypatch.setattr(Path, "open", refuse)
    for call in (read_arrays, lambda one: map_array(MappedFile(one))):
        with pytest.raises(QlowerError) as caught:
            call(path)
        assert caught.value.message == f"cannot read {path}: Input/output error"
