"""Files that a model depends on are looked for where the model lies now."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_cases import CASES
from support.layers.custom_contracts import ADDING
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.cli import main
from qlower.cli.opt import main as opt
from qlower.kept.cache import DIRECTORY
from qlower.kept.journal import Journal, read_file, read_given
from qlower.model.random_inputs import random_input
from qlower.model.signature import Array, TensorSpec


def write_external(folder: Path, number: int) -> str:
    """An ONNX file whose weights lie in a file of their own."""
    onnx: Any = import_module("onnx")
    model = onnx.ModelProto.FromString(CASES["conv"]().build())
    tensor = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    (folder / "data").mkdir()
    (folder / "data" / "w.bin").write_bytes(bytes([number]) + tensor.raw_data[1:])
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="data/w.bin")
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return "model.onnx"


def write_named(folder: Path, number: int) -> str:
    """A model and one of its layers that name contract files, of which one has a base
    in another folder, which has one beside itself."""
    text = SMALL_MODEL.replace('"tflite"', '"./a.mlir"')
    text = text.replace("{stride", '{contract = "bases/b.mlir", stride')
    base = 'module attributes {{contract.base = "{}"}} {{}}\n'
    (folder / "model.mlir").write_text(text)
    (folder / "a.mlir").write_text(base.format("bases/b.mlir"))
    (folder / "bases").mkdir()
    (folder / "bases" / "b.mlir").write_text(base.format("./c.mlir"))
    (folder / "bases" / "c.mlir").write_text(
        ADDING.format(base="onnxruntime", added=number)
    )
    return "model.mlir"


WRITERS: dict[str, Callable[[Path, int], str]] = {
    "external data": write_external,
    "contracts": write_named,
}


@pytest.fixture(params=WRITERS)
def name(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """The name of a model that is in the folders 1 and 2, where files beside it differ;
    the folder `current` is a link to the first."""
    if request.param == "external data":
        pytest.importorskip("onnx", reason="onnx is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(DIRECTORY, str(tmp_path / "cache"))
    write = WRITERS[request.param]
    for number in (1, 2):
        Path(str(number)).mkdir()
        name = write(Path(str(number)), number)
    Path("current").symlink_to("1")
    return name


def run(model: str | Path | qlower.Model) -> Array:
    function = qlower.jit(model)
    return np.asarray(function(*inputs(function.inputs)))


def inputs(specs: Sequence[TensorSpec]) -> list[Array]:
    return [random_input(spec, np.random.default_rng(0)) for spec in specs]


def interpreted(path: str) -> Array:
    return np.asarray(qlower.interpret(path, *inputs(qlower.load(path).inputs)))


@pytest.mark.parts(10)
def test_the_same_model_beside_other_files(name: str):
    for folder in "121":
        path = f"{folder}/{name}"
        np.testing.assert_array_equal(run(path), interpreted(path))
    assert (run(f"1/{name}") != run(f"2/{name}")).any()


@pytest.mark.parts(10)
def test_absolute_paths(name: str):
    first = run(Path("1", name).absolute())
    assert (run(Path("2", name).absolute()) != first).any()


def test_the_hash_of_a_model_covers_its_files(tmp_path: Path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    digests: set[str] = set()
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / write_external(folder, number)
        digests.add(qlower.compile(path).interface.model_sha256)
    assert len(digests) == 2
    plain = tmp_path / "plain.onnx"
    plain.write_bytes(CASES["conv"]().build())
    expected = sha256(plain.read_bytes()).hexdigest()
    assert qlower.compile(plain).interface.model_sha256 == expected


@pytest.mark.parts(2)
def test_a_link_that_leads_elsewhere(name: str):
    first = run(f"current/{name}")
    Path("current").unlink()
    Path("current").symlink_to("2")
    assert (run(f"current/{name}") != first).any()


@pytest.mark.parts(2)
def test_another_working_directory(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir("1")
    first = run(name)
    monkeypatch.chdir("../2")
    assert (run(name) != first).any()
    assert (run(f"../1/{name}") == first).all()


@pytest.mark.parts(2)
def test_a_copy_whose_files_are_replaced(name: str):
    first = run(f"1/{name}")
    shutil.copytree("1", "copy")
    np.testing.assert_array_equal(run(f"copy/{name}"), first)
    shutil.rmtree("copy")
    shutil.copytree("2", "copy")
    assert (run(f"copy/{name}") != first).any()
    for file in filter(Path.is_file, Path("1").rglob("*")):
        shutil.copy(file, Path("copy", *file.parts[1:]))
    np.testing.assert_array_equal(run(f"copy/{name}"), first)


def test_a_model_in_memory(name: str):
    first = run(f"1/{name}")
    np.testing.assert_array_equal(run(qlower.load(f"1/{name}")), first)


@pytest.mark.parts(2)
def test_an_imported_model_names_the_same_files(name: str):
    first = run(f"1/{name}")
    Path("out").mkdir()
    assert main(["import", f"1/{name}", "-o", "out/imported.mlir"]) == 0
    np.testing.assert_array_equal(run("out/imported.mlir"), first)


@pytest.mark.parts(10)
def test_qlower_opt_finds_them_too(name: str):
    """In its input and its output, and in the files of --dump-ir."""
    if not name.endswith(".mlir"):
        pytest.skip("it reads text alone")
    first = run(f"1/{name}")
    Path("out").mkdir()
    assert opt([f"1/{name}", "-o", "out/opt.mlir"]) == 0
    np.testing.assert_array_equal(run("out/opt.mlir"), first)
    assert opt([f"1/{name}", "-p", "lower-qnn", "-o", "out/arith.mlir"]) == 0
    np.testing.assert_array_equal(run("out/arith.mlir"), first)
    words = ["run", f"1/{name}", "--random", "--dump-ir", "out/ir"]
    assert main(words) == 0
    (written,) = Path("out/ir").glob("*-input.mlir")
    np.testing.assert_array_equal(run(str(written)), first)


def test_a_missing_file_is_part_of_what_was_read(tmp_path: Path):
    """As that of a tensor which nothing uses yet."""
    journal = Journal(str(tmp_path))
    with journal.kept(), pytest.raises(FileNotFoundError):
        read_file(tmp_path / "x.bin")
    read = dict(journal.hashes), journal.beside_model()
    assert read[1] == {"x.bin": b""}
    assert Journal(str(tmp_path)).has_read(*read)
    (tmp_path / "x.bin").write_bytes(b"1")
    assert not Journal(str(tmp_path)).has_read(*read)


def test_a_model_that_is_read_in_another_role_too(tmp_path: Path):
    """As an ONNX file that has its weights behind the graph."""
    (tmp_path / "m.onnx").write_bytes(b"1")
    journal = Journal(str(tmp_path))
    with journal.kept():
        read_given(tmp_path / "m.onnx")
        assert not journal.hashes
        read_file(tmp_path / "m.onnx")
    assert journal.beside_model().keys() == {"m.onnx"}
