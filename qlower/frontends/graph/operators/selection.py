"""Elements by index, one of two by a condition, and conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.quant.ops import StorageCastOp
from qlower.dialects.types import shape_of
from qlower.model.nests import Nest, extract, scalar_constant, to_index

from ...entry import quantized, takes
from ..context import STORED_TYPES, NodeContext
from ..nodes import MICROSOFT
from ..orders import identity
from ..quantizations import find_quantization
from ..values import Value
from .real import elementwise, real_operand
from .slicing import take


def import_gather(node: NodeContext) -> None:
    """Negative indices count from the end. Those that only run time knows are brought
    into the dimension's range, where ONNX Runtime stops with an error.
    """
    value = _table(node)
    rank = len(value.shape)
    axis = node.axis(node.integer("axis", 0), rank)
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
        indices = node.builder.in_order(
            given, identity(len(given.order)), node.place()
        ).ssa
    value = node.builder.in_order(value, identity(rank), node.place())
    count = len(shape_of(indices))
    result = (*value.shape[:axis], *shape_of(indices), *value.shape[axis + 1 :])
    node.check_elements(math.prod(result))
    table = _plain(node, value)
    nest = Nest(node.builder.emitter(node.place(), "gathered"), result)
    loops = [nest.add(IndexOp(loop)).result for loop in range(len(result))]
    index = nest.input(indices, range(axis, axis + count))
    last, length, first = (
        nest.add(scalar_constant(number, index.type)).result
        for number in (size - 1, size, 0)
    )
    is_negative = nest.add(arith.CmpiOp(index, first, "slt")).result
    from_end = nest.add(arith.AddiOp(index, length)).result
    wanted = nest.add(arith.SelectOp(is_negative, from_end, index)).result
    above = nest.add(arith.MaxSIOp(wanted, first)).result
    inside = nest.add(arith.MinSIOp(above, last)).result
    chosen = [*loops[:axis], to_index(nest, inside), *loops[axis + count :]]
    (gathered,) = nest.build([extract(nest, table, chosen)])
    _finish(node, gathered, value)


def _table(node: NodeContext) -> Value:
    """What is gathered from; stored constants mean what the result does."""
    if not node.is_constant(0) or node.constant(0, "operand").type not in STORED_TYPES:
        return node.value(0)
    signed = STORED_TYPES[node.constant(0, "operand").type]
    element = find_quantization(node.graph, node.result(), signed)
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
        taken = node.builder.reshape(taken, shape, order, node.place())
    node.define(taken)


def _plain(node: NodeContext, value: Value) -> SSAValue:
    """A tensor's elements as they are stored."""
    element = value.element
    if not isinstance(element, QuantizedType):
        return value.ssa
    type = TensorType(element.storage_type, value.type.get_shape())
    return node.emit(StorageCastOp(value.ssa, type), "stored")


def _finish(node: NodeContext, stored: SSAValue, like: Value) -> None:
    """Stored elements, in the order of the result's dimensions, with the meaning of
    those of a value."""
    shape = shape_of(stored)
    if isinstance(like.element, QuantizedType):
        cast = StorageCastOp(stored, TensorType(like.element, shape))
        stored = node.emit(cast)
    node.define(replace(like, ssa=stored, order=identity(len(shape))))


def _choose(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
    condition, one, other = elements
    return nest.add(arith.SelectOp(condition, one, other)).result


def import_where(node: NodeContext) -> None:
    """Choose between real numbers: where a condition holds, the first."""
    operands = [node.value(0), real_operand(node, 1), real_operand(node, 2)]
    node.define(elementwise(node, operands, _choose))


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
        operands.append(replace(value, ssa=_plain(node, value)))
    chosen = elementwise(node, operands, _choose)
    type = TensorType(result, chosen.type.get_shape())
    node.define(
        replace(chosen, ssa=node.emit(StorageCastOp(chosen.ssa, type)), is_real=False)
    )


def import_comparison(node: NodeContext, predicate: str) -> None:
    """Compare real numbers; NaN compares with nothing."""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        one, other = elements
        return nest.add(arith.CmpfOp(one, other, predicate)).result

    operands = [real_operand(node, number) for number in (0, 1)]
    node.define(replace(elementwise(node, operands, body), is_real=False))


def import_logical(
    node: NodeContext, operation: type[arith.AndIOp | arith.OrIOp | arith.XOrIOp]
) -> None:
    """Not is the other one of true."""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        one, *others = elements
        other = others[0] if others else nest.constant(np.array(True), i1)
        return nest.add(operation(one, other)).result

    operands = [node.value(number) for number in range(len(node.node.inputs))]
    node.define(replace(elementwise(node, operands, body), is_real=False))


IMPORTERS = {
    ("", "Gather"): takes("x, indices: INDEX", import_gather),
    ("", "Where"): takes("condition: BOOL, x, y", import_where),
    (MICROSOFT, "QLinearWhere"): takes(
        f"condition: BOOL, {quantized('x', 'y')}, scale, zero_point",
        import_qlinear_where,
    ),
    **{
        ("", kind): takes("x, y", partial(import_comparison, predicate=predicate))
        for kind, predicate in (
            ("Equal", "oeq"),
            ("Greater", "ogt"),
            ("GreaterOrEqual", "oge"),
            ("Less", "olt"),
            ("LessOrEqual", "ole"),
        )
    },
    **{
        ("", kind): takes(signature, partial(import_logical, operation=operation))
        for kind, operation, signature in (
            ("And", arith.AndIOp, "x: BOOL, y: BOOL"),
            ("Or", arith.OrIOp, "x: BOOL, y: BOOL"),
            ("Not", arith.XOrIOp, "x: BOOL"),
        )
    },
}
