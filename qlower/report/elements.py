"""The elements of a layer whose chains are shown, and what its rule cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.interp.values import Array
from qlower.observe.coverage import Lanes, analyse
from qlower.observe.layer_run import LayerRun
from qlower.observe.place import Index
from qlower.report.measures import Cut

MOST_ROUNDINGS = 4
"""So many roundings of a rule have the element that comes closest to a tie shown."""


@dataclass(frozen=True)
class Element:
    """An element by its index, and why it is shown."""

    index: Index
    why: tuple[str, ...]


def choose_elements(
    run: LayerRun, lanes: Lanes | None, apart: Array | None, most: int
) -> list[Element]:
    """Up to `most` elements: the first that differs and one that differs the most, the
    nearest to a tie of each rounding, the extremes, those that are cut, and then one of
    each of some channels, in the middle of the image; all of a small tensor.

    `apart` has the differences from another side's results.
    """
    if not run.evaluations:
        return []
    found: dict[Index, list[str]] = {}
    for index, why in _candidates(run.result, lanes, apart):
        if index in found or len(found) < most:
            found.setdefault(index, []).append(why)
    shape = run.result.shape
    if run.result.size <= most:
        for index in np.ndindex(shape):
            found.setdefault(index, []).append("any")
    elif len(shape) > 0:
        middle = [0, *(extent // 2 for extent in shape[1:-1])][: len(shape) - 1]
        count = min(shape[-1], most - len(found))
        for channel in (n * shape[-1] // max(count, 1) for n in range(count)):
            found.setdefault((*middle, channel), []).append(f"channel {channel}")
    return [Element(index, tuple(why)) for index, why in found.items()]


def _candidates(
    result: Array, lanes: Lanes | None, apart: Array | None
) -> Iterator[tuple[Index, str]]:
    if apart is not None and apart.any():
        yield _first(apart != 0), "first that differs"
        yield _index(np.argmax(np.abs(apart)), apart), "differs the most"
    if lanes is not None:
        for rounding in lanes.roundings[:MOST_ROUNDINGS]:
            distance = np.abs(rounding.distance)
            if np.isfinite(distance).any():
                place = _index(np.nanargmin(distance), distance)
                kind = "a tie" if distance[place] == 0 else "nearest to a tie"
                yield place, f"{kind} of {rounding.name}"
    yield _index(np.argmin(result), result), "least"
    yield _index(np.argmax(result), result), "greatest"
    if lanes is not None:
        for name, cut in (("low", lanes.low), ("high", lanes.high)):
            if cut.any():
                yield _first(cut), f"cut at the {name} end"


def _first(wanted: Array) -> Index:
    return _index(np.argmax(wanted), wanted)


def _index(place: np.intp, array: Array) -> Index:
    return tuple(int(at) for at in np.unravel_index(int(place), array.shape))


def lanes_of(run: LayerRun) -> Lanes | None:
    """The lanes of the rule that stores the result, for each element; None where no
    rule does, and for rules of windows and rows, which have another shape, or another
    input at each step."""
    if not run.evaluations:
        return None
    last = run.evaluations[-1]
    shape = run.result.shape
    zeros = (0,) * len(shape)
    if not run.result.size or last.at(zeros, shape) is None:
        return None
    if not last.values.keys() >= set(last.rule.values):
        return None
    values = {n: np.broadcast_to(v, shape) for n, v in last.values.items()}
    return analyse(last.rule, values)


def cut_of(run: LayerRun, lanes: Lanes | None) -> Cut | None:
    """The number of elements that are cut; None where that isn't known."""
    type = element_type(run.op.results[0].type)
    if lanes is None or not isinstance(type, QuantizedType) or not type.is_per_tensor:
        return None
    low: NDArray[np.bool_] = np.asarray(lanes.low, np.bool_)
    zeros = int(np.count_nonzero(low & (run.result == type.zero_point)))
    low_count, high = int(np.count_nonzero(low)), int(np.count_nonzero(lanes.high))
    return Cut(run.result.size, low_count, high, zeros)
