"""Pictures, to a pixel: modes, sizes, order of channels, and which are refused."""

from __future__ import annotations

from io import BytesIO
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
from qlower.validation.preprocessing import NotFiniteError, Preprocessing
from qlower.validation.sources import Chunk, Row, RowError

pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

PIXELS = np.arange(0, 192, 4, dtype=np.uint8).reshape(4, 4, 3)
"""Four rows of four pixels."""


def spec(*shape: int, dtype: str = "float32") -> TensorSpec:
    if dtype == "float32":
        return TensorSpec("x", shape, dtype)
    return TensorSpec("x", shape, dtype, (1.0,), (0,))


def picture(mode: str = "RGB") -> Any:
    return pillow.fromarray(PIXELS).convert(mode)


# Settings


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "rgb, (pixel - (0)) / (1)"),
        ({"channels": "bgr", "is_stored": True}, "bgr, pixels as stored"),
        ({"resize": (256,), "crop": (224,)}, "resize 256, crop 224, rgb, (pixel"),
        ({"resize": (8, 9), "crop": (6, 7)}, "resize 8x9, crop 6x7, rgb, (pixel"),
        (
            {"mean": (1.5, 2.0, 3.0), "deviation": (0.25,), "channels": "grey"},
            "grey, (pixel - (1.5, 2, 3)) / (0.25)",
        ),
    ],
)
def test_settings_as_text(given: dict[str, Any], told: str) -> None:
    assert str(Preprocessing(**given)).startswith(told)


SIZES = "1 or 2 sizes in [1, 16384]"
NUMBERS = "1 or 3 finite numbers"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"resize": (1, 16384)}, None),
        ({"crop": (16384,)}, None),
        ({"resize": (0,)}, f"resize [0]: {SIZES}"),
        ({"resize": (16385,)}, f"resize [16385]: {SIZES}"),
        ({"crop": (3, 0)}, f"crop [3, 0]: {SIZES}"),
        ({"crop": (3, 3, 3)}, f"crop [3, 3, 3]: {SIZES}"),
        ({"mean": (0.0, 1.0, 2.0), "deviation": (1.0, 2.0, 3.0)}, None),
        ({"mean": ()}, f"mean []: {NUMBERS}"),
        ({"mean": (1.0, 2.0)}, f"mean [1.0, 2.0]: {NUMBERS}"),
        ({"mean": (np.inf,)}, f"mean [inf]: {NUMBERS}"),
        ({"deviation": (1.0,) * 4}, f"deviation [1.0, 1.0, 1.0, 1.0]: {NUMBERS}"),
        ({"deviation": (np.nan, 1.0, 1.0)}, f"deviation [nan, 1.0, 1.0]: {NUMBERS}"),
        ({"deviation": (1.0, 0.0, 1.0)}, "deviation [1.0, 0.0, 1.0] has a 0"),
        ({"deviation": (-1.0,)}, None),
    ],
)
def test_settings_that_cannot_be(given: dict[str, Any], told: str | None) -> None:
    if told is None:
        Preprocessing(**given)
        return
    with pytest.raises(QlowerError) as caught:
        Preprocessing(**given)
    assert caught.value.message == told


@pytest.mark.parametrize(
    ("given", "changes"),
    [({}, False), ({"mean": (1.0,)}, True), ({"deviation": (2.0,)}, True)],
)
def test_settings_that_change_numbers(given: dict[str, Any], changes: bool) -> None:
    assert Preprocessing(**given).is_normalising == changes


# Pixels


@pytest.mark.parametrize(
    ("given", "to", "expected"),
    [
        ({}, spec(1, 4, 4, 3), PIXELS),
        ({"channels": "bgr"}, spec(1, 4, 4, 3), PIXELS[..., ::-1]),
        ({}, spec(1, 3, 4, 4), PIXELS.transpose(2, 0, 1)),
        ({}, spec(4, 4, 3), PIXELS),
        ({"crop": (2,)}, spec(1, 2, 2, 3), PIXELS[1:3, 1:3]),
        ({"crop": (2, 4)}, spec(1, 2, 4, 3), PIXELS[1:3]),
        ({"crop": (4, 2)}, spec(1, 4, 2, 3), PIXELS[:, 1:3]),
        ({"crop": (3, 1)}, spec(1, 3, 1, 3), PIXELS[:3, 1:2]),
        ({"crop": (4,)}, spec(1, 4, 4, 3), PIXELS),
        ({"mean": (4.0,), "deviation": (4.0,)}, spec(1, 4, 4, 3), PIXELS / 4 - 1.0),
        (
            {"mean": (0.0, 4.0, 8.0), "deviation": (1.0, 2.0, 4.0)},
            spec(1, 4, 4, 3),
            (PIXELS - [0.0, 4.0, 8.0]) / [1.0, 2.0, 4.0],
        ),
        ({}, spec(1, 4, 4, 3, dtype="uint8"), PIXELS),
        ({}, spec(1, 4, 4, 3, dtype="int8"), np.minimum(PIXELS, 127)),
        ({"is_stored": True}, spec(1, 4, 4, 3, dtype="uint8"), PIXELS),
        ({"is_stored": True}, spec(1, 4, 4, 3, dtype="int8"), PIXELS - 128.0),
    ],
)
def test_pixels(given: dict[str, Any], to: TensorSpec, expected: Any) -> None:
    found = Preprocessing(**given).of_picture(picture(), to)
    assert (found.shape, found.dtype) == (to.shape, np.dtype(to.dtype))
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found.ravel(), np.asarray(expected).ravel())


@pytest.mark.parametrize(
    ("given", "size", "to"),
    [
        ((8,), (4, 4), (8, 8)),
        ((2,), (4, 4), (2, 2)),
        ((3,), (4, 8), (6, 3)),  # width by height: the shorter side is the width
        ((3,), (8, 4), (3, 6)),
        ((5, 7), (4, 4), (5, 7)),
        ((1,), (200, 2), (1, 100)),
        ((1,), (2, 200), (100, 1)),
        ((4,), (4, 5), (5, 4)),
    ],
)
def test_sizes(given: Any, size: tuple[int, int], to: tuple[int, int]) -> None:
    flat = pillow.new("RGB", size, (3, 200, 77))
    found = Preprocessing(resize=given).of_picture(flat, spec(1, *to, 3))
    assert np.unique(found.reshape(-1, 3), axis=0).tolist() == [[3, 200, 77]]


def test_a_crop_that_is_too_large() -> None:
    wide = pillow.new("L", (6, 4))
    for crop, told in (((5, 6), "6x5"), ((4, 7), "7x4"), ((7,), "7x7")):
        with pytest.raises(QlowerError) as caught:
            Preprocessing(crop=crop).of_picture(wide, spec(1, 1))
        assert caught.value.message == f"6x4 pixels are too few to crop {told}"
    made = Preprocessing(crop=(4, 6), channels="grey").of_picture(
        wide, spec(1, 4, 6, 1)
    )
    assert made.shape == (1, 4, 6, 1)


@pytest.mark.parametrize("mode", ["L", "RGB", "P", "CMYK", "YCbCr", "1"])
@pytest.mark.parametrize("channels", ["rgb", "grey"])
def test_modes(mode: str, channels: Any) -> None:
    count = 1 if channels == "grey" else 3
    given = picture(mode)
    expected = given.convert("L" if count == 1 else "RGB")
    found = Preprocessing(channels=channels).of_picture(given, spec(1, 4, 4, count))
    np.testing.assert_array_equal(found.ravel(), np.asarray(expected).ravel())


@pytest.mark.parametrize("mode", ["RGBA", "LA", "I;16", "I", "F", "HSV"])
def test_modes_that_hold_more(mode: str) -> None:
    with pytest.raises(QlowerError) as caught:
        Preprocessing().of_picture(pillow.new(mode, (4, 4)), spec(1, 4, 4, 3))
    assert caught.value.message == (
        f"a picture of mode {mode} has more than 8-bit colour, or transparency"
    )


def test_a_palette_with_transparency() -> None:
    given = picture("P")
    given.info["transparency"] = 0
    with pytest.raises(QlowerError, match="a picture of mode P has more"):
        Preprocessing().of_picture(given, spec(1, 4, 4, 3))


@pytest.mark.parametrize(
    ("array", "to", "given", "told"),
    [
        (np.zeros((4, 4, 1), "u1"), spec(1, 4, 4, 3), {"mean": (1.0, 2.0, 3.0)}, "1 c"),
        (np.zeros((4, 4, 1), "u1"), spec(1, 4, 4, 3), {"deviation": (1.0,) * 3}, "it"),
        (np.zeros(3, "u1"), spec(1, 3, dtype="int8"), {}, "it holds uint8, the input "),
        (np.zeros(3, "i8"), spec(1, 3, dtype="int8"), {"is_stored": True}, "pixels a"),
        (np.zeros(3, "u1"), spec(1, 3), {"is_stored": True}, "pixels are stored in 8"),
        (np.zeros(3, "c8"), spec(1, 3), {}, "it holds complex64, not numbers of up"),
        (np.zeros(3, "?"), spec(1, 3), {}, "it holds bool, not numbers of up to 64"),
    ],
)
def test_arrays_that_are_refused(array: Any, to: Any, given: Any, told: str) -> None:
    with pytest.raises(QlowerError) as caught:
        Preprocessing(**given).of_array(array, to, is_picture=False)
    assert told in caught.value.message
    if "the input" in told:
        assert caught.value.help == (
            "--mean and --deviation say what real numbers they stand for"
        )


@pytest.mark.parametrize(
    ("array", "to"),
    [
        (np.zeros((2, 8)), spec(2, 8)),
        (np.zeros((8,)), spec(1, 8)),
        (np.zeros((1, 8)), spec(1, 8)),
        (np.zeros((8,)), spec(8)),
        (np.zeros((4, 5, 3)), spec(1, 3, 4, 5)),
        (np.zeros((4, 5, 3)), spec(3, 4, 5)),
        (np.zeros((3, 3, 3)), spec(1, 3, 3, 3)),
    ],
)
def test_shapes(array: Any, to: TensorSpec) -> None:
    """A leading 1 may be missing, and channels be last where they are wanted first."""
    array = np.arange(array.size, dtype=np.float64).reshape(array.shape)
    found = Preprocessing().of_array(array, to, is_picture=False)
    assert (found.shape, found.dtype) == (to.shape, np.float32)
    moved = array.shape != to.shape and array.shape != to.shape[1:]
    expected = np.moveaxis(array, -1, 0) if moved else array
    assert found.ravel().tolist() == expected.ravel().tolist()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [((5,), (1, 8)), ((2, 8), (1, 8)), ((3, 4, 5), (1, 4, 5, 3)), ((8, 2), (2, 8))],
)
def test_shapes_that_do_not_fit(given: Any, wanted: Any) -> None:
    with pytest.raises(QlowerError) as caught:
        Preprocessing().of_array(np.zeros(given), spec(*wanted), is_picture=False)
    assert caught.value.message == (
        f"it has shape {list(given)}, the model takes {list(wanted)}"
    )


def test_numbers_that_float32_does_not_hold() -> None:
    for value in (np.nan, np.inf, -np.inf, 1e39):
        array = np.array([[1.0, 2.0], [3.0, value]])
        with pytest.raises(NotFiniteError) as caught:
            Preprocessing().of_array(array, spec(1, 2, 2), is_picture=False)
        assert caught.value.message == f"element 3 is {value}"
    large = Preprocessing(deviation=(1e-38,)).of_array(
        np.array([3e38, -3e38]), spec(1, 2, dtype="int8"), is_picture=False
    )
    assert large.tolist() == [[127, -128]]


# Folders


def folder(root: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        path = root / name
        path.parent.mkdir(exist_ok=True)
        pillow.new("L", (2, 2), number).save(path)
    return root


GREY = Preprocessing(channels="grey")
SMALL = spec(1, 2, 2, 1)


def of_rows(source: Any, start: int, stop: int) -> list[Any]:
    """The first pixel and the classes of rows, and why others failed."""
    return [
        str(row)
        if isinstance(row, RowError)
        else (int(row.inputs[0].flat[0]), sorted(row.classes or ()))
        for row in source.rows(Chunk(start, stop))
    ]


@pytest.mark.parametrize(
    ("files", "names", "expected"),
    [
        (("b/1.png", "a/2.png", "b/3.png"), None, [(1, [0]), (0, [1]), (2, [1])]),
        (("b/1.png", "a/2.png"), ["c", "b", "a"], [(1, [2]), (0, [1])]),
        (("b/1.png", "2.png"), None, [(1, []), (0, [0])]),
        (("2.png", "1.bmp"), None, [(1, []), (0, [])]),
        (("2.png", "1.bmp"), ["a"], [(1, []), (0, [])]),
    ],
)
def test_classes_of_folders(
    files: Any, names: Any, expected: Any, tmp_path: Path
) -> None:
    """By their folders' names, in order or as given."""
    (tmp_path / "notes.txt").write_text("")
    root = folder(tmp_path, *files)
    source = picture_folder(SMALL, root, names, GREY, None)
    assert source.size == len(files)
    assert of_rows(source, 0, len(files)) == expected
    assert (source.labels is None) == ("/" not in "".join(files))


def test_folders_that_are_refused(tmp_path: Path) -> None:
    def refused(names: Any, labels: Any) -> str:
        with pytest.raises(QlowerError) as caught:
            picture_folder(SMALL, tmp_path, names, GREY, labels)
        return caught.value.message

    assert refused(None, None) == (
        f"{tmp_path} holds no pictures: the set of examples is empty"
    )
    folder(tmp_path, "b/1.png", "a/2.PNG", "c/x.png")
    assert refused(["c"], None) == f"{tmp_path / 'a'}: no class is called 'a'"
    one = frozenset([1])
    for labels in ([one] * 2, [one] * 4):
        told = f"there are {len(labels)} labels for 3 pictures"
        assert refused(None, labels) == told
    source = picture_folder(SMALL, tmp_path, ["c"], GREY, [one, None, one])
    assert of_rows(source, 0, 3) == [(1, [1]), (0, []), (2, [1])]


def test_what_is_said_of_a_folder(tmp_path: Path) -> None:
    source = picture_folder(SMALL, folder(tmp_path, "a.png", "b.png"), None, GREY, None)
    text = "to float32: grey, (pixel - (0)) / (1); label unknown"
    assert source.describe() == f"a.png (2x2 L) {text}"
    before = source.identity
    assert picture_folder(SMALL, tmp_path, None, GREY, None).identity == before
    pillow.new("L", (2, 2), 9).save(tmp_path / "b.png")
    assert picture_folder(SMALL, tmp_path, None, GREY, None).identity != before
    (tmp_path / "a.png").write_bytes(b"none\nof it")
    found = picture_folder(SMALL, tmp_path, None, GREY, None)
    assert isinstance(found, PictureFolder)
    assert found.describe().startswith("a.png (no picture: cannot identify image file")
    assert of_rows(found, 1, 2) == [(9, [])]
    (told,) = of_rows(found, 0, 1)
    assert told.startswith("a.png: no picture: cannot identify image file")


# Tables


def png(value: int) -> bytes:
    stream = BytesIO()
    pillow.new("L", (2, 2), value).save(stream, "PNG")
    return stream.getvalue()


def table(path: Path, columns: dict[str, Any], group: int = 2) -> Path:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    tables = pytest.importorskip("pyarrow.parquet")
    tables.write_table(arrow.table(columns), path, row_group_size=group)
    return path


BYTES = spec(1, 2, dtype="int8")


@pytest.mark.parametrize(
    ("to", "cells", "expected"),
    [
        (SMALL, [png(7), png(8)], [(7, []), (8, [])]),
        (SMALL, [{"bytes": png(7), "path": "a"}], [(7, [])]),
        (SMALL, [None, png(3)], ["'x' is empty", (3, [])]),
        (SMALL, [b"none"], ["no picture: cannot identify image file"]),
        (BYTES, [[1, -128], [127, 0]], [(1, []), (127, [])]),
        (BYTES, [[1, 128]], ["it holds int64, the input stores int8"]),
        (BYTES, [[-129, 1]], ["it holds int64, the input stores int8"]),
        (BYTES, [[1.0, 2.0]], [(1, [])]),
        (BYTES, [["a", "b"]], ["it holds <U1, not numbers of up to 64 bits"]),
        (spec(1, 2), [[1, 2]], ["it holds int64, the input stores float32"]),
        (TensorSpec("x", (1, 2), "int64"), [[2**40, 2]], [(2**40, [])]),
    ],
)
def test_cells_of_tables(to: Any, cells: Any, expected: Any, tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet", {"x": cells})
    found = of_rows(parquet_source((to,), [path], GREY, None), 0, len(cells))
    for one, wanted in zip(found, expected, strict=True):
        if isinstance(wanted, str):
            assert str(one).startswith(wanted)
        else:
            assert one == wanted


def test_rows_of_several_tables(tmp_path: Path) -> None:
    """Any run of rows, over groups and files; a class may be missing, or given."""
    one = table(tmp_path / "a", {"x": [[n, 0] for n in range(5)], "y": [4, 3, 2, 1, 0]})
    two = table(tmp_path / "b", {"x": [[n, 0] for n in (5, 6)], "y": [None, 8]})
    source = parquet_source((BYTES,), [one, two], GREY, None)
    assert isinstance(source, ParquetSource)
    assert [start for start, _, _ in source.groups] == [0, 2, 4, 5, 7]
    every = [*((n, [4 - n]) for n in range(5)), (5, []), (6, [8])]
    for start in range(7):
        for stop in range(start + 1, 8):
            assert of_rows(source, start, stop) == every[start:stop]
    told = "x of 2 files: grey, (pixel - (0)) / (1); label "
    assert source.describe() == told + "column 'y'"
    labels = [frozenset([n]) for n in range(7)]
    given = parquet_source((BYTES,), [one, two], GREY, labels)
    assert of_rows(given, 3, 7) == [(n, [n]) for n in range(3, 7)]
    assert given.describe() == told + "given"
    assert len({source.identity, given.identity}) == 2
    assert parquet_source((BYTES,), [one, two], GREY, None).identity == source.identity


@pytest.mark.parametrize(
    ("columns", "specs", "used"),
    [
        (("x",), ("x",), ("x",)),
        (("z", "x"), ("x",), ("x",)),
        (("z",), ("x",), ("z",)),
        (("z", "label"), ("x",), ("z",)),
        (("z", "image"), ("x",), ("image",)),
        (("picture", "img", "z"), ("x",), ("img",)),
        (("z", "w"), ("x",), None),
        (("a", "x", "b"), ("a", "b"), ("a", "b")),
        (("a", "z"), ("a", "b"), None),
        (("z", "w"), ("a", "b"), None),
    ],
)
def test_columns_of_tables(columns: Any, specs: Any, used: Any, tmp_path: Path) -> None:
    cells = {name: [[1, 2]] if name != "label" else [3] for name in columns}
    path = table(tmp_path / "a", cells)
    wanted = [TensorSpec(name, (1, 2), "int8", (1.0,), (0,)) for name in specs]
    if used is not None:
        source = parquet_source(wanted, [path], GREY, None)
        assert (source.columns, source.label) == (
            used,
            "label" if "label" in columns else None,
        )
        if source.label is None:
            assert source.describe().endswith("label unknown")
        return
    with pytest.raises(QlowerError) as caught:
        parquet_source(wanted, [path], GREY, None)
    assert caught.value.message == (
        f"{path}: of its columns ({', '.join(columns)}) none is called like an input: "
        f"{', '.join(specs)}"
    )


def test_tables_with_another_number_of_labels(tmp_path: Path) -> None:
    path = table(tmp_path / "a", {"x": [[1, 2]] * 3})
    one = frozenset([1])
    for count in (2, 4):
        with pytest.raises(QlowerError) as caught:
            parquet_source((BYTES,), [path], GREY, [one] * count)
        assert caught.value.message == f"there are {count} labels for 3 rows"
    (row,) = parquet_source((BYTES,), [path], GREY, [one] * 3).rows(Chunk(2, 3))
    assert isinstance(row, Row)
    table(tmp_path / "b", {"x": [[1, 2]][:0]})
    with pytest.raises(QlowerError, match="b: the set of examples is empty"):
        parquet_source((BYTES,), [tmp_path / "b"], GREY, None)
