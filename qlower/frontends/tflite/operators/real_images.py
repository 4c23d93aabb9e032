"""RESIZE_BILINEAR and the convolution inside of TRANSPOSE_CONV, in float32, and
RESIZE_NEAREST_NEIGHBOR of plain numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from qlower.dialects.types import shape_of
from qlower.emit.sums import Accumulate
from qlower.files.arrays import Array
from qlower.model.nests import Combine, Nest
from qlower.model.windows import padded_image
from qlower.operators.sums import CONV_2D, Sums, slides

from ...scalars import Scalars
from ..context import OperatorContext
from ..nests import emitter, finish, start, sums_of, take
from .hybrid import centred_rows
from .plain import activated


def import_real_resize_bilinear(op: OperatorContext, size: Sequence[int]) -> None:
    """Four neighbours by their distances, as internal/reference/resize_bilinear.h."""
    batch, *image, channels = op.shape(0, rank=4)
    rows, columns = (_positions(op, *sizes) for sizes in zip(image, size, strict=True))
    shape = (batch, *size, channels)
    source, whole = op.value(0), (range(batch), range(channels))
    steps = Scalars(start(op, shape))
    one = steps.constant(1.0, f32)
    total: SSAValue | None = None
    # the order of the kernel: the upper row and the lower one, left, then right
    for right in (0, 1):
        for lower in (0, 1):
            places = [
                whole[0],
                rows.neighbours[lower],
                columns.neighbours[right],
                whole[1],
            ]
            weighted: SSAValue = steps.nest.input(take(op, source, places), range(4))
            for axis, beyond, loop in ((rows, lower, 1), (columns, right, 2)):
                share = steps.nest.constant(axis.fractions, f32, (loop,))
                if not beyond:
                    share = steps.subtract(one, share)
                weighted = steps.multiply(weighted, share)
            total = weighted if total is None else steps.add(total, weighted)
    assert total is not None
    # the kernel adds a rounding offset, which is 0 here and makes -0 into 0
    total = steps.add(total, steps.constant(0.0, f32))
    finish(op, steps.nest.build([total])[0])


def import_plain_resize_nearest(op: OperatorContext, size: Sequence[int]) -> None:
    """One neighbour each, as internal/reference/resize_nearest_neighbor.h has it."""
    batch, *image, channels = op.shape(0, rank=4)
    op.result_type((batch, *size, channels))
    places = [_nearest(op, *sizes).tolist() for sizes in zip(image, size, strict=True)]
    finish(op, take(op, op.elements(0), [range(batch), *places, range(channels)]))


def _nearest(op: OperatorContext, size: int, wanted: int) -> Array:
    """The place that each place of a result takes, in float32: rounded half up with
    `align_corners`, else down."""
    places, half = np.arange(wanted, dtype=np.float32), np.float32(0.5)
    if op.flag("half_pixel_centers"):
        places = places + half
    places = places * _scale(op, size, wanted)
    if op.flag("align_corners"):
        places = places.astype(np.float64) + half
    return np.minimum(np.floor(places).astype(np.int64), size - 1)


def _scale(op: OperatorContext, size: int, wanted: int) -> np.float32:
    """How many places of the image there are to one of the result."""
    if op.flag("align_corners") and wanted > 1:
        return np.float32(size - 1) / np.float32(wanted - 1)
    return np.float32(size) / np.float32(wanted)


@dataclass(frozen=True, slots=True)
class _Axis:
    """The first and second neighbours of each place along an axis, and how far it is
    from the first."""

    neighbours: tuple[list[int], list[int]]
    fractions: Array


def _positions(op: OperatorContext, size: int, wanted: int) -> _Axis:
    places = np.arange(wanted, dtype=np.float32)
    scale = _scale(op, size, wanted)
    if op.flag("half_pixel_centers"):
        half = np.float32(0.5)
        places = (places + half) * scale - half
    else:
        places = places * scale
    lower = np.maximum(np.floor(places), 0).astype(np.int64)
    upper = np.minimum(np.ceil(places), size - 1).astype(np.int64)
    fractions = places - lower.astype(np.float32)
    return _Axis((lower.tolist(), upper.tolist()), fractions)


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
