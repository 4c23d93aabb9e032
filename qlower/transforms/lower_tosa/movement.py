"""Operations that move elements: constants, shapes, slices, order, places by number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, TensorType, i32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects import tosa
from qlower.dialects.tosa.checks import sizes
from qlower.dialects.types import element_type, shape_of
from qlower.interp.values import Array
from qlower.model.nests import Nest, extract, scalar_constant, to_index, widen
from qlower.transforms.lower_qnn.lowering import constant_of
from qlower.transforms.lower_tosa.lowering import Lowering, integer_type
from qlower.transforms.tensors import pad


def lower_constant(lowering: Lowering, op: tosa.ConstOp) -> SSAValue:
    """The elements."""
    return lowering.emit.add(arith.ConstantOp(op.values)).result


def lower_identity(lowering: Lowering, op: tosa.IdentityOp) -> SSAValue:
    """The operand itself."""
    return lowering.value(op.input1)


def lower_reshape(lowering: Lowering, op: tosa.ReshapeOp) -> SSAValue:
    """A reshape keeps the elements, and their order."""
    return lowering.reshape(lowering.value(op.input1), shape_of(op.output))


def lower_transpose(lowering: Lowering, op: tosa.TransposeOp) -> SSAValue:
    """Result axis i is input axis `perms[i]`."""
    return transposed(lowering, lowering.value(op.input1), sizes(op.perms))


def transposed(lowering: Lowering, value: SSAValue, perms: Sequence[int]) -> SSAValue:
    """A tensor with its axes in another order, at once where its elements are known."""
    known = constant_of(value)
    if known is not None:
        return lowering.emit.constant(known.transpose(perms), element_type(value.type))
    shape = shape_of(value)
    nest = Nest(lowering.emit, [shape[axis] for axis in perms])
    indices = [perms.index(axis) for axis in range(nest.parallel)]
    return nest.build([nest.input(value, indices)])[0]


def lower_pad(lowering: Lowering, op: tosa.PadOp) -> SSAValue:
    """Surrounds the input with an element, which is a constant or else selected."""
    before, after = op.amounts()
    source = lowering.value(op.input1)
    around = lowering.constant(op.pad_const)
    if around is not None:
        number = around.reshape(-1)[0].item()
        return pad(lowering.emit, source, before, after, number)
    nest = Nest(lowering.emit, shape_of(op.output))
    element = nest.input(lowering.value(op.pad_const), [AffineConstantExpr(0)])
    result = nest.build([element])[0]
    return lowering.emit.inserted(source, result, before)


def padded(
    lowering: Lowering,
    value: SSAValue,
    before: Sequence[int],
    after: Sequence[int],
    number: int,
) -> SSAValue:
    """A tensor with a number around it, at once where its elements are known."""
    known = constant_of(value)
    if known is None:
        return pad(lowering.emit, value, before, after, number)
    around = np.pad(
        known, list(zip(before, after, strict=True)), constant_values=number
    )
    return lowering.emit.constant(around, element_type(value.type))


def lower_slice(lowering: Lowering, op: tosa.SliceOp) -> SSAValue:
    """A box of the input."""
    return slice_of(lowering, lowering.value(op.input1), *op.box())


def slice_of(
    lowering: Lowering, value: SSAValue, start: Sequence[int], size: Sequence[int]
) -> SSAValue:
    """So many elements of a tensor from a place on."""
    type = TensorType(element_type(value.type), size)
    box = tensor.ExtractSliceOp(value, start, size, [1] * len(size), type)
    return lowering.emit.add(box).result


def lower_concat(lowering: Lowering, op: tosa.ConcatOp) -> SSAValue:
    """The inputs side by side."""
    shape = shape_of(op.output)
    result = lowering.emit.empty(shape, element_type(op.output.type))
    offsets = [0] * len(shape)
    for source in op.input1:
        result = lowering.emit.inserted(lowering.value(source), result, offsets)
        offsets[op.axis.value.data] += shape_of(source)[op.axis.value.data]
    return result


def lower_tile(lowering: Lowering, op: tosa.TileOp) -> SSAValue:
    """Loops (copies of axis 0, axis 0, copies of axis 1, ...)."""
    return tiled(lowering, lowering.value(op.input1), shape_of(op.output))


def tiled(lowering: Lowering, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A tensor repeated to a shape, at once where its elements are known."""
    source = shape_of(value)
    counts = [extent // size for size, extent in zip(source, shape, strict=True)]
    known = constant_of(value)
    if known is not None:
        return lowering.emit.constant(np.tile(known, counts), element_type(value.type))
    bounds = [bound for pair in zip(counts, source, strict=True) for bound in pair]
    nest = Nest(lowering.emit, bounds)
    repeated = nest.build([nest.input(value, range(1, len(bounds), 2))])[0]
    return lowering.reshape(repeated, shape)


def lower_reverse(lowering: Lowering, op: tosa.ReverseOp) -> SSAValue:
    """Element i of the axis is the one that is as far from its end."""
    return reversed_along(lowering, lowering.value(op.input1), op.axis.value.data)


def reversed_along(lowering: Lowering, value: SSAValue, axis: int) -> SSAValue:
    """A tensor with an axis turned round, at once where its elements are known."""
    known = constant_of(value)
    if known is not None:
        turned = np.flip(known, axis)
        return lowering.emit.constant(turned, element_type(value.type))
    shape = shape_of(value)
    nest = Nest(lowering.emit, shape)
    indices: list[SSAValue] = []
    indices += [nest.add(IndexOp(loop)).result for loop in range(len(shape))]
    last = nest.add(scalar_constant(shape[axis] - 1, IndexType())).result
    indices[axis] = nest.add(arith.SubiOp(last, indices[axis])).result
    return nest.build([extract(nest, value, indices)])[0]


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
