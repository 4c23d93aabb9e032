"""Meaning of sums whose register is cut after each group of products."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from qlower.contracts.contractions import Contraction, RuledContraction
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.interp.values import Array

from .pairs import Column
from .rules import centred


def sums_in_turn(
    ruled: RuledContraction, start: Array, stored: Array, weight: Array
) -> Array:
    """The accumulators as i32, from what they start from, the stored input and the
    weights."""
    rule, op, group = ruled.contract.rule("accumulate"), ruled.op, ruled.group
    start = np.broadcast_to(start, shape_of(op.result))
    products = (
        code.astype(np.int64) * factor for code, factor in columns(op, stored, weight)
    )
    return accumulated(
        products, start, group, lambda sum: rule.evaluate({"accumulator": sum})[0]
    )


def accumulated(
    products: Iterable[Array],
    start: Array,
    group: int,
    accumulate: Callable[[Array], Array],
) -> Array:
    """The sums as i32, where each product of all elements is added to the start, and
    each group of products cut."""
    total, number = start.astype(np.int32), 0
    for number, product in enumerate(products, 1):
        total = (total + product).astype(np.int32)
        if number % group == 0:
            total = accumulate(total)
    return total if number % group == 0 else accumulate(total)


def columns(op: Contraction, stored: Array, weight: Array) -> Iterator[Column]:
    """The element that meets each weight of all output channels, and those weights, in
    the order of memory; without zero points."""
    image, weight = centred(stored, op.input), centred(weight, op.weight)
    match op:
        case qnn.LinearOp():
            yield from ((image[..., k, None], w) for k, w in enumerate(weight.T))
        case qnn.DepthwiseConv2DOp():
            image = np.repeat(image, op.multiplier, axis=3)
            for tap, view in op.sums.views(image, weight.shape[1:3], 0):
                yield view, weight[0, *tap]
        case qnn.Conv2DOp():
            depth, repeats = weight.shape[3], len(weight) // op.groups
            firsts = np.repeat(np.arange(op.groups) * depth, repeats)
            firsts = firsts[:1] if op.groups == 1 else firsts
            for (kh, kw), view in op.sums.views(image, weight.shape[1:3], 0):
                for c in range(depth):
                    yield view[..., firsts + c], weight[:, kh, kw, c]
