"""Examples of arrays, files, folders, tables and pictures give equal counts."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.cli import main
from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array
from qlower.process.extras import install_line
from qlower.validation import pictures
from qlower.validation.preprocessing import Preprocessing
from qlower.validation.result import Validation

Capture = pytest.CaptureFixture[str]


def folder_of_shards(folder: Path, images: Array, labels: Array) -> None:
    np.save(folder / "a.npy", images[:200])
    np.save(folder / "b.npy", images[200:])
    np.save(folder / "labels.npy", labels)


def one_file(folder: Path, images: Array, labels: Array) -> None:
    """Of another name than the model's input."""
    np.save(folder / "pictures.npy", images)
    np.save(folder / "labels.npy", labels)


def compressed(folder: Path, images: Array, labels: Array) -> None:
    np.savez_compressed(folder / "digits.npz", image=images, labels=labels)


def parquet(folder: Path, images: Array, labels: Array) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    tables = pytest.importorskip("pyarrow.parquet")
    rows = {"image": [x.reshape(8, 8, 1).tolist() for x in images], "label": labels}
    tables.write_table(arrow.table(rows), folder / "digits.parquet", row_group_size=99)


def reals(folder: Path, images: Array, labels: Array) -> None:
    np.savez(folder / "x.npz", image=(images.astype(np.float32) + 128) / 255, y=labels)


@pytest.mark.parts(5)
@pytest.mark.parametrize(
    "write", [folder_of_shards, one_file, compressed, parquet, reals]
)
def test_sources_give_the_same(
    model: Path,
    images: Array,
    labels: Array,
    tmp_path: Path,
    expected: Validation,
    write: Callable[[Path, Array, Array], None],
):
    write(tmp_path, images, labels)
    found = qlower.validate(
        model, tmp_path, contracts=tuple(expected.counts), against="tflite"
    )
    assert found == expected


def test_labels_beside_a_table(
    model: Path, images: Array, labels: Array, tmp_path: Path, expected: Validation
):
    """Those of a file are met row by row; its own column isn't looked at."""
    folder, file = tmp_path / "digits", tmp_path / "labels.npy"
    folder.mkdir()
    parquet(folder, images, np.zeros_like(labels))
    np.save(file, labels)
    found = qlower.validate(
        model, folder, contracts=tuple(expected.counts), against="tflite", labels=file
    )
    assert found == expected


@pytest.mark.parts(5)
def test_dask_arrays(model: Path, images: Array, labels: Array, expected: Validation):
    dask = pytest.importorskip("dask.array", reason="dask is not installed")
    data = {
        "image": dask.from_array(images, chunks=(50, 1, 8, 8, 1)),
        "label": dask.from_array(labels, chunks=50),
    }
    found = qlower.validate(
        model, data, contracts=tuple(expected.counts), against="tflite"
    )
    assert found == expected


def test_pictures_in_folders(model: Path, images: Array, labels: Array, tmp_path: Path):
    """Pictures are read, and those that can't be are counted and named."""
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for index in range(60):
        folder = tmp_path / str(labels[index])
        folder.mkdir(exist_ok=True)
        pixels = (images[index].reshape(8, 8).astype(int) + 128).astype(np.uint8)
        pillow.fromarray(pixels).save(folder / f"{index:02}.png")
    (tmp_path / "3" / "broken.png").write_bytes(b"\x89PNG nothing")
    wide = pillow.new("I;16", (8, 8))
    wide.save(tmp_path / "3" / "wide.png")
    pillow.new("L", (9, 8)).save(tmp_path / "3" / "large.png")
    for preprocessing in (
        Preprocessing(channels="grey", mean=(0.0,), deviation=(255.0,)),
        Preprocessing(channels="grey", is_stored=True),
    ):
        found = qlower.validate(model, tmp_path, preprocessing=preprocessing)
        scores = qlower.jit(model)(images[:60]).reshape(60, -1)
        hits = np.count_nonzero(scores.argmax(axis=1) == labels[:60])
        assert found.counts["tflite"].top1 == hits
        reasons = [reason for _, reason in found.failures]
        assert found.failed == len(reasons) == 3
        assert "broken.png: no picture" in reasons[0]
        assert "large.png: it has shape [8, 9, 1]" in reasons[1]
        assert "wide.png: a picture of mode I;16" in reasons[2]
        assert "3 of 63 rows could not be used" in str(found)


def test_pictures_of_which_none_fits(model: Path, images: Array, tmp_path: Path):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pillow.new("RGB", (8, 8)).save(tmp_path / "one.png")
    command = ["validate", str(model), "--data", str(tmp_path), "--stored-pixels"]
    assert main(command) == 1
    assert main([*command, "--channels", "grey"]) == 0


@pytest.mark.parametrize("shape", [(99999999999, 99999999), (1 << 32, 1 << 32)])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_sizes_whose_product_wraps(
    shape: tuple[int, ...], suffix: str, model: Path, tmp_path: Path, capsys: Capture
):
    path = tmp_path / f"x{suffix}"
    data = io.BytesIO()
    head = {"descr": "|i1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(data, head)
    if suffix == ".npy":
        path.write_bytes(data.getvalue())
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("image.npy", data.getvalue())
    assert main(["validate", str(model), "--data", str(path)]) == 1
    assert "bytes of data" in capsys.readouterr().err


def test_a_folder_of_labels_alone(model: Path, tmp_path: Path, capsys: Capture):
    for name in ("label.npy", "labels.npy"):
        np.save(tmp_path / name, np.zeros(3, np.int64))
    assert main(["validate", str(model), "--data", str(tmp_path)]) == 1
    assert "holds labels: the set of examples is empty" in capsys.readouterr().err


def test_a_damaged_table(model: Path, images: Array, tmp_path: Path, capsys: Capture):
    """Its pages are read long after its schema."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    rows = images[:20].reshape(20, -1).tolist()
    parquet.write_table(arrow.table({"image": rows}), path, use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = bytes(len(data) // 2 - 4)
    path.write_bytes(data)
    given = ["validate", str(model), "--data", str(path)]
    assert main(given) == 1
    assert f"cannot read {path}" in capsys.readouterr().err
    parquet.write_table(arrow.table({"image": rows[:0]}), path)
    assert main(given) == 1
    assert "the set of examples is empty" in capsys.readouterr().err


def test_cropped_pictures_of_named_classes(
    model: Path, images: Array, labels: Array, tmp_path: Path, capsys: Capture
):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    order = np.array([0, 1, 2, 5, 4, 3, 6, 7, 8, 9])
    names = [f"class {number}" for number in order]
    for index in range(20):
        folder = tmp_path / f"class {labels[index]}"
        folder.mkdir(exist_ok=True)
        pixels = (images[index].reshape(8, 8).astype(int) + 128).astype(np.uint8)
        large = pillow.fromarray(np.pad(pixels, ((2, 2), (4, 4))))
        large.convert("RGB").save(folder / f"{index:02}.png")
    (tmp_path / "names.txt").write_text("\n".join(names))
    command = ["validate", str(model), "--data", str(tmp_path), "--stored-pixels"]
    sizes = ["--channels", "grey", "--resize", "12", "--crop", "8"]
    words = [*command, *sizes, "--class-names", str(tmp_path / "names.txt")]
    assert main([*words, "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["contracts"]
    scores = qlower.jit(qlower.load(model))(images[:20]).reshape(20, -1)
    assert found["top1"] == np.mean(scores.argmax(axis=1) == order[labels[:20]]) > 0


@pytest.mark.parametrize("module", ["PIL.Image", "pyarrow.parquet"])
def test_a_reader_that_is_not_installed(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(pictures, "import_module", missing)
    name = module.partition(".")[0]
    with pytest.raises(QlowerError, match=f"{name} is not installed") as refused:
        pictures._import(module)  # pyright: ignore[reportPrivateUsage]
    assert refused.value.help == install_line("data")
