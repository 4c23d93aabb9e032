"""Layers on real numbers between quantized ones: whose kernels made them, and the layer
in which one sum was made in another order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_builder import TFLiteBuilder
from support.systems.litert import run_litert

import qlower
from qlower.interp.values import Array
from qlower.model import Model

KERNELS = {"tflite": "ref", "tflite-ruy": "opt"}

LIKE = {
    "tflite": {"tflm"},
    "tflite-ruy": set[str](),
    "tflite-xnnpack": {"xnnpack"},
    "onnxruntime": {"onnxruntime-avx2"},
}
"""The systems, and others whose rules for real numbers are theirs."""

TRIED = [*LIKE, *(other for others in LIKE.values() for other in others)]

POOL_IN_LANES = """
module attributes {contract.base = "tflite"} {
func.func @real_average_pool() -> f32 {
  %n = arith.sitofp %count : i32 to f32
  %result = arith.divf @in_lanes, %n : f32
}
func.func private @in_lanes(%input: f32) -> f32 attributes {contract.rows = "lanes"} {
  return %input : f32
}
}
"""
"""The reference kernels', but for the order in which a window is added."""


def island() -> bytes:
    """A convolution, an average pool and a linear layer on float32, whose input is
    dequantized and whose result is quantized."""
    draw = np.random.default_rng(7)
    build = TFLiteBuilder()

    def real(name: str, *shape: int, data: Array | None = None) -> int:
        return build.tensor(name, shape, "float32", data=data)

    def drawn(*shape: int) -> NDArray[np.float32]:
        return draw.normal(0, 1, shape).astype(np.float32)

    x = build.tensor("x", (1, 8, 8, 5), scale=0.05, zero_point=3)
    taken, image = real("real", 1, 8, 8, 5), real("image", 1, 6, 6, 8)
    pooled, scores = real("pooled", 1, 2, 2, 8), real("scores", 1, 11)
    stored = build.tensor("stored", (1, 11), scale=0.1)
    build.operator("DEQUANTIZE", [x], [taken])
    filters = real("filters", 8, 3, 3, 5, data=drawn(8, 3, 3, 5))
    slide = {"padding": 1, "stride_h": 1, "stride_w": 1}
    build.operator(
        "CONV_2D", [taken, filters, real("b", 8, data=drawn(8))], [image], slide
    )
    window = {**slide, "stride_h": 3, "stride_w": 3}
    window |= {"filter_height": 3, "filter_width": 3}
    build.operator("AVERAGE_POOL_2D", [image], [pooled], window)
    units = real("units", 11, 32, data=drawn(11, 32))
    operands = [pooled, units, real("c", 11, data=drawn(11))]
    build.operator("FULLY_CONNECTED", operands, [scores], {})
    build.operator("QUANTIZE", [scores], [stored])
    return build.build([x], [scores, stored])


@pytest.fixture
def model(tmp_path: Path) -> Model:
    path = tmp_path / "model.tflite"
    path.write_bytes(island())
    return qlower.load(path)


CODES = np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 5)).astype(np.int8)


@pytest.mark.parts(4)
@pytest.mark.parametrize("contract", LIKE)
def test_every_layer_names_one_system(contract: str, model: Model) -> None:
    """Others explain as much if their rules are the same for all inputs."""
    layers: dict[str, Array] = {}
    qlower.interpret(model, CODES, contract=contract, at="qnn", layers=layers)
    found = qlower.identify(layers, model, CODES, contracts=TRIED)
    assert found.best.name == contract
    assert set(found.names) == {contract, *LIKE[contract]}
    assert all(other.verdict == "equal" for other in found.alike)


@pytest.mark.parametrize("contract", KERNELS)
def test_kernels_of_litert_are_named_by_their_results(
    contract: str, model: Model
) -> None:
    """Not the delegate's, whose average pools of float32 no contract states."""
    pytest.importorskip("ai_edge_litert", reason="needs LiteRT (ai-edge-litert)")
    scores, _ = run_litert(island(), [CODES], kernels=KERNELS[contract])
    found = qlower.identify({"scores": scores}, model, CODES, contracts=[*LIKE])
    assert found.names == [contract]


def test_a_planted_order_of_a_pool_is_named(model: Model, tmp_path: Path) -> None:
    mine = tmp_path / "mine.mlir"
    mine.write_text(POOL_IN_LANES)
    found = qlower.diff("tflite", str(mine), model, CODES)
    assert found.guilty is not None
    assert found.guilty.name == "pooled"
    assert "sequential" in str(found)
    assert "lanes" in str(found)
