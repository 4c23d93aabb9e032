"""Pools: sums of what lies in the image, then an average by RESCALE; or maxima."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from qlower.dialects import tosa
from qlower.dialects.tosa.checks import sizes
from qlower.dialects.types import element_type, integer_range, shape_of
from qlower.emit.reductions import reduced_by, summed, window_nest
from qlower.interp.values import integer_width
from qlower.model.nests import Nest, narrow
from qlower.model.windows import taps_inside
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
