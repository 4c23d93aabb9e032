"""Meaning of sums whose register is cut after each group of products."""

from __future__ import annotations

import numpy as np

from qlower.contracts import Contract
from qlower.contracts.contractions import Contraction, group_of
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.interp.values import Array

from .pairs import Column
from .rules import centred


def sums_in_turn(
    contract: Contract, op: Contraction, start: Array, stored: Array, weight: Array
) -> Array:
    """The accumulators as i32, from what they start from, the stored input and the
    weights."""
    rule, group = contract.rule("accumulate"), group_of(contract, op)
    columns = _columns(op, centred(stored, op.input), centred(weight, op.weight))
    total = np.broadcast_to(start, shape_of(op.result)).astype(np.int32)
    for number, (code, factor) in enumerate(columns, 1):
        total = (total + code.astype(np.int64) * factor).astype(np.int32)
        if number % group == 0 or number == len(columns):
            (total,) = rule.evaluate({"accumulator": total})
    return total


def _columns(op: Contraction, image: Array, weight: Array) -> list[Column]:
    """What meets each weight of all output channels, and those weights, in the order of
    memory."""
    match op:
        case qnn.LinearOp():
            return [(image[..., k, None], w) for k, w in enumerate(weight.T)]
        case qnn.DepthwiseConv2DOp():
            image = np.repeat(image, op.multiplier, axis=3)
            views = op.sums.views(image, weight.shape[1:3], 0)
            return [(view, weight[0, *tap]) for tap, view in views]
        case qnn.Conv2DOp():
            depth, repeats = weight.shape[3], len(weight) // op.groups
            firsts = np.repeat(np.arange(op.groups) * depth, repeats)
            return [
                (view[..., firsts + c], weight[:, kh, kw, c])
                for (kh, kw), view in op.sums.views(image, weight.shape[1:3], 0)
                for c in range(depth)
            ]
