"""Layers on float32: linear ones, the norms of rows, the scale of an attention.

Sums of linear layers are in MKL's order, as far as it is known; those of products and
convolutions in the order that the ONNX front end has, so that last bits differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i1, i8
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function, library_function
from qlower.emit.quantized_rows import steps_of_rows
from qlower.files.arrays import Array
from qlower.interp import evaluate_function
from qlower.model.nests import Nest, dense

from ...entry import takes
from ...graph.context import NodeContext
from ...graph.operators.conv_transpose import import_transposed
from ...graph.operators.normalization import normalized
from ...graph.operators.real import body_of, elementwise, real_operand
from ...graph.operators.real_layers import convolved, real_tensor
from ...graph.values import Value, real_value
from ...scalars import Scalars, text
from ..translating import TORCH
from .contraction import CONTRACT

RANGED = "pytorch-fbgemm"
"""The contract of layers that quantize their input by its range, where none is set."""


def rows_of(node: NodeContext, value: Value, size: int) -> SSAValue:
    """The value as a matrix with rows of `size` elements."""
    whole = node.in_order(value)
    shape = (math.prod(value.shape) // size, size)
    return node.reshaped(whole, shape).ssa


def _define_rows(node: NodeContext, matrix: SSAValue, shape: Sequence[int]) -> None:
    """Make rows the node's result, of this shape."""
    value = Value(matrix, (0, 1), is_real=True)
    node.define(node.reshaped(value, shape))


def import_linear(node: NodeContext) -> None:
    """`x w^T + b`, the sums of blocks added to b."""
    input = real_operand(node, 0)
    weights = real_tensor(node, 1)
    if len(weights.shape) != 2 or input.shape[-1:] != weights.shape[1:]:
        raise node.error(
            f"an input of shape {list(input.shape)} with weights of shape"
            f" {list(weights.shape)}"
        )
    units, depth = weights.shape
    node.check_elements(math.prod(input.shape) // depth * units)
    bias = None
    if node.has(2):
        value = real_tensor(node, 2)
        if value.shape != (units,):
            raise node.error(f"a bias of shape {list(value.shape)}; expected [{units}]")
        bias = value.ssa
    whole = node.in_order(input)
    node.define(real_value(node.emit(real_linear(whole.ssa, weights.ssa, bias))))


def real_linear(
    input: SSAValue, weights: SSAValue, bias: SSAValue | None
) -> qnn.RealLinearOp:
    """Rows of real numbers times weights, in the order of the contract."""
    shape = (*shape_of(input)[:-1], shape_of(weights)[0])
    layer = qnn.RealLinearOp(input, weights, bias, TensorType(f32, shape))
    layer.fallback = CONTRACT
    return layer


def import_layer_norm(node: NodeContext) -> None:
    """Rows of the last dimensions, by their mean and mean square."""
    value = real_operand(node, 0)
    sizes = node.integer_list("sizes", None, 1)
    if not sizes or list(value.shape[-len(sizes) :]) != sizes:
        raise node.error(
            f"normalized_shape {sizes} of an input of shape {list(value.shape)}"
        )
    whole = node.in_order(value)
    parameters = [
        node.builder.constant(_parameter(node, at, sizes), f32, node.place())
        for at in (1, 2)
        if node.has(1) or node.has(2)
    ]
    axis, shape = len(value.shape) - len(sizes), value.shape
    normalized(node, whole, axis, "layer_norm", parameters, shape, fallback=CONTRACT)


def import_group_norm(node: NodeContext) -> None:
    """Groups of channels, of 0 each one, with a factor and an offset for a channel."""
    value = real_operand(node, 0)
    shape, place = value.shape, node.place()
    groups = node.integer("num_groups", None, 0) or shape[1]
    if len(shape) < 2 or shape[1] % groups:
        raise node.error(f"{groups} groups of an input of shape {list(shape)}")
    whole = node.in_order(value)
    split = (shape[0], groups, shape[1] // groups, math.prod(shape[2:]))
    rows = node.reshaped(whole, split)
    parameters = [
        node.builder.constant(
            _parameter(node, at, shape[1:2]).reshape(*split[1:3], 1), f32, place
        )
        for at in (1, 2)
        if node.has(1) or node.has(2)
    ]
    normalized(node, rows, 2, "group_norm", parameters, shape, fallback=CONTRACT)


def import_batch_norm(node: NodeContext) -> None:
    """Each channel by a line, which its statistics give."""
    value = real_operand(node, 0)
    count, ones = value.shape[1:2], [1] * (len(value.shape) - 2)
    given = [
        _parameter(node, at, count, default).reshape(*count, *ones)
        for at, default in enumerate((1.0, 0.0, 0.0, 1.0), 1)
    ]
    epsilon = np.array(node.number("epsilon", 1e-5), np.float32)
    line = library_function("_sleef", "line_of_channel")
    parameters = [
        real_value(node.builder.constant(array, f32, node.place()))
        for array in evaluate_function(line, [*given, epsilon])
    ]
    body = body_of(text("_sleef", "on_line"))
    node.define(elementwise(node, [value, *parameters], body))


def _parameter(
    node: NodeContext, operand: int, shape: Sequence[int], default: float | None = None
) -> Array:
    """Factors or offsets of a row's elements or of channels, which PyTorch doesn't
    broadcast; those that change nothing if not given."""
    if not node.has(operand):
        unchanged = 1.0 if operand == 1 else -0.0
        return np.full(shape, unchanged if default is None else default, np.float32)
    array = np.asarray(node.array(operand, "parameter"), np.float32)
    if array.shape != tuple(shape):
        raise node.error(
            f"parameters of shape {list(array.shape)}; expected {list(shape)}"
        )
    return array


def import_attention_scale(node: NodeContext) -> None:
    """Scores times the given scale, or 1 over the root of the size of a query."""
    depth = node.shape(1)[-1]
    scale = node.number("scale", 1 / math.sqrt(depth))

    body = body_of(Scalars.multiply, scale)
    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_masked(node: NodeContext) -> None:
    """Scores of an attention to which numbers are added, or those that a mask of truth
    values, or the order of the positions, leaves out as minus infinity."""
    value, *more = (node.value(number) for number in range(node.count))
    operands = [real_operand(node, 0)]
    if node.flag("causal", False):
        seen = np.tril(np.ones(value.shape[-2:], np.bool_))
        constant = node.builder.constant(seen, i1, node.place())
        more.append(Value(constant, (0, 1)))
    for mask in more:
        operands.append(real_operand(node, 1) if mask.is_real else mask)

    def compute(steps: Scalars, x: SSAValue, *masks: SSAValue) -> SSAValue:
        for mask in masks:
            if mask.type == f32:
                x = steps.add(x, mask)
            else:
                x = steps.select(mask, x, steps.constant(-math.inf, f32))
        return x

    node.define(elementwise(node, operands, body_of(compute)))


def import_conv(node: NodeContext) -> None:
    """A convolution whose input or weights are real, in a model that has others."""
    if not node.importer.is_quantized:
        raise node.error(
            "its input and weights are not quantized",
            help="the model isn't quantized: do that first, by"
            " torchao.quantization.pt2e",
        )
    node.define(convolved(node))


def import_dynamic_linear(node: NodeContext) -> None:
    """Rows as integers by their own symmetric range, times stored weights."""
    _hybrid_linear(node, CONTRACT, "", is_symmetric=True)


def import_ranged_linear(node: NodeContext) -> None:
    """All rows as integers by one range, times stored weights, and a bias."""
    activation = "relu" if node.flag("relu", False) else ""
    _hybrid_linear(node, RANGED, activation, is_symmetric=False)


def _hybrid_linear(
    node: NodeContext, contract: str, activation: str, *, is_symmetric: bool
) -> None:
    value = real_operand(node, 0)
    weights = stored_weights(node, 1)
    units, depth = shape_of(weights)
    if value.shape[-1:] != (depth,):
        raise node.error(
            f"an input of shape {list(value.shape)} with weights of shape"
            f" {[units, depth]}"
        )
    bias = real_tensor(node, 3).ssa if node.has(3) else None
    matrix = rows_of(node, value, depth)
    node.check_elements(math.prod(value.shape) // depth * units)
    layer = hybrid_linear(matrix, weights, bias, contract)
    layer.symmetric = is_symmetric
    if activation:
        layer.activation = activation
    _define_rows(node, node.emit(layer), (*value.shape[:-1], units))


def stored_weights(node: NodeContext, operand: int, name: str = "weights") -> SSAValue:
    """Weights [O, K] of int8, whose scales, one or O, are the next operand."""
    stored = np.asarray(node.array(operand, "weights"))
    scales = np.asarray(node.array(operand + 1, "scales"), np.float32)
    if scales.size == 1:
        element = QuantizedType.per_tensor(8, True, float(scales.reshape(())))
    else:
        element = QuantizedType.per_axis(8, True, 0, scales.tolist(), [0] * len(stored))
    constant = qnn.ConstantOp(dense(stored, i8), TensorType(element, stored.shape))
    return node.emit(constant, name)


def hybrid_linear(
    matrix: SSAValue, weights: SSAValue, bias: SSAValue | None, contract: str
) -> qnn.HybridLinearOp:
    """Rows that a contract quantizes by their range, times stored weights."""
    shape = shape_of(matrix)[0], shape_of(weights)[0]
    layer = qnn.HybridLinearOp(matrix, weights, bias, TensorType(f32, shape))
    layer.fallback = contract
    return layer


def import_quantized_rows(node: NodeContext) -> None:
    """Rows that are quantized by their own range, and made real again."""
    value = real_operand(node, 0)
    columns = value.shape[-1] if value.shape else 1
    matrix = rows_of(node, value, columns)
    shape = (math.prod(value.shape) // columns, columns)
    emit = node.builder.emitter(node.place(), "codes")
    made = steps_of_rows(emit, CONTRACT, matrix)
    nest = Nest(emit, shape)
    scale, factor, point = (nest.input(each, (0,)) for each in made)
    element = nest.input(matrix, (0, 1))
    code = call_function(nest, CONTRACT, "hybrid_code", element, factor, point)
    real = call_function(nest, CONTRACT, "real_code", code, scale, point)
    _define_rows(node, nest.build_one(real), value.shape)


IMPORTERS = {
    (TORCH, "DynamicLinear"): takes("x, weights, scales", import_dynamic_linear),
    (TORCH, "RangedLinear"): takes("x, weights, scales, bias?", import_ranged_linear),
    (TORCH, "QuantizedRows"): takes("x", import_quantized_rows),
    (TORCH, "Linear"): takes("x, weights, bias?", import_linear),
    (TORCH, "LayerNorm"): takes("x, scale?, bias?", import_layer_norm),
    (TORCH, "GroupNorm"): takes("x, scale?, bias?", import_group_norm),
    (TORCH, "AttentionScale"): takes("x, y", import_attention_scale),
    (TORCH, "BatchNorm"): takes("x, scale?, bias?, mean, variance", import_batch_norm),
    (TORCH, "Conv"): takes("x, weights, bias?", import_conv),
    (TORCH, "ConvTranspose"): takes("x, weights, bias?", import_transposed),
    (TORCH, "Masked"): takes("x, mask?", import_masked),
}
