"""Operations that move elements: constants, shapes, slices, order, places by number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import BlockArgument, SSAValue

from qlower.dialects import tosa
from qlower.dialects.types import shape_of
from qlower.interp.values import Array
from qlower.model.nests import Nest, extract, scalar_constant, to_index, widen
from qlower.transforms.lower_tosa.lowering import Lowering, integer_type


def lower_identity(lowering: Lowering, op: tosa.IdentityOp) -> SSAValue:
    """The operand itself."""
    return lowering.value(op.input1)


def lower_gather(lowering: Lowering, op: tosa.GatherOp) -> SSAValue:
    """Loops (n, i, c). A number of no row, which TOSA calls unpredictable, is brought
    into the range."""
    nest = Nest(lowering.emit, shape_of(op.output))
    number = nest.input(lowering.value(op.indices), (0, 1))
    first = nest.add(scalar_constant(0, i32)).result
    last = nest.add(scalar_constant(shape_of(op.values)[1] - 1, i32)).result
    number = nest.add(arith.MaxSIOp(number, first)).result
    number = nest.add(arith.MinSIOp(number, last)).result
    batch, channel = (nest.add(IndexOp(loop)).result for loop in (0, 2))
    indices = [batch, to_index(nest, number), channel]
    return nest.build([extract(nest, lowering.value(op.values), indices)])[0]


def lower_scatter(lowering: Lowering, op: tosa.ScatterOp) -> SSAValue:
    """Loops (n, row, c | w): each place takes the last row that names it."""
    shape = shape_of(op.values_out)
    nest = Nest(lowering.emit, (*shape, shape_of(op.indices)[1]), reductions=1)
    number = to_index(nest, nest.input(lowering.value(op.indices), (0, 3)))
    row = nest.add(IndexOp(1)).result
    is_named = nest.add(arith.CmpiOp(number, row, "eq")).result
    given = nest.input(lowering.value(op.input), (0, 3, 2))

    def replaced(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return [nest.add(arith.SelectOp(is_named, given, accumulators[0])).result]

    return nest.reduce([lowering.value(op.values_in)], replaced)[0]


def lower_resize(lowering: Lowering, op: tosa.ResizeOp) -> SSAValue:
    """operators/RESIZE.tosac: positions are computed now, pixels are gathered; a
    bilinear result is the sum, with the weights' denominators not divided out."""
    image = lowering.value(op.input)
    nest = Nest(lowering.emit, shape_of(op.output))
    batch, channel = (nest.add(IndexOp(loop)).result for loop in (0, 3))
    rows, columns = _positions(op, 0), _positions(op, 1)

    def along(values: Array, loop: int) -> SSAValue:
        return nest.constant(values.astype(np.int32), i32, (loop,))

    def pixel(row: Array, column: Array) -> SSAValue:
        place = (to_index(nest, along(row, 1)), to_index(nest, along(column, 2)))
        return extract(nest, image, [batch, *place, channel])

    if op.mode.data == tosa.ResizeMode.NEAREST_NEIGHBOR:
        nearest = [
            np.where(2 * rest >= numerator, above, below)
            for below, above, rest, numerator in (rows, columns)
        ]
        return nest.build([pixel(nearest[0], nearest[1])])[0]
    result_type = integer_type(op.output.type)
    total: SSAValue | None = None
    for row, row_weight in ((rows[0], rows[3] - rows[2]), (rows[1], rows[2])):
        for column, column_weight in (
            (columns[0], columns[3] - columns[2]),
            (columns[1], columns[2]),
        ):
            term = widen(nest, pixel(row, column), result_type)
            for weights, loop in ((row_weight, 1), (column_weight, 2)):
                weight = widen(nest, along(weights, loop), result_type)
                term = nest.add(arith.MuliOp(term, weight)).result
            total = (
                term if total is None else nest.add(arith.AddiOp(total, term)).result
            )
    assert total is not None
    return nest.build([total])[0]


def _positions(op: tosa.ResizeOp, axis: int) -> tuple[Array, Array, Array, int]:
    """For each result along rows (0) or columns (1) the elements below and above it,
    how far it is from the lower one, and how far these are apart."""
    numerator, denominator, offset, _ = op.axis(axis)
    extent = shape_of(op.input)[1 + axis]
    places = np.arange(shape_of(op.output)[1 + axis]) * denominator + offset
    below, rest = np.divmod(places, numerator)
    return (
        np.maximum(below, 0),
        np.minimum(below + 1, extent - 1),
        rest,
        numerator,
    )
