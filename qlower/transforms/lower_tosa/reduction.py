"""One element of all those along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from qlower.dialects import tosa
from qlower.dialects.types import element_type, integer_range, shape_of
from qlower.emit.reductions import axes_nest, first_of_largest, reduced_by
from qlower.interp.values import integer_width
from qlower.transforms.lower_tosa.lowering import Lowering

COMBINE: Mapping[str, Callable[[SSAValue, SSAValue], Operation]] = {
    "reduce_all": arith.AndIOp,
    "reduce_any": arith.OrIOp,
    "reduce_max": arith.MaxSIOp,
    "reduce_min": arith.MinSIOp,
    "reduce_sum": arith.AddiOp,
}
"""How two elements become one, by the operation's name after the dialect's."""


def lower_reduction(lowering: Lowering, op: tosa.ReductionOp) -> SSAValue:
    """Loops (kept... | axis)."""
    least, most = integer_range(integer_width(element_type(op.output.type)))
    neutral = {"reduce_max": least, "reduce_min": most, "reduce_all": 1}
    axis = op.axis.value.data
    nest, indices = axes_nest(lowering.emit, shape_of(op.input), [axis])
    value = nest.input(lowering.value(op.input), indices)
    result = reduced_by(nest, COMBINE[op.kind], value, neutral.get(op.kind, 0))
    return lowering.reshape(result, shape_of(op.output))


def lower_arg_max(lowering: Lowering, op: tosa.ArgMaxOp) -> SSAValue:
    """The largest element along `axis`, then the first position that holds it."""
    source, axis = lowering.value(op.input), op.axis.value.data
    positions = first_of_largest(
        lowering.emit,
        shape_of(op.input),
        axis,
        lambda nest, indices: nest.input(source, indices),
        i32,
    )
    return lowering.reshape(positions, shape_of(op.output))
