"""Layer inputs for which one element of the result has a chosen accumulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

_FEW = 1 << 14
"""Sums of some weights, each with every next factor, that are all looked at."""


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
        stored = filled(source, point)
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
    made: list[dict[int, int]] = []
    sums = {0: 0}
    for weight in weights.tolist():
        if len(sums) * (most - least + 1) > _FEW:
            return None
        sums = {
            before + weight * factor: factor
            for before in sums
            for factor in range(least, most + 1)
        }
        made.append(sums)
    rest = next((one for one in sums if first <= one <= last), None)
    if rest is None:
        return None
    factors = np.zeros(len(weights), np.int64)
    for place in reversed(range(len(weights))):
        factors[place] = made[place][rest]
        rest -= int(weights[place]) * int(factors[place])
    return factors


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
