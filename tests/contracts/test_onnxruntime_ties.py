"""The ONNX Runtime contract against the installed one, on all values at once.

Every code, every pair of codes, and accumulators at and beside ties, for scales whose
ratios are simple or next to that: what rounds otherwise is among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import TypeAlias

import numpy as np
import pytest
from support import edge_values
from support.native import machine_levels
from support.onnx_runtime import run_onnx_runtime
from support.random_modules import Draw, RandomLayer
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

import qlower
from qlower.compilation import Compilation
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.interp.values import Array
from qlower.model.build import constant, make_module, quantized

pytestmark = [
    pytest.mark.skipif(
        find_spec("onnx") is None or find_spec("onnxruntime") is None,
        reason="onnx and onnxruntime are not installed",
    ),
    pytest.mark.skipif(
        "avx512vnni" not in machine_levels(),
        reason="the contract is that of a CPU with AVX-512 VNNI",
    ),
]

Shape: TypeAlias = tuple[int, ...]
Unary: TypeAlias = Callable[[SSAValue, Attribute], SSAValue]
Binary: TypeAlias = Callable[[SSAValue, SSAValue, Attribute], SSAValue]

UNARY: Sequence[Unary] = (
    lambda x, y: qnn.LeakyReluOp(x, y, alpha=0.30000001192092896).result,
    lambda x, y: qnn.SigmoidOp(x, y).result,
    lambda x, y: qnn.ConcatOp([x], y, axis=0).result,
    lambda x, y: qnn.ClampOp(x, y, min=-1.5, max=3.0).result,
)
"""Of each code."""

PAIRS = 256 * 256

ROWS: Sequence[tuple[Shape, Shape, Unary]] = (
    ((PAIRS, 2), (PAIRS, 2), lambda x, y: qnn.SoftmaxOp(x, y).result),
    ((PAIRS, 2, 1, 1), (PAIRS, 1, 1, 1), lambda x, y: _mean(x, y)),
    ((1, PAIRS, 2, 1), (1, PAIRS, 1, 1), lambda x, y: _average(x, y)),
)
"""Of each pair of codes: the shapes of input and result."""

BINARY: Sequence[tuple[float, Binary]] = (
    (1.0, lambda a, b, y: qnn.AddOp(a, b, y).result),
    (1 / 64, lambda a, b, y: qnn.MulOp(a, b, y).result),
)
"""Of each pair of codes: about which part of a step of the result the operands make."""


def _mean(x: SSAValue, y: Attribute) -> SSAValue:
    return qnn.MeanOp(x, y, axes=[1, 2], keep_dims=True).result


def _average(x: SSAValue, y: Attribute) -> SSAValue:
    return qnn.AvgPool2DOp(x, y, kernel=(1, 2)).result


def layers(draw: Draw) -> Iterator[RandomLayer]:
    """Layers of every kind with parameters of `draw`."""
    pairs = np.stack(edge_values.every_pair(draw.dtype), axis=-1)
    codes = pairs[0, :, 1]
    for make in UNARY:
        yield _unary(draw, codes, codes.shape, make)
    for shape, result, make in ROWS:
        yield _unary(draw, pairs.reshape(shape), result, make)
    for part, make in BINARY:
        yield _binary(draw, pairs, part, make)
    yield _accumulators(draw)


def _result(draw: Draw, shape: Shape, scale: float) -> TensorType[Attribute]:
    """A result of which a step is about one of `scale`, in a simple ratio to it."""
    ratio = edge_values.ratio(draw.random, 1 / 4, 2)
    return draw.activation(shape, edge_values.float32(scale * ratio))


def _unary(draw: Draw, x: Array, result: Shape, make: Unary) -> RandomLayer:
    type = draw.activation(x.shape)
    # Shares of a row are less than 1, however large its values.
    is_share = x.shape == result == (PAIRS, 2)
    scale = 1 / 32 if is_share else quantized_element(type).scale
    y = _result(draw, result, scale)
    module = make_module([type], lambda a: [make(a, y)])
    return RandomLayer(module, [x])


def _binary(draw: Draw, pairs: Array, part: float, make: Binary) -> RandomLayer:
    shape = pairs.shape[:2]
    y = draw.activation(shape)
    scale = quantized_element(y).scale
    a = _result(draw, shape, scale)
    other = part * scale / quantized_element(a).scale if part < 1 else scale
    b = _result(draw, shape, other)
    module = make_module([a, b], lambda a, b: [make(a, b, y)])
    return RandomLayer(module, [pairs[..., 0].copy(), pairs[..., 1].copy()])


def _accumulators(draw: Draw) -> RandomLayer:
    """A linear layer whose biases are accumulators at ties and beside them."""
    steps = draw.pick(1, 60)
    bias = np.arange(-600, 600).repeat(3) * steps + np.tile([-1, 0, 1], 1200)
    x, w = draw.activation((1, 1)), quantized((bias.size, 1), draw.scale())
    product = quantized_element(x).scale * quantized_element(w).scale
    y = draw.activation(
        (1, bias.size), edge_values.near(draw.random, product * 2 * steps)
    )
    weights = np.zeros((bias.size, 1), np.int8)

    def body(rows: SSAValue) -> list[SSAValue]:
        b = constant(bias.astype(np.int32))
        return [qnn.LinearOp(rows, constant(weights, w), b, y).result]

    return RandomLayer(make_module([x], body), [draw.codes((1, 1))])


def _compare(seeds: Sequence[int]) -> int:
    """How many outputs were compared, and equal."""
    compared = 0
    for seed in seeds:
        draw = Draw(seed, signed=seed % 2 == 1)
        for index, layer in enumerate(layers(draw)):
            expected = run_onnx_runtime(layer)
            model = qlower.Model(layer.module)
            interpreter = Compilation(model, "onnxruntime").interpreter("qnn")
            ((result,), _) = interpreter.run(layer.inputs, {})
            np.testing.assert_array_equal(result, expected, f"seed {seed}, {index}")
            compared += expected.size
    return compared


def test_all_values() -> None:
    assert _compare([0]) >= 100_000


@pytest.mark.long
def test_all_values_with_many_scales() -> None:
    assert _compare(range(1, 60)) >= 20_000_000
