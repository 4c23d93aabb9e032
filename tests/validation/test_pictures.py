"""Folders of pictures and tables of them: what is read, named, numbered and refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.model.signature import TensorSpec
from qlower.validation.pictures import (
    ParquetSource,
    PictureFolder,
    parquet_source,
    picture_folder,
)
from qlower.validation.preprocessing import Preprocessing
from qlower.validation.sources import Chunk, Row, RowError

image: Any = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

SPEC = TensorSpec("x", (1, 2, 2, 3), "uint8")
STORED = Preprocessing(is_stored=True)
PIXELS = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)


def pictures(folder: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image.fromarray(PIXELS + number).save(path)
    return folder


def read(source: PictureFolder | ParquetSource) -> list[Row | RowError]:
    assert source.size is not None
    return list(source.rows(Chunk(0, source.size)))


def test_a_picture_s_class_is_its_folder(tmp_path: Path) -> None:
    """By name, or by the place in the list of names that is given."""
    pictures(tmp_path, "dog/1.png", "cat/2.png", "loose.png", "cat/note.txt.png")
    source = picture_folder(SPEC, tmp_path, None, STORED, None)
    names = [path.relative_to(tmp_path).as_posix() for path in source.paths]
    assert names == ["cat/2.png", "cat/note.txt.png", "dog/1.png", "loose.png"]
    assert source.labels == [frozenset({0}), frozenset({0}), frozenset({1}), None]
    rows = read(source)
    for row, number in zip(rows, (1, 3, 0, 2), strict=True):
        assert isinstance(row, Row)
        np.testing.assert_array_equal(row.inputs[0].reshape(2, 2, 3), PIXELS + number)
    named = picture_folder(SPEC, tmp_path, ["fox", "dog", "cat"], STORED, None)
    assert named.labels == [frozenset({2}), frozenset({2}), frozenset({1}), None]


def test_what_a_folder_says_of_itself(tmp_path: Path) -> None:
    pictures(tmp_path, "a.png", "b.png")
    labels = [frozenset({4}), None]
    source = picture_folder(SPEC, tmp_path, None, STORED, labels)
    described = "a.png (2x2 RGB) to uint8: rgb, pixels as stored; label 4"
    assert source.describe() == described
    other = picture_folder(SPEC, tmp_path, None, STORED, [None, frozenset({4})])
    assert source.identity != other.identity
    again = picture_folder(SPEC, tmp_path, None, STORED, labels)
    before = source.identity
    assert before == again.identity
    (tmp_path / "a.png").write_bytes(b"none")
    changed = picture_folder(SPEC, tmp_path, None, STORED, labels)
    assert changed.identity != before
    assert changed.describe().startswith("a.png (no picture: ")
    first, last = read(changed)
    assert isinstance(first, RowError)
    assert str(first).startswith("a.png: no picture: ")
    assert isinstance(last, Row)


def test_a_picture_that_ends_early_is_none(tmp_path: Path) -> None:
    pictures(tmp_path, "a.png", "b.png")
    whole = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(whole[: whole.index(b"IDAT") + 8])
    source = picture_folder(SPEC, tmp_path, None, STORED, None)
    first, last = read(source)
    assert isinstance(first, RowError)
    assert str(first).startswith("a.png: no picture: ")
    assert source.describe().startswith("a.png (no picture: ")
    assert isinstance(last, Row)


@pytest.mark.parametrize(
    ("names", "labels", "message"),
    [
        (["dog"], None, "{folder}/cat: no class is called 'cat'"),
        (None, [None], "there are 1 labels for 2 pictures"),
    ],
)
def test_folders_that_are_refused(
    names: Sequence[str] | None,
    labels: Sequence[None] | None,
    message: str,
    tmp_path: Path,
) -> None:
    pictures(tmp_path, "cat/1.png", "dog/2.png")
    with pytest.raises(QlowerError) as refusal:
        picture_folder(SPEC, tmp_path, names, STORED, labels)
    assert refusal.value.message == message.format(folder=tmp_path)


def png() -> bytes:
    from io import BytesIO

    written = BytesIO()
    image.fromarray(PIXELS).save(written, "png")
    return written.getvalue()


def table(path: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    arrow: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table(dict(columns)), path, row_group_size=2)
    return path


NUMBERS = PIXELS.tolist()


@pytest.mark.parametrize("column", ["x", "image", "img", "any"])
def test_pictures_in_tables(column: str, tmp_path: Path) -> None:
    """Bytes or a struct of them, in the column of the input's name or of pictures, or
    in the only one; rows of several groups, some without a picture."""
    structs = [{"bytes": png(), "path": "1.png"}, {"bytes": b"none", "path": ""}, None]
    columns = {column: structs, "label": [3, 1, None]}
    if column != "any":
        columns["more"] = [0, 1, 2]
    path = table(tmp_path / "a.parquet", columns)
    source = parquet_source([SPEC], [path], STORED, None)
    assert source.columns == (column,)
    assert source.describe() == (
        f"{column} of 1 files: rgb, pixels as stored; label column 'label'"
    )
    first, damaged, empty = read(source)
    assert isinstance(first, Row)
    np.testing.assert_array_equal(first.inputs[0].reshape(2, 2, 3), PIXELS)
    assert first.classes == {3}
    assert isinstance(damaged, RowError)
    assert str(damaged).startswith("no picture: ")
    assert isinstance(empty, RowError)
    assert str(empty) == f"{column!r} is empty"


def test_numbers_in_tables(tmp_path: Path) -> None:
    """Python's integers that the input can store are stored values; a label that isn't
    there is unknown, one that is no number makes the row unusable."""
    columns = {"x": [NUMBERS, NUMBERS, NUMBERS], "label": ["5", None, "cat"]}
    paths = [table(tmp_path / "a.parquet", columns)]
    source = parquet_source([SPEC], paths, Preprocessing(), None)
    first, unknown, last = read(source)
    assert isinstance(first, Row)
    np.testing.assert_array_equal(first.inputs[0].reshape(2, 2, 3), PIXELS)
    assert first.classes == {5}
    assert isinstance(unknown, Row)
    assert unknown.classes is None
    assert isinstance(last, RowError)
    assert "invalid literal" in str(last)
    given = parquet_source([SPEC], paths, Preprocessing(), [None, frozenset({2}), None])
    assert given.describe().endswith("; label given")
    classes = [row.classes for row in read(given) if isinstance(row, Row)]
    assert classes == [None, {2}, None]
    assert given.identity != source.identity
    unlabelled = table(tmp_path / "b.parquet", {"x": [NUMBERS]})
    source = parquet_source([SPEC], [unlabelled], Preprocessing(), None)
    assert source.describe().endswith("; label unknown")


@pytest.mark.parametrize(
    ("columns", "labels", "message"),
    [
        (
            {"a": [NUMBERS], "b": [NUMBERS]},
            None,
            "{path}: of its columns (a, b) none is called like an input: x",
        ),
        ({"x": [NUMBERS]}, [None, None], "there are 2 labels for 1 rows"),
        ({"x": []}, None, "{path}: the set of examples is empty"),
    ],
)
def test_tables_that_are_refused(
    columns: Mapping[str, Sequence[object]],
    labels: Sequence[None] | None,
    message: str,
    tmp_path: Path,
) -> None:
    path = table(tmp_path / "a.parquet", columns)
    with pytest.raises(QlowerError) as refusal:
        parquet_source([SPEC], [path], STORED, labels)
    assert refusal.value.message == message.format(path=path)


def test_a_table_of_what_arrow_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its exceptions are of many kinds."""
    arrow: Any = pytest.importorskip("pyarrow")
    path = table(tmp_path / "a.parquet", {"x": [NUMBERS]})

    def refuse(*_: object) -> None:
        raise arrow.ArrowNotImplementedError("integers of 128 bits")

    monkeypatch.setattr("pyarrow.parquet.read_schema", refuse)
    with pytest.raises(QlowerError, match=f"cannot read {path}: integers of 128 bits"):
        parquet_source([SPEC], [path], STORED, None)


def test_a_column_of_an_input_has_no_labels(tmp_path: Path) -> None:
    spec = TensorSpec("y", (1, 2, 2, 3), "uint8")
    path = table(tmp_path / "a.parquet", {"y": [NUMBERS], "label": [4]})
    assert parquet_source([spec], [path], STORED, None).label == "label"
    path = table(tmp_path / "b.parquet", {"y": [NUMBERS]})
    assert parquet_source([spec], [path], STORED, None).label is None


def test_a_picture_of_another_size_takes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image.new("P", (90, 80)).save(tmp_path / "large.gif")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it is converted")

    monkeypatch.setattr(Preprocessing, "of_array", refuse)
    (row,) = read(picture_folder(SPEC, tmp_path, None, STORED, None))
    told = "large.gif: it has shape [80, 90, 3], the model takes [1, 2, 2, 3]"
    assert str(row) == told


def test_a_damaged_table(tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet", {"x": [NUMBERS]})
    source = parquet_source([SPEC], [path], STORED, None)
    path.write_bytes(b"none")
    with pytest.raises(QlowerError, match=f"cannot read {path}: "):
        read(source)
    with pytest.raises(QlowerError, match=f"cannot read {path}: "):
        parquet_source([SPEC], [path], STORED, None)
