"""Meaning of sums of saturating pairs, over stored codes.

Everything is a sequence of columns: the codes that meet one weight of each output
channel, and those weights, which broadcast against each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from qlower.contracts.contractions import Contraction
from qlower.contracts.products import PIXEL
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.interp.values import Array

Column: TypeAlias = tuple[Array, Array]

NOTHING: Column = (np.zeros((), np.int64), np.zeros((), np.int64))
"""The partner of an odd last column."""


def pair_sums(op: Contraction, product: str, stored: Array, weight: Array) -> Array:
    """The accumulators without bias, from the stored input and weights."""
    type = quantized_element(op.input.type)
    # An int8 is taken as the code 128 above it.
    shift = 128 if type.signed else 0
    codes = stored.astype(np.int64) + shift
    zero = type.zero_point + shift
    weight = weight.astype(np.int64)
    points = np.array(quantized_element(op.weight.type).zero_points, np.int64)
    match op:
        case qnn.LinearOp():
            columns = [(codes[..., k, None], w) for k, w in enumerate(weight.T)]
            return _sum(columns, zero, points)
        case qnn.DepthwiseConv2DOp():
            image = np.repeat(codes, op.multiplier, axis=3)
            (taps,) = weight
            views = op.sums.views(image, taps.shape[:2], zero)
            columns = [(view, taps[tap]) for tap, view in views]
            return _sum(columns, zero, points)
        case qnn.Conv2DOp():
            depth = weight.shape[3]
            points = np.broadcast_to(points, len(weight))
            group_sums: list[Array] = []
            for group, (group_weight, group_points) in enumerate(
                zip(
                    np.split(weight, op.groups),
                    np.split(points, op.groups),
                    strict=True,
                )
            ):
                part = codes[..., group * depth : (group + 1) * depth]
                sums = _pixel_sums if product == PIXEL else _flat_sums
                group_sums.append(sums(op, part, group_weight, zero, group_points))
            return np.concatenate(group_sums, axis=-1)


def _flat_sums(
    op: qnn.Conv2DOp, codes: Array, weight: Array, zero: int, points: Array
) -> Array:
    taps = _tap_columns(op, codes, weight, zero)
    columns = [column for tap in taps for column in tap]
    return _sum(columns, zero, points)


def _pixel_sums(
    op: qnn.Conv2DOp, codes: Array, weight: Array, zero: int, points: Array
) -> Array:
    total = np.zeros((*shape_of(op.result)[:3], len(weight)), np.int64)
    for columns in _tap_columns(op, codes, weight, 0):
        total += _sum_pairs(columns)
        for code, _ in columns:
            total -= points * code
    for columns in _tap_columns(op, np.ones_like(codes), weight, 0):
        for is_inside, w in columns:
            total -= zero * is_inside * (w - points)
    return total


def _tap_columns(
    op: qnn.Conv2DOp, image: Array, weight: Array, around: int
) -> Iterator[list[Column]]:
    """For each tap, a column for each channel."""
    for (kh, kw), view in op.sums.views(image, weight.shape[1:3], around):
        yield [
            (view[..., c, None], weight[:, kh, kw, c]) for c in range(weight.shape[3])
        ]


def _sum(columns: Sequence[Column], zero: int, points: Array) -> Array:
    """The saturated pairs, corrected exactly by the zero points of input and weights:
    the sum of `(code - zero) * (w - point)` where no pair saturates."""
    codes = np.sum([code for code, _ in columns], axis=0)
    weights = np.sum([w - points for _, w in columns], axis=0)
    return _sum_pairs(columns) - zero * weights - points * codes


def _sum_pairs(columns: Sequence[Column]) -> Array:
    total = np.zeros((), np.int64)
    firsts, seconds = columns[::2], [*columns[1::2], NOTHING]
    for (a0, b0), (a1, b1) in zip(firsts, seconds, strict=False):
        total = total + np.clip(a0 * b0 + a1 * b1, -(1 << 15), (1 << 15) - 1)
    return total
