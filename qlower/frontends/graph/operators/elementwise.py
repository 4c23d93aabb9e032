"""QLinearAdd and QLinearMul."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from qlower.dialects import qnn

from ...entry import RESULT, quantized, takes
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..orders import Order, identity
from ..values import Value


def import_add(node: NodeContext) -> None:
    """The runtime adds a scalar operand in another place of the sum, and what it takes
    for a scalar depends on the order of dimensions: shapes that differ keep theirs."""
    _import_binary(node, qnn.AddOp, keeps_order=False)


def import_mul(node: NodeContext) -> None:
    _import_binary(node, qnn.MulOp, keeps_order=True)


def _import_binary(
    node: NodeContext, binary: type[qnn.AddOp | qnn.MulOp], *, keeps_order: bool
) -> None:
    lhs, rhs = node.stored(0, 1, 2), node.stored(3, 4, 5)
    shape = broadcast(node, lhs.shape, rhs.shape)
    keeps_order |= lhs.shape == rhs.shape
    order = (
        common_order([lhs, rhs], len(shape)) if keeps_order else identity(len(shape))
    )
    lhs, rhs = (expanded(node, value, order) for value in (lhs, rhs))
    type = node.typed(node.quantization(6, 7), shape, order)
    activation = node.text("activation", "") or None
    operation = binary(lhs.ssa, rhs.ssa, type, activation=activation)
    node.finish(operation, replace(lhs, order=order))


def broadcast(
    node: NodeContext, one: tuple[int, ...], other: tuple[int, ...]
) -> tuple[int, ...]:
    """The shape of what two operands broadcast to."""
    sizes: list[int] = []
    for pair in zip_longest(reversed(one), reversed(other), fillvalue=1):
        if pair[0] != pair[1] and 1 not in pair:
            raise node.error(f"shapes {list(one)} and {list(other)} do not broadcast")
        sizes.append(max(pair))
    return tuple(reversed(sizes))


def common_order(values: list[Value], rank: int) -> Order:
    """The order of the first of the largest values that has one of its own, so that
    the fewest are transposed."""
    full = [value for value in values if len(value.order) == rank]
    moved = [value for value in full if value.order != identity(rank)]
    return max(moved or full, key=lambda value: value.type.get_shape()).order


def expanded(node: NodeContext, value: Value, order: Order) -> Value:
    """The value with leading dimensions of size 1, in this order."""
    missing = len(order) - len(value.order)
    if missing and len(value.shape) and max(value.shape) > 1:
        shape = (1,) * missing + value.shape
        shifted = (*range(missing), *(missing + d for d in value.order))
        value = node.reshaped(value, shape, shifted)
    elif missing:
        ones = (1,) * len(order)
        return node.reshaped(value, ones, order)
    return node.in_order(value, order)


IMPORTERS = {
    (MICROSOFT, "QLinearAdd"): takes(f"{quantized('x', 'y')}, {RESULT}", import_add),
    (MICROSOFT, "QLinearMul"): takes(f"{quantized('x', 'y')}, {RESULT}", import_mul),
}
