"""Operations that move elements: constants, shapes, slices, order, places by number."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, f32, i32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import BlockArgument, SSAValue

from qlower.dialects import tosa
from qlower.dialects.types import element_type, shape_of
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
    return nest.build_one(element)


def lower_scatter(lowering: Lowering, op: tosa.ScatterOp) -> SSAValue:
    """Loops (n, row, c | w): each place takes the last row that names it."""
    shape = shape_of(op.values_out)
    nest = Nest(lowering.emit, (*shape, shape_of(op.indices)[1]), reductions=1)
    number = to_index(nest, nest.input(lowering.value(op.indices), (0, 3)))
    row = nest.add(IndexOp(1)).result
    is_named = nest.add(arith.CmpiOp(number, row, "eq")).result
    given = nest.input(lowering.value(op.input), (0, 3, 2))

    def replaced(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return [nest.add(arith.SelectOp(is_named, given, *accumulators)).result]

    return nest.reduce_one(lowering.value(op.values_in), replaced)


def lower_resize(lowering: Lowering, op: tosa.ResizeOp) -> SSAValue:
    """operators/RESIZE.tosac: positions are computed now, pixels are gathered; a
    bilinear result is the sum of pixels times the weights of their rows, then of their
    columns, in turn. The denominators of integers are not divided out."""
    image = lowering.value(op.input)
    nest = Nest(lowering.emit, shape_of(op.output))
    rows, columns = _positions(op, 0), _positions(op, 1)
    if op.mode.data == tosa.ResizeMode.NEAREST_NEIGHBOR:
        nearest = {
            loop: [np.where(2 * rest >= whole, above, below)]
            for loop, (below, above, rest, whole) in ((1, rows), (2, columns))
        }
        return nest.build_one(*elements_at(nest, image, nearest))
    type = element_type(op.output.type)
    is_real = isinstance(type, AnyFloat)
    multiply = arith.MulfOp if is_real else arith.MuliOp
    add = arith.AddfOp if is_real else arith.AddiOp

    def number(x: SSAValue) -> SSAValue:
        return x if is_real else widen(nest, x, integer_type(type))

    def weights(loop: int, rest: Array, whole: int) -> list[SSAValue]:
        parts, stored = (whole - rest, rest), f32 if is_real else i32
        return [number(nest.constant(part, stored, (loop,))) for part in parts]

    pixels = elements_at(nest, image, {1: rows[:2], 2: columns[:2]})
    shares = product(weights(1, *rows[2:]), weights(2, *columns[2:]))
    terms: list[SSAValue] = []
    for pixel, (row, column) in zip(pixels, shares, strict=True):
        part = nest.add(multiply(number(pixel), row)).result
        terms.append(nest.add(multiply(part, column)).result)
    total, *others = terms
    for term in others:
        total = nest.add(add(total, term)).result
    return nest.build_one(total)


def _positions(op: tosa.ResizeOp, axis: int) -> tuple[Array, Array, Array, int]:
    """For each row or column of the result the two of the image beside it, how far it
    is from the lower one, and how far these are apart; of real images in float32, as
    the reference model divides."""
    numerator, denominator, offset, _ = op.axis(axis)
    extent = shape_of(op.input)[1 + axis]
    places = np.arange(shape_of(op.output)[1 + axis]) * denominator + offset
    below, rest = np.divmod(places, numerator)
    if isinstance(element_type(op.output.type), AnyFloat):
        rest = places.astype(np.float32) / np.float32(numerator) - below.astype("f4")
        numerator = 1
    return (
        np.maximum(below, 0),
        np.minimum(below + 1, extent - 1),
        rest,
        numerator,
    )
