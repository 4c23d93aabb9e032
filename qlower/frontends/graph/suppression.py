"""Boxes picked one after the other by their scores, each instead of those that it
overlaps: greedy non-maximum suppression."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function
from qlower.emit.reductions import axes_nest
from qlower.model.nests import Emitter, Index, Nest, extract

from ..scalars import Scalars, nearest
from .scanning import scan
from .values import FunctionBuilder, Origin

CORNERS = 4
"""Coordinates of a box: y and x of one corner, then of the opposite one."""


def picked(
    builder: FunctionBuilder,
    place: Origin,
    suffix: str,
    count: int,
    scores: SSAValue,
    boxes: SSAValue | None = None,
    limit: float = inf,
) -> tuple[SSAValue, SSAValue]:
    """`count` times the largest score of each row, and its place.

    `scores` are [R, N] of float32, -infinity where there is no candidate. Of equal ones
    the first counts. What is picked is no candidate afterwards, nor are those of the
    `boxes`, [N, 4] of float32, that it overlaps by more than `limit` (`overlap` of
    `_litert.mlir`). The results are [count, R], of float32 and of i64; without a
    candidate left the score is -infinity.
    """

    def step(
        carried: Sequence[SSAValue], _: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        emit = builder.emitter(place, f"{suffix}_step")
        before, *corners = carried
        best, at = first_of_largest(emit, before)
        left = _without(emit, before, at, corners, limit)
        return [left, *corners], [best, at]

    start = [scores] if boxes is None else [scores, boxes]
    _, (best, at) = scan(builder, place, suffix, count, start, [], step)
    return best, at


def first_of_largest(emit: Emitter, scores: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The first of the largest elements of each row [R, N] and its place, i64; a NaN is
    the largest where it is the first element, else it is passed over."""
    nest, indices = axes_nest(emit, shape_of(scores), [1])
    steps = Scalars(nest)
    score, place = nest.input(scores, indices), steps.place(1, i64)
    is_first = steps.compare("eq", place, steps.constant(0, i64))
    inits = [emit.filled(nest.output_shape, type, 0) for type in (f32, i64)]

    def keep(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        is_larger = steps.compare("gt", score, before[0])
        taken = steps.logical("or", is_first, is_larger)
        pairs = zip((score, place), before, strict=True)
        return [steps.select(taken, *pair) for pair in pairs]

    best, at = nest.reduce(inits, keep)
    return best, at


def rows_at(emit: Emitter, table: SSAValue, places: SSAValue) -> SSAValue:
    """The rows of a table [N, C] at places [R], i64: [R, C]."""
    count, columns = shape_of(table)
    nest = Nest(emit, (*shape_of(places), columns))
    row = nearest(nest, nest.input(places, (0,)), count)
    nest.window((1,))
    return nest.build([extract(nest, table, [row, 1])])[0]


def _without(
    emit: Emitter,
    scores: SSAValue,
    places: SSAValue,
    boxes: Sequence[SSAValue],
    limit: float,
) -> SSAValue:
    """The scores [R, N] with -infinity at places [R], and where a box overlaps the one
    there by more than the limit, if there are boxes."""
    rows = [(rows_at(emit, one, places), one) for one in boxes]
    nest = Nest(emit, shape_of(scores))
    steps = Scalars(nest)
    score = nest.input(scores, (0, 1))
    is_out = steps.compare("eq", steps.place(1, i64), nest.input(places, (0,)))
    for chosen, every in rows:
        common = overlap(nest, chosen, every, (0, 1))
        is_near = steps.compare("gt", common, steps.constant(limit, f32))
        is_out = steps.logical("or", is_out, is_near)
    return nest.build([steps.select(is_out, steps.constant(-inf, f32), score)])[0]


def overlap(
    nest: Nest, chosen: SSAValue, every: SSAValue, places: Sequence[Index]
) -> SSAValue:
    """The overlap of two boxes of tables [N, 4], at a place of each: from 0 to 1 of
    what they cover together."""
    corners = [
        nest.input(table, (place, AffineConstantExpr(corner)))
        for table, place in zip((chosen, every), places, strict=True)
        for corner in range(CORNERS)
    ]
    return call_function(nest, "_litert", "overlap", *corners)
