"""Layer inputs for which one element of the result has a chosen accumulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.interp import Array
from qlower.observe.layer_run import LayerRun
from qlower.observe.place import Index
from qlower.observe.products import products_of
from qlower.semantics.rules import stored_dtype

Operands: TypeAlias = Mapping[SSAValue, Array]
"""Stored values of a layer's operands; of others any will do."""

Reach: TypeAlias = Callable[[Index, int, int], "tuple[Operands, int] | None"]
"""Operands that give an element one of the numbers first ... last, and which; None if
none are found. An element that moves about in the image is moved to its middle."""

_TARGETS = 64
"""The numbers of an interval that are tried."""

_SMALL, _NEAR = 12, 24
"""The smallest weights that mend a sum, and by how much a factor is changed."""

_FEW = 1 << 24
"""The most bytes of masks of sums, one mask for each weight, that are made."""


def all_over(
    sources: Sequence[SSAValue],
    numbers: Callable[[int], list[int]] = lambda x: [x],
) -> Reach:
    """Operands that have the same number everywhere."""

    def reach(index: Index, first: int, last: int) -> tuple[Operands, int]:
        parts = zip(sources, numbers(first), strict=False)
        return {source: filled(source, number) for source, number in parts}, first

    return reach


def filled(source: SSAValue, number: int) -> Array:
    """A tensor of an operand's shape and type that is full of one stored integer."""
    return np.full(shape_of(source), number, stored_dtype(source.type))


def near_zero(source: SSAValue) -> Array:
    """A tensor of an operand's shape and type that is full of the stored integer whose
    value is the nearest to 0."""
    type = quantized_element(source.type)
    return filled(source, min(max(type.zero_point, type.storage_min), type.storage_max))


def reach_sum(run: LayerRun) -> Reach:
    """Inputs of a contraction for a sum of products."""
    source = run.op.operands[0]
    type = quantized_element(source.type)
    point = type.zero_point

    def reach(index: Index, first: int, last: int) -> tuple[Operands, int] | None:
        if len(index) == 4:
            _, height, width, _ = shape_of(run.op.results[0])
            index = (index[0], height // 2, width // 2, index[3])
        taps = [tap for tap in products_of(run, index) if is_inside(source, tap.at)]
        weights = np.array([tap.weight for tap in taps], np.int64)
        chosen = solve(
            weights, type.storage_min - point, type.storage_max - point, first, last
        )
        if chosen is None:
            return None
        stored = near_zero(source)
        for tap, difference in zip(taps, chosen, strict=True):
            stored[tap.at] = difference + point
        return {source: stored}, int(weights @ chosen)

    return reach


def is_inside(source: SSAValue, at: Index) -> bool:
    shape = shape_of(source)
    return all(0 <= place < size for place, size in zip(at, shape, strict=True))


def solve(weights: Array, least: int, most: int, first: int, last: int) -> Array | None:
    """Factors in least ... most whose sum with the weights is in first ... last.

    From factors of 0 on, the largest weights come as near as they can. What is left
    over is mended by two of the smallest weights at a time.
    """
    unit = int(np.gcd.reduce(weights)) or 1  # all sums are multiples of it
    weights, first, last = weights // unit, -(-first // unit), last // unit
    if first > last:
        return None
    order = [int(place) for place in np.argsort(-np.abs(weights), kind="stable")]
    sizes, one_each = np.unique(np.abs(weights), return_index=True)
    small = [int(at) for at, size in zip(one_each, sizes, strict=True) if size][:_SMALL]
    targets = np.unique(np.linspace(first, last, min(_TARGETS, last - first + 1)))
    for target in targets.astype(np.int64).tolist():
        factors = np.full(len(weights), min(max(0, least), most), np.int64)
        rest = target - int(weights @ factors)
        for place in order:
            weight = int(weights[place])
            if weight:
                wanted = int(factors[place]) + round(rest / weight)
                changed = min(max(wanted, least), most)
                rest -= (changed - int(factors[place])) * weight
                factors[place] = changed
        if first <= target - rest <= last or _mend(
            factors, weights, small, rest, (least, most)
        ):
            return factors
    return _among_all(weights, least, most, first, last)


def _among_all(
    weights: Array, least: int, most: int, first: int, last: int
) -> Array | None:
    """As `solve`, by all sums there are, where these are few."""
    low, masks = _all_sums(tuple(weights.tolist()), least, most)
    if not masks:
        return None
    inside = np.flatnonzero(masks[-1][max(first - low, 0) : max(last - low + 1, 0)])
    if not len(inside):
        return None
    rest = int(inside[0]) + max(first, low)
    factors = np.zeros(len(weights), np.int64)
    choices = np.arange(least, most + 1)
    for place in reversed(range(len(weights))):
        before = rest - int(weights[place]) * choices - low
        known = (before >= 0) & (before < len(masks[place]))
        known[known] = masks[place][before[known]]
        factors[place] = choices[known][0]
        rest = int(before[known][0]) + low
    return factors


@lru_cache(maxsize=4)
def _all_sums(
    weights: tuple[int, ...], least: int, most: int, *, with_zero: bool = False
) -> tuple[int, list[Array]]:
    """The least sum and masks, from it on, of the sums of the first 0, 1, ... weights
    with any factors, or `with_zero` with 0, too; no masks where they are too large."""
    ends = [(weight * least, weight * most) for weight in weights]
    low = sum(min(0, *pair) for pair in ends)
    size = sum(max(0, *pair) for pair in ends) - low + 1
    if size * (len(weights) + 1) > _FEW:
        return low, []
    masks = [np.arange(low, low + size) == 0]
    for weight, pair in zip(weights, ends, strict=True):
        step, shift, before = abs(weight), min(pair), masks[-1]
        after = before
        if step:
            rows = -(-(size - min(shift, 0)) // step)
            counts = np.zeros((rows + 1, step), np.int32)
            counts[1:].reshape(-1)[:size] = before
            counts.cumsum(axis=0, out=counts)
            starts = np.maximum(np.arange(rows) - (most - least), 0)
            window = (counts[1:] > counts[starts]).reshape(-1)
            after = np.zeros(size, bool)
            kept = window[max(-shift, 0) :][: size - max(shift, 0)]
            after[max(shift, 0) :][: len(kept)] = kept
        masks.append(after | before if with_zero else after)
    return low, masks


def are_sums(
    weights: Array, ends: tuple[int, int], intervals: Array, *, with_zero: bool
) -> Array:
    """Whether each of [interval, 2] has a sum of the weights with factors between the
    ends, or `with_zero` with 0, too; a superset of the sums where they are many."""
    unit = int(np.gcd.reduce(weights)) or 1
    first, last = -(-intervals[:, 0] // unit), intervals[:, 1] // unit
    small = tuple((weights // unit).tolist())
    low, masks = _all_sums(small, *ends, with_zero=with_zero)
    if not masks:
        return first <= last
    before = np.append(0, np.cumsum(masks[-1]))
    at = (np.clip(end - low, 0, len(before) - 1) for end in (first, last + 1))
    start, stop = (before[one] for one in at)
    return stop > start


def _mend(
    factors: Array,
    weights: Array,
    places: Sequence[int],
    rest: int,
    bounds: tuple[int, int],
) -> bool:
    """Change two factors so that the sum grows by `rest`."""
    for one, other in product(places, places):
        if one == other:
            continue
        for change in range(-_NEAR, _NEAR + 1):
            left = rest - change * int(weights[one])
            second, remainder = divmod(left, int(weights[other]))
            changed = int(factors[one]) + change, int(factors[other]) + second
            if not remainder and all(bounds[0] <= one <= bounds[1] for one in changed):
                factors[one], factors[other] = changed
                return True
    return False


def reach_average(run: LayerRun) -> Reach:
    """Inputs of a pool or a mean for a sum of stored integers."""
    source = run.op.operands[0]
    type = quantized_element(source.type)
    counts = run.evaluations[-1].values["count"]

    def reach(index: Index, first: int, last: int) -> tuple[Operands, int] | None:
        window = _window(run.op, index)
        inside = np.zeros(shape_of(source), bool)
        inside[window] = True
        count = int(np.count_nonzero(inside))
        shape = shape_of(run.op.results[0])
        whole = int(np.broadcast_to(counts, shape)[index])
        each, more = divmod(first - (whole - count) * type.zero_point, count)
        if not type.storage_min <= each <= type.storage_max - (more > 0):
            return None
        stored = filled(source, each)
        places = np.flatnonzero(inside)[:more]
        stored.reshape(-1)[places] += 1
        return {source: stored}, first

    return reach


def _window(op: Operation, index: Index) -> tuple[slice, ...]:
    """The part of the input that an element of a pool or a mean is made of."""
    match op:
        case qnn.AvgPool2DOp():
            starts = [
                at * step - before
                for at, step, before in zip(
                    index[1:3], op.stride, (op.pad[0], op.pad[2]), strict=True
                )
            ]
            rows, columns = (
                slice(max(start, 0), start + size)
                for start, size in zip(starts, op.kernel, strict=True)
            )
        case qnn.AdaptiveAvgPool2DOp():
            ranges = [axis[at] for axis, at in zip(op.windows, index[1:3], strict=True)]
            rows, columns = (slice(one.start, one.stop) for one in ranges)
        case qnn.ReductionOp():
            type = op.input.type
            assert isinstance(type, TensorType)
            rest = list(index)
            found: list[slice] = []
            for axis in range(len(type.get_shape())):
                reduced = axis in op.axes
                at = rest.pop(0) if not reduced or op.keep_dims else 0
                found.append(slice(None) if reduced else slice(at, at + 1))
            return tuple(found)
        case _:
            raise AssertionError(f"{op.name} sums nothing")
    batch, channel = (slice(at, at + 1) for at in (index[0], index[3]))
    return batch, rows, columns, channel
