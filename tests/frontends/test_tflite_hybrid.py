"""Layers of float32 with weights of 8 bits, beside LiteRT's reference kernels."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_cases import CASES
from support.formats.tflite_hybrid_cases import HYBRID, WINDOW, layer
from support.lanes import LARGE_VARIABLE, is_asked_for
from support.systems.litert import run_litert

import qlower
from qlower.diagnostics import QlowerError

needs_litert = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)

SEEDS = 20 if is_asked_for(LARGE_VARIABLE) else 8


def drawn(shape: tuple[int, ...], seed: int) -> NDArray[np.float32]:
    """Values of several sizes; whole ones, whose codes are ties; ranges that are
    symmetric, of one sign, or 0."""
    random = np.random.default_rng(seed)
    size = np.exp(random.uniform(-3, 3))
    values = random.normal(random.normal(), 1, shape) * size
    match seed % 5:
        case 1:
            values = np.rint(random.normal(0, 20, shape))
        case 2:
            ends = random.integers(1, 60) + 0.5
            values = np.clip(np.rint(random.normal(0, ends, shape)), -ends, ends)
        case 3:
            values = np.abs(values)
        case 4:
            values[0] = 0
        case _:
            pass
    return values.astype(np.float32)


@pytest.mark.parts(17)
@needs_litert
@pytest.mark.parametrize("case", HYBRID)
def test_bits(case: str, tmp_path: Path) -> None:
    path = tmp_path / "layer.tflite"
    path.write_bytes(HYBRID[case]())
    model = qlower.load(path)
    function = qlower.jit(model)
    shape = model.inputs[0].shape
    for x in [*(drawn(shape, seed) for seed in range(SEEDS)), np.zeros(shape, "f4")]:
        (expected,) = run_litert(path.read_bytes(), [x])
        for found in (function(x), qlower.interpret(model, x, at="qnn")):
            assert isinstance(found, np.ndarray)
            np.testing.assert_array_equal(found.view("i4"), expected.view("i4"))


def test_remark(tmp_path: Path) -> None:
    for case, count in (("fully_connected_float", 1), ("fully_connected_hybrid", 0)):
        path = tmp_path / "model.tflite"
        path.write_bytes(CASES[case]())
        remarks = qlower.load(path).remarks
        assert len(remarks) == count
        assert all("nothing in this model is quantized" in text for text in remarks)


def test_filters_without_scales_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "layer.tflite"
    shapes = (1, 4, 4, 6), (1, 3, 3, 6), (1, 2, 4, 6)
    path.write_bytes(layer("DEPTHWISE_CONV_2D", *shapes, WINDOW)())
    with pytest.raises(QlowerError, match="one scale of 6 filters on FLOAT32"):
        qlower.load(path)


def test_bias_of_minus_zero(tmp_path: Path) -> None:
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 4), "float32")
    w = builder.tensor("w", (2, 4), scale=0.1, data=[1] * 8)
    b = builder.tensor("b", (2,), "float32", data=np.array([1.0, -0.0], np.float32))
    y = builder.tensor("y", (1, 2), "float32")
    builder.operator("FULLY_CONNECTED", [x, w, b], [y], {})
    path = tmp_path / "layer.tflite"
    path.write_bytes(builder.build([x], [y]))
    with pytest.raises(QlowerError, match="tensor 2 'b': a bias of -0"):
        qlower.load(path)
