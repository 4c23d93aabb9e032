"""RESIZE_BILINEAR and the convolution inside of TRANSPOSE_CONV, in float32, and
RESIZE_NEAREST_NEIGHBOR of plain numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from qlower.dialects.types import shape_of
from qlower.emit.movement import elements_at
from qlower.emit.sums import Accumulate
from qlower.files.arrays import Array
from qlower.model.nests import Combine, Nest
from qlower.model.windows import padded_image
from qlower.operators.resizing import Side
from qlower.operators.sums import CONV_2D, Sums, slides

from ...scalars import Scalars, text
from ..context import OperatorContext
from ..nests import emitter, finish, finish_map, start, sums_of, take
from .hybrid import centred_rows
from .plain import activated


def import_real_resize_bilinear(op: OperatorContext, size: Sequence[int]) -> None:
    """Four neighbours by their distances, as internal/reference/resize_bilinear.h."""
    batch, *image, channels = op.shape(0, rank=4)
    nest = start(op, (batch, *size, channels))
    ends: dict[int, Sequence[Array]] = {}
    distances: list[SSAValue] = []
    for loop, side in enumerate(map(Side, image, size), 1):
        places = side.places(_rule(op, "between_middles"))
        low, _ = side.neighbours(places)
        ends[loop] = low, np.minimum(np.ceil(places), side.size - 1)
        distances.append(nest.constant(places - low.astype(np.float32), f32, (loop,)))
    pixels = elements_at(nest, op.value(0), ends)
    finish_map(op, nest, BETWEEN(Scalars(nest), *pixels, *distances))


BETWEEN = text("_litert", "between_pixels")


def import_plain_resize_nearest(op: OperatorContext, size: Sequence[int]) -> None:
    """One neighbour each, as internal/reference/resize_nearest_neighbor.h has it:
    rounded half up with `align_corners`, else down."""
    batch, *image, channels = op.shape(0, rank=4)
    op.result_type((batch, *size, channels))
    rounding = "round_prefer_ceil_exactly" if op.flag("align_corners") else "floor"
    found = [
        side.nearest(side.places(_rule(op, "of_middles")), rounding)
        for side in map(Side, image, size)
    ]
    finish(op, take(op, op.elements(0), [range(batch), *found, range(channels)]))


def _rule(op: OperatorContext, of_middles: str) -> str:
    """Where the elements of a result lie, by the options; the given rule is that of
    half pixels."""
    if op.flag("align_corners"):
        return "by_corner_steps"
    return of_middles if op.flag("half_pixel_centers") else "by_steps"


def convolve_blocks(
    op: OperatorContext,
    weights: Array,
    bias: Array | None,
    pad: Sequence[int],
    scales: Array | None = None,
) -> SSAValue:
    """The image that is operand 2, by weights [filter, row, column, channel].

    An element of TRANSPOSE_CONV's result gets its terms in the order of pixels, then
    channels, and so it does here. Weights of 8 bits have `scales` [filter], and meet
    codes: each term is `F(F(code weight scale) scale of the codes)`.
    """
    image = op.value(2)
    if any(pad):
        image = op.emit(padded_image(image, pad), "pad")
    step: Accumulate | None = None
    if scales is not None:
        image, rows_scales = centred_rows(op, image)

        def scaled(nest: Nest, x: SSAValue, w: SSAValue) -> Combine:
            steps = Scalars(nest)
            real = steps.multiply(
                steps.multiply(x, w), nest.constant(scales, f32, (3,))
            )
            return nest.adding(steps.multiply(real, nest.input(rows_scales, [0])))

        step = scaled
    windows = Sums(CONV_2D, slides((1, 1), (0, 0, 0, 0), (1, 1)))
    sums = sums_of(op, windows, image, emitter(op).constant(weights, f32), step)
    steps = Scalars(start(op, shape_of(sums)))
    value: SSAValue = steps.nest.input(sums, range(4))
    if bias is not None:
        value = steps.add(value, steps.nest.constant(bias, f32))
    value = activated(op, steps, value)
    return steps.nest.build([value])[0]
