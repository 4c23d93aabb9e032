"""Reading TOSA: shapes and names that are left open, contracts, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.formats.tosa import TOSA_LAYER

import qlower
from qlower.cli import main
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.frontends import converted
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load_text

LAYER = TOSA_LAYER.read_text()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(LAYER)
    return path


def load(text: str) -> qlower.Model:
    return load_text(text.encode(), "model.mlir", ImportOptions())


def replaced(old: str, new: str) -> str:
    assert old in LAYER
    return LAYER.replace(old, new)


def test_names_and_shapes(file: Path):
    model = qlower.load(file)
    assert [str(spec) for spec in model.inputs] == ["image: 1x4x4x4xuint8"]
    assert [str(spec) for spec in model.outputs] == ["scores: 1x16xuint8"]
    batch = qlower.load(file, shapes={"image": (3, 4, 4, 4)})
    assert batch.outputs[0].shape == (3, 16)


@pytest.mark.parts(4)
def test_unsigned_values(file: Path):
    x = np.random.default_rng(0).integers(0, 256, (1, 4, 4, 4)).astype(np.uint8)
    sums = 3 * (x.astype(np.int64) - 128).sum(-1).reshape(1, 16) - 40
    moved = (sums << 30) + np.where(sums >= 0, 1 << 30, -1 << 30) + (1 << 32)
    expected = (np.clip(moved >> 33, -90, 90) + 128).astype(np.uint8)
    np.testing.assert_array_equal(qlower.jit(file)(x), expected)
    for level in ("qnn", "arith", "kernel"):
        np.testing.assert_array_equal(qlower.interpret(file, x, at=level), expected)


def test_a_layer_is_one_nest(file: Path):
    """A convolution with its rescaling and clamp, between rescalings at the borders."""
    function = Compilation(file).function()
    assert function.outputs[0].dtype == "uint8"
    names = [op.name for op in Compilation(file).kernels.walk()]
    assert names.count("kernel.nest") == 3


def test_no_contract_applies(file: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", str(file), "--random", "--contract", "tflite"]) == 1
    assert "TOSA states its own arithmetic" in capsys.readouterr().err
    with pytest.raises(QlowerError, match="TOSA states its own arithmetic"):
        qlower.lower(file, layer_contracts={"conv2d*": "exact"})


@pytest.mark.parametrize("command", ["inspect", "lint", "import"])
def test_commands(command: str, file: Path):
    assert main([command, str(file)]) == 0


REFUSED = {
    # at the line and column of the operation or word
    replaced("SINGLE_ROUND", "HALF"): r"model.mlir:13:\d+: error: rounding_mode HALF",
    replaced("min_val = -90", "max_val = -90"): r":16:\d+: error: max_val is given",
    replaced("tosa.clamp", "tosa.fft2d"): ":16:10: error: .*tosa.fft2d is not supp",
    replaced("dense<33>", "dense<1>"): ":15:10: error: tosa.rescale: shift 1",
    replaced("[-1, 16]", "[-1, 7]"): ":17:10: error: tosa.reshape: 16 elements",
    replaced("%5 = tosa.rescale %4", "%5 = tosa.rescale %x"): ":18:23: error: operand",
    replaced("stride = array<i64: 1, 1>", "stride = 1"): ":14:10: error: tosa.conv2d",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_refusals(text: str):
    with pytest.raises(QlowerError, match=REFUSED[text]):
        load(text)


def test_names_of_operations():
    """Locations as mlir-opt prints them, behind their use, name the layers."""
    text = replaced("-> tensor<?x16xi8>\n", "-> tensor<?x16xi8> loc(#loc1)\n")
    named = load(f'{text}#loc = loc(unknown)\n#loc1 = loc("flat/Reshape"(#loc))\n')
    assert "flat/Reshape" in named.full_names.values()
    with pytest.raises(QlowerError, match="re-declaration of alias '#loc'"):
        load(f"{text}#loc = loc(unknown)\n#loc = loc(unknown)\n")


def test_an_unknown_size_that_does_not_fit(file: Path):
    with pytest.raises(QlowerError, match=r"shape \[1, 5, 4, 4\] doesn't fit"):
        qlower.load(file, shapes={"image": (1, 5, 4, 4)})


def test_tools_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(converted, "find_tool", lambda *_: None)
    bytecode = tmp_path / "model.mlirbc"
    bytecode.write_bytes(b"ML\xefR")
    with pytest.raises(QlowerError, match="bytecode needs mlir-opt") as error:
        qlower.load(bytecode)
    assert "pip install" in (error.value.help or "")
    monkeypatch.setattr(converted, "files", lambda _: None)
    flatbuffer = tmp_path / "model.tosa"
    flatbuffer.write_bytes(b"TOSA")
    with pytest.raises(QlowerError, match="need tosa-opt"):
        qlower.load(flatbuffer)
