"""One element of several: averages and maxima of windows, and along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from qlower.dialects import tosa
from qlower.dialects.tosa.base import sizes
from qlower.dialects.types import element_type, integer_range, shape_of
from qlower.emit.reductions import (
    axes_nest,
    first_of_largest,
    reduced_by,
    summed,
    window_nest,
)
from qlower.interp.values import integer_width
from qlower.model.nests import Nest, narrow
from qlower.operators.windows import taps_inside
from qlower.transforms.lower_tosa.lowering import Lowering, array, known_number


def lower_avg_pool2d(lowering: Lowering, op: tosa.AvgPool2DOp) -> SSAValue:
    """Sums of stored integers, loops (n, y, x, c | kh, kw), then the average."""
    nest, stored = _windows(lowering, op, 0)
    wide = nest.add(arith.ExtSIOp(stored, i32)).result
    shape = shape_of(op.output)
    total = summed(nest, wide)
    nest = Nest(lowering.emit, shape)
    image, kernel = shape_of(op.input)[1:3], sizes(op.kernel)
    counts = taps_inside(image, shape[1:3], kernel, sizes(op.stride), sizes(op.pad))
    element = element_type(op.output.type)
    low, high = integer_range(integer_width(element))
    average = lowering.inline(
        nest,
        "average",
        {"accumulator": nest.input(total, range(4))},
        {
            "count": counts,
            "input_zero_point": array(known_number("input_zp", op.input_zp)),
            "output_zero_point": array(known_number("output_zp", op.output_zp)),
            "output_min": array(low),
            "output_max": array(high),
        },
    )
    return nest.build([narrow(nest, average, element)])[0]


def lower_max_pool2d(lowering: Lowering, op: tosa.MaxPool2DOp) -> SSAValue:
    """The largest element, loops (n, y, x, c | kh, kw)."""
    element = element_type(op.output.type)
    least, _ = integer_range(integer_width(element))
    nest, stored = _windows(lowering, op, least)
    return reduced_by(nest, arith.MaxSIOp, stored, least)


def _windows(lowering: Lowering, op: tosa.PoolOp, around: int) -> tuple[Nest, SSAValue]:
    """Loops over the result and the window, and the element of the image, or of what is
    around it."""
    image, kernel = lowering.value(op.operands[0]), sizes(op.kernel)
    return window_nest(lowering.emit, op.sums, image, kernel, around)


COMBINE: Mapping[str, Callable[[SSAValue, SSAValue], Operation]] = {
    "reduce_all": arith.AndIOp,
    "reduce_any": arith.OrIOp,
    "reduce_max": arith.MaxSIOp,
    "reduce_min": arith.MinSIOp,
    "reduce_sum": arith.AddiOp,
}
"""The function of two elements, by the operation's name after the dialect's."""


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
