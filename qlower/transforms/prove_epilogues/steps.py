"""Where non-decreasing integer functions step up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Function: TypeAlias = Callable[[Integers, Integers], Integers]
"""`f(channels, x)`: the function of each channel at x, element by element."""

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

    @property
    def levels(self) -> Integers:
        """The value that is reached at each place."""
        count = np.arange(1, self.places.shape[1] + 1, dtype=np.int64)
        return self.bottom[:, np.newaxis] + count

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which places there are."""
        return self.levels <= self.top[:, np.newaxis]

    @cached_property
    def points(self) -> tuple[Integers, Integers]:
        """x and f(x) at both ends and on both sides of each step: [channel, point].

        Between neighbours of these points the function is constant. Rows are filled up
        with repetitions of the lower end.
        """
        valid, levels, places = self.valid, self.levels, self.places
        low, high, bottom, top = (
            column[:, np.newaxis]
            for column in (self.low, self.high, self.bottom, self.top)
        )
        # several levels may be reached at one place: the last counts at the place, the
        # first just before it
        beyond = np.where(valid, places, high + 1)
        last = valid & (np.diff(beyond, append=high + 2) > 0)
        first = valid & (np.diff(places, prepend=low) > 0)
        x = [low, high, np.where(last, places, low), np.where(first, places - 1, low)]
        value = [bottom, top]
        value.append(np.where(last, levels, bottom))
        value.append(np.where(first, levels - 1, bottom))
        return np.hstack(x), np.hstack(value)


def find_steps(function: Function, low: Integers, high: Integers) -> Steps | None:
    """The steps of non-decreasing functions on low ... high, if they are near a line.

    None if they are not found soon. Each place was found by evaluating the function
    there, and just before it.
    """
    channels = np.arange(len(low))
    bottom, top = function(channels, low), function(channels, high)
    first, last = search_steps(function, low, high, np.stack([bottom + 1, top]))
    slope = (last - first) / np.maximum(top - bottom - 1, 1)
    count = np.arange(int((top - bottom).max(initial=0)))
    guess = np.rint(first[:, np.newaxis] + slope[:, np.newaxis] * count)
    steps = Steps(low, high, bottom, top, guess.astype(np.int64))
    return steps if _settle(function, steps) else None


def search_steps(
    function: Function, low: Integers, high: Integers, levels: Integers
) -> Integers:
    """The first x in low + 1 ... high with f(x) >= level, high if there is none.

    `levels` and the result: [level, channel].
    """
    below, above = (np.array(np.broadcast_to(end, levels.shape)) for end in (low, high))
    channels = np.arange(len(low))
    parts = np.arange(1, 16)[:, np.newaxis, np.newaxis]
    while np.any(above - below > 1):
        x = below + (above - below) * parts // 16
        reached = function(np.broadcast_to(channels, x.shape), x) >= levels
        reached &= x > below
        above = np.where(reached, x, above).min(axis=0)
        below = np.where(reached, below, x).max(axis=0)
    return above


def _settle(function: Function, steps: Steps) -> bool:
    """Moves guessed places to the true ones, by steps of one; False if they are far."""
    channel, index = np.nonzero(steps.valid)
    level = steps.levels[channel, index]
    low, high = steps.low[channel], steps.high[channel]
    place = np.clip(steps.places[channel, index], low + 1, high)
    for _ in range(_ROUNDS):
        at, before = (function(channel, x) >= level for x in (place, place - 1))
        steps.places[channel, index] = place
        moving = np.flatnonzero(before | ~at)
        if not len(moving):
            return True
        channel, index, level = channel[moving], index[moving], level[moving]
        place = place[moving] + np.where(before[moving], -1, 1)
    return False
