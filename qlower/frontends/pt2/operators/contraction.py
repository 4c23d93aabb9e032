"""Convolutions and linear layers of quantized inputs and weights."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, i8, i32
from xdsl.ir import Operation, SSAValue

from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function
from qlower.files.arrays import Array
from qlower.model.nests import Nest

from ...entry import quantized, takes
from ...graph.context import NodeContext
from ...graph.operators.contraction import convolution, filter_count, filters_of, linear
from ...graph.operators.real import number
from ...graph.values import Value
from ...graph.window import as_image, define_image, from_image
from ..translating import TORCH

CONTRACT = "pytorch-inductor"
"""Whose function says what a layer gives whose result stays real."""

INPUT, WEIGHTS, BIAS, RESULT, OTHER = 0, 3, 6, 7, 9
"""Operands: each but the bias has its scale and zero point behind it, and the result is
nothing but these."""


def import_conv(node: NodeContext) -> None:
    """Operands as of QLinearConv, but the bias is real."""
    if node.has(RESULT):
        result = node.quantization(RESULT, RESULT + 1)
        operation, image = _convolution(node, result, node.text("activation", ""))
        from_image(node, operation, image, False)
        return
    operation, image = _convolution(node, i32)
    real = _real(node, node.emit(operation, "sums"))
    define_image(node, real, replace(image, is_real=True), False)


def import_residual_conv(node: NodeContext) -> None:
    """The sum of what a convolution gives and a stored value, stored as uint8."""
    operation, image = _convolution(node, i32)
    sums = node.emit(operation, "sums")
    shape = shape_of(sums)
    other = as_image(node, node.stored(OTHER, OTHER + 1, OTHER + 2), False)
    if other.type.get_shape() != shape:
        raise node.error(
            f"a sum of shapes {list(other.type.get_shape())} and {list(shape)} is not"
            " supported"
        )
    given, result = other.element, node.quantization(RESULT, RESULT + 1)
    assert isinstance(given, QuantizedType)
    plain = node.plain(other, "other")
    nest = node.nest(shape, "codes")
    code = nest.add(arith.ExtUIOp(nest.input(plain, range(4)), i32)).result
    elements = _elements(node, nest, sums)
    floor = 0.0 if node.text("activation", "") == "relu" else -math.inf
    found = call_function(
        nest,
        CONTRACT,
        "store_residual",
        elements[0],
        code,
        *elements[1:],
        number(nest, given.scale),
        nest.constant(np.array(given.zero_point), i32),
        number(nest, floor),
        number(nest, result.scale),
        number(nest, result.zero_point),
    )
    codes = nest.build_one(nest.add(arith.TruncIOp(found, i8)).result)
    define_image(node, node.meant(codes, result), image, False)


def import_linear(node: NodeContext) -> None:
    """Multiply along the last dimension; operands are as of a convolution."""
    units, _ = node.shape(WEIGHTS, rank=2)
    quantization = node.axis_quantization(WEIGHTS + 1, WEIGHTS + 2, 0, units)
    weights = node.stored_array(WEIGHTS, quantization)
    if node.has(RESULT):
        element = node.quantization(RESULT, RESULT + 1)
        bias = partial(_constant_bias, node)
        node.define(linear(node, weights, bias, element))
        return
    sums = linear(node, weights, lambda units: None, i32, "sums")
    node.define(replace(sums, ssa=_real(node, sums.ssa), is_real=True))


def _convolution(
    node: NodeContext, result: QuantizedType | IntegerType, activation: str = ""
) -> tuple[Operation, Value]:
    """The convolution, whose result is stored or has accumulators, and its image."""
    image = as_image(node, node.stored(INPUT, INPUT + 1, INPUT + 2), False)
    filters = filter_count(node, WEIGHTS)

    def quantization(axis: int) -> QuantizedType:
        return node.axis_quantization(WEIGHTS + 1, WEIGHTS + 2, axis, filters)

    stored = node.stored_array(WEIGHTS, quantization(0))
    weights = (WEIGHTS, filters_of(node, stored))
    is_stored = isinstance(result, QuantizedType)
    bias = _constant_bias(node, filters) if is_stored else None
    operation, _ = convolution(
        node, image, weights, quantization, bias, result, activation
    )
    return operation, image


def _bias(node: NodeContext, channels: int) -> Array | None:
    """The optional constant bias: a real number for each channel."""
    if not node.has(BIAS):
        return None
    array = node.array(BIAS, "bias")
    if array.dtype != np.float32 or array.shape != (channels,):
        raise node.error(
            f"a bias of {array.dtype} and shape {list(array.shape)}; expected float32"
            f" and [{channels}]"
        )
    return array


def _constant_bias(node: NodeContext, channels: int) -> SSAValue | None:
    bias = _bias(node, channels)
    if bias is None:
        return None
    return node.builder.constant(bias, f32, node.place(node.name(BIAS)))


def _real(node: NodeContext, sums: SSAValue) -> SSAValue:
    """The real values of accumulators along the last dimension, with the bias."""
    nest = node.nest(shape_of(sums))
    elements = _elements(node, nest, sums)
    return nest.build_one(call_function(nest, CONTRACT, "real_contraction", *elements))


def _elements(node: NodeContext, nest: Nest, sums: SSAValue) -> list[SSAValue]:
    """Accumulator, scales of input and weights, and the bias, of one element."""
    *_, channels = shape_of(sums)
    bias = _bias(node, channels)
    scales = np.asarray(node.array(WEIGHTS + 1, "scale"), np.float32).reshape(-1)
    rank = len(shape_of(sums))
    return [
        nest.input(sums, range(rank)),
        number(nest, float(node.array(INPUT + 1, "scale").item())),
        nest.constant(np.broadcast_to(scales, (channels,)), f32, [rank - 1]),
        nest.constant(np.zeros(1) if bias is None else bias, f32, [rank - 1]),
    ]


LAYER = f"{quantized('x', 'weights')}, bias?"
"""The signature of a layer whose result stays real."""

STORED = f"{LAYER}, scale?, zero_point?"
"""The signature of a layer whose result may be stored."""

IMPORTERS = {
    (TORCH, "QuantizedConv"): takes(STORED, import_conv),
    (TORCH, "ResidualConv"): takes(
        f"{LAYER}, scale, zero_point, {quantized('other')}", import_residual_conv
    ),
    (TORCH, "QuantizedLinear"): takes(STORED, import_linear),
}
