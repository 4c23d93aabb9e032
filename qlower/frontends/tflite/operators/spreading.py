"""Elements put apart, at places that constants say: DILATE and SPARSE_TO_DENSE. One
value is everywhere else.
"""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import SSAValue

from qlower.dialects.types import shape_of
from qlower.files.arrays import Array
from qlower.model.nests import extract, to_index

from ...entry import takes
from ...scalars import Scalars, nearest
from ..context import OperatorContext
from ..nests import finish_map, read, start
from ..types import MAX_ELEMENTS, MAX_RANK


def import_dilate(op: OperatorContext) -> None:
    """Neighbours of a dimension come to be as far apart as its dilation says."""
    shape = op.shape(0)
    dilations = op.integers(1, "dilations", count=len(shape))
    result: list[int] = []
    for size, dilation in zip(shape, dilations, strict=True):
        op.check_range("dilation", dilation, 1, MAX_ELEMENTS)
        result.append((size - 1) * dilation + 1)
    op.check_range("number of elements", math.prod(result), 1, MAX_ELEMENTS)
    _check_default(op, 2, 0)
    nest = start(op, result)
    steps = Scalars(nest)
    is_element = steps.constant(1, i1)
    places: list[SSAValue] = []
    for dim, dilation in enumerate(dilations):
        positions = np.arange(result[dim])
        place = nest.constant(positions // dilation, i32, (dim,))
        places.append(to_index(nest, place))
        is_here = nest.constant(positions % dilation == 0, i1, (dim,))
        is_element = steps.logical("and", is_element, is_here)
    value = extract(nest, op.elements(0), places)
    finish_map(op, nest, steps.select(is_element, value, read(op, nest, 2)))


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
