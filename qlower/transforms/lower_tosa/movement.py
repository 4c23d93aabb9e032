"""Operations that move elements: constants, shapes, slices, order, places by number."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import BlockArgument, SSAValue

from qlower.dialects import tosa
from qlower.dialects.types import shape_of
from qlower.emit.movement import elements_at
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
    element = extract(nest, lowering.value(op.values), [0, to_index(nest, number), 2])
    return nest.build([element])[0]


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
    rows, columns = _positions(op, 0), _positions(op, 1)
    if op.mode.data == tosa.ResizeMode.NEAREST_NEIGHBOR:
        nearest = {
            loop: [np.where(2 * rest >= numerator, above, below)]
            for loop, (below, above, rest, numerator) in ((1, rows), (2, columns))
        }
        return nest.build([*elements_at(nest, image, nearest)])[0]
    result_type = integer_type(op.output.type)

    def weights(loop: int, rest: Array, numerator: int) -> list[SSAValue]:
        shares = (nest.constant(at, i32, (loop,)) for at in (numerator - rest, rest))
        return [widen(nest, share, result_type) for share in shares]

    pixels = elements_at(nest, image, {1: rows[:2], 2: columns[:2]})
    shares = product(weights(1, *rows[2:]), weights(2, *columns[2:]))
    terms: list[SSAValue] = []
    for pixel, (row, column) in zip(pixels, shares, strict=True):
        part = arith.MuliOp(widen(nest, pixel, result_type), row)
        terms.append(nest.add(arith.MuliOp(nest.add(part).result, column)).result)
    total, *others = terms
    for term in others:
        total = nest.add(arith.AddiOp(total, term)).result
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
