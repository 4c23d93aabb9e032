"""A float model as a side: layers of the same name, in steps of the quantized one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.onnx_builder import OnnxBuilder

import qlower
from qlower.cli import main

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")

WEIGHTS = np.random.default_rng(4).integers(-127, 127, (5, 4)).astype("i1")
STEP, SCALE, OUTPUT = 0.02, 0.01, 0.05


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A quantized product under a tool's name, with a wrong bias of one channel after
    it, and the float model."""
    build = OnnxBuilder()
    build.input("x", (1, 5), "u1")
    operands = [
        *("x", *build.parameters(STEP, 120, "u1")),
        *(build.constant(WEIGHTS), *build.parameters(SCALE, 0, "i1")),
        *build.parameters(OUTPUT, 128, "u1"),
    ]
    build.node("QLinearMatMul", operands, "product:0_QuantizeLinear_Output")
    build.output("product:0_QuantizeLinear_Output", "u1")
    quantized = build.save(tmp_path / "quantized.onnx")
    build = OnnxBuilder()
    build.input("x", (1, 5), "f4")
    weights = build.constant(WEIGHTS.astype(np.float32) * np.float32(SCALE))
    build.node("MatMul", ["x", weights], "product:0")
    build.output("product:0", "f4")
    return quantized, build.save(tmp_path / "real.onnx")


def test_layers_differ_by_roundings_alone(files: tuple[Path, Path]) -> None:
    quantized, real = files
    x = np.random.default_rng(5).integers(60, 180, (30, 1, 5)).astype("u1")
    found = qlower.diff(real, "onnxruntime", quantized, x)
    (layer,) = (one for one in found.layers if one.carried is not None)
    assert layer.carried is not None
    assert layer.carried.elements == 30 * 4
    assert layer.carried.largest <= 1
    assert layer.carried.decibels is None or layer.carried.decibels > 30
    assert any("rounded to the nearest stored" in note for note in found.notes)


def test_command(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    quantized, real = files
    code = main(["diff", str(real), "pow2-shift", str(quantized), "--random"])
    assert code in (0, 1)
    assert "product" in capsys.readouterr().out


def test_elements_of_layers_with_colons(files: tuple[Path, Path]) -> None:
    """The name of a layer is no name of one of several results."""
    quantized, real = files
    x = np.full((1, 5), 255, "u1")
    found = qlower.diff(real, "pow2-shift", quantized, x)
    assert not found.is_equal
    assert found.chain is not None
