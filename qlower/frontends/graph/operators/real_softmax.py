"""Softmax of real numbers."""

from __future__ import annotations

from functools import partial

from qlower.dialects import qnn

from ...entry import takes
from ..context import NodeContext
from ..orders import identity
from ..values import Value
from .real import real_operand
from .real_layers import FALLBACK


def import_softmax(node: NodeContext, *, function: str) -> None:
    """Along one axis since opset 13, before along all dimensions from it on."""
    value = real_operand(node, 0)
    rank = len(value.shape)
    is_old = node.graph.model.opset < 13
    axis = node.axis(node.integer("axis", 1 if is_old else -1), rank)
    order = identity(rank)
    if not is_old:
        order = (*(d for d in order if d != axis), axis)
        axis = rank - 1
    value = node.in_order(value, order)
    node.define(softmax_of(node, value, function, axis))


def softmax_of(
    node: NodeContext, value: Value, function: str, axis: int, suffix: str | None = None
) -> Value:
    """The softmax along the stored dimensions from `axis` on, or its logarithm; with
    `suffix` a step."""
    operation = qnn.RealNormalizeOp(
        value.ssa, [], value.type, function=function, axis=axis, fallback=FALLBACK
    )
    return Value(node.emit(operation, suffix), value.order, True)


IMPORTERS = {
    ("", "Softmax"): takes("x", partial(import_softmax, function="softmax")),
    ("", "LogSoftmax"): takes("x", partial(import_softmax, function="log_softmax")),
}
