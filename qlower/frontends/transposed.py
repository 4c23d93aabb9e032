"""Transposed convolutions, as ones that compute a block of the result at each pixel.

Element Y of the whole result, `Y = stride * y + k`, takes input y times weight k. With
`Y = stride * q + phase` these are weights `phase + stride * t` of inputs `q - t`: one
convolution for each phase, with as many taps as the kernel has strides. All phases
together are one convolution with more channels, which become blocks of the image.
Weights that a phase lacks are real 0, so that its sums are the same.
"""

from __future__ import annotations

import numpy as np

from qlower.files.arrays import Array


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


def phase_weights(weights: Array, missing: int, rows: Axis, columns: Axis) -> Array:
    """The weights of all phases, [phase row, phase column, filter, tap, tap, depth], of
    which some are `missing`."""
    filters, *_, depth = weights.shape
    padded = np.full(
        (filters, rows.taps * rows.stride, columns.taps * columns.stride, depth),
        missing,
        weights.dtype,
    )
    padded[:, : rows.kernel, : columns.kernel] = weights
    split = padded.reshape(
        filters, rows.taps, rows.stride, columns.taps, columns.stride, depth
    )
    # the last tap meets the first input
    return split.transpose(2, 4, 0, 1, 3, 5)[:, :, :, ::-1, ::-1]


def filters_of(weights: Array) -> Array:
    """All phases' filters, one after the other."""
    return weights.reshape(-1, *weights.shape[3:])
