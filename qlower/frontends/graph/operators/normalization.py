"""Normalizations of real numbers, in the order in which ONNX Runtime adds them.

Rows from 8 numbers on are normalized by MLAS's AVX2 kernel (of RMSNormalization from
16 on), shorter ones by loops of core/providers/cpu/nn/layer_norm_impl.cc. The kernel's
order is that of the code in onnxruntime 1.31's wheel for x86-64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, f32, f64
from xdsl.dialects.math import FmaOp, SqrtOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qlower.dialects.types import shape_of
from qlower.model.nests import Emitter, Nest, scalar_constant

from ...entry import Entry, takes
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..orders import identity
from ..values import Value
from .real import elementwise, number, real_operand
from .real_layers import real_tensor
from .sums import add_in_turn, fold_halves, sum_rows

WIDE_LANES, LANES = 4, 8
"""Numbers of float64 and of float32 in a vector of AVX2."""

GROUP_CHANNELS_SINCE = 21
"""The opset from which on each channel of a group has a factor."""

SHORTEST, SHORTEST_OF_SQUARES = 8, 16
"""The shortest rows that the kernel takes, and those of RMSNormalization."""


def import_layer_normalization(node: NodeContext, *, is_centred: bool) -> None:
    """Rows of the dimensions from `axis` on, times a factor for each place of a row."""
    value = real_operand(node, 0)
    axis = node.axis(node.integer("axis", -1), len(value.shape))
    node.define(_normalized(node, value, axis, [1, 2] if is_centred else [1]))


def import_skip_layer_normalization(node: NodeContext) -> None:
    """The sum of two tensors of one shape and a bias, normalized by Welford's
    corrections whatever the size (contrib_ops/cpu/skip_layer_norm.cc). Where ONNX
    Runtime doesn't fuse an addition with what follows, its rows are normalized as those
    of LayerNormalization."""
    operands = [real_tensor(node, 0), real_tensor(node, 1)]
    shapes = {value.shape for value in operands}
    is_fused = len(shapes) == 1 and len(operands[0].shape) == 3
    if node.has(4):
        if not is_fused:
            raise node.error(
                f"operands of shapes {[list(value.shape) for value in operands]} and a"
                " bias are not supported; expected one shape of 3 dimensions",
                help="--qdq as-written reads the model so",
            )
        operands.append(real_tensor(node, 4))

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        return add_in_turn(nest, elements)

    total = elementwise(node, operands, body)
    axis = len(total.shape) - 1
    node.define(_normalized(node, total, axis, [2, 3], is_skipping=is_fused))


def _normalized(
    node: NodeContext,
    value: Value,
    axis: int,
    numbers: Sequence[int],
    *,
    is_skipping: bool = False,
) -> Value:
    """The normalized rows; `numbers` are the operands of factors and offsets."""
    size = math.prod(value.shape[axis:])
    place = node.place()
    order = identity(len(value.shape))
    whole = node.builder.in_order(value, order, place)
    rows = math.prod(value.shape) // size
    matrix = node.builder.reshape(whole, (rows, size), (0, 1), place).ssa
    is_centred = len(numbers) == 2
    parameters = [_row(node, at, size) for at in numbers if node.has(at)]
    epsilon = node.number("epsilon", 1e-5)
    emit = node.builder.emitter(place, "statistics")
    short = SHORTEST if is_centred else SHORTEST_OF_SQUARES
    is_short = size < short or is_skipping
    mean = None
    if is_short:
        mean, deviation = _short_statistics(emit, matrix, is_centred, epsilon)
    else:
        mean = _mean(emit, matrix) if is_centred else None
        deviation = _inverse_deviation(emit, matrix, mean, epsilon)
    nest = Nest(node.builder.emitter(place, "rows"), (rows, size))
    x = nest.input(matrix, (0, 1))
    if mean is not None:
        x = nest.add(arith.SubfOp(x, nest.input(mean, (0,)))).result
    by = nest.input(deviation, (0,))
    scale = arith.DivfOp if is_short else arith.MulfOp
    x = nest.add(scale(x, by)).result
    factor, *offset = (nest.input(given, (1,)) for given in parameters)
    if offset and not is_short:
        x = nest.add(FmaOp(x, factor, offset[0])).result
    else:
        x = nest.add(arith.MulfOp(x, factor)).result
        for term in offset:
            x = nest.add(arith.AddfOp(x, term)).result
    (result,) = nest.build([x])
    flat = Value(result, (0, 1), is_real=True)
    return node.builder.reshape(flat, value.shape, order, place)


def import_instance_normalization(node: NodeContext) -> None:
    """Each channel of each image: `F(F(x a) + b)` with `a = F(F(1 / d) scale)` and
    `b = F(bias - F(mean a))`, d being the deviation (nn/instance_norm.cc)."""
    value = real_operand(node, 0)
    shape, place = value.shape, node.place()
    if len(shape) < 3:
        raise node.error(f"an input of rank {len(shape)}; expected at least 3")
    order, size = identity(len(shape)), math.prod(shape[2:])
    whole = node.builder.in_order(value, order, place)
    rows = (shape[0] * shape[1], size)
    matrix = node.builder.reshape(whole, rows, (0, 1), place).ssa
    factors, offsets = (_row(node, at, shape[1]) for at in (1, 2))
    emit = node.builder.emitter(place, "statistics")
    nest = Nest(emit, rows[:1])
    total = nest.input(sum_rows(emit, matrix), (0,))
    (mean,) = nest.build([nest.add(arith.DivfOp(total, number(nest, size))).result])
    nest = Nest(emit, rows)
    distance = _distance(nest, nest.input(matrix, (0, 1)), mean)
    (squares,) = nest.build([nest.add(arith.MulfOp(distance, distance)).result])
    sums = sum_rows(emit, squares, is_computed=True)
    last = Nest(emit, shape[:2])
    channel = AffineDimExpr(0) * shape[1] + AffineDimExpr(1)
    epsilon = node.number("epsilon", 1e-5)
    deviation = _deviation(last, last.input(sums, (channel,)), size, epsilon)
    inverse = last.add(arith.DivfOp(number(last, 1.0), deviation)).result
    scale = last.add(arith.MulfOp(inverse, last.input(factors, (1,)))).result
    moved = last.add(arith.MulfOp(last.input(mean, (channel,)), scale)).result
    offset = last.add(arith.SubfOp(last.input(offsets, (1,)), moved)).result
    scales, shifts = last.build([scale, offset])
    nest = Nest(node.builder.emitter(place, "rows"), (*shape[:2], size))
    x = nest.input(matrix, (channel, 2))
    product = nest.add(arith.MulfOp(x, nest.input(scales, (0, 1)))).result
    shift = nest.input(shifts, (0, 1))
    (result,) = nest.build([nest.add(arith.AddfOp(product, shift)).result])
    flat = Value(result, (0, 1, 2), is_real=True)
    node.define(node.builder.reshape(flat, shape, order, place))


def import_group_normalization(node: NodeContext) -> None:
    """Groups of channels, as the operator's function in the schema says: distances from
    the mean by the root of `F(mean(x^2) - mean^2)`, times a factor for each channel."""
    value = real_operand(node, 0)
    shape, place = value.shape, node.place()
    groups = node.integer("num_groups", None, 1, shape[1])
    if shape[1] % groups or node.graph.model.opset < GROUP_CHANNELS_SINCE:
        raise node.error(
            f"{groups} groups of {shape[1]} channels in opset"
            f" {node.graph.model.opset} are not supported; expected groups of one"
            f" size, and opset {GROUP_CHANNELS_SINCE}"
        )
    order = identity(len(shape))
    whole = node.builder.in_order(value, order, place)
    size = math.prod(shape[1:]) // groups
    rows = (shape[0] * groups, size)
    matrix = node.builder.reshape(whole, rows, (0, 1), place).ssa
    factors, offsets = (_row(node, at, shape[1]) for at in (1, 2))
    emit = node.builder.emitter(place, "statistics")
    nest = Nest(emit, rows)
    x = nest.input(matrix, (0, 1))
    (squares,) = nest.build([nest.add(arith.MulfOp(x, x)).result])
    sums = [sum_rows(emit, numbers) for numbers in (matrix, squares)]
    nest = Nest(emit, rows[:1])
    mean, of_squares = (
        nest.add(arith.DivfOp(nest.input(one, (0,)), number(nest, size))).result
        for one in sums
    )
    square = nest.add(arith.MulfOp(mean, mean)).result
    variance = nest.add(arith.SubfOp(of_squares, square)).result
    epsilon = number(nest, node.number("epsilon", 1e-5))
    moved = nest.add(arith.AddfOp(variance, epsilon)).result
    means, deviations = nest.build([mean, nest.add(SqrtOp(moved)).result])
    depth = shape[1] // groups
    bounds = (shape[0], groups, depth, size // depth)
    nest = Nest(node.builder.emitter(place, "rows"), bounds)
    row = AffineDimExpr(0) * groups + AffineDimExpr(1)
    column = AffineDimExpr(2) * (size // depth) + AffineDimExpr(3)
    x = nest.input(matrix, (row, column))
    distance = nest.add(arith.SubfOp(x, nest.input(means, (row,)))).result
    x = nest.add(arith.DivfOp(distance, nest.input(deviations, (row,)))).result
    tables = [
        node.builder.reshape(
            Value(one, (0,), is_real=True), (groups, depth), (0, 1), place
        ).ssa
        for one in (factors, offsets)
    ]
    factor, offset = (nest.input(table, (1, 2)) for table in tables)
    product = nest.add(arith.MulfOp(factor, x)).result
    (result,) = nest.build([nest.add(arith.AddfOp(product, offset)).result])
    flat = Value(result, identity(4), is_real=True)
    node.define(node.builder.reshape(flat, shape, order, place))


def _row(node: NodeContext, number: int, size: int) -> SSAValue:
    """An operand that has one number for each place of a row."""
    value = real_tensor(node, number)
    if math.prod(value.shape) != size:
        raise node.error(
            f"{node.name(number)!r} of shape {list(value.shape)} is not supported;"
            f" expected {size} numbers"
        )
    place = node.place()
    value = node.builder.in_order(value, identity(len(value.order)), place)
    return node.builder.reshape(value, (size,), (0,), place).ssa


def _mean(emit: Emitter, matrix: SSAValue) -> SSAValue:
    """`F(D(sum / size))` of each row: sums of float64 in four lanes. The first and
    third are added, the second and fourth, then both, then what fills no vector."""
    rows, size = shape_of(matrix)
    nest = Nest(emit, (rows, WIDE_LANES, size // WIDE_LANES), reductions=1)
    nest.window((1, 2))
    column = AffineDimExpr(2) * WIDE_LANES + AffineDimExpr(1)
    wide = nest.add(arith.ExtFOp(nest.input(matrix, (0, column)), f64)).result
    zeros = emit.filled(nest.output_shape, f64, 0)
    (lanes,) = nest.reduce([zeros], nest.adding(wide))
    nest = Nest(emit, (rows,))
    parts = [nest.input(lanes, (0, AffineConstantExpr(n))) for n in range(WIDE_LANES)]
    total = fold_halves(nest, parts)
    for at in range(size - size % WIDE_LANES, size):
        element = nest.input(matrix, (0, AffineConstantExpr(at)))
        wide = nest.add(arith.ExtFOp(element, f64)).result
        total = nest.add(arith.AddfOp(total, wide)).result
    count = nest.add(scalar_constant(size, Float64Type())).result
    quotient = nest.add(arith.DivfOp(total, count)).result
    return nest.build([nest.add(arith.TruncFOp(quotient, f32)).result])[0]


def _inverse_deviation(
    emit: Emitter, matrix: SSAValue, mean: SSAValue | None, epsilon: float
) -> SSAValue:
    """`F(1 / F(sqrt(F(F(sum / size) + epsilon))))` of each row, with the sum of squared
    distances from the mean in eight lanes of FMAs. Lanes four apart are added, then
    those two apart, and so on. Where four numbers or more fill no vector, the squares
    of the first four are rounded before they are added, the others aren't."""
    rows, size = shape_of(matrix)
    nest = Nest(emit, (rows, LANES, size // LANES), reductions=1)
    nest.window((1, 2))
    column = AffineDimExpr(2) * LANES + AffineDimExpr(1)
    distance = _distance(nest, nest.input(matrix, (0, column)), mean)

    def combine(sums: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return [nest.add(FmaOp(distance, distance, sums[0])).result]

    (lanes,) = nest.reduce([emit.filled(nest.output_shape, f32, 0)], combine)
    last = Nest(emit, (rows,))
    total = fold_halves(
        last, [last.input(lanes, (0, AffineConstantExpr(n))) for n in range(LANES)]
    )
    tail = range(size - size % LANES, size)
    for at, place in enumerate(tail):
        element = last.input(matrix, (0, AffineConstantExpr(place)))
        d = _distance(last, element, mean)
        if len(tail) >= LANES // 2 and at < LANES // 2:
            square = last.add(arith.MulfOp(d, d)).result
            total = last.add(arith.AddfOp(total, square)).result
        else:
            total = last.add(FmaOp(d, d, total)).result
    deviation = _deviation(last, total, size, epsilon)
    inverse = last.add(arith.DivfOp(number(last, 1.0), deviation)).result
    return last.build([inverse])[0]


def _distance(nest: Nest, x: SSAValue, mean: SSAValue | None) -> SSAValue:
    if mean is None:
        return x
    return nest.add(arith.SubfOp(x, nest.input(mean, (0,)))).result


def _deviation(nest: Nest, total: SSAValue, size: int, epsilon: float) -> SSAValue:
    """`F(sqrt(F(F(total / size) + epsilon)))`"""
    square = nest.add(arith.DivfOp(total, number(nest, size))).result
    moved = nest.add(arith.AddfOp(square, number(nest, epsilon))).result
    return nest.add(SqrtOp(moved)).result


def _short_statistics(
    emit: Emitter, matrix: SSAValue, is_centred: bool, epsilon: float
) -> tuple[SSAValue | None, SSAValue]:
    """Mean and deviation of short rows: both are corrected by each number in turn, as
    Welford has it; without a mean, squares are added in turn."""
    rows, size = shape_of(matrix)
    nest = Nest(emit, (rows, size), reductions=1)
    x = nest.input(matrix, (0, 1))
    counts = emit.constant(np.arange(1, size + 1, dtype=np.float32), f32)
    count = nest.input(counts, (1,)) if is_centred else None

    def correct(before: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        if count is None:
            square = nest.add(arith.MulfOp(x, x)).result
            return [nest.add(arith.AddfOp(before[0], square)).result]
        mean, total = before
        distance = nest.add(arith.SubfOp(x, mean)).result
        share = nest.add(arith.DivfOp(distance, count)).result
        moved = nest.add(arith.AddfOp(mean, share)).result
        after = nest.add(arith.SubfOp(x, moved)).result
        product = nest.add(arith.MulfOp(distance, after)).result
        return [moved, nest.add(arith.AddfOp(total, product)).result]

    starts = [emit.filled((rows,), f32, 0) for _ in range(1 + is_centred)]
    *mean, total = nest.reduce(starts, correct)
    last = Nest(emit, (rows,))
    deviation = _deviation(last, last.input(total, (0,)), size, epsilon)
    return mean[0] if mean else None, last.build([deviation])[0]


def _of_rows(*, is_centred: bool) -> Entry[NodeContext]:
    operands = "x, scale, bias?" if is_centred else "x, scale"
    build = partial(import_layer_normalization, is_centred=is_centred)
    return takes(f"{operands}; stash_type: 1", build)


IMPORTERS = {
    ("", "GroupNormalization"): takes(
        "x, scale, bias; stash_type: 1", import_group_normalization
    ),
    ("", "InstanceNormalization"): takes(
        "x, scale, bias", import_instance_normalization
    ),
    ("", "LayerNormalization"): _of_rows(is_centred=True),
    ("", "RMSNormalization"): _of_rows(is_centred=False),
    ("", "SimplifiedLayerNormalization"): _of_rows(is_centred=False),
    (MICROSOFT, "SkipLayerNormalization"): takes(
        "x, skip, scale, offset?, bias?", import_skip_layer_normalization
    ),
    (MICROSOFT, "LayerNormalization"): _of_rows(is_centred=True),
}
