"""Elements by indices and lengths that a model computes: GATHER_ND, SCATTER_ND,
UNSORTED_SEGMENT_SUM and its like, DYNAMIC_UPDATE_SLICE and REVERSE_SEQUENCE; and
diagonals.

LiteRT stops with an error where one is out of range. Here a place that is read is the
nearest of its dimension, and one that is written to is left out.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.model.nests import Nest, extract

from ...entry import Entry, takes
from ...scalars import Binary, Scalars, nearest
from ..context import OperatorContext
from ..nests import finish, finish_map, start
from ..types import MAX_ELEMENTS, MAX_RANK
from .plain import initial_value


def import_gather_nd(op: OperatorContext) -> None:
    """Each row of indices is a place along the first dimensions."""
    source, indices = op.shape(0), op.shape(1)
    depth = _depth(op, 1, source)
    rows = len(indices) - 1
    result = (*indices[:-1], *source[depth:])
    op.result_type(result)
    nest = start(op, result)
    place: list[SSAValue | int] = [
        nearest(nest, index, size)
        for index, size in zip(_row(op, nest, 1, range(rows)), source, strict=False)
    ]
    place += range(rows, len(result))
    finish(op, nest.build([extract(nest, op.elements(0), place)])[0])


def import_scatter_nd(op: OperatorContext) -> None:
    """Updates are added to 0 one after the other, where their rows of indices say."""
    indices, shape = op.shape(0), op.integers(2, "shape")
    op.check_range("number of dimensions", len(shape), 1, MAX_RANK)
    depth = _depth(op, 0, shape)
    expected = (*indices[:-1], *shape[depth:])
    op.check_shape(1, expected)
    op.check_type(op.output(), op.input(1).type)
    op.result_type(shape)
    nest = start(op, (*shape, *indices[:-1]), reductions=len(indices) - 1)
    steps = Scalars(nest)
    rows = range(len(shape), len(nest.bounds))
    update = nest.input(op.stored(op.value(1)), [*rows, *range(depth, len(shape))])
    is_here = steps.constant(1, i1)
    for dim, index in enumerate(_row(op, nest, 0, rows)):
        here = steps.compare("eq", index, steps.place(dim, index.type))
        is_here = steps.logical("and", is_here, here)
    init = nest.emitter.filled(shape, update.type, 0)

    def add(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if op.input(1).type == "BOOL":
            added = steps.logical("or", before[0], update)
        else:
            added = steps.add(before[0], update)
        return [steps.select(is_here, added, before[0])]

    finish(op, nest.reduce([init], add)[0])


def import_reverse_sequence(op: OperatorContext) -> None:
    """Reverse the first elements of each row; the lengths say how many."""
    shape = op.shape(0)
    axis = op.option("seq_dim", 0, len(shape) - 1)
    batch = op.option("batch_dim", 0, len(shape) - 1)
    if axis == batch or op.shape(1) != (shape[batch],):
        raise op.error(
            f"{op.input(1)}: lengths of shape {list(op.shape(1))} for dimension"
            f" {batch} of {list(shape)}, expected [{shape[batch]}] and a dimension"
            f" other than {axis}"
        )
    nest = start(op, shape)
    steps = Scalars(nest)
    length, position = nest.input(op.value(1), [batch]), steps.place(axis, i32)
    last = steps.subtract(length, steps.constant(1, i32))
    turned = steps.subtract(last, position)
    is_turned = steps.compare("lt", position, length)
    place = nearest(nest, steps.select(is_turned, turned, position), shape[axis])
    places = [*range(axis), place, *range(axis + 1, len(shape))]
    finish(op, nest.build([extract(nest, op.elements(0), places)])[0])


def import_dynamic_update_slice(op: OperatorContext) -> None:
    """A box of elements is replaced; where it would stick out, it is moved inside."""
    shape, box = op.shape(0), op.shape(1)
    _check_box(op, shape, box)
    op.result_type(shape)
    nest = start(op, shape)
    steps = Scalars(nest)
    is_inside = steps.constant(1, i1)
    places: list[SSAValue] = []
    for dim, first in enumerate(_row(op, nest, 2, [])):
        first = steps.within(first, shape[dim] - box[dim])
        offset = steps.subtract(steps.place(dim, first.type), first)
        places.append(nearest(nest, offset, box[dim]))
        for predicate, bound in (("ge", 0), ("lt", box[dim])):
            limit = steps.constant(bound, offset.type)
            inside = steps.compare(predicate, offset, limit)
            is_inside = steps.logical("and", is_inside, inside)
    new = extract(nest, op.stored(op.value(1)), places)
    old = nest.input(op.elements(0), range(len(shape)))
    finish_map(op, nest, steps.select(is_inside, new, old))


def _check_box(op: OperatorContext, shape: Sequence[int], box: Sequence[int]) -> None:
    """Refuse a box that is larger than what it goes into, or has other places."""
    op.check_shape(2, [len(shape)])
    if len(box) != len(shape) or any(map(operator.gt, box, shape)):
        raise op.error(
            f"{op.input(1)}: shape {list(box)} does not fit into {list(shape)}"
        )


def segments(compute: Binary, initial: str) -> Entry[OperatorContext]:
    """Rows of equal numbers are combined, one after the other."""

    def build(op: OperatorContext) -> None:
        shape, rows = op.shape(0), op.shape(1)
        if shape[: len(rows)] != rows:
            raise op.error(
                f"{op.input(1)}: shape {list(rows)} does not begin {list(shape)}"
            )
        (count,) = op.integers(2, "num_segments", count=1)
        op.check_range("num_segments", count, 1, MAX_ELEMENTS)
        result = (count, *shape[len(rows) :])
        op.result_type(result)
        nest = start(op, (*result, *rows), reductions=len(rows))
        steps = Scalars(nest)
        outer = range(len(result), len(nest.bounds))
        value = nest.input(op.value(0), [*outer, *range(1, len(result))])
        number = nest.input(op.value(1), outer)
        is_here = steps.compare("eq", number, steps.place(0, i32))
        first = initial_value(initial, op.input(0).type)
        init = nest.emitter.filled(result, value.type, first)

        def combine(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            combined = compute(steps, before[0], value)
            return [steps.select(is_here, combined, before[0])]

        finish(op, nest.reduce([init], combine)[0])

    return takes("x: FLOAT32 | INT32, rows: INT32, count", build)


def import_matrix_diag(op: OperatorContext) -> None:
    """Each row becomes the diagonal of a matrix of zeros."""
    shape = op.shape(0)
    if not shape:
        raise op.error(f"{op.input(0)}: rank 0, expected at least 1")
    _import_diagonal(op, (*shape, shape[-1]), 0)


def import_matrix_set_diag(op: OperatorContext) -> None:
    """The diagonals of matrices are replaced."""
    shape = op.shape(0)
    expected = (*shape[:-2], min(shape[-2:], default=0))
    if len(shape) < 2 or op.shape(1) != expected:
        raise op.error(
            f"{op.input(1)}: shape {list(op.shape(1))} for matrices {list(shape)};"
            " expected a row of the shorter side for each"
        )
    _import_diagonal(op, shape, 1)


def _import_diagonal(op: OperatorContext, shape: Sequence[int], number: int) -> None:
    """Matrices of `shape` with rows of an operand as diagonals, and else elements of
    the first operand if that is another one, or zeros."""
    op.result_type(shape)
    nest = start(op, shape)
    steps = Scalars(nest)
    *outer, row, column = range(len(shape))
    at = steps.place(row, i32)
    place = nearest(nest, at, min(shape[-2:]))
    value = extract(nest, op.stored(op.value(number)), [*outer, place])
    if number == 0:
        other = steps.constant(0, value.type)
    else:
        other = nest.input(op.elements(0), range(len(shape)))
    is_diagonal = steps.compare("eq", at, steps.place(column, i32))
    finish_map(op, nest, steps.select(is_diagonal, value, other))


def _depth(op: OperatorContext, number: int, shape: Sequence[int]) -> int:
    """The number of dimensions of `shape` that a row of the indices is for."""
    tensor, indices = op.input(number), op.shape(number)
    depth = indices[-1] if indices else 0
    if not 1 <= depth <= len(shape):
        raise op.error(
            f"{tensor}: indices of shape {list(indices)} for {list(shape)}; expected"
            f" rows of 1 to {len(shape)}"
        )
    return depth


def _row(
    op: OperatorContext, nest: Nest, number: int, loops: Sequence[int]
) -> list[SSAValue]:
    """The indices of the row that loops are at."""
    value = op.value(number)
    return [
        nest.input(value, [*loops, AffineConstantExpr(column)])
        for column in range(op.shape(number)[-1])
    ]


IMPORTERS = {
    "GATHER_ND": takes("x, indices: INDEX", import_gather_nd),
    "SCATTER_ND": takes("indices: INDEX, updates, shape", import_scatter_nd),
    "DYNAMIC_UPDATE_SLICE": takes(
        "x, update: as x, start: INDEX", import_dynamic_update_slice
    ),
    "UNSORTED_SEGMENT_SUM": segments(Scalars.add, "0"),
    "UNSORTED_SEGMENT_PROD": segments(Scalars.multiply, "1"),
    "UNSORTED_SEGMENT_MAX": segments(Scalars.larger, "lowest"),
    "UNSORTED_SEGMENT_MIN": segments(Scalars.smaller, "highest"),
    "MATRIX_DIAG": takes("x", import_matrix_diag),
    "MATRIX_SET_DIAG": takes("x, diagonal: as x", import_matrix_set_diag),
    "REVERSE_SEQUENCE": takes("x, lengths: INT32", import_reverse_sequence),
}
