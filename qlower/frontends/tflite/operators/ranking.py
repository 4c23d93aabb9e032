"""TOPK_V2, ARG_MAX and ARG_MIN: the largest or smallest elements of each row, and where
they are; BUCKETIZE: where elements are among others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.ir import SSAValue

from qlower.dialects import qnn

from ...entry import takes
from ...ranking import of_ranks, place_of_extreme, ranks
from ...scalars import Scalars, mapped
from ..context import OperatorContext
from ..nests import emitter, finish, start
from ..types import MAX_ELEMENTS, MAX_RANK, Element

PLAIN = "FLOAT32 | INT32 | BOOL"
"""Types of plain numbers whose positions are found."""


def import_top_k(op: OperatorContext) -> None:
    """Elements and their positions by rank: from the largest on, NaN last, of equal
    ones the first (topk_v2.cc, TopContainer)."""
    op.check_type(op.output(), op.input(0).type)
    op.check_range("number of dimensions", len(op.shape(0)), 1, MAX_RANK)
    (count,) = op.integers(1, "k", count=1)
    op.check_range("k", count, 1, op.shape(0)[-1])
    source, emit = op.elements(0), emitter(op)
    found = ranks(
        emit,
        source,
        is_unsigned=op.input(0).type == "UINT8",
        has_nan=op.is_float(0),
    )
    for number, result in enumerate(of_ranks(emit, source, found, count, i32)):
        finish(op, result, number)


OUTPUT_TYPES = {"INT32": 2, "INT64": 4}
"""Types of ARG_MAX's result, with the schema's numbers of element types."""


def import_arg_min(op: OperatorContext) -> None:
    """Import an ARG_MIN: with all bits inverted, the smallest stored value is the
    largest."""
    type = op.input_type(0)
    op.per_tensor(op.input(0))
    turned = mapped(
        emitter(op),
        lambda s, x: s.step(arith.XOrIOp(x, s.constant(-1, x.type))),
        op.stored(op.value(0)),
    )
    _import_stored_position(op, op.as_stored(turned, type))


def import_arg_max(op: OperatorContext) -> None:
    _import_stored_position(op, op.value(0))


def _import_stored_position(op: OperatorContext, value: SSAValue) -> None:
    op.per_tensor(op.input(0))
    axis, type = _position_type(op)
    op.finish(qnn.ArgMaxOp(value, type, axis=axis))


def _import_plain_position(predicate: str, op: OperatorContext) -> None:
    """Import the place of the first of the largest ("gt") or smallest ("lt") plain
    numbers. NaN is passed over; what LiteRT does with it depends on the count of
    numbers."""
    axis, type = _position_type(op)
    place = place_of_extreme(
        emitter(op),
        op.value(0),
        axis,
        predicate,
        type.element_type,
        is_unsigned=op.input(0).type == "BOOL",
    )
    finish(op, place)


def import_bucketize(op: OperatorContext) -> None:
    """Import the number of boundaries that are not above each element, NaN being above
    all. Elements are compared in float32."""
    op.check_type(op.output(), "INT32")
    boundaries = np.array(op.real_list("boundaries"), np.float32)
    op.check_range("number of boundaries", boundaries.size, 1, MAX_ELEMENTS)
    if not (boundaries[1:] >= boundaries[:-1]).all() or np.isnan(boundaries).any():
        raise op.error("boundaries that do not ascend")
    shape = op.shape(0)
    nest = start(op, (*shape, boundaries.size), reductions=1)
    steps = Scalars(nest)
    value = steps.cast(nest.input(op.value(0), range(len(shape))), f32)
    boundary = nest.input(nest.emitter.constant(boundaries, f32), [len(shape)])
    is_below = steps.compare("lt", value, boundary)
    init = nest.emitter.filled(shape, i32, 0)
    one = steps.constant(1, i32)

    def count(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [steps.select(is_below, before[0], steps.add(before[0], one))]

    finish(op, nest.reduce([init], count)[0])


def _position_type(op: OperatorContext) -> tuple[int, TensorType[Element]]:
    """The dimension that is searched, and the type of the positions.

    The kernel gives what the option says, so the tensor must be of that type.
    """
    shape = op.shape(0)
    axis = op.axis_at(1, len(shape))
    result = op.output()
    if result.type not in OUTPUT_TYPES:
        raise op.unsupported(f"{result}: type", result.type, *OUTPUT_TYPES)
    expected = OUTPUT_TYPES[result.type]
    op.option("output_type", expected, expected)
    return axis, op.result_type((*shape[:axis], *shape[axis + 1 :]))


IMPORTERS = {
    "TOPK_V2": takes("x: NUMBER | STORED, k", import_top_k, (2, 2)),
    "ARG_MAX": takes(f"x: {PLAIN}, axis", partial(_import_plain_position, "gt"))
    | takes("x: STORED, axis", import_arg_max),
    "ARG_MIN": takes(f"x: {PLAIN}, axis", partial(_import_plain_position, "lt"))
    | takes("x: STORED, axis", import_arg_min),
    "BUCKETIZE": takes("x: NUMBER", import_bucketize),
}
