"""Sources by themselves: what is a row, what isn't, what is said of them, and when two
are the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.files.mapped import open_arrays
from qlower.model.signature import TensorSpec
from qlower.validation.data import open_source
from qlower.validation.preprocessing import Preprocessing
from qlower.validation.sources import (
    ArraySource,
    Chunk,
    Row,
    RowError,
    Shards,
    Stream,
    array_source,
    labels_of,
    shown,
)

X = TensorSpec("x", (1, 2), "int8", (0.5,), (0,))
Y = TensorSpec("y", (3,), "float32")
PLAIN = Preprocessing()


def classes(*found: int) -> tuple[frozenset[int], ...]:
    return tuple(frozenset([one]) for one in found)


def read(source: Any, start: int, stop: int) -> list[Any]:
    """Rows as lists, and why others aren't."""
    found: list[Any] = []
    for row in source.rows(Chunk(start, stop)):
        if isinstance(row, RowError):
            found.append(str(row))
        else:
            assert isinstance(row, Row)
            inputs = [one.tolist() for one in row.inputs]
            found.append((inputs, sorted(row.classes or ())))
    return found


def bytes_of(count: int, first: int = 0) -> Any:
    return np.arange(first, first + 2 * count, dtype=np.int8).reshape(count, 2)


# Arrays


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"x": 0, "y": 1}, (0, 1, None)),
        ({"y": 1, "x": 0}, (0, 1, None)),
        ({"a": 0, "b": 1}, (0, 1, None)),
        ({"a": 1, "x": 0}, (0, 1, None)),
        ({"a": 0, "y": 1, "label": 2}, (0, 1, 2)),
        ({"a": 0, "b": 1, "y": 2}, None),  # an input is called y
        ({"x": 0, "target": 1}, (0, 1, None)),  # needed as an input
        ({"x": 0, "y": 1, "labels": 2}, (0, 1, 2)),
        ({"x": 0, "b": 1, "other": 2}, None),
        ({"x": 0}, None),
        ({}, None),
    ],
)
def test_which_array_is_which(files: dict[str, int], expected: Any) -> None:
    arrays = (
        *(np.zeros((3, 2), np.int8), np.zeros((3, 3), np.float32)),
        np.array([4, 5, 6]),
    )
    named = {name: arrays[number] for name, number in files.items()}
    if expected is None:
        with pytest.raises(QlowerError) as caught:
            array_source((X, Y), named, PLAIN, None)
        assert caught.value.message == (
            f"the model takes 2 inputs, the data has {len(files)} arrays: "
            f"{', '.join(files) or 'none'}"
        )
        assert caught.value.help == (
            "its inputs are x: 1x2xint8, scale 0.5, zero point 0, y: 3xfloat32; "
            "labels are called one of label, labels, y, target"
        )
    else:
        source = array_source((X, Y), named, PLAIN, None)
        given = [arrays[n] for n in expected[:2]]
        assert all(a is b for a, b in zip(source.given, given, strict=True))
        assert source.labels == (None if expected[2] is None else classes(4, 5, 6))


@pytest.mark.parametrize(
    ("arrays", "labels", "told"),
    [
        ((bytes_of(3), np.zeros((2, 3), "f4")), None, "sets differ in size: [3, 2]"),
        ((bytes_of(0), np.zeros((0, 3), "f4")), None, "the set of examples is empty"),
        ((np.int8(3), np.float32(3)), None, "the set of examples is empty"),
        (
            (bytes_of(3), np.zeros((3, 3), "f4")),
            classes(1, 2),
            "there are 2 labels for 3 examples",
        ),
        (
            (bytes_of(3).astype("i4"), np.zeros((3, 3), "f4")),
            None,
            "example 0: it holds int32, the input stores int8",
        ),
        ((bytes_of(3), np.zeros((3, 4), "f4")), None, "example 0: it has shape [4], "),
    ],
)
def test_arrays_that_do_not_fit(arrays: Any, labels: Any, told: str) -> None:
    with pytest.raises(QlowerError) as caught:
        ArraySource((X, Y), tuple(map(np.asarray, arrays)), PLAIN, labels).check()
    assert told in caught.value.message


def test_a_first_row_that_is_not_finite_is_no_fault() -> None:
    real = np.array([[np.nan, 0, 0], [1, 2, 3]], np.float32)
    source = array_source((X, Y), {"x": bytes_of(2), "y": real}, PLAIN, None)
    assert read(source, 0, 2) == ["element 0 is nan", ([[[2, 3]], [1, 2, 3]], [])]


@pytest.mark.parametrize(
    ("spec", "shape", "count"),
    [
        (X, (2,), 1),
        (X, (1, 2), 1),
        (X, (5, 2), 5),
        (X, (5, 1, 2), 5),
        (Y, (3,), 1),
        (Y, (3, 3), 3),
        (TensorSpec("s", (), "float32"), (), 1),
        (TensorSpec("s", (1,), "float32"), (), 1),
        (TensorSpec("s", (), "float32"), (4,), 4),
    ],
)
def test_one_example_or_several(
    spec: TensorSpec, shape: tuple[int, ...], count: int
) -> None:
    source = ArraySource((spec,), (np.zeros(shape, spec.dtype),), PLAIN)
    source.check()
    assert source.size == count
    (row,) = source.rows(Chunk(count - 1, count))
    assert isinstance(row, Row)
    assert row.inputs[0].shape == spec.shape


@pytest.mark.parametrize(
    ("arrays", "labels", "told"),
    [
        ((bytes_of(3), np.zeros((3, 3), "f4")), None, "x 2 int8, y 3 float32"),
        (
            (bytes_of(3).astype("f4"), np.zeros((3, 1, 3), "f8")),
            None,
            "x 2 float32 to int8, y 1x3 float64 to float32",
        ),
    ],
)
def test_what_is_said_of_arrays(arrays: Any, labels: Any, told: str) -> None:
    source = ArraySource((X, Y), arrays, PLAIN, labels)
    assert source.describe() == f"{told}; label unknown"
    labelled = replace(source, labels=(frozenset([7, 3]), None, None))
    assert labelled.describe() == f"{told}; label 3 or 7"
    scalar = ArraySource((TensorSpec("s", (), "int8"),), (np.zeros(4, "i1"),), PLAIN)
    assert scalar.describe() == "s a number int8; label unknown"


def test_chunks() -> None:
    source = ArraySource((X,), (bytes_of(7),), PLAIN)
    ends = {
        (3, None): [(0, 3), (3, 6), (6, 7)],
        (7, None): [(0, 7)],
        (8, None): [(0, 7)],
        (3, 4): [(0, 3), (3, 4)],
        (3, 3): [(0, 3)],
        (3, 100): [(0, 3), (3, 6), (6, 7)],
    }
    for (size, limit), expected in ends.items():
        found = [(c.start, c.stop, c.rows) for c in source.chunks(size, limit)]
        assert found == [(*one, None) for one in expected]


def test_rows_of_a_part() -> None:
    labels = (*classes(5, 6), None, *classes(8))
    source = ArraySource((X,), (bytes_of(4),), PLAIN, labels)
    assert read(source, 1, 4) == [
        ([[[2, 3]]], [6]),
        ([[[4, 5]]], []),
        ([[[6, 7]]], [8]),
    ]
    real = np.array([[0.5, 1], [np.inf, 0], [-1, 0]])
    assert read(replace(source, given=(real,)), 0, 3) == [
        *(([[[1, 2]]], [5]), "element 0 is inf", ([[[-2, 0]]], [])),
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [(None, "unknown"), ((), "unknown"), ((9,), "9"), ((2, 1), "1 or 2")],
)
def test_classes_as_people_read_them(given: Any, told: str) -> None:
    assert shown(None if given is None else frozenset(given)) == told


@pytest.mark.parametrize(
    "given", [np.zeros(2), np.zeros((2, 1), int), np.zeros((), int), np.array(["a"])]
)
def test_labels_that_are_no_list(given: Any) -> None:
    told = f"labels are a list of integers, not {list(given.shape)} of {given.dtype}"
    with pytest.raises(QlowerError) as caught:
        labels_of(given)
    assert caught.value.message == told
    assert labels_of([3, 1]) == classes(3, 1)


# Whether two sources are the same


class Lazy:
    """An array that is computed as it is read, as Dask's."""

    def __init__(self, array: Any, name: str = "") -> None:
        self._array = array
        self.shape, self.dtype, self.name = array.shape, array.dtype, name

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        return self._array[key]


def changed(place: int) -> Any:
    array = bytes_of(9)
    array[place, 1] += 1
    return array


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        ((bytes_of(9), None), True),
        ((changed(5), None), False),
        ((bytes_of(9).reshape(9, 1, 2), None), False),
        ((bytes_of(9).view(np.uint8), None), False),
        ((bytes_of(9), classes(*range(9))), False),
    ],
)
def test_arrays_in_memory_are_known_by_all_bytes(other: Any, is_same: bool) -> None:
    one = ArraySource((X,), (bytes_of(9),), PLAIN)
    array, labels = other
    assert (ArraySource((X,), (array,), PLAIN, labels).identity == one.identity) == (
        is_same
    )


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (Lazy(bytes_of(9), "a"), True),
        (Lazy(bytes_of(9), "b"), False),
        *((Lazy(changed(n), "a"), False) for n in (0, 4, 8)),
        *((Lazy(changed(n), "a"), True) for n in (1, 3, 5, 7)),
        (Lazy(bytes_of(8), "a"), False),
    ],
)
def test_other_arrays_are_known_by_three_rows(other: Any, is_same: bool) -> None:
    one = ArraySource((X,), (Lazy(bytes_of(9), "a"),), PLAIN)
    assert (ArraySource((X,), (other,), PLAIN).identity == one.identity) == is_same


def test_files_are_known_by_their_content(tmp_path: Path) -> None:
    def identity(array: Any, name: str = "x") -> str:
        np.savez(tmp_path / "a.npz", **{name: array})
        files = open_arrays([tmp_path / "a.npz"])
        return array_source((X,), files, PLAIN, None).identity

    found = [identity(bytes_of(9)), identity(changed(3)), identity(bytes_of(9), "z")]
    assert len(set(found)) == 3
    assert identity(bytes_of(9)) == found[0]


# Several files


def parts(*counts: int, labels: Any = None) -> Shards:
    firsts = [2 * sum(counts[:n]) for n in range(len(counts))]
    arrays = [bytes_of(c, f) for c, f in zip(counts, firsts, strict=True)]
    return Shards(tuple(ArraySource((X,), (a,), PLAIN) for a in arrays), labels)


def test_rows_of_several_files() -> None:
    """Any run of rows, with the classes of all files or those of each."""
    source = parts(2, 1, 3, labels=classes(*range(10, 16)))
    assert (source.size, source.starts) == (6, [0, 2, 3, 6])
    for start in range(6):
        for stop in range(start + 1, 7):
            assert read(source, start, stop) == [
                ([[[2 * n, 2 * n + 1]]], [10 + n]) for n in range(start, stop)
            ]
    first, second = parts(2, 1).parts
    own = Shards((replace(first, labels=classes(4, 5)), second), None)
    assert [found for _, found in read(own, 0, 3)] == [[4], [5], []]
    assert own.describe() == "x 2 int8; label 4; the first of 2 files"


def test_a_row_that_fails_in_one_of_several_files() -> None:
    one, other = parts(2, 2).parts
    bad = replace(other, given=(np.array([[np.nan, 1], [1, 0]]),))
    source = Shards((one, bad), classes(1, 2, 3, 4))
    assert read(source, 1, 4) == [
        ([[[2, 3]]], [2]),
        "element 0 is nan",
        ([[[2, 0]]], [4]),
    ]


def test_several_files_are_known_by_their_parts() -> None:
    one = parts(2, 3).identity
    assert parts(2, 3).identity == one
    others = {parts(3, 2).identity, parts(2, 4).identity}
    others.add(parts(2, 3, labels=classes(*range(5))).identity)
    assert len(others | {one}) == 4


# Streams


A = np.array([1, 2], np.int8)
R = np.array([1, 2, 3], np.float32)


@pytest.mark.parametrize(
    ("specs", "item", "expected"),
    [
        ((X,), A, ([[[1, 2]]], [])),
        ((X,), (A, 4), ([[[1, 2]]], [4])),
        ((X,), (A, np.int64(4)), ([[[1, 2]]], [4])),
        ((X,), (A, None), ([[[1, 2]]], [])),
        ((X,), {"x": A}, ([[[1, 2]]], [])),
        ((X,), ({"x": A, "z": 1}, 3), ([[[1, 2]]], [3])),
        ((X, Y), (A, R), ([[[1, 2]], [1, 2, 3]], [])),
        ((X, Y), [A, R], ([[[1, 2]], [1, 2, 3]], [])),
        ((X, Y), ((A, R), 5), ([[[1, 2]], [1, 2, 3]], [5])),
        ((X, Y), {"y": R, "x": A}, ([[[1, 2]], [1, 2, 3]], [])),
        ((X, Y), A, "it has shape [], the model takes [1, 2]"),
        ((X, Y), (A, R, R), "no example: zip() argument 2 is shorter"),
        ((X, Y), {"x": A}, "no example: 'y'"),
        ((X, Y), 3, "no example: 'int' object is not iterable"),
        ((X,), (A, "cat"), "no example: invalid literal for int()"),
        ((X,), R, "it has shape [3], the model takes [1, 2]"),
        ((X,), np.array([np.nan, 0]), "element 0 is nan"),
    ],
)
def test_items_of_a_stream(specs: Any, item: Any, expected: Any) -> None:
    source = Stream(specs, [item], PLAIN)
    (chunk,) = source.chunks(4, None)
    assert (chunk.start, chunk.stop) == (0, 1)
    (row,) = source.rows(chunk)
    if isinstance(expected, str):
        assert isinstance(row, RowError)
        assert str(row).startswith(expected)
        assert row.is_not_finite == ("nan" in expected)
    else:
        assert isinstance(row, Row)
        assert (
            [one.tolist() for one in row.inputs],
            [*(row.classes or ())],
        ) == expected


def test_a_stream_in_chunks() -> None:
    def rows(limit: int | None, size: int = 2) -> list[tuple[int, int, int]]:
        source = Stream((X,), iter([A] * 5), PLAIN)
        found = source.chunks(size, limit)
        return [(c.start, c.stop, len(c.rows or ())) for c in found]

    assert rows(None) == [(0, 2, 2), (2, 4, 2), (4, 5, 1)]
    assert rows(3) == [(0, 2, 2), (2, 3, 1)]
    assert rows(4) == [(0, 2, 2), (2, 4, 2)]
    assert rows(9, 5) == [(0, 5, 5)]
    source = Stream((X,), [], PLAIN)
    assert (source.size, source.identity, source.labels) == (None, "", None)
    assert source.describe() == "x: 1x2xint8, scale 0.5, zero point 0, from a stream"


# Paths


def test_a_stream_is_read_as_far_as_it_is_wanted() -> None:
    left = iter([A] * 5)
    assert len([*Stream((X,), left, PLAIN).chunks(2, 3)]) == 2
    assert len([*left]) == 2


def write(folder: Path, names: str) -> None:
    for name in names.split():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        if path.suffix == ".npy":
            np.save(path, bytes_of(3))
        elif path.suffix == ".npz":
            np.savez(path, x=bytes_of(3))
        else:
            path.write_bytes(b"")


FLAT = Preprocessing(resize=(4,))
CUT = Preprocessing(crop=(4,))
BGR = Preprocessing(channels="bgr")
OTHERS = "data is .npy, .npz, .parquet, or a folder of these or of pictures"


@pytest.mark.parametrize(
    ("names", "path", "given", "told"),
    [
        ("", "d/none", (), "cannot read d/none: no such file or folder"),
        ("d/a.txt", "d/a.txt", (), "cannot read d/a.txt: not a kind of data"),
        ("d/a.npy d/b.png", "d", (), "d holds a.npy and b.png"),
        ("d/a.parquet d/b.png d/c.PNG", "d", (), "d holds a.parquet and b.png"),
        ("d/a.npz d/b.parquet d/c.png", "d", (), "d holds a.npz and b.parquet"),
        ("d/a.txt", "d", (), "d holds no pictures: the set of examples is empty"),
        ("d/a.npy", "d/a.npy", (FLAT,), "d/a.npy holds arrays: a resize is for pic"),
        ("d/a.npy", "d", (CUT,), "d holds arrays: a crop is for pictures"),
        ("d/a.npz", "d", (BGR,), "d holds arrays: an order of channels is for pic"),
        ("d/a.npz", "d", (PLAIN, "n"), "d holds arrays: names of classes is for pic"),
    ],
)
def test_paths_that_are_no_data(
    names: str,
    path: str,
    given: Any,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    write(Path(), names)
    way = given[0] if given else PLAIN
    with pytest.raises(QlowerError) as caught:
        open_source(path, (X,), way, None, 0, given[1:] or None)
    assert caught.value.message.startswith(told)
    if "cannot read" in told:
        assert caught.value.help == OTHERS


def test_pictures_are_for_one_input(tmp_path: Path) -> None:
    write(tmp_path, "a.png")
    with pytest.raises(QlowerError, match="for one input, the model has 2"):
        open_source(tmp_path, (X, Y), PLAIN, None)


def test_labels_that_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_text("\n\n\n")
    with pytest.raises(QlowerError, match=r"l.txt has no class for any of 3 examples"):
        open_source(bytes_of(3), (X,), PLAIN, tmp_path / "l.txt")
    (tmp_path / "l.txt").write_text("\n3\n\n")
    found = open_source(bytes_of(3), (X,), PLAIN, tmp_path / "l.txt", 2)
    assert found.labels == [None, frozenset([5]), None]


def test_a_folder_with_a_file_for_each_input(tmp_path: Path) -> None:
    """Such are no parts of one set; nor is a file beside labels."""
    np.save(tmp_path / "x.npy", bytes_of(3))
    np.save(tmp_path / "y.npy", np.zeros((3, 3), np.float32))
    source: Any = open_source(tmp_path, (X, replace(Y, name="z")), PLAIN, None)
    assert isinstance(source, ArraySource)
    other: Callable[..., Any] = open_source
    (tmp_path / "y.npy").rename(tmp_path / "w.npy")
    assert other(tmp_path, (X, replace(Y, name="w")), PLAIN, None).size == 3
    np.save(tmp_path / "w.npy", bytes_of(2))
    joined = other(tmp_path, (X,), PLAIN, None)
    assert (joined.size, joined.labels, len(joined.parts)) == (5, None, 2)
