"""NON_MAX_SUPPRESSION_V4 and _V5: boxes by their scores that overlap no better one
(internal/reference/non_max_suppression.h of LiteRT).

LiteRT keeps candidates in a priority queue, puts each box that it selects in again, and
drops it there because it overlaps itself. So equal scores come in the order of the C++
library's heap, and a box without an area, which overlaps nothing, is selected again and
again. A box meets each selected one once, the last one first; with a sigma above 0 it
has a lower score for each, and goes back into the queue with that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

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
from .plain import c_function

MOST_STEPS = 1 << 20
"""The most boxes and results together, and with a sigma above 0 their product; each
takes a step."""

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
    limit, least = (_number(op, at) for at in (3, 4))
    sigma = _number(op, SOFT - 1) if op.count == SOFT else 0
    # each step but those of selections and of lower scores takes a box off for good
    steps = boxes + count + (boxes * count if sigma > 0 else 0)
    op.check_range("boxes and max_output_size", steps, 2, MOST_STEPS)
    queue, size = _queue(op, least)
    falls = None if sigma <= 0 else float(np.float32(-0.5 / np.float32(sigma)))
    judge = partial(_judged, limit=limit, least=least, falls=falls)
    selected, scores, found = _selected(op, queue, size, count, steps, judge)
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
    op: OperatorContext,
    queue: Heap,
    size: SSAValue,
    count: int,
    steps: int,
    judge: Callable[..., Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """The places and scores of selected boxes [count], and their number. A step takes
    one box off the queue."""
    builder, place, emit = op.graph.builder, op.place(), queue.emit

    def step(
        carried: Sequence[SSAValue], _: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        inner = builder.emitter(place, "selection")
        keys, ids, size, most, met, boxes, last, places, scores, found = carried
        heap = Heap(inner, keys, ids)
        takes, key, name, first = _top(heap, size, most, met, found, count)
        size = _changed(inner, size, takes, -1)
        heap = heap.popped(takes, size)
        box = rows_at(inner, boxes, name)
        score, chosen, returns = judge(inner, takes, key, box, last, first, found)
        heap = heap.pushed(returns, score, name, size)
        size = _changed(inner, size, returns, 1)
        met = _put(inner, met, name, found, takes)
        last = _first(inner, last, box, chosen)
        places = _put(inner, places, found, name, chosen)
        scores = _put(inner, scores, found, score, chosen)
        found = _changed(inner, found, chosen, 1)
        left = (heap.keys, heap.ids, size, most, met, boxes, last, places, scores)
        return [*left, found], []

    before = [
        *(queue.keys, queue.ids, size, size),
        emit.filled((queue.room,), i32, 0),
        _corners(op),
        emit.filled((count, CORNERS), f32, 0),
        *(emit.filled((count,), type, 0) for type in (i32, f32)),
        emit.filled((1,), i32, 0),
    ]
    left, _ = scan(builder, place, "select", steps, before, [], step)
    *_, places, scores, found = left
    return places, scores, reshape(emit, found, ())


def _judged(
    emit: Emitter,
    takes: SSAValue,
    score: SSAValue,
    box: SSAValue,
    last: SSAValue,
    first: SSAValue,
    found: SSAValue,
    *,
    limit: float,
    least: float,
    falls: float | None,
) -> Sequence[SSAValue]:
    """The score of a box after it has met the selected ones from the `first` on, and
    whether it is selected and returns to the queue, all [1]. The `last` selected ones
    [M, 4] come first."""
    nest = Nest(emit, (1, shape_of(last)[0]), reductions=1)
    steps = Scalars(nest)
    new = steps.subtract(nest.input(found, (0,)), nest.input(first, (0,)))
    is_met = steps.compare("lt", steps.place(1, i32), new)
    common = overlap(nest, last, box, (1, 0))
    is_near = steps.compare("ge", common, steps.constant(limit, f32))
    bound = steps.constant(least, f32)
    weight = None
    if falls is not None:
        scaled = steps.multiply(steps.constant(falls, f32), common)
        weight = c_function("expf")(steps, steps.multiply(scaled, common))

    def meet(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        so_far, is_done, is_out = before
        meets = steps.logical("and", is_met, steps.invert(is_done))
        drops = steps.logical("and", meets, is_near)
        lower = so_far if weight is None else steps.multiply(so_far, weight)
        lowers = steps.logical("and", meets, steps.invert(is_near))
        after = steps.select(lowers, lower, so_far)
        ends = steps.logical("and", meets, steps.compare("le", after, bound))
        done = steps.logical("or", steps.logical("or", is_done, ends), drops)
        return [after, done, steps.logical("or", is_out, drops)]

    inits = [score, *(emit.filled((1,), i1, 0) for _ in range(2))]
    after, _, out = nest.reduce(inits, meet)
    nest = Nest(emit, (1,))
    steps = Scalars(nest)
    own, lowered = (nest.input(one, (0,)) for one in (score, after))
    stays = steps.logical(
        "and", nest.input(takes, (0,)), steps.invert(nest.input(out, (0,)))
    )
    chosen = steps.logical("and", stays, steps.compare("eq", own, lowered))
    is_above = steps.compare("gt", lowered, steps.constant(least, f32))
    returns = steps.logical("and", stays, is_above)
    return [after, *nest.build([chosen, returns])]


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
    met: SSAValue,
    found: SSAValue,
    room: int,
) -> Sequence[SSAValue]:
    """Whether a box is taken off, its score and place, and how many selected ones it
    has met, all [1]. Boxes are taken until none is left, or as many are found as there
    were at first (`most`) or as there is room for."""
    nest = Nest(heap.emit, (1,))
    steps = Scalars(nest)
    left, first, done = (nest.input(value, (0,)) for value in (size, most, found))
    zero, end = steps.constant(0, i32), steps.constant(room, i32)
    key, name = heap.read(steps, zero)
    takes = steps.logical(
        "and",
        steps.compare("gt", left, zero),
        steps.logical(
            "and", steps.compare("lt", done, first), steps.compare("lt", done, end)
        ),
    )
    so_far = extract(nest, met, [nearest(nest, name, heap.room)])
    return nest.build([takes, key, name, so_far])


def _changed(emit: Emitter, number: SSAValue, does: SSAValue, by: int) -> SSAValue:
    """A number [1] and another one, if it `does` change."""
    nest = Nest(emit, (1,))
    steps = Scalars(nest)
    before, changes = nest.input(number, (0,)), nest.input(does, (0,))
    after = steps.add(before, steps.constant(by, i32))
    return nest.build([steps.select(changes, after, before)])[0]


def _first(emit: Emitter, rows: SSAValue, row: SSAValue, does: SSAValue) -> SSAValue:
    """Rows [M, C] with another one [1, C] before them and without the last, if it
    `does` come there."""
    count, columns = shape_of(rows)
    nest = Nest(emit, (count, columns))
    steps = Scalars(nest)
    place, zero = steps.place(0, i32), steps.constant(0, i32)
    above = nearest(nest, steps.subtract(place, steps.constant(1, i32)), count)
    moved = extract(nest, rows, [above, 1])
    is_top = steps.compare("eq", place, zero)
    shifted = steps.select(is_top, nest.input(row, (*FIRST, 1)), moved)
    comes, own = nest.input(does, FIRST), nest.input(rows, (0, 1))
    return nest.build([steps.select(comes, shifted, own)])[0]


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
