"""Right classes from files of every kind, and what is no label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.validation.labels import check_labels, label_array, read_labels


def sets(*classes: Any) -> tuple[Any, ...]:
    """Each as a set, None as it is, a list as several."""
    return tuple(
        one if one is None else frozenset(one if isinstance(one, list) else [one])
        for one in classes
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", "3\n\n -1 \n0", sets(3, None, -1, 0)),
        ("a.csv", "12\n", sets(12)),
        ("a.txt", "", ()),
        (
            "a.json",
            '[1, [2, 3], [], null, {"label": 4}, {"labels": [5, 6], "label": 7}, {}]',
            sets(1, [2, 3], [], [], 4, [5, 6], []),
        ),
        ("a.json", "[]", ()),
        ("a.json", "[[1, null], true]", sets(1, True)),
    ],
)
def test_texts(name: str, text: str, expected: Any, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_labels(tmp_path / name) == expected


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.txt", "1\n2x\n", "a.txt:2:1: error: '2x' is no label"),
        ("a.csv", "--1", "a.csv:1:1: error: '--1' is no label"),
        ("a.csv", "1,2", "a.csv:1:1: error: '1,2' is no label"),
        ("a.json", '{"label": 1}', "a.json: labels are a list, one item an example"),
        ("a.json", "[1, 2.5]", "a.json: 2.5 (example 1) is no label"),
        ("a.json", '[["cat"]]', "a.json: ['cat'] (example 0) is no label"),
        ("a.json", '[1, {"label": "b"}]', "a.json: 'b' (example 1) is no label"),
        ("a.json", "[", "cannot read"),
        ("a.json", b"\xff", "cannot read"),
        ("a.txt", b"\xff", "cannot read"),
        ("a.yaml", "1", "a.yaml: labels are read from .npy, .npz, .json, .txt or .csv"),
        ("a", "1", "labels are read from .npy, .npz, .json, .txt or .csv files"),
    ],
)
def test_texts_that_are_no_labels(
    name: str, text: Any, told: str, tmp_path: Path
) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / name).write_bytes(data)
    with pytest.raises(QlowerError) as caught:
        read_labels(tmp_path / name)
    assert told in caught.value.message


@pytest.mark.parametrize("name", ["a.txt", "a.json"])
def test_a_file_that_is_not_there(name: str, tmp_path: Path) -> None:
    with pytest.raises(QlowerError, match="No such file or directory"):
        read_labels(tmp_path / name)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([3, 1], np.int8), [3, 1]),
        (np.array([200], np.uint8), [200]),
        (np.array([[5], [6]], np.int64), [5, 6]),
        (np.zeros((0,), np.int32), []),
    ],
)
def test_arrays(array: Any, expected: list[int], tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", array)
    for name in ("a.npy", "a.npz"):
        assert read_labels(tmp_path / name) == sets(*expected)
        assert label_array(tmp_path / name).dtype == np.int64


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ([np.zeros(3), np.zeros(3)], "holds 2 arrays, 1 is needed"),
        ([np.zeros(3)], "holds float64, labels are integers"),
        ([np.zeros(3, bool)], "holds bool, labels are integers"),
        ([np.zeros((2, 2), int)], "holds an array of shape [2, 2]"),
        ([np.zeros((2, 1, 1), int)], "holds an array of shape [2, 1, 1]"),
        ([np.zeros((), int)], "holds an array of shape []"),
    ],
)
def test_arrays_that_are_no_labels(
    arrays: list[Any], told: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "a.npz", *arrays)
    with pytest.raises(QlowerError) as caught:
        read_labels(tmp_path / "a.npz")
    assert caught.value.message == f"{tmp_path / 'a.npz'} {told}"


def test_labels_in_range() -> None:
    """Each bound, and the first that leaves it."""
    path = Path("l.txt")
    check_labels(sets(0, None, [], [9, 0]), path, 10)
    for labels, told in (
        (sets(0, 10), "10 (example 1)"),
        (sets(-1), "-1 (example 0)"),
        (sets(None, [3, 12, 11]), "11 (example 1)"),
    ):
        with pytest.raises(QlowerError) as caught:
            check_labels(labels, path, 10)
        assert caught.value.message == f"l.txt: {told} is no label, they are in [0, 10)"
