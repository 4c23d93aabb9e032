"""Order and running sums along an axis, and the places of what is largest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from qlower.model.nests import Nest

from ...entry import takes
from ...scalars import Scalars
from ..context import NodeContext
from ..values import Value
from .real import real_operand
from .rearranging import pick


def _rows(node: NodeContext, axis: int) -> tuple[Value, list[int], int]:
    """A real operand whose axis lies last, the sizes before it, and its own."""
    value = real_operand(node, 0)
    rank = len(value.shape)
    order = (*(d for d in range(rank) if d != axis), axis)
    value = node.builder.in_order(value, order, node.place())
    *rows, size = value.type.get_shape()
    return value, rows, size


def _ranks(
    node: NodeContext, value: Value, rows: Sequence[int], size: int, predicate: str
) -> SSAValue:
    """How many elements of its row come before each: better ones, and equal ones that
    lie before it."""
    emit = node.builder.emitter(node.place(), "ranks")
    nest = Nest(emit, (*rows, size, size), reductions=1)
    steps, last = Scalars(nest), len(rows)
    one = nest.input(value.ssa, range(last + 1))
    other = nest.input(value.ssa, [*range(last), last + 1])
    place, turn = (steps.step(IndexOp(loop)) for loop in (last, last + 1))
    earlier = steps.step(arith.CmpiOp(turn, place, "slt"))
    equal = steps.logical("and", steps.compare("eq", other, one), earlier)
    precedes = steps.logical("or", steps.compare(predicate, other, one), equal)
    counted = steps.step(arith.ExtUIOp(precedes, i32))
    zeros = emit.filled((*rows, size), i32, 0)
    return nest.reduce([zeros], nest.adding(counted))[0]


def import_top_k(node: NodeContext) -> None:
    """Elements by rank, of equal ones the first, and their places (topk.cc)."""
    rank = len(node.shape(0))
    axis = node.axis(node.integer("axis", -1), rank)
    value, rows, size = _rows(node, axis)
    (count,) = node.integers(1, "k", 1)
    node.check_range("k", count, 1, size)
    if not node.flag("sorted", True):
        raise node.error("an order of no meaning is not supported; expected sorted 1")
    predicate = "gt" if node.flag("largest", True) else "lt"
    ranks = _ranks(node, value, rows, size, predicate)
    emit = node.builder.emitter(node.place(), "found")
    nest = Nest(emit, (*rows, count, size), reductions=1)
    steps, last = Scalars(nest), len(rows)
    place = [*range(last), last + 1]
    taken = nest.input(value.ssa, place), steps.place(last + 1, i64)
    found = steps.compare("eq", nest.input(ranks, place), steps.place(last, i32))
    inits = [emit.filled((*rows, count), one.type, 0) for one in taken]

    def keep(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [
            steps.select(found, new, old)
            for new, old in zip(taken, before, strict=True)
        ]

    for at, result in enumerate(nest.reduce(inits, keep)):
        if at < len(node.node.outputs) and node.node.outputs[at]:
            node.define(Value(result, value.order, is_real=at == 0), at)


def import_hardmax(node: NodeContext) -> None:
    """1 for the first of the largest of each row, else 0."""
    rank = len(node.shape(0))
    if node.graph.model.opset < 13:
        raise node.error("opset below 13 is not supported; expected a later one")
    value, rows, size = _rows(node, node.axis(node.integer("axis", -1), rank))
    ranks = _ranks(node, value, rows, size, "gt")
    nest = Nest(node.builder.emitter(node.place()), (*rows, size))
    steps = Scalars(nest)
    place = nest.input(ranks, range(len(rows) + 1))
    is_first = steps.compare("eq", place, steps.constant(0, i32))
    ends = steps.constant(1.0, f32), steps.constant(0.0, f32)
    (result,) = nest.build([steps.select(is_first, *ends)])
    node.define(Value(result, value.order, is_real=True))


def import_cumulative_sum(node: NodeContext) -> None:
    """`F(F(a + b) + c) ...` up to each element or to the one before it."""
    rank = len(node.shape(0))
    axis = node.axis(node.integers(1, "axis", 1)[0], rank)
    value, rows, size = _rows(node, axis)
    is_exclusive = node.flag("exclusive", False)
    is_reverse = node.flag("reverse", False)
    places = range(size)
    if is_reverse:
        value = pick(node, value, axis, places[::-1])
    nest = Nest(node.builder.emitter(node.place()), (*rows, size, size), reductions=1)
    last = len(rows)
    place, turn = np.ogrid[:size, :size]
    if is_reverse:
        place = place[::-1]
    mask = nest.emitter.constant(turn < place + (not is_exclusive), i1)
    element = nest.input(value.ssa, [*range(last), last + 1])
    is_taken = nest.input(mask, (last, last + 1))
    start = 0.0 if is_exclusive else -0.0
    zeros = nest.emitter.filled((*rows, size), f32, start)

    def add(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        total = nest.add(arith.AddfOp(before[0], element)).result
        return [nest.add(arith.SelectOp(is_taken, total, before[0])).result]

    (result,) = nest.reduce([zeros], add)
    node.define(Value(result, value.order, is_real=True))


IMPORTERS = {
    ("", "TopK"): takes("x, k", import_top_k, (1, 2)),
    ("", "Hardmax"): takes("x", import_hardmax),
    ("", "CumSum"): takes("x, axis", import_cumulative_sum),
}
