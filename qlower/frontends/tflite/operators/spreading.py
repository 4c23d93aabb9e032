"""Elements put apart, at places that constants say: DILATE and SPARSE_TO_DENSE. One
value is everywhere else.
"""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import i1, i32

from qlower.dialects.types import shape_of
from qlower.emit.movement import padded
from qlower.files.arrays import Array
from qlower.model.nests import extract
from qlower.operators.movement import Pad

from ...entry import takes
from ...scalars import Scalars, nearest
from ..context import OperatorContext
from ..nests import emitter, finish, finish_map, read, start
from ..types import MAX_ELEMENTS, MAX_RANK
from .layout import result_shape


def import_dilate(op: OperatorContext) -> None:
    """Neighbours of a dimension come to be as far apart as its dilation says."""
    shape = op.shape(0)
    dilations = op.integers(1, "dilations", count=len(shape))
    for dilation in dilations:
        op.check_range("dilation", dilation, 1, MAX_ELEMENTS)
    none = [0] * len(shape)
    movement = Pad(none, none, [dilation - 1 for dilation in dilations])
    result_shape(op, movement, shape, MAX_ELEMENTS)
    _check_default(op, 2, 0)
    around = op.stored(op.value(2))
    finish(op, padded(emitter(op), movement, op.elements(0), around))


def import_sparse_to_dense(op: OperatorContext) -> None:
    """Each row of indices gives one value's position; the last value written wins."""
    shape = tuple(op.integers(1, "shape"))
    op.check_range("number of dimensions", len(shape), 1, MAX_RANK)
    for size in shape:
        op.check_range("size", size, 1, MAX_ELEMENTS)
    op.check_range("number of elements", math.prod(shape), 1, MAX_ELEMENTS)
    rows = _rows(op, shape)
    op.check_shape(2, [], [len(rows)])
    _check_default(op, 3, 2)
    numbers = np.full(shape, -1)
    for number, row in enumerate(rows):
        numbers[tuple(row)] = number
    nest = start(op, shape)
    steps = Scalars(nest)
    values = op.elements(2)
    number = nest.constant(numbers, i32)
    places = [nearest(nest, number, size) for size in shape_of(values)]
    is_here = nest.constant(numbers >= 0, i1)
    value = extract(nest, values, places)
    finish_map(op, nest, steps.select(is_here, value, read(op, nest, 3)))


def _rows(op: OperatorContext, shape: tuple[int, ...]) -> Array:
    """The places, each an index into every dimension."""
    op.integers(0, "indices")
    indices = op.array(0)
    rows = indices.reshape(len(indices) if indices.ndim else 1, -1)
    if indices.ndim > 2 or rows.shape[1] != len(shape):
        raise op.error(
            f"{op.input(0)}: indices of shape {list(indices.shape)} for {list(shape)};"
            f" expected rows of {len(shape)}"
        )
    for row in rows.tolist():
        for index, size in zip(row, shape, strict=True):
            op.check_range("index", index, 0, size - 1)
    return rows


def _check_default(op: OperatorContext, number: int, values: int) -> None:
    """Refuse what is everywhere else if it isn't one value of the type of others."""
    op.check_type(op.input(number), op.input(values).type)
    if math.prod(op.shape(number)) != 1:
        raise op.error(
            f"{op.input(number)}: shape {list(op.shape(number))}, expected one value"
        )


IMPORTERS = {
    "DILATE": takes("x, dilations, value: as x", import_dilate),
    "SPARSE_TO_DENSE": takes("indices, shape, values, other", import_sparse_to_dense),
}
