"""Quantized operators whose scales, zero points or weights are known at run time only,
or whose scales or codes are floats of fewer bits.

Stored integers have the scale 1 in their types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.model.nests import Index, widen

from ...entry import quantized, takes
from ...scalars import Scalars
from ..context import OTHER_STORED_TYPES, NodeContext
from ..narrow import CODED, HALF, NARROW
from ..nodes import MICROSOFT
from ..operands import STORED_TYPES
from ..orders import identity
from ..values import Value, real_value
from ..window import read_window
from .contraction import import_conv, import_matmul
from .integer_products import (
    FACTORS,
    import_conv_integer,
    matmul_integer,
    remark_on_pairs,
    stored_operand,
)
from .real import body_of, elementwise, real_operand
from .rearranging import pick


def is_open(node: NodeContext, *numbers: int) -> bool:
    """Whether one of these operands is there and no constant, or has fewer bits than
    float32, or the result has."""
    if node.importer.narrow.get(node.result()) in CODED or node.narrow_type(0) in CODED:
        return True
    return any(
        node.has(number)
        and (not node.is_constant(number) or node.narrow_type(number) == HALF)
        for number in numbers
    )


def _words(node: NodeContext, number: int) -> Value:
    """The stored integers of an operand as i32."""
    if node.is_constant(number):
        array = node.array(number, "operand").astype(np.int32)
        ssa = node.builder.constant(array, i32, node.place(node.name(number)))
        return Value(ssa, identity(array.ndim))
    value = node.value(number)
    element = value.element
    if not isinstance(element, QuantizedType):
        return value
    plain = node.plain(value, f"plain_{number}")
    unsigned = not element.signed

    def word(steps: Scalars, code: SSAValue) -> SSAValue:
        return widen(steps.nest, code, i32, unsigned=unsigned)

    words = elementwise(node, [replace(value, ssa=plain)], body_of(word))
    return replace(words, is_real=False)


def _spread(node: NodeContext, value: Value, shape: Sequence[int]) -> Value:
    """Scales or zero points, one for all or for an index or block of an axis, as a
    tensor that broadcasts to one of this shape."""
    sizes = value.shape
    if math.prod(sizes) == 1:
        return node.reshaped(value, ())
    axis = node.axis(node.integer("axis", 1), len(shape))
    block = node.integer("block_size", 0, 0)
    along = -(-shape[axis] // block) if block else shape[axis]
    expected = [along if d == axis else size for d, size in enumerate(shape)]
    if list(sizes) not in (expected, [along]):
        raise node.error(
            f"scales or zero points of shape {list(sizes)} for {list(shape)}; expected"
            f" {expected if block else [along]}"
        )
    if len(sizes) == 1:
        column = [along if d == axis else 1 for d in range(len(shape))]
        value = node.reshaped(value, column)
    if not block:
        return value
    return pick(node, value, axis, [at // block for at in range(shape[axis])])


def _result_type(node: NodeContext, zero_point: int) -> QuantizedType:
    """The type of stored integers by that of a zero point, with the scale 1."""
    if is_open(node, zero_point):
        element = node.value(zero_point).element
        if isinstance(element, QuantizedType):
            storage = element.storage_width, element.signed
            ends = element.storage_min, element.storage_max
            return QuantizedType.per_tensor(*storage, 1.0, 0, *ends)
    type = node.graph.stored_type(node.node)
    if node.has(zero_point):
        type = node.constant(zero_point, "zero point").type
    if type in STORED_TYPES:
        return QuantizedType.per_tensor(8, STORED_TYPES[type], 1.0)
    if type in OTHER_STORED_TYPES:
        return OTHER_STORED_TYPES[type]
    raise node.error(f"stored values of type {type} are not supported")


def _point(node: NodeContext, number: int) -> Value:
    """A zero point as i32, 0 where the node has none."""
    if node.has(number):
        return _words(node, number)
    ssa = node.builder.constant(np.zeros((), np.int32), i32, node.place())
    return Value(ssa, ())


def _steps(node: NodeContext, shape: Sequence[int]) -> list[SSAValue]:
    """The scales and zero points of a tensor of this shape, which broadcast to it."""
    given = (real_operand(node, 1), _point(node, 2))
    return [node.in_order(_spread(node, value, shape)).ssa for value in given]


def dequantize_open(node: NodeContext) -> None:
    """By the contract's rule `dequantize_with`; of float8 `F(x s)`."""
    half = node.narrow_type(1) == HALF
    if node.narrow_type(0) in CODED:
        value = node.in_order(real_operand(node, 0))
        scale = _spread(node, real_operand(node, 1), value.shape)
        result = elementwise(node, [value, scale], body_of(Scalars.multiply))
    else:
        codes = node.in_order(_words(node, 0))
        type = TensorType(f32, codes.shape)
        operands = (codes.ssa, *_steps(node, codes.shape))
        operation = qnn.DequantizeWithOp(*operands, type, half_scales=half)
        result = real_value(node.emit(operation, "real" if half else None))
    if half:
        result = rounded_to(node, result, HALF)
    node.define(result)


def quantize_open(node: NodeContext) -> None:
    """By the contract's rule `quantize_with`; to float8 the nearest to `F(x / s)`."""
    value = node.in_order(real_operand(node, 0))
    type = node.importer.narrow.get(node.result(), "")
    if type in CODED:
        node.expect("saturate", 1)
        scale = _spread(node, real_operand(node, 1), value.shape)
        steps = elementwise(node, [value, scale], body_of(Scalars.divide))
        if type == "FLOAT4E2M1" and node.has(2):  # as ONNX's evaluator does
            point = _spread(node, real_operand(node, 2), value.shape)
            steps = elementwise(node, [steps, point], body_of(Scalars.add))
        node.define(rounded_to(node, steps, type))
        return
    half = node.narrow_type(1) == HALF
    operands = (value.ssa, *_steps(node, value.shape))
    element = _result_type(node, 2)
    result = TensorType(element, value.shape)
    operation = qnn.QuantizeWithOp(*operands, result, half_scales=half)
    node.define(replace(value, ssa=node.emit(operation), is_real=False))


def rounded_to(node: NodeContext, value: Value, type: str) -> Value:
    """The nearest numbers that a type of fewer bits has."""
    emit = node.builder.emitter(node.place())
    return replace(value, ssa=NARROW[type].rounded(emit, value.ssa))


def matmul_open(node: NodeContext) -> None:
    """QLinearMatMul: exact sums, by the contract's rule `matmul_with`."""
    sums = matmul_integer(node, stored_operand(node, 0, 2), 3, 5, "sums")
    _requantize(node, sums, (), "matmul")


def _requantize(
    node: NodeContext, sums: Value, last: Sequence[int], layer: str
) -> None:
    """Store sums by the scales 1, 4 and 6 and the zero point 7; the scales of weights
    have dimensions of size 1 behind them."""
    sums = node.in_order(sums)
    scales = [real_operand(node, number) for number in (1, 4, 6)]
    if math.prod(scales[1].shape) > 1:
        scales[1] = node.reshaped(scales[1], (*scales[1].shape, *last))
    operands = [
        node.reshaped(value, ()) if math.prod(value.shape) == 1 else value
        for value in (*scales, _point(node, 7))
    ]
    half = node.narrow_type(1) == HALF
    operation = qnn.RequantizeWithOp(
        sums.ssa,
        *(value.ssa for value in operands),
        TensorType(_result_type(node, 7), sums.shape),
        layer=layer,
        half_scales=half,
    )
    node.define(replace(sums, ssa=node.emit(operation), is_real=False))


def conv_open(node: NodeContext) -> None:
    """QLinearConv: exact sums plus a bias in their steps, by the contract's rule
    `conv2d_with`."""
    node.expect("channels_last", 0)
    sums = _convolved(node, 3, 2, 5)
    rank = len(sums.shape)
    if node.has(8):
        bias = node.reshaped(_words(node, 8), (sums.shape[1], *_ones(rank)))
        sums = elementwise(node, [sums, bias], body_of(Scalars.add))
    _requantize(node, sums, _ones(rank), "conv2d")


def conv_integer_open(node: NodeContext) -> None:
    # Filters are multiplied by pixels, in this order.
    if (node.type_name(0), node.type_name(1)) == ("INT8", "UINT8"):
        remark_on_pairs(node)
    node.define(_convolved(node, 1, 2, 3))


def _ones(rank: int) -> list[int]:
    return [1] * (rank - 2)


def _convolved(node: NodeContext, weights: int, point: int, other: int) -> Value:
    """The sums [N, O, ...] of an image's products with the operand `weights`; the
    operands `point` and `other` are zero points."""
    image, filters = _words(node, 0), _words(node, weights)
    rank = len(image.shape)
    if rank not in (3, 4) or len(filters.shape) != rank:
        raise node.error(
            f"an input of rank {rank} with weights of rank {len(filters.shape)} is not"
            " supported; expected 4 (or 3, for a row)"
        )
    parts: list[SSAValue] = []
    for value, number in ((image, point), (filters, other)):
        value = node.in_order(value)
        if node.has(number):
            taken = _words(node, number)
            if math.prod(taken.shape) == 1:
                taken = node.reshaped(taken, ())
            else:
                taken = node.reshaped(taken, (*taken.shape, *[1] * (rank - 1)))
            value = elementwise(node, [value, taken], body_of(Scalars.subtract))
        if rank == 3:
            value = node.reshaped(value, (*value.shape[:2], 1, *value.shape[2:]))
        parts.append(value.ssa)
    shapes = [
        (*value.shape[:2], *[1] * (4 - rank), *value.shape[2:])
        for value in (image, filters)
    ]
    sums = _slide(node, parts, shapes)
    whole = real_value(sums)
    if rank == 3:
        whole = node.reshaped(whole, (*whole.shape[:2], whole.shape[3]))
    return replace(whole, is_real=False)


def _slide(
    node: NodeContext, parts: Sequence[SSAValue], shapes: Sequence[tuple[int, ...]]
) -> SSAValue:
    """The sums [N, O, H, W] of an image [N, C, H, W] and filters [O, C / groups, H, W],
    both of i32, less their zero points."""
    (batch, channels, *sizes), (count, depth, *kernel) = shapes
    groups = node.integer("group", 1, 1)
    if channels != depth * groups or count % groups:
        raise node.error(
            f"{channels} input channels and {count} filters of {depth} channels do not"
            f" divide into {groups} groups"
        )
    window = read_window(node, (sizes[0], sizes[1]), (kernel[0], kernel[1]))
    top, below, left, behind = window.pad
    emit = node.builder.emitter(node.place(), "sums")
    padded = (batch, channels, top + sizes[0] + below, left + sizes[1] + behind)
    node.check_elements(math.prod(padded))
    node.check_elements(batch * count * math.prod(window.sizes))
    around = emit.inserted(parts[0], emit.filled(padded, i32, 0), (0, 0, top, left))
    share = count // groups
    bounds = (batch, groups, share, *window.sizes, depth, *kernel)
    nest = node.nest(bounds, "sums", reductions=3)
    nest.window(range(len(bounds)))
    group = AffineDimExpr(1)
    places: list[Index] = [0, group * depth + AffineDimExpr(5)]
    for axis in range(2):
        first = AffineDimExpr(3 + axis) * window.stride[axis]
        places.append(first + AffineDimExpr(6 + axis) * window.dilation[axis])
    pixel = nest.input(around, places)
    weight = nest.input(parts[1], [group * share + AffineDimExpr(2), 5, 6, 7])
    product = nest.add(arith.MuliOp(pixel, weight)).result
    zeros = nest.emitter.filled(nest.output_shape, i32, 0)
    (sums,) = nest.reduce([zeros], nest.adding(product))
    shape = (batch, count, *window.sizes)
    return emit.add(qnn.ReshapeOp(sums, TensorType(i32, shape))).result


def _either(
    numbers: Sequence[int],
    known: Callable[[NodeContext], None],
    unknown: Callable[[NodeContext], None],
) -> Callable[[NodeContext], None]:
    """Import a node by whether any of these operands is known at run time only."""

    def build(node: NodeContext) -> None:
        (unknown if is_open(node, *numbers) else known)(node)

    return build


STEP = "scale, zero_point"

IMPORTERS = {
    **{
        (domain, "QLinearConv"): takes(
            f"{quantized('x', 'weights')}, {STEP}, bias?",
            _either(range(1, 9), import_conv, conv_open),
        )
        for domain in ("", MICROSOFT)
    },
    ("", "QLinearMatMul"): takes(
        f"{quantized('x', 'y')}, {STEP}",
        _either((1, 2, 4, 5, 6, 7), import_matmul, matmul_open),
    ),
    ("", "ConvInteger"): takes(
        FACTORS, _either((1, 3), import_conv_integer, conv_integer_open)
    ),
}
