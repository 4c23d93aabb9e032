"""Layers of one operation that give all values they can.

Every code, every pair of codes, and accumulators at and beside ties, for scales whose
ratios are simple or next to that: what rounds otherwise is among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType, f16
from xdsl.ir import Attribute, SSAValue

import qlower
from qlower.compilation.compilation import Compilation
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.interp.values import Array
from qlower.model.build import constant, make_module, quantized
from support.layers.random_modules import Draw, RandomLayer
from support.values import edge_values

Shape: TypeAlias = tuple[int, ...]
Unary: TypeAlias = Callable[[SSAValue, Attribute], SSAValue]
Binary: TypeAlias = Callable[[SSAValue, SSAValue, Attribute], SSAValue]

PAIRS = 256 * 256


def _result(draw: Draw, shape: Shape, scale: float) -> TensorType[Attribute]:
    """A result of which a step is about one of `scale`, in a simple ratio to it."""
    ratio = edge_values.ratio(draw.random, 1 / 4, 2)
    return draw.activation(shape, edge_values.float32(scale * ratio))


def _scale(type: TensorType[Attribute]) -> float:
    return quantized_element(type).scale


def of_codes(draw: Draw, make: Unary) -> RandomLayer:
    """A function of each code."""
    codes = edge_values.every_pair(draw.dtype)[1][0]
    x = draw.activation(codes.shape)
    y = _result(draw, codes.shape, _scale(x))
    return RandomLayer(make_module([x], lambda a: [make(a, y)]), [codes])


def of_rows(
    draw: Draw, shape: Shape, result: Shape, make: Unary, scale: float | None = None
) -> RandomLayer:
    """A function of each pair of codes in a tensor of `shape`; a step of the result is
    about one of the input, or `scale`."""
    pairs = np.stack(edge_values.every_pair(draw.dtype), axis=-1)
    x = draw.activation(shape)
    y = _result(draw, result, _scale(x) if scale is None else scale)
    module = make_module([x], lambda a: [make(a, y)])
    return RandomLayer(module, [pairs.reshape(shape)])


def of_pairs(draw: Draw, make: Binary) -> RandomLayer:
    """A sum or difference of each pair of codes."""
    lhs, rhs = edge_values.every_pair(draw.dtype)
    y = draw.activation(lhs.shape)
    a, b = (_result(draw, lhs.shape, _scale(y)) for _ in range(2))
    module = make_module([a, b], lambda a, b: [make(a, b, y)])
    return RandomLayer(module, [lhs, rhs])


def of_products(draw: Draw, make: Binary) -> RandomLayer:
    """A product of each pair of codes, the larger ones beyond the range."""
    lhs, rhs = edge_values.every_pair(draw.dtype)
    a, b = draw.activation(lhs.shape), draw.activation(lhs.shape)
    y = _result(draw, lhs.shape, 64 * _scale(a) * _scale(b))
    module = make_module([a, b], lambda a, b: [make(a, b, y)])
    return RandomLayer(module, [lhs, rhs])


def of_columns(draw: Draw, *, half: bool = False) -> RandomLayer:
    """The matrix product of all codes with all codes; with scales of float16 if `half`
    is set."""
    codes = edge_values.every_pair(draw.dtype)[1][0]
    a, b = draw.activation((256, 1)), draw.activation((1, 256))
    y = _result(draw, (256, 256), 64 * _scale(a) * _scale(b))
    if half:
        a, b, y = (_with_half_scale(type) for type in (a, b, y))
    module = make_module([a, b], lambda a, b: [qnn.MatMulOp(a, b, y).result])
    return RandomLayer(module, [codes.reshape(256, 1), codes.reshape(1, 256)])


def _with_half_scale(type: TensorType[Attribute]) -> TensorType[Attribute]:
    element = quantized_element(type)
    half = QuantizedType.per_tensor(
        8,
        element.signed,
        float(np.float16(element.scale)),
        element.zero_point,
        expressed=f16,
    )
    return TensorType(half, type.get_shape())


def of_accumulators(draw: Draw, *, convolved: bool = False) -> RandomLayer:
    """A layer whose biases are accumulators at ties and beside them."""
    steps = draw.pick(1, 60)
    bias = np.arange(-600, 600).repeat(3) * steps + np.tile([-1, 0, 1], 1200)
    outputs, rank = bias.size, 4 if convolved else 2
    point: Shape = (1,) * rank
    x = draw.activation(point)
    w = quantized((outputs, *point[1:]), draw.scale())
    scale = edge_values.near(draw.random, 2 * steps * _scale(x) * _scale(w))
    y = draw.activation((*point[1:], outputs), scale)
    weights = np.zeros((outputs, *point[1:]), np.int8)

    def body(input: SSAValue) -> list[SSAValue]:
        kernel, b = constant(weights, w), constant(bias.astype(np.int32))
        if convolved:
            return [qnn.Conv2DOp(input, kernel, b, y).result]
        return [qnn.LinearOp(input, kernel, b, y).result]

    return RandomLayer(make_module([x], body), [draw.codes(point)])


def compare(
    contract: str, layers: Iterable[RandomLayer], run: Callable[[RandomLayer], Array]
) -> int:
    """How many outputs of the layers a system was asked for, and gave as the contract
    does."""
    compared = 0
    for index, layer in enumerate(layers):
        expected = run(layer)
        model = qlower.Model(layer.module)
        interpreter = Compilation(model, contract).interpreter("qnn")
        ((result,), _) = interpreter.run(layer.inputs, {})
        np.testing.assert_array_equal(result, expected, f"layer {index}")
        compared += expected.size
    return compared
