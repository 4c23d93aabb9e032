"""Operators that stay real in ONNX Runtime: its bits, interpreted and in native code.

Each stands between DequantizeLinear and QuantizeLinear in a model of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.onnx_models import make_session

import qlower
from qlower.interp.values import Array

helper = pytest.importorskip("onnx.helper", reason="onnx is not installed")
numpy_helper = pytest.importorskip("onnx.numpy_helper")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

Shape = Sequence[int]


def model_of(
    operator: str,
    shapes: Sequence[Shape],
    attributes: Mapping[str, Any],
    seed: int,
    more: Sequence[Array] = (),
) -> bytes:
    """Real inputs are quantized to uint8, go through the operator with constant
    operands behind them, and are quantized again; both results are outputs."""
    random = np.random.default_rng(seed)
    constants: list[Any] = []

    def constant(value: Array | np.generic) -> str:
        name = f"c{len(constants)}"
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def quantization() -> list[str]:
        scale = np.float32(np.exp(random.uniform(-5, -2)))
        return [constant(scale), constant(np.uint8(random.integers(0, 256)))]

    nodes: list[Any] = []
    reals: list[str] = []
    for index in range(len(shapes)):
        step = quantization()
        nodes += [
            helper.make_node("QuantizeLinear", [f"x{index}", *step], [f"q{index}"]),
            helper.make_node("DequantizeLinear", [f"q{index}", *step], [f"r{index}"]),
        ]
        reals.append(f"r{index}")
    reals += map(constant, more)
    nodes += [
        helper.make_node(operator, reals, ["real"], **attributes),
        helper.make_node("QuantizeLinear", ["real", *quantization()], ["y"]),
    ]
    feeds = [
        helper.make_tensor_value_info(f"x{index}", 1, shape)
        for index, shape in enumerate(shapes)
    ]
    outputs = [
        helper.make_tensor_value_info(*out, None) for out in (("real", 1), ("y", 2))
    ]
    graph = helper.make_graph(nodes, "island", feeds, outputs, constants)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=8
    ).SerializeToString()


def check(model: bytes, shapes: Sequence[Shape], folder: Path, seed: int) -> int:
    """How many numbers ONNX Runtime and every executor gave alike."""
    random = np.random.default_rng(seed)
    inputs = [random.normal(0, 3, shape).astype(np.float32) for shape in shapes]
    feed = {f"x{index}": x for index, x in enumerate(inputs)}
    expected = make_session(model, "ENABLE_ALL").run(None, feed)
    path = folder / "island.onnx"
    path.write_bytes(model)
    loaded = qlower.load(path)
    for found in (
        qlower.jit(loaded)(*inputs),
        qlower.interpret(loaded, *inputs, at="qnn"),
    ):
        for array, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(array, wanted)
    return sum(array.size for array in expected)


IMAGE = (2, 5, 7, 9)
ROW = (5, 1, 9)

UNARY = {
    "Abs": {},
    "Ceil": {},
    "Floor": {},
    "HardSigmoid": {"alpha": 1 / 6, "beta": 0.5},
    "HardSwish": {},
    "Neg": {},
    "Round": {},
}


@pytest.mark.parametrize("operator", UNARY)
def test_one_operand(operator: str, tmp_path: Path) -> None:
    model = model_of(operator, [IMAGE], UNARY[operator], 1)
    check(model, [IMAGE], tmp_path, 2)


@pytest.mark.parametrize("operator", ["Div", "Max", "Min", "Sub"])
def test_two_operands(operator: str, tmp_path: Path) -> None:
    shapes = [IMAGE, ROW]
    check(model_of(operator, shapes, {}, 3), shapes, tmp_path, 4)


@pytest.mark.parametrize("size", [(7, 7), (3, 3), (5, 6), (1, 3), (2, 1), (8, 8)])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_mean(size: tuple[int, int], keepdims: int, tmp_path: Path) -> None:
    """Of rows that begin at any place of a vector, shorter ones than it among them."""
    shapes = [(2, 37, *size)]
    attributes = {"axes": [2, 3], "keepdims": keepdims}
    check(model_of("ReduceMean", shapes, attributes, 5), shapes, tmp_path, 6)
