"""Where non-decreasing integer functions step up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Function: TypeAlias = Callable[[Integers, Integers], Integers]
"""`f(channels, x)`: the function of each channel at x, element by element.

The channels are an array of x's length, and of its shape or of extents of 1.
"""

_ROUNDS = 12
"""Neighbour-search rounds before we give up on a function as a staircase."""

_PARTS = 16
"""Into how many parts an interval is divided where a step is searched for."""


@dataclass(frozen=True)
class Steps:
    """A non-decreasing function of each channel c on the interval low[c] ... high[c].

    It climbs from bottom[c] to top[c]; `places[c, i]` is the first x with
    f(x) > bottom[c] + i, where there are so many levels (`valid`).
    """

    low: Integers
    high: Integers
    bottom: Integers
    top: Integers
    places: Integers

    @cached_property
    def levels(self) -> Integers:
        """The value that is reached at each place."""
        count = np.arange(1, self.places.shape[1] + 1, dtype=self.bottom.dtype)
        return self.bottom[:, np.newaxis] + count

    @cached_property
    def valid(self) -> NDArray[np.bool_]:
        """Which places there are."""
        return self.levels <= self.top[:, np.newaxis]


@dataclass(frozen=True)
class SeenSteps(Steps):
    """Steps with what was looked at to find them.

    `points` are x and f(x) at both ends and on both sides of each step:
    [channel, point]. Between neighbours of these points the function is constant. Where
    a channel has fewer steps than another, there are other x of its interval.
    """

    points: tuple[Integers, Integers]

    def of(self, some: slice) -> SeenSteps:
        """The steps of some of the channels."""
        x, value = self.points
        return SeenSteps(
            self.low[some],
            self.high[some],
            self.bottom[some],
            self.top[some],
            self.places[some],
            (x[some], value[some]),
        )

    def parts(self, count: int) -> Iterator[SeenSteps]:
        """The steps of so many channels at a time."""
        for first in range(0, len(self.low), count):
            yield self.of(slice(first, first + count))

    def trimmed(self) -> SeenSteps:
        """The same with no more columns than these channels have steps."""
        before, after = self.places.shape[1], int((self.top - self.bottom).max())
        if before == after:
            return self
        kept = np.r_[: 2 + after, 2 + before : 2 + before + after]
        x, value = (points[:, kept] for points in self.points)
        return replace(self, places=x[:, 2 : 2 + after], points=(x, value))

    @staticmethod
    def joined(steps: Sequence[SeenSteps]) -> SeenSteps:
        """All channels of some that have as many columns."""
        if len(steps) == 1:
            return steps[0]
        x, value = (
            np.concatenate([some.points[own] for some in steps]) for own in (0, 1)
        )
        low, high, bottom, top = (
            np.concatenate(ends)
            for ends in zip(
                *((some.low, some.high, some.bottom, some.top) for some in steps),
                strict=True,
            )
        )
        width = steps[0].places.shape[1]
        return SeenSteps(low, high, bottom, top, x[:, 2 : 2 + width], (x, value))


def find_steps(function: Function, low: Integers, high: Integers) -> SeenSteps | None:
    """The steps of non-decreasing functions on low ... high, if they are near a line.

    None if they are not found soon. Each place was found by evaluating the function
    there, and just before it.
    """
    channels = np.arange(len(low))[:, np.newaxis]
    bottom, top = function(channels, np.stack([low, high], axis=1)).T
    ends = np.stack([bottom + 1, top], axis=1)
    first, last = search_steps(function, low, high, ends).T
    slope = np.maximum(last - first, 0) / np.maximum(top - bottom - 1, 1)
    width = int((top - bottom).max(initial=0))
    x = np.empty((len(low), 2 + 2 * width), low.dtype)
    x[:, 0], x[:, 1] = low, high
    places, before = x[:, 2 : 2 + width], x[:, 2 + width :]
    guess = slope[:, np.newaxis] * np.arange(width)
    guess += first[:, np.newaxis]
    places[:] = np.minimum(np.rint(guess, out=guess), high[:, np.newaxis], out=guess)
    np.maximum(places - 1, low[:, np.newaxis], out=before)
    points = x, np.ascontiguousarray(function(channels, x))
    steps = SeenSteps(low, high, bottom, top, places, points)
    return steps if _settle(function, steps) else None


def search_steps(
    function: Function, low: Integers, high: Integers, levels: Integers
) -> Integers:
    """The first x in low + 1 ... high with f(x) >= level, high if there is none.

    `levels` and the result: [channel, level].
    """
    below, above = (
        np.array(np.broadcast_to(end, levels.shape), np.int64)
        for end in _columns(low, high)
    )
    channels = np.arange(len(low))[:, np.newaxis, np.newaxis]
    parts = np.arange(1, _PARTS)
    while np.any(above - below > 1):
        widths: Integers = above - below
        left = below[..., np.newaxis]
        x = left + widths[..., np.newaxis] * parts // _PARTS
        reached = function(channels, x) >= levels[..., np.newaxis]
        reached &= x > left
        part = _PARTS - 1 - np.count_nonzero(reached, axis=-1)
        above = below + widths * (part + 1) // _PARTS
        below = below + widths * part // _PARTS
    return above


def _columns(*ends: Integers) -> list[Integers]:
    return [end[:, np.newaxis] for end in ends]


def _settle(function: Function, steps: SeenSteps) -> bool:
    """Moves guessed places to the true ones, by steps of one; False if they are far."""
    width = steps.places.shape[1]
    value, levels = steps.points[1], steps.levels
    is_off = (value[:, 2 : 2 + width] < levels) | (value[:, 2 + width :] >= levels)
    found = np.flatnonzero(is_off & steps.valid)
    channel, index = np.divmod(found, max(width, 1))
    level = levels.reshape(-1)[found]
    here = channel * value.shape[1] + 2 + index
    x, value = (points.reshape(-1) for points in steps.points)
    for _ in range(_ROUNDS):
        if not len(here):
            return True
        before = here + width
        at_place, below = value[here], value[before]
        goes_back = below >= level
        place = x[here] + np.where(goes_back, -1, 1)
        seen = function(channel, place - goes_back)
        x[here], x[before] = place, place - 1
        at_place, below = (
            np.where(goes_back, *pair) for pair in ((below, seen), (seen, at_place))
        )
        value[here], value[before] = at_place, below
        moving = np.flatnonzero((at_place < level) | (below >= level))
        channel, level, here = channel[moving], level[moving], here[moving]
    return False
