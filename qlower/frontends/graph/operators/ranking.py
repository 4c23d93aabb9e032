"""Order and running sums along an axis, and the places of what is largest."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i32, i64

from ...entry import takes
from ...ranking import of_ranks, ranks, running_sums
from ...scalars import Scalars
from ..context import NodeContext
from ..values import Value
from .real import real_operand


def _rows(node: NodeContext, axis: int) -> tuple[Value, list[int], int]:
    """A real operand whose axis lies last, the sizes before it, and its own."""
    value = real_operand(node, 0)
    rank = len(value.shape)
    order = (*(d for d in range(rank) if d != axis), axis)
    value = node.in_order(value, order)
    *rows, size = value.type.get_shape()
    return value, rows, size


def import_top_k(node: NodeContext) -> None:
    """Elements by rank, of equal ones the first, and their places (topk.cc)."""
    rank = len(node.shape(0))
    axis = node.axis(node.integer("axis", -1), rank)
    value, _, size = _rows(node, axis)
    (count,) = node.integers(1, "k", 1)
    node.check_range("k", count, 1, size)
    if not node.flag("sorted", True):
        raise node.error("an order of no meaning is not supported; expected sorted 1")
    predicate = "gt" if node.flag("largest", True) else "lt"
    emit = node.builder.emitter(node.place(), "ranks")
    found = of_ranks(emit, value.ssa, ranks(emit, value.ssa, predicate), count, i64)
    for at, result in enumerate(found):
        if at < len(node.node.outputs) and node.node.outputs[at]:
            node.define(Value(result, value.order, is_real=at == 0), at)


def import_hardmax(node: NodeContext) -> None:
    """1 for the first of the largest of each row, else 0."""
    rank = len(node.shape(0))
    if node.graph.model.opset < 13:
        raise node.error("opset below 13 is not supported; expected a later one")
    value, rows, size = _rows(node, node.axis(node.integer("axis", -1), rank))
    places = ranks(node.builder.emitter(node.place(), "ranks"), value.ssa)
    nest = node.nest((*rows, size))
    steps = Scalars(nest)
    place = nest.input(places, range(len(rows) + 1))
    is_first = steps.compare("eq", place, steps.constant(0, i32))
    ends = steps.constant(1.0, f32), steps.constant(0.0, f32)
    (result,) = nest.build([steps.select(is_first, *ends)])
    node.define(Value(result, value.order, is_real=True))


def import_cumulative_sum(node: NodeContext) -> None:
    value = real_operand(node, 0)
    axis = node.axis(node.integers(1, "axis", 1)[0], len(value.shape))
    is_exclusive = node.flag("exclusive", False)
    sums = running_sums(
        node.builder.emitter(node.place()),
        value.ssa,
        value.order.index(axis),
        0.0 if is_exclusive else -0.0,
        is_exclusive=is_exclusive,
        is_reverse=node.flag("reverse", False),
    )
    node.define(Value(sums, value.order, is_real=True))


IMPORTERS = {
    ("", "TopK"): takes("x, k", import_top_k, (1, 2)),
    ("", "Hardmax"): takes("x", import_hardmax),
    ("", "CumSum"): takes("x, axis", import_cumulative_sum),
}
