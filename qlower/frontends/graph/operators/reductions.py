"""Sums and products of real numbers along dimensions, in ONNX Runtime's order.

onnxruntime/core/providers/cpu/reduction: sums of rows by Eigen's packets, those of
columns one after the other, and what lies between as a product with ones; all other
reductions one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.model.nests import Emitter

from ...entry import Entry, takes
from ...scalars import Binary, Scalars, Unary, divided, folded, mapped, square, text
from ..context import NodeContext
from ..orders import identity
from ..values import Value
from .real import real_operand
from .real_layers import layer
from .sums import sum_rows


@dataclass(frozen=True, slots=True)
class Reduction:
    """One function of all elements in turn, each after `before`; then `after`."""

    compute: Binary = Scalars.add
    start: float = 0.0
    before: Unary | None = None
    after: Unary | None = None


IN_TURN = {
    "ReduceL1": Reduction(before=Scalars.absolute),
    "ReduceL2": Reduction(before=square, after=Scalars.sqrt),
    "ReduceLogSum": Reduction(after=text("_glibc", "logf")),
    "ReduceProd": Reduction(Scalars.multiply, 1.0),
    "ReduceSumSquare": Reduction(before=square),
}


def import_in_turn(node: NodeContext, reduction: Reduction) -> None:
    value, axes = _operand(node)
    is_whole = len(axes) == len(value.shape)
    emit = node.builder.emitter(node.place(), "reduced")
    if is_whole and reduction.compute is Scalars.multiply:
        raise node.error(
            "a product of all elements is not supported; expected one of some"
            " dimensions"
        )
    if is_whole:
        result = _of_all(node, emit, value, reduction)
    else:
        result = _reduced(emit, value.ssa, axes, reduction)
    _define(node, result, value, axes)


def _of_all(
    node: NodeContext, emit: Emitter, value: Value, reduction: Reduction
) -> SSAValue:
    """The sum of a whole tensor, which Eigen adds in packets."""
    row = node.builder.reshape(
        value, (1, math.prod(value.shape)), (0, 1), node.place()
    ).ssa
    if reduction.before:
        row = mapped(emit, reduction.before, row)
    total = sum_rows(emit, row)
    return total if reduction.after is None else mapped(emit, reduction.after, total)


def import_global_lp_pool(node: NodeContext) -> None:
    """The root of the sum of powers of an image (nn/pool_functors.h); powers above 2
    are computed in float64."""
    value = real_operand(node, 0)
    rank = len(value.shape)
    power = node.integer("p", 2, 1, 2)
    exponent = float(np.float32(1) / np.float32(power))
    reduction = Reduction(
        before=Scalars.absolute if power == 1 else square,
        after=lambda s, x: s.c("powf", x, s.constant(exponent, f32)),
    )
    value = node.builder.in_order(value, identity(rank), node.place())
    axes = [*range(2, rank)]
    emit = node.builder.emitter(node.place(), "reduced")
    _define(node, _reduced(emit, value.ssa, axes, reduction), value, axes)


def import_log_sum_exp(node: NodeContext) -> None:
    """`F(log(sum) + max)` of the exponentials of distances from the largest element,
    added in turn."""
    value, axes = _operand(node)
    rank = len(value.shape)
    order = (*(axis for axis in range(rank) if axis not in axes), *axes)
    x = node.builder.in_order(value, order, node.place()).ssa
    emit = node.builder.emitter(node.place(), "reduced")
    last = range(rank - len(axes), rank)
    most = folded(emit, x, last, Scalars.maximum, -math.inf)
    terms = mapped(emit, lambda s, x, m: s.c("expf", s.subtract(x, m)), x, most)
    total = folded(emit, terms, last, Scalars.add, 0.0)
    result = mapped(emit, lambda s, x, m: s.add(s.c("logf", x), m), total, most)
    _define(node, result, value, axes)


def _operand(node: NodeContext) -> tuple[Value, list[int]]:
    """The operand in the order of its dimensions, and the axes, in order."""
    value = real_operand(node, 0)
    rank = len(value.shape)
    axes = sorted(node.axes(1, rank) or range(rank))
    if node.flag("noop_with_empty_axes", False) and not (
        node.has(1) or "axes" in node.node.attributes
    ):
        axes = []
    return node.builder.in_order(value, identity(rank), node.place()), axes


def _reduced(
    emit: Emitter, value: SSAValue, axes: Sequence[int], reduction: Reduction
) -> SSAValue:
    """All elements along `axes` one after the other, for each place of the others."""

    compute, start = reduction.compute, reduction.start
    found = folded(emit, value, axes, compute, start, reduction.before)
    return found if reduction.after is None else mapped(emit, reduction.after, found)


def import_sum(node: NodeContext, *, is_mean: bool) -> None:
    value, axes = _operand(node)
    shape = value.shape
    count = math.prod(shape[axis] for axis in axes)
    inner = [axis for axis in range(len(shape)) if shape[axis] > 1]
    spans = [axis for axis in inner if axis in axes]
    before = [axis for axis in inner if not spans or axis < spans[0]]
    behind = [axis for axis in inner if spans and axis > spans[-1]]
    if len(before) + len(spans) + len(behind) < len(inner):
        raise node.error(
            f"a sum over dimensions {axes} of {list(shape)} is not supported; expected"
            " dimensions that lie together"
        )
    outer, last = (math.prod(shape[axis] for axis in side) for side in (before, behind))
    place = node.place()
    parts = (outer, count, last)
    block = node.builder.reshape(value, parts, identity(3), place)
    if last == 1:
        rows = node.builder.reshape(block, (outer, count), (0, 1), place)
        sums = sum_rows(node.builder.emitter(place, "sums"), rows.ssa)
    elif outer == 1:
        emit = node.builder.emitter(place, "sums")
        sums = _reduced(emit, block.ssa, [1], Reduction())
    else:
        ones = node.builder.constant(np.ones((outer, 1, count), np.float32), f32, place)
        type = TensorType(f32, (outer, 1, last))
        product = qnn.RealMatMulOp(ones, block.ssa, None, type)
        sums = layer(node, product, "sums", is_computed=True)
    if is_mean:
        sums = divided(node.builder.emitter(place, "mean"), sums, count)
    _define(node, sums, value, axes)


def _define(
    node: NodeContext, result: SSAValue, value: Value, axes: Sequence[int]
) -> None:
    """The reduced elements, with dimensions of size 1 where they are kept."""
    rank = len(value.shape)
    if node.flag("keepdims", True):
        shape = [1 if axis in axes else value.shape[axis] for axis in range(rank)]
    else:
        shape = [value.shape[axis] for axis in range(rank) if axis not in axes]
    order = identity(len(shape_of(result)))
    flat = Value(result, order, is_real=True)
    whole = node.builder.reshape(flat, shape, identity(len(shape)), node.place())
    node.define(whole)


def _in_turn(kind: str) -> Entry[NodeContext]:
    return takes("x, axes?", partial(import_in_turn, reduction=IN_TURN[kind]))


IMPORTERS = {
    **{("", kind): _in_turn(kind) for kind in IN_TURN},
    ("", "GlobalLpPool"): takes("x", import_global_lp_pool),
    ("", "ReduceLogSumExp"): takes("x, axes?", import_log_sum_exp),
    ("", "ReduceMean"): takes("x, axes?", partial(import_sum, is_mean=True)),
    ("", "ReduceSum"): takes("x, axes?", partial(import_sum, is_mean=False)),
}
