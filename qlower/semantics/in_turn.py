"""Meaning of sums whose register is cut after each group of products."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from qlower.contracts import Contract
from qlower.contracts.contractions import (
    Product,
    group_of,
    input_channels,
    turn_values,
)
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.interp.values import Array

from .pairs import Column
from .rules import centred


def sums_in_turn(
    contract: Contract, op: Product, start: Array, first: Array, second: Array
) -> Array:
    """The accumulators as i32, or as i64 for elements of 16 bits, from what they start
    from and the stored factors."""
    rule, values = contract.rule("accumulate"), turn_values(op)
    wide = quantized_element(op.operands[0].type).storage_width > 8
    (result,) = op.results
    start = np.broadcast_to(start, shape_of(result))
    products = (
        code.astype(np.int64) * factor for code, factor in columns(op, first, second)
    )
    depth = input_channels(op)

    def accumulate(total: Array, product: Array, number: int) -> Array:
        place = np.array((number - 1) % depth, np.int32)
        given = {**values, "accumulator": total, "input_channel": place}
        given["product"] = product.astype(total.dtype)
        (left,) = rule.evaluate(given)
        return left

    start = start.astype(np.int64 if wide else np.int32)
    return accumulated(products, start, group_of(contract, op), accumulate)


def accumulated(
    products: Iterable[Array],
    start: Array,
    group: int,
    accumulate: Callable[[Array, Array, int], Array],
) -> Array:
    """The sums in the start's type, where each product of all elements is added to the
    start, and each group of products cut: `accumulate` takes sums, the last product and
    the number of products in them."""
    total, product, number = start, start, 0
    for number, product in enumerate(products, 1):
        total = (total + product).astype(start.dtype)
        if number % group == 0:
            total = accumulate(total, product, number)
    return total if number % group == 0 else accumulate(total, product, number)


def columns(op: Product, stored: Array, weight: Array) -> Iterator[Column]:
    """The element that meets each weight of all output channels, and those weights, in
    the order of memory; without zero points. Of a product of matrices a column and a
    row."""
    first, second = op.operands[:2]
    image, weight = centred(stored, first), centred(weight, second)
    match op:
        case qnn.MatMulOp():
            for k in range(image.shape[-1]):
                yield image[..., k, None], weight[..., k, None, :]
        case qnn.LinearOp():
            yield from ((image[..., k, None], w) for k, w in enumerate(weight.T))
        case qnn.DepthwiseConv2DOp():
            image = np.repeat(image, op.multiplier, axis=3)
            (taps,) = weight
            for tap, view in op.sums.views(image, taps.shape[:2], 0):
                yield view, taps[tap]
        case qnn.Conv2DOp():
            depth, repeats = weight.shape[3], len(weight) // op.groups
            firsts = np.repeat(np.arange(op.groups) * depth, repeats)
            firsts = firsts[:1] if op.groups == 1 else firsts
            for (kh, kw), view in op.sums.views(image, weight.shape[1:3], 0):
                for c in range(depth):
                    yield view[..., firsts + c], weight[:, kh, kw, c]
