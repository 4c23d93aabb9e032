"""Convolutions and linear layers of quantized inputs and weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.files.arrays import Array
from qlower.model.nests import Nest

from ...onnx.context import NodeContext
from ...onnx.entry import Entry
from ...onnx.operators.contraction import convolution, filter_count, filters_of
from ...onnx.operators.real import inlined, number
from ...onnx.window import as_image, define_image, from_image
from ...orders import identity
from ...values import Value
from ..translating import TORCH

CONTRACT = "pytorch-inductor"
"""Whose function says what a layer gives whose result stays real."""

INPUT, WEIGHTS, BIAS, RESULT = 0, 3, 6, 7
"""Operands: each but the bias has its scale and zero point behind it."""


def import_conv(node: NodeContext) -> None:
    """Operands as of QLinearConv, but the bias is real."""
    image = as_image(node, node.stored(INPUT, INPUT + 1, INPUT + 2), False)
    filters = filter_count(node, WEIGHTS)

    def quantization(axis: int) -> QuantizedType:
        return node.axis_quantization(WEIGHTS + 1, WEIGHTS + 2, axis, filters)

    stored = node.stored_array(WEIGHTS, quantization(0))
    bias = _bias(node, filters)
    weights = (WEIGHTS, filters_of(node, stored))
    if node.has(RESULT):
        operation, _ = convolution(
            node,
            image,
            weights,
            quantization,
            _constant(node, bias),
            node.quantization(RESULT, RESULT + 1),
            node.text("activation", ""),
        )
        from_image(node, operation, image, False)
        return
    operation, _ = convolution(node, image, weights, quantization, None, i32)
    real = _real(node, node.emit(operation, "sums"), bias, filters)
    define_image(node, real, replace(image, is_real=True), False)


def import_linear(node: NodeContext) -> None:
    """Of the last dimension; operands as of a convolution."""
    input = node.stored(INPUT, INPUT + 1, INPUT + 2)
    input = node.builder.in_order(input, identity(len(input.order)), node.place())
    units, depth = node.shape(WEIGHTS, rank=2)
    if not input.shape or input.shape[-1] != depth:
        raise node.error(
            f"an input of shape {list(input.shape)} with weights of {depth} columns"
        )
    quantization = node.axis_quantization(WEIGHTS + 1, WEIGHTS + 2, 0, units)
    stored = node.stored_array(WEIGHTS, quantization)
    place = node.place(node.name(WEIGHTS))
    weights = node.builder.constant(stored, quantization, place)
    bias = _bias(node, units)
    is_stored = node.has(RESULT)
    element = node.quantization(RESULT, RESULT + 1) if is_stored else i32
    operation = qnn.LinearOp(
        input.ssa,
        weights,
        _constant(node, bias) if is_stored else None,
        node.typed(element, (*input.shape[:-1], units), input.order),
        activation=node.text("activation", "") or None,
    )
    if is_stored:
        node.define(Value(node.emit(operation), input.order))
        return
    real = _real(node, node.emit(operation, "sums"), bias, units)
    node.define(Value(real, input.order, is_real=True))


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


def _constant(node: NodeContext, bias: Array | None) -> SSAValue | None:
    if bias is None:
        return None
    return node.builder.constant(bias, f32, node.place(node.name(BIAS)))


def _real(
    node: NodeContext, sums: SSAValue, bias: Array | None, channels: int
) -> SSAValue:
    """What accumulators along the last dimension mean, with the bias."""
    scales = np.asarray(node.array(WEIGHTS + 1, "scale"), np.float32).reshape(-1)
    shape = shape_of(sums)
    last = [len(shape) - 1]
    nest = Nest(node.builder.emitter(node.place()), shape)
    elements = [
        nest.input(sums, range(len(shape))),
        number(nest, float(node.array(INPUT + 1, "scale").item())),
        nest.constant(np.broadcast_to(scales, (channels,)), f32, last),
        nest.constant(np.zeros(1) if bias is None else bias, f32, last),
    ]
    return nest.build([inlined(nest, CONTRACT, "real_contraction", elements)])[0]


IMPORTERS = {
    (TORCH, "QuantizedConv"): Entry(import_conv, (7, 9)),
    (TORCH, "QuantizedLinear"): Entry(import_linear, (7, 9)),
}
