"""The sums of two products that a layer's weights make possible.

Where a machine multiplies in saturating pairs (`products.py`), codes are unsigned (an
int8 is taken as the code 128 above it) and weights as stored. Each code lies anywhere
in its type's storage range, on its own, so the bounds of a pair are reached.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qlower.contracts.accumulator_range import constant_integers
from qlower.contracts.contractions import Contraction
from qlower.contracts.products import PIXEL
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element

Integers = NDArray[np.int64]

PAIR_BITS = 16
"""The width at which a pair saturates."""


def pair_bounds(op: Contraction, product: str) -> tuple[Integers, Integers] | None:
    """The smallest and the largest sum of a pair of each output channel; None if the
    weights aren't constant."""
    weights = constant_integers(op.weight)
    if weights is None:
        return None
    type = quantized_element(op.input.type)
    shift = 128 if type.signed else 0
    codes = (type.storage_min + shift, type.storage_max + shift)
    return row_bounds(weight_rows(op, weights, product), *codes)


def row_bounds(rows: Integers, least: int, most: int) -> tuple[Integers, Integers]:
    """The least and the greatest sum of two neighbouring products, [channel] each.

    The weights are `rows` [channel, weight], the codes lie in [least, most]; an odd
    last weight is alone.
    """
    rows = np.pad(rows, ((0, 0), (0, rows.shape[1] % 2)))
    pairs = rows.reshape(len(rows), -1, 2)
    ends = np.stack([pairs * least, pairs * most])
    low, high = (ends.min(axis=0).sum(axis=2), ends.max(axis=0).sum(axis=2))
    return low.min(axis=1), high.max(axis=1)


def weight_rows(op: Contraction, weights: Integers, product: str) -> Integers:
    """A row of each output channel, whose neighbours are paired."""
    if isinstance(op, qnn.DepthwiseConv2DOp):
        return weights.reshape(-1, weights.shape[-1]).T
    if product == PIXEL and weights.shape[-1] % 2:
        # the last channel of each tap is paired with nothing
        sides = [(0, 0)] * (weights.ndim - 1)
        weights = np.pad(weights, (*sides, (0, 1)))
    return weights.reshape(len(weights), -1)
