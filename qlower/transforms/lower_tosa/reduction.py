"""One element of all those along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from qlower.dialects import tosa
from qlower.dialects.types import element_type, integer_range, shape_of
from qlower.emit.reductions import axes_nest
from qlower.interp.values import integer_width
from qlower.model.nests import Nest, scalar_constant
from qlower.transforms.lower_tosa.lowering import Lowering

COMBINE: Mapping[
    type[tosa.ReductionOp],
    tuple[Callable[[SSAValue, SSAValue], Operation], Callable[[Attribute], int]],
] = {
    tosa.ReduceSumOp: (arith.AddiOp, lambda type: 0),
    tosa.ReduceMaxOp: (
        arith.MaxSIOp,
        lambda type: integer_range(integer_width(type))[0],
    ),
    tosa.ReduceMinOp: (
        arith.MinSIOp,
        lambda type: integer_range(integer_width(type))[1],
    ),
    tosa.ReduceAllOp: (arith.AndIOp, lambda type: 1),
    tosa.ReduceAnyOp: (arith.OrIOp, lambda type: 0),
}
"""How two elements become one, and what changes none."""


def lower_reduction(lowering: Lowering, op: tosa.ReductionOp) -> SSAValue:
    """Loops (kept... | axis)."""
    combine, neutral = COMBINE[type(op)]
    element = element_type(op.output.type)
    nest, indices = _loops(lowering, op)
    value = nest.input(lowering.value(op.input), indices)
    init = lowering.emit.filled(nest.output_shape, element, neutral(element))

    def step(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return nest.add(combine(accumulators[0], value)).results

    (result,) = nest.reduce([init], step)
    return lowering.reshape(result, shape_of(op.output))


def lower_arg_max(lowering: Lowering, op: tosa.ArgMaxOp) -> SSAValue:
    """The largest element along `axis`, then the first position that holds it."""
    element = element_type(op.input.type)
    source = lowering.value(op.input)
    largest_nest, indices = _loops(lowering, op)
    kept = largest_nest.output_shape
    value = largest_nest.input(source, indices)

    def larger(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return [largest_nest.add(arith.MaxSIOp(accumulators[0], value)).result]

    least, _ = integer_range(integer_width(element))
    init = lowering.emit.filled(kept, element, least)
    (largest,) = largest_nest.reduce([init], larger)
    nest, indices = _loops(lowering, op)
    value_again = nest.input(source, indices)
    most = nest.input(largest, range(len(kept)))
    equal = nest.add(arith.CmpiOp(value_again, most, "eq")).result
    position = nest.add(IndexOp(len(kept))).result
    position = nest.add(arith.IndexCastOp(position, i32)).result
    beyond = nest.add(scalar_constant(nest.bounds[-1], i32)).result
    candidate = nest.add(arith.SelectOp(equal, position, beyond)).result

    def first(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return [nest.add(arith.MinSIOp(accumulators[0], candidate)).result]

    init = lowering.emit.filled(kept, i32, nest.bounds[-1])
    (result,) = nest.reduce([init], first)
    return lowering.reshape(result, shape_of(op.output))


def _loops(lowering: Lowering, op: tosa.ReductionOp) -> tuple[Nest, list[int]]:
    """A nest over the axes that stay and, last, the one that goes; the loops that index
    the input."""
    return axes_nest(lowering.emit, shape_of(op.input), [op.axis.value.data])
