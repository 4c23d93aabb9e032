"""Elements by index, one of two by a condition, and conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.model.nests import extract

from ...entry import Entry, quantized, takes
from ...scalars import Scalars, Unary, nearest
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..operands import STORED_TYPES
from ..orders import identity
from ..quantizations import find_quantization
from ..values import Value
from .real import body_of, elementwise, function, real_operand
from .slicing import take


def import_gather(node: NodeContext) -> None:
    value = _table(node)
    gather(node, value, node.axis(node.integer("axis", 0), len(value.shape)))


def gather(node: NodeContext, value: Value, axis: int) -> None:
    """Take indices of a dimension. Negative indices count from the end. Indices that
    only run time knows are brought into the dimension's range, where ONNX Runtime stops
    with an error.
    """
    size = value.shape[axis]
    if node.is_constant(1):
        found = [node.axis(at, size, "index") for at in node.integers(1, "indices")]
        shape = node.shape(1)
        if _is_slice(found) and len(shape) < 2:
            _slice(node, value, axis, found, is_single=not shape)
            return
        indices = node.builder.constant(
            np.array(found, np.int64).reshape(shape), i64, node.place()
        )
    else:
        given = node.value(1)
        indices = node.in_order(given).ssa
    value = node.in_order(value)
    count = len(shape_of(indices))
    result = (*value.shape[:axis], *shape_of(indices), *value.shape[axis + 1 :])
    node.check_elements(math.prod(result))
    table = node.plain(value)
    nest = node.nest(result, "gathered")
    index = nest.input(indices, range(axis, axis + count))
    steps = Scalars(nest)
    from_end = steps.add(index, steps.constant(size, index.type))
    is_negative = steps.compare("lt", index, steps.constant(0, index.type))
    place = nearest(nest, steps.select(is_negative, from_end, index), size)
    chosen = [*range(axis), place, *range(axis + count, len(result))]
    (gathered,) = nest.build([extract(nest, table, chosen)])
    _finish(node, gathered, value)


def _table(node: NodeContext) -> Value:
    """The operand from which elements are gathered; stored constants have the result's
    quantization."""
    if not node.is_constant(0) or node.constant(0, "operand").type not in STORED_TYPES:
        return node.value(0)
    signed = STORED_TYPES[node.constant(0, "operand").type]
    element = find_quantization(node.graph, node.result(), 8, signed)
    array = node.stored_array(0, element)
    ssa = node.builder.constant(array, element, node.place(node.name(0)))
    return Value(ssa, identity(array.ndim))


def _is_slice(indices: Sequence[int]) -> bool:
    """Whether indices are as far apart each, and go forward."""
    steps = set(np.diff(indices).tolist())
    return bool(indices) and (not steps or (len(steps) == 1 and min(steps) > 0))


def _slice(
    node: NodeContext, value: Value, axis: int, indices: list[int], *, is_single: bool
) -> None:
    step = indices[1] - indices[0] if len(indices) > 1 else 1
    ranges = [range(size) for size in value.shape]
    ranges[axis] = range(indices[0], indices[-1] + 1, step)
    taken = take(node, value, ranges, 0, "slice" if is_single else None)
    if is_single:
        shape = [size for d, size in enumerate(taken.shape) if d != axis]
        order = tuple(d - (d > axis) for d in taken.order if d != axis)
        taken = node.reshaped(taken, shape, order)
    node.define(taken)


def _finish(node: NodeContext, stored: SSAValue, like: Value) -> None:
    """Stored elements, in the order of the result's dimensions, with the meaning of
    those of a value."""
    order = identity(len(shape_of(stored)))
    node.define(replace(like, ssa=node.meant(stored, like.element), order=order))


def import_qlinear_where(node: NodeContext) -> None:
    """Each of the operands is brought to the result's scale first, all of it."""
    result = node.quantization(7, 8)
    operands = [node.value(0)]
    for number in (1, 4):
        value = node.stored(number, number + 1, number + 2)
        if value.element != result:
            type = node.typed(result, value.shape, value.order)
            step = node.emit(qnn.RequantizeOp(value.ssa, type), f"operand_{number}")
            value = replace(value, ssa=step)
        operands.append(replace(value, ssa=node.plain(value)))
    chosen = elementwise(node, operands, body_of(Scalars.select))
    node.define(replace(chosen, ssa=node.meant(chosen.ssa, result), is_real=False))


def _comparison(predicate: str) -> Entry[NodeContext]:
    """Compare real numbers, or integers of one type; PyTorch's nodes may have a number
    in place of the second operand."""

    def build(node: NodeContext) -> None:
        operands = [
            real_operand(node, at) if value.is_real else value
            for at in range(node.count)
            for value in [node.value(at)]
        ]
        types = {value.element for value in operands}
        if len(types) > 1:
            raise node.error("operands of different types can't be compared")

        def compute(steps: Scalars, x: SSAValue, *more: SSAValue) -> SSAValue:
            if not more:
                more = (steps.constant(node.number("other"), x.type),)
            return steps.compare(predicate, x, *more)

        held = elementwise(node, operands, body_of(compute))
        node.define(replace(held, is_real=False))

    return takes("x, y?", build)


def _truth(node: NodeContext, compute: Unary) -> None:
    """Give whether something holds of each real number."""
    held = elementwise(node, [real_operand(node, 0)], body_of(compute))
    node.define(replace(held, is_real=False))


def import_is_nan(node: NodeContext) -> None:
    _truth(node, lambda steps, x: steps.compare("ne", x, x))


def import_is_infinite(node: NodeContext) -> None:
    """Import an IsInf, which may look for infinities of one sign."""
    signs = {"detect_positive": math.inf, "detect_negative": -math.inf}
    ends = [end for name, end in signs.items() if node.integer(name, 1)]

    def compute(steps: Scalars, x: SSAValue) -> SSAValue:
        found = [steps.compare("eq", x, steps.constant(end, x.type)) for end in ends]
        return reduce(partial(steps.logical, "or"), found, steps.constant(0, i1))

    _truth(node, compute)


IMPORTERS = {
    ("", "IsNaN"): takes("x", import_is_nan),
    ("", "IsInf"): takes("x", import_is_infinite),
    ("", "Gather"): takes("x, indices: INDEX", import_gather),
    ("", "Where"): function("condition: BOOL, x, y", Scalars.select),
    (MICROSOFT, "QLinearWhere"): takes(
        f"condition: BOOL, {quantized('x', 'y')}, scale, zero_point",
        import_qlinear_where,
    ),
    **{
        ("", kind): _comparison(predicate)
        for kind, predicate in (
            ("Equal", "eq"),
            ("Greater", "gt"),
            ("GreaterOrEqual", "ge"),
            ("Less", "lt"),
            ("LessOrEqual", "le"),
        )
    },
    ("", "And"): function("x: BOOL, y: BOOL", lambda s, x, y: s.logical("and", x, y)),
    ("", "Or"): function("x: BOOL, y: BOOL", lambda s, x, y: s.logical("or", x, y)),
    ("", "Xor"): function("x: BOOL, y: BOOL", lambda s, x, y: s.compare("ne", x, y)),
    ("", "Not"): function("x: BOOL", Scalars.invert),
}
