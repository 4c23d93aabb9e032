"""TFLite_Detection_PostProcess: boxes of an SSD detector from encodings and anchors,
and those that are left of overlapping ones (detection_postprocess.cc of LiteRT).

Places of results that no detection fills are 0. Without `use_regular_nms` LiteRT leaves
in them whatever its memory has: behind the last detection, and of each detection behind
the last of its classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qlower.dialects.types import element_type, shape_of
from qlower.emit.inline_rule import call_function
from qlower.emit.reductions import summed
from qlower.emit.tensors import reshape
from qlower.files.arrays import Array
from qlower.model.nests import extract

from ...entry import takes
from ...graph.partial_sort import partially_sorted
from ...graph.suppression import CORNERS, first_of_largest, picked, rows_at
from ...scalars import Scalars, mapped, nearest
from ..context import OperatorContext
from ..custom_options import DETECTION
from ..nests import emitter, finish, start, take
from ..types import MAX_ELEMENTS

BOX_COUNT = 3
"""The result that has the number of detections; before it come their boxes, classes
and scores."""

DETECTIONS_PER_CLASS = 100
"""Detections of one class where the options don't have their number."""

MOST_CLASSES = 16
"""The most classes of one detection, whose order is computed by comparisons that grow
with the square of their number."""

SCALES = ("y_scale", "x_scale", "h_scale", "w_scale")


def import_detection(op: OperatorContext) -> None:
    """Boxes by their scores, each instead of those of lower scores that it overlaps:
    of all classes together, or of each class with `use_regular_nms`."""
    count = op.integer("max_detections", None, 1, MAX_ELEMENTS)
    classes = op.integer("num_classes", None, 1, MAX_ELEMENTS)
    is_regular = op.flag("use_regular_nms", False)
    # LiteRT takes 0 where it is left out, and has no room for results then; with
    # `use_regular_nms` it leaves room for several classes, and fills none of it
    most = 1 if is_regular else MAX_ELEMENTS // count
    width = op.integer("max_classes_per_detection", 0, 1, most)
    op.check_range("classes of a detection", min(width, classes), 1, MOST_CLASSES)
    limit = op.number("nms_iou_threshold")
    if not 0 < limit <= 1:
        raise op.error(f"nms_iou_threshold {limit} is out of range (0, 1]")
    boxes = _boxes(op)
    if is_regular:
        _give(op, 1, boxes, *_of_each_class(op, boxes, classes, count, limit))
        return
    given = _scores(op, boxes, classes, (0, 1))
    columns = _best_classes(op, given, min(width, classes))
    tables = [_side_by_side(op, width, column) for column in zip(*columns, strict=True)]
    best = columns[0][0]
    kept = _kept(op, reshape(emitter(op), best, (1, *shape_of(best))))
    picks = picked(op.graph.builder, op.place(), "picked", count, kept, boxes, limit)
    best, at = (reshape(emitter(op), one, (count,)) for one in picks)
    scores, found = (rows_at(emitter(op), table, at) for table in tables)
    _give(op, len(columns), boxes, best, at, found, scores)


def _best_classes(
    op: OperatorContext, scores: SSAValue, count: int
) -> Sequence[tuple[SSAValue, SSAValue]]:
    """The best scores of boxes and their classes, the best one first: of one alone the
    first of equal ones, of more the one that LiteRT's partial sort has there."""
    if count == 1:
        return [first_of_largest(emitter(op), scores)]
    return partially_sorted(emitter(op), scores, count)


def _side_by_side(
    op: OperatorContext, width: int, columns: Sequence[SSAValue]
) -> SSAValue:
    """A table [N, width] of columns [N], and of 0 behind them."""
    emit = emitter(op)
    (count,) = shape_of(columns[0])
    table = emit.filled((count, width), element_type(columns[0].type), 0)
    for place, column in enumerate(columns):
        table = emit.inserted(reshape(emit, column, (count, 1)), table, (0, place))
    return table


def _of_each_class(
    op: OperatorContext, boxes: SSAValue, classes: int, count: int, limit: float
) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue]:
    """Detections as scores and places of boxes [D], classes and again scores [D, 1]:
    the best ones of all classes, of equal ones that of the first class."""
    default = DETECTIONS_PER_CLASS
    each = op.integer("detections_per_class", default, 1, MAX_ELEMENTS)
    each = min(each, count)
    builder, emit = op.graph.builder, emitter(op)
    kept = _kept(op, _scores(op, boxes, classes, (1, 0)))
    picks = picked(builder, op.place(), "of_class", each, kept, boxes, limit)
    nest = start(op, (classes, each))
    turned = nest.build([nest.input(one, (1, 0)) for one in picks])
    best, at = (reshape(emit, one, (1, classes * each)) for one in turned)
    picks = picked(builder, op.place(), "picked", count, best)
    scores, chosen = (reshape(emit, one, (count,)) for one in picks)
    found = mapped(
        emit,
        lambda s, x: s.step(arith.DivSIOp(x, s.constant(each, i64))),
        chosen,
    )
    at = reshape(emit, at, (classes * each,))
    column = (count, 1)
    found, shown = (reshape(emit, one, column) for one in (found, scores))
    return scores, _elements_at(op, at, chosen), found, shown


def _elements_at(op: OperatorContext, table: SSAValue, places: SSAValue) -> SSAValue:
    """The elements of a list at places [D], i64."""
    nest = start(op, shape_of(places))
    index = nearest(nest, nest.input(places, (0,)), shape_of(table)[0])
    return nest.build([extract(nest, table, [index])])[0]


def _give(
    op: OperatorContext,
    filled: int,
    boxes: SSAValue,
    best: SSAValue,
    at: SSAValue,
    found: SSAValue,
    scores: SSAValue,
) -> None:
    """Make detections the results: where there is none, and in columns of classes
    behind the `filled` ones, they are 0."""
    count, width = shape_of(found)
    rows = count * width
    shapes = (1, rows, CORNERS), (1, rows), (1, rows), (1,)
    for number, shape in enumerate(shapes):
        # LiteRT takes no shape from the file, where converters leave it out
        op.graph.shapes.setdefault(op.output(number).index, shape)
    corners = rows_at(emitter(op), boxes, at)
    for number, value in enumerate((corners, found, scores)):
        loops = (count, width, CORNERS) if number == 0 else (count, width)
        nest = start(op, loops, output=number)
        steps = Scalars(nest)
        element = nest.input(value, (0, len(loops) - 1))
        if number == 1:
            element = steps.step(arith.SIToFPOp(element, f32))
        is_there = _is_there(steps, nest.input(best, (0,)))
        if filled < width:
            is_filled = steps.compare(
                "lt", steps.place(1, i32), steps.constant(filled, i32)
            )
            is_there = steps.logical("and", is_there, is_filled)
        chosen = steps.select(is_there, element, steps.constant(0, f32))
        (result,) = nest.build([chosen])
        finish(op, reshape(nest.emitter, result, shapes[number]), number)
    nest = start(op, (1, count), 1, output=BOX_COUNT)
    steps = Scalars(nest)
    one = steps.constant(1, f32), steps.constant(0, f32)
    counted = steps.select(_is_there(steps, nest.input(best, (1,))), *one)
    finish(op, summed(nest, counted), BOX_COUNT)


def _is_there(steps: Scalars, score: SSAValue) -> SSAValue:
    return steps.compare("gt", score, steps.constant(-inf, f32))


def _boxes(op: OperatorContext) -> SSAValue:
    """The corners [N, 4] of boxes."""
    batch, count, values = op.shape(0, 3)
    op.check_range(f"batch of {op.input(0)}", batch, 1, 1)
    op.check_range(f"numbers of a box of {op.input(0)}", values, CORNERS, MAX_ELEMENTS)
    op.check_shape(2, (count, CORNERS))
    op.check_type(op.input(2), op.input(0).type)
    anchors = _anchors(op)
    scales = np.array([op.number(name) for name in SCALES], np.float32)
    if not (anchors[:, 2:] > 0).all() or not np.isfinite(anchors).all():
        least = anchors[:, 2:].min()
        raise op.error(
            f"{op.input(2)}: sizes of anchors from {least} on are not supported;"
            " expected finite ones above 0"
        )
    if not scales.all():
        raise op.error(f"a scale of 0 among {scales.tolist()}; expected others")
    pairs = (count, 2, CORNERS // 2)
    given = take(op, op.stored(op.value(0)), [[0], range(count), range(CORNERS)])
    given = reshape(emitter(op), given, pairs)
    nest = start(op, (count, CORNERS // 2))
    steps = Scalars(nest)
    halves = [(0, AffineConstantExpr(half), 1) for half in range(2)]
    place, size = (_real(op, steps, 0, nest.input(given, at)) for at in halves)
    table = nest.emitter.constant(anchors.reshape(pairs), f32)
    anchor, anchor_size = (nest.input(table, at) for at in halves)
    scale, size_scale = (nest.constant(part, f32) for part in scales.reshape(2, 2))
    center = call_function(
        nest, "_litert", "box_center", place, scale, anchor_size, anchor
    )
    half = call_function(nest, "_litert", "half_box", size, size_scale, anchor_size)
    ends = nest.build([steps.subtract(center, half), steps.add(center, half)])
    nest = start(op, (count, 2, CORNERS // 2))
    low, high = (nest.input(end, (0, 2)) for end in ends)
    nest.window((1,))
    steps = Scalars(nest)
    is_low = steps.compare("eq", steps.place(1, i32), steps.constant(0, i32))
    (corners,) = nest.build([steps.select(is_low, low, high)])
    return reshape(emitter(op), corners, (count, CORNERS))


def _anchors(op: OperatorContext) -> Array:
    """The constant centers and sizes of anchors [N, 4], real."""
    if op.is_float(2):
        return op.array(2).astype(np.float32)
    element = op.per_tensor(op.input(2))
    centred = op.stored_array(2).astype(np.float32) - element.zero_points[0]
    return centred.astype(np.float32) * np.float32(element.scales[0])


def _real(
    op: OperatorContext, steps: Scalars, number: int, value: SSAValue
) -> SSAValue:
    """A stored element of an operand as a real number: F(F(stored - zero point)
    scale)."""
    if op.is_float(number):
        return value
    element = op.per_tensor(op.input(number))
    wide = steps.step(arith.ExtUIOp(value, i32))
    zero = steps.constant(element.zero_points[0], f32)
    centred = steps.subtract(steps.step(arith.SIToFPOp(wide, f32)), zero)
    return steps.multiply(centred, steps.constant(element.scales[0], f32))


def _scores(
    op: OperatorContext, boxes: SSAValue, classes: int, order: Sequence[int]
) -> SSAValue:
    """The real scores of boxes and classes, [N, C] or in another order. A background
    class comes first and is left out."""
    count = shape_of(boxes)[0]
    batch, rows, given = op.shape(1, 3)
    op.check_range(f"batch of {op.input(1)}", batch, 1, 1)
    op.check_range(f"boxes of {op.input(1)}", rows, count, count)
    op.check_range(f"classes of {op.input(1)}", given, classes, classes + 1)
    nest = start(op, [(count, classes)[axis] for axis in order])
    box, kind = (AffineDimExpr(order.index(axis)) for axis in range(2))
    at = (AffineConstantExpr(0), box, kind + (given - classes))
    stored = nest.input(op.stored(op.value(1)), at)
    return nest.build([_real(op, Scalars(nest), 1, stored)])[0]


def _kept(op: OperatorContext, scores: SSAValue) -> SSAValue:
    """The scores [R, N] with -infinity where they are below the threshold or NaN."""
    least = op.number("nms_score_threshold")
    nest = start(op, shape_of(scores))
    steps = Scalars(nest)
    score = nest.input(scores, (0, 1))
    is_kept = steps.compare("ge", score, steps.constant(least, f32))
    return nest.build([steps.select(is_kept, score, steps.constant(-inf, f32))])[0]


IMPORTERS = {
    DETECTION: takes(
        "boxes: REAL | UINT8, scores: REAL | UINT8, anchors",
        import_detection,
        (BOX_COUNT + 1, BOX_COUNT + 1),
    )
}
