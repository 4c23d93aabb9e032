"""Operations that move elements, as they are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects import stablehlo
from qlower.dialects.stablehlo.base import integers
from qlower.dialects.types import element_type, shape_of
from qlower.model.nests import Emitter, Index, Nest, extract, scalar_constant
from qlower.transforms.lower_qnn.lowering import storage_type
from qlower.transforms.lower_stablehlo.lowering import Lowering
from qlower.transforms.tensors import pad, reshape


def lower_constant(lowering: Lowering, op: stablehlo.ConstantOp) -> SSAValue:
    """The stored elements."""
    return lowering.emit.add(arith.ConstantOp(op.value)).result


def lower_reshape(lowering: Lowering, op: stablehlo.ReshapeOp) -> SSAValue:
    """A reshape keeps the elements, and their order."""
    return reshape(lowering.emit, lowering.value(op.input), shape_of(op.output))


def lower_transpose(lowering: Lowering, op: stablehlo.TransposeOp) -> SSAValue:
    """Loops over the result."""
    permutation = integers(op.permutation)
    nest = Nest(lowering.emit, shape_of(op.output))
    indices = [permutation.index(axis) for axis in range(nest.parallel)]
    return nest.build([nest.input(lowering.value(op.input), indices)])[0]


def lower_broadcast(lowering: Lowering, op: stablehlo.BroadcastInDimOp) -> SSAValue:
    """Loops over the result; dimensions of one element repeat it."""
    nest = Nest(lowering.emit, shape_of(op.output))
    sizes = zip(integers(op.broadcast_dimensions), shape_of(op.input), strict=True)
    indices: list[Index] = [
        AffineConstantExpr(0) if size == 1 else axis for axis, size in sizes
    ]
    return nest.build([nest.input(lowering.value(op.input), indices)])[0]


def lower_concatenate(lowering: Lowering, op: stablehlo.ConcatenateOp) -> SSAValue:
    """The operands side by side."""
    shape, axis = shape_of(op.output), op.dimension.value.data
    element = storage_type(element_type(op.output.type))
    result = lowering.emit.empty(shape, element)
    offsets = [0] * len(shape)
    for source in op.inputs:
        result = lowering.emit.inserted(lowering.value(source), result, offsets)
        offsets[axis] += shape_of(source)[axis]
    return result


def lower_slice(lowering: Lowering, op: stablehlo.SliceOp) -> SSAValue:
    """A box with strides."""
    value, shape = lowering.value(op.input), shape_of(op.output)
    starts, _, strides = zip(*op.box, strict=True) if op.box else ((), (), ())
    type = TensorType(element_type(value.type), shape)
    box = tensor.ExtractSliceOp(value, starts, shape, strides, type)
    return lowering.emit.add(box).result


def lower_pad(lowering: Lowering, op: stablehlo.PadOp) -> SSAValue:
    """An insertion into a tensor of the padding value."""
    value, shape = lowering.value(op.input), shape_of(op.output)
    low, between = integers(op.edge_padding_low), integers(op.interior_padding)
    known = lowering.constant(op.padding_value)
    if known is not None and not any(between):
        number = known.reshape(-1)[0].item()
        return pad(lowering.emit, value, low, integers(op.edge_padding_high), number)
    nest = Nest(lowering.emit, shape)
    around = nest.build([nest.input(lowering.value(op.padding_value), ())])[0]
    return insert_apart(lowering.emit, value, around, low, [n + 1 for n in between])


def insert_apart(
    emit: Emitter,
    value: SSAValue,
    into: SSAValue,
    offsets: Sequence[int],
    strides: Sequence[int],
) -> SSAValue:
    """A tensor in which the elements of another one lie `strides` apart."""
    insert = tensor.InsertSliceOp.from_static_parameters(
        value, into, offsets, shape_of(value), strides
    )
    return emit.add(insert).result


def lower_gather(lowering: Lowering, op: stablehlo.GatherOp) -> SSAValue:
    """Loops over the result; the start of each box is brought inside."""
    nest = Nest(lowering.emit, shape_of(op.output))
    offsets = op.numbers("offset_dims")
    batches = [loop for loop in range(nest.parallel) if loop not in offsets]
    loop_of = dict(zip(op.batch_axes, batches, strict=True))
    window = dict(zip(op.window_axes, offsets, strict=True))
    batching = dict(
        zip(
            op.numbers("operand_batching_dims"),
            op.numbers("start_indices_batching_dims"),
            strict=True,
        )
    )
    starts = {axis: n for n, axis in enumerate(op.numbers("start_index_map"))}
    indices: list[SSAValue] = []
    sizes = integers(op.slice_sizes)
    for axis, extent in enumerate(shape_of(op.operand)):
        terms: list[SSAValue] = []
        if axis in starts:
            terms.append(
                _start(lowering, op, nest, starts[axis], extent - sizes[axis], loop_of)
            )
        if axis in window:
            terms.append(nest.add(IndexOp(window[axis])).result)
        if axis in batching:
            terms.append(nest.add(IndexOp(loop_of[batching[axis]])).result)
        if not terms:
            terms.append(nest.add(scalar_constant(0, IndexType())).result)
        index = terms[0]
        for term in terms[1:]:
            index = nest.add(arith.AddiOp(index, term)).result
        indices.append(index)
    return nest.build([extract(nest, lowering.value(op.operand), indices)])[0]


def _start(
    lowering: Lowering,
    op: stablehlo.GatherOp,
    nest: Nest,
    number: int,
    most: int,
    loop_of: Mapping[int, int],
) -> SSAValue:
    """Entry `number` of the list of indices at hand, between 0 and `most`."""
    source = lowering.value(op.start_indices)
    indices: list[Index] = [
        AffineConstantExpr(number) if axis == op.index_axis else loop_of[axis]
        for axis in range(len(shape_of(source)))
    ]
    start = nest.input(source, indices)
    least, largest = (
        nest.add(scalar_constant(bound, start.type)).result for bound in (0, most)
    )
    above = nest.add(arith.MaxSIOp(start, least)).result
    inside = nest.add(arith.MinSIOp(above, largest)).result
    return nest.add(arith.IndexCastOp(inside, IndexType())).result
