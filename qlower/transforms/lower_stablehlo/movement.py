"""Operations that move elements, as they are stored."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects import stablehlo
from qlower.dialects.stablehlo.base import integers
from qlower.dialects.types import shape_of
from qlower.model.nests import Index, Nest, extract, scalar_constant
from qlower.transforms.lower_stablehlo.lowering import Lowering


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
    return nest.build_one(extract(nest, lowering.value(op.operand), indices))


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
