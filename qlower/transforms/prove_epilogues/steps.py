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
"""Rounds of looking at neighbours, before a function counts as no staircase of ours."""


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
        count = np.arange(1, self.places.shape[1] + 1, dtype=np.int64)
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
    slope = (last - first) / np.maximum(top - bottom - 1, 1)
    width = int((top - bottom).max(initial=0))
    x = np.empty((len(low), 2 + 2 * width), np.int64)
    x[:, 0], x[:, 1] = low, high
    places, before = x[:, 2 : 2 + width], x[:, 2 + width :]
    guess = first[:, np.newaxis] + slope[:, np.newaxis] * np.arange(width)
    np.clip(np.rint(guess), *_columns(low + 1, high), out=places, casting="unsafe")
    np.maximum(places - 1, low[:, np.newaxis], out=before)
    points = x, function(channels, x)
    steps = SeenSteps(low, high, bottom, top, places, points)
    return steps if _settle(function, steps) else None


def search_steps(
    function: Function, low: Integers, high: Integers, levels: Integers
) -> Integers:
    """The first x in low + 1 ... high with f(x) >= level, high if there is none.

    `levels` and the result: [channel, level].
    """
    below, above = (
        np.array(np.broadcast_to(end, levels.shape)) for end in _columns(low, high)
    )
    channels = np.arange(len(low))[:, np.newaxis, np.newaxis]
    parts = np.arange(1, 16)
    while np.any(above - below > 1):
        left, right = below[..., np.newaxis], above[..., np.newaxis]
        x = left + (right - left) * parts // 16
        reached = function(channels, x) >= levels[..., np.newaxis]
        reached &= x > left
        above = np.where(reached, x, right).min(axis=-1)
        below = np.where(reached, left, x).max(axis=-1)
    return above


def _columns(*ends: Integers) -> list[Integers]:
    return [end[:, np.newaxis] for end in ends]


def _settle(function: Function, steps: SeenSteps) -> bool:
    """Moves guessed places to the true ones, by steps of one; False if they are far."""
    width = steps.places.shape[1]
    x, value = steps.points
    levels = steps.levels
    is_off = (value[:, 2 : 2 + width] < levels) | (value[:, 2 + width :] >= levels)
    channel, index = np.nonzero(is_off & steps.valid)
    level = levels[channel, index]
    for _ in range(_ROUNDS):
        if not len(channel):
            return True
        here, before = (channel, 2 + index), (channel, 2 + width + index)
        goes_back = value[before] >= level
        place = x[here] + np.where(goes_back, -1, 1)
        seen = function(channel, place - goes_back)
        x[here], x[before] = place, place - 1
        value[here], value[before] = (
            np.where(goes_back, value[before], seen),
            np.where(goes_back, seen, value[here]),
        )
        moving = (value[here] < level) | (value[before] >= level)
        channel, index, level = channel[moving], index[moving], level[moving]
    return False
