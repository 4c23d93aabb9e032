"""Transposed convolutions, as ones that compute a block of the result at each pixel.

Element Y of the whole result, `Y = stride * y + k`, takes input y times weight k. With
`Y = stride * q + phase` these are weights `phase + stride * t` of inputs `q - t`: one
convolution for each phase, with as many taps as the kernel has strides. All phases
together are one convolution with more channels, which become blocks of the image.
Weights that a phase lacks are real 0, so that its sums are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from numpy.typing import NDArray

from qlower.operators.movement import (
    Movement,
    Pad,
    Reshape,
    Reverse,
    Slice,
    Transpose,
)
from qlower.operators.shapes import Shape
from qlower.operators.sums import Slide


class Axis:
    """Rows or columns: how many taps and positions the convolution has, its padding,
    and where the result begins in what it gives."""

    def __init__(self, size: int, taps: int, stride: int, pad: int, wanted: int):
        self.kernel = taps
        self.wanted = wanted
        self.stride = stride
        self.taps = -(-taps // stride)
        first = min(pad // stride, self.taps - 1)
        self.offset = pad - first * stride
        self.positions = -(-(self.offset + wanted) // stride)
        self.before = self.taps - 1 - first
        self.after = max(self.positions + self.taps - 1 - size - self.before, 0)
        # what the input gives beyond the wanted positions is computed, too
        self.positions = size + self.before + self.after - self.taps + 1
        self.size = self.positions * stride

    @property
    def slide(self) -> Slide:
        """The steps of the convolution's window."""
        return Slide(before=self.before, after=self.after)


def phase_movements(
    shape: Shape, missing: float, rows: Axis, columns: Axis
) -> Sequence[Movement]:
    """The movements from weights [filters, rows, columns, depth] to those of all
    phases, [phase row, phase column, filter, tap, tap, depth], some of which are
    `missing`."""
    filters, *_, depth = shape
    more = [axis.taps * axis.stride - axis.kernel for axis in (rows, columns)]
    split = (filters, rows.taps, rows.stride, columns.taps, columns.stride, depth)
    # the last tap meets the first input
    return (
        Pad([0] * 4, [0, *more, 0], value=missing),
        Reshape(split),
        Reverse(1),
        Reverse(3),
        Transpose((2, 4, 0, 1, 3, 5)),
    )


def phase_weights(
    weights: NDArray[Any], missing: int, rows: Axis, columns: Axis
) -> NDArray[Any]:
    """The weights of all phases as `phase_movements` has them, with some `missing`."""
    movements = phase_movements(weights.shape, missing, rows, columns)
    return reduce(lambda array, movement: movement.evaluate(array), movements, weights)


def filters_of(weights: NDArray[Any]) -> NDArray[Any]:
    """All phases' filters, one after the other."""
    return weights.reshape(-1, *weights.shape[3:])


def image_movements(
    shape: Shape, rows: Axis, columns: Axis, groups: Sequence[int] = ()
) -> tuple[Reshape, Transpose, Reshape, Slice]:
    """The movements from the convolution's result, of this shape, to the image: each
    pixel's channels become a block of pixels, and the blocks are cut to size. Channels
    are groups of phases, if a number of `groups` is given."""
    batch, height, width, count = shape
    depth = count // (math.prod(groups) * rows.stride * columns.stride)
    split = (batch, height, width, *groups, rows.stride, columns.stride, depth)
    group, (row, column, last) = range(3, 3 + len(groups)), range(len(split))[-3:]
    filters = math.prod(groups) * depth
    return (
        Reshape(split),
        Transpose((0, 1, row, 2, column, *group, last)),
        Reshape((batch, rows.size, columns.size, filters)),
        Slice(
            (0, rows.offset, columns.offset, 0),
            (batch, rows.wanted, columns.wanted, filters),
            [1] * 4,
        ),
    )
