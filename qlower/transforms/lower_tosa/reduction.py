"""One element of several: averages and maxima of windows, and along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, i32
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
    """Sums of stored numbers, loops (n, y, x, c | kh, kw), then the average."""
    nest, stored = _windows(lowering, op, 0)
    element = element_type(op.output.type)
    is_real = isinstance(element, AnyFloat)
    wide = stored if is_real else nest.add(arith.ExtSIOp(stored, i32)).result
    shape = shape_of(op.output)
    total = summed(nest, wide)
    nest = Nest(lowering.emit, shape)
    image, kernel = shape_of(op.input)[1:3], sizes(op.kernel)
    counts = taps_inside(image, shape[1:3], kernel, sizes(op.stride), sizes(op.pad))
    if is_real:
        count = nest.constant(counts.astype(np.float32), element)
        quotient = nest.add(arith.DivfOp(nest.input(total, range(4)), count))
        return nest.build_one(quotient.result)
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
    return nest.build_one(narrow(nest, average, element))


def lower_max_pool2d(lowering: Lowering, op: tosa.MaxPool2DOp) -> SSAValue:
    """The largest element, loops (n, y, x, c | kh, kw)."""
    element = element_type(op.output.type)
    if isinstance(element, AnyFloat):
        nest, stored = _windows(lowering, op, -math.inf)
        return reduced_by(nest, arith.MaximumfOp, stored, -math.inf)
    least, _ = integer_range(integer_width(element))
    nest, stored = _windows(lowering, op, least)
    return reduced_by(nest, arith.MaxSIOp, stored, least)


def _windows(
    lowering: Lowering, op: tosa.PoolOp, around: float
) -> tuple[Nest, SSAValue]:
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

OF_REALS: Mapping[str, tuple[Callable[[SSAValue, SSAValue], Operation], float]] = {
    "reduce_max": (arith.MaximumfOp, -math.inf),
    "reduce_min": (arith.MinimumfOp, math.inf),
    "reduce_product": (arith.MulfOp, 1.0),
    "reduce_sum": (arith.AddfOp, 0.0),
}
"""The function of two real elements, and the number that it starts from."""


def lower_reduction(lowering: Lowering, op: tosa.ReductionOp) -> SSAValue:
    """Loops (kept... | axis)."""
    element = element_type(op.output.type)
    if isinstance(element, AnyFloat):
        combine, neutral = OF_REALS[op.kind]
    else:
        least, most = integer_range(integer_width(element))
        ends = {"reduce_max": least, "reduce_min": most, "reduce_all": 1}
        combine, neutral = COMBINE[op.kind], ends.get(op.kind, 0)
    axis = op.axis.value.data
    nest, indices = axes_nest(lowering.emit, shape_of(op.input), [axis])
    value = nest.input(lowering.value(op.input), indices)
    result = reduced_by(nest, combine, value, neutral)
    return lowering.reshape(result, shape_of(op.output))


def lower_arg_max(lowering: Lowering, op: tosa.ArgMaxOp) -> SSAValue:
    """The largest element along `axis`, then the first position that holds it."""
    source, axis = lowering.value(op.input), op.axis.value.data

    def read(nest: Nest, indices: Sequence[int]) -> SSAValue:
        element = nest.input(source, indices)
        if not isinstance(element.type, AnyFloat):
            return element
        return lowering.inline(nest, "tosa_rank", {"input": element}, {})

    positions = first_of_largest(lowering.emit, shape_of(op.input), axis, read, i32)
    return lowering.reshape(positions, shape_of(op.output))
