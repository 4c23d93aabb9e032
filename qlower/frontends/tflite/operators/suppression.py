"""NON_MAX_SUPPRESSION_V4 and _V5: boxes by their scores that overlap no better one
(internal/reference/non_max_suppression.h of LiteRT).

LiteRT keeps candidates in a priority queue, puts each box that it selects in again, and
drops it there because it overlaps itself. So equal scores come in the order of the C++
library's heap, and a box without an area, which overlaps nothing, is selected again and
again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects.types import shape_of
from qlower.emit.tensors import reshape
from qlower.model.nests import Emitter, Nest, extract

from ...entry import takes
from ...graph.heap import FIRST, Heap
from ...graph.scanning import scan
from ...graph.suppression import CORNERS, overlap, rows_at
from ...scalars import Scalars, nearest
from ..context import OperatorContext
from ..nests import emitter, finish, start
from ..types import MAX_ELEMENTS

MOST_STEPS = 1 << 20
"""The most boxes and results together; each takes a step."""


SOFT = 6
"""Operands of V5."""


def import_suppression(op: OperatorContext) -> None:
    """Places, with V5 scores, and the number of boxes that are selected; places that no
    box fills are 0."""
    boxes = op.shape(0, 2)[0]
    op.check_shape(0, (boxes, CORNERS))
    op.check_shape(1, (boxes,))
    (count,) = op.integers(2, "max_output_size", 1)
    op.check_range("max_output_size", count, 1, MAX_ELEMENTS)
    op.check_range("boxes and max_output_size", boxes + count, 2, MOST_STEPS)
    limit, least = (_number(op, at) for at in (3, 4))
    if op.count == SOFT and (sigma := _number(op, SOFT - 1)) != 0:
        raise op.error(
            f"{op.input(SOFT - 1)}: a soft_nms_sigma of {sigma} is not supported;"
            " expected 0"
        )
    queue, size = _queue(op, least)
    selected, scores, found = _selected(op, queue, size, count, limit)
    results = [selected, *([scores] if op.count == SOFT else []), found]
    for number, result in enumerate(results):
        finish(op, result, number)


def _number(op: OperatorContext, number: int) -> float:
    """A constant of one real number."""
    array = op.array(number)
    op.check_range(f"elements of {op.input(number)}", array.size, 1, 1)
    return float(array.reshape(-1)[0])


def _queue(op: OperatorContext, least: float) -> tuple[Heap, SSAValue]:
    """The heap of boxes with scores above the least one, and their number, i32 [1]."""
    builder, place, emit = op.graph.builder, op.place(), emitter(op)
    (count,) = shape_of(op.value(1))
    scores = reshape(emit, op.value(1), (count, 1))
    names = emit.constant(np.arange(count)[:, None], i32)
    empty = [emit.filled((count,), type, 0) for type in (f32, i32)]

    def step(
        carried: Sequence[SSAValue], parts: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        inner = builder.emitter(place, "queued")
        keys, ids, size = carried
        score, name = parts
        nest = Nest(inner, (1,))
        steps = Scalars(nest)
        given, bound = nest.input(score, (0,)), steps.constant(least, f32)
        (does,) = nest.build([steps.compare("gt", given, bound)])
        heap = Heap(inner, keys, ids).pushed(does, score, name, size)
        return [heap.keys, heap.ids, _changed(inner, size, does, 1)], []

    before = [*empty, emit.filled((1,), i32, 0)]
    left, _ = scan(builder, place, "queue", count, before, [scores, names], step)
    keys, ids, size = left
    return Heap(emit, keys, ids), size


def _selected(
    op: OperatorContext, queue: Heap, size: SSAValue, count: int, limit: float
) -> Sequence[SSAValue]:
    """The places and scores of selected boxes [count], and their number. A step takes
    one box off the queue."""
    builder, place, emit = op.graph.builder, op.place(), queue.emit
    boxes = _corners(op)

    def step(
        carried: Sequence[SSAValue], _: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        inner = builder.emitter(place, "selection")
        keys, ids, size, most, out, corners, places, scores, found = carried
        heap = Heap(inner, keys, ids)
        takes, key, name, chosen = _top(heap, size, most, found, out, count)
        size = _changed(inner, size, takes, -1)
        heap = heap.popped(takes, size).pushed(chosen, key, name, size)
        size = _changed(inner, size, chosen, 1)
        out = _dropped(inner, out, corners, name, chosen, limit)
        places = _put(inner, places, found, name, chosen)
        scores = _put(inner, scores, found, key, chosen)
        found = _changed(inner, found, chosen, 1)
        left = (heap.keys, heap.ids, size, most, out, corners, places, scores, found)
        return left, []

    before = [
        *(queue.keys, queue.ids, size, size),
        emit.filled((queue.room,), i1, 0),
        boxes,
        *(emit.filled((count,), type, 0) for type in (i32, f32)),
        emit.filled((1,), i32, 0),
    ]
    # each step but those of selections takes a box off for good
    steps = queue.room + count
    left, _ = scan(builder, place, "select", steps, before, [], step)
    *_, places, scores, found = left
    return places, scores, reshape(emit, found, ())


def _corners(op: OperatorContext) -> SSAValue:
    """Boxes [N, 4] whose first corner is not above or right of the second."""
    boxes = op.value(0)
    count = shape_of(boxes)[0]
    pairs = reshape(emitter(op), boxes, (count, 2, CORNERS // 2))
    nest = start(op, (count, 2, CORNERS // 2))
    nest.window((1,))
    steps = Scalars(nest)
    halves = map(AffineConstantExpr, range(2))
    one, other = (nest.input(pairs, (0, half, 2)) for half in halves)
    ends = steps.smaller(other, one), steps.larger(other, one)
    is_low = steps.compare("eq", steps.place(1, i32), steps.constant(0, i32))
    (corners,) = nest.build([steps.select(is_low, *ends)])
    return reshape(emitter(op), corners, (count, CORNERS))


def _top(
    heap: Heap,
    size: SSAValue,
    most: SSAValue,
    found: SSAValue,
    out: SSAValue,
    room: int,
) -> Sequence[SSAValue]:
    """Whether a box is taken off, its score and place, and whether it is selected, all
    [1]. Boxes are taken until none is left, or as many are found as there were at
    first (`most`) or as there is room for."""
    nest = Nest(heap.emit, (1,))
    steps = Scalars(nest)
    left, first, done = (nest.input(value, (0,)) for value in (size, most, found))
    zero, end = steps.constant(0, i32), steps.constant(room, i32)
    key, name = heap.read(steps, zero)
    is_dropped = extract(nest, out, [nearest(nest, name, heap.room)])
    takes = steps.logical(
        "and",
        steps.compare("gt", left, zero),
        steps.logical(
            "and", steps.compare("lt", done, first), steps.compare("lt", done, end)
        ),
    )
    chosen = steps.logical("and", takes, steps.invert(is_dropped))
    return nest.build([takes, key, name, chosen])


def _changed(emit: Emitter, number: SSAValue, does: SSAValue, by: int) -> SSAValue:
    """A number [1] and another one, if it `does` change."""
    nest = Nest(emit, (1,))
    steps = Scalars(nest)
    before, changes = nest.input(number, (0,)), nest.input(does, (0,))
    after = steps.add(before, steps.constant(by, i32))
    return nest.build([steps.select(changes, after, before)])[0]


def _dropped(
    emit: Emitter,
    out: SSAValue,
    boxes: SSAValue,
    place: SSAValue,
    does: SSAValue,
    limit: float,
) -> SSAValue:
    """Whether boxes [N, 4] are left out: those that were, and if one at a place is
    selected those that overlap it by the limit at least."""
    chosen = rows_at(emit, boxes, place)
    nest = Nest(emit, shape_of(out))
    steps = Scalars(nest)
    before, selects = nest.input(out, (0,)), nest.input(does, FIRST)
    is_near = steps.compare(
        "ge",
        overlap(nest, chosen, boxes, (*FIRST, 0)),
        steps.constant(limit, f32),
    )
    drops = steps.logical("and", selects, is_near)
    return nest.build([steps.logical("or", before, drops)])[0]


def _put(
    emit: Emitter, values: SSAValue, place: SSAValue, value: SSAValue, does: SSAValue
) -> SSAValue:
    """Values [M] with another one at a place [1], if it `does` come there."""
    nest = Nest(emit, shape_of(values))
    steps = Scalars(nest)
    before, new = nest.input(values, (0,)), nest.input(value, FIRST)
    at, comes = nest.input(place, FIRST), nest.input(does, FIRST)
    is_here = steps.compare("eq", steps.place(0, i32), at)
    taken = steps.logical("and", is_here, comes)
    return nest.build([steps.select(taken, new, before)])[0]


BOXES = "boxes: REAL, scores: REAL, max_output_size, iou_threshold, score_threshold"

IMPORTERS = {
    "NON_MAX_SUPPRESSION_V4": takes(BOXES, import_suppression, (2, 2)),
    "NON_MAX_SUPPRESSION_V5": takes(
        f"{BOXES}, soft_nms_sigma", import_suppression, (3, 3)
    ),
}
