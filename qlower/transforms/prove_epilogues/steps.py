"""The points where non-decreasing integer functions step up.

**Lemma (points).** A non-decreasing f that has the same value at a and b has it
everywhere between. So f is known on low ... high from its values at both ends and, for
each level that it reaches, at the first x of that level and at x - 1: of two
neighbouring points either the values are equal or the x are. Another non-decreasing
function is equal to f on the whole interval exactly when it is equal at these points.
"""

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

_ENDS = 2
"""Columns of points for the ends of the interval, which come first."""

_PARTS = 16
"""Into how many parts an interval is divided where a step is searched for."""


@dataclass(frozen=True)
class Steps:
    """A non-decreasing function of each channel c on the interval low[c] ... high[c].

    It climbs from bottom[c] to top[c]; `places[c, i]` is the first x with f(x) >
    bottom[c] + i, where there is such a level (`valid`).
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
        """A mask of the places that exist."""
        return self.levels <= self.top[:, np.newaxis]


@dataclass(frozen=True)
class SeenSteps(Steps):
    """Steps with the points that were looked at to find them.

    `points` are x and f(x), each [channel, point]: at both ends, at each step's place
    and just before each (`at_steps`, `before_steps`). By the lemma above they decide
    which non-decreasing functions are equal to f. Where a channel has fewer steps than
    another, there are other x of its interval.
    """

    points: tuple[Integers, Integers]

    @property
    def width(self) -> int:
        """The most steps of a channel."""
        return self.places.shape[1]

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
        """The steps of at most `count` channels at a time."""
        for first in range(0, len(self.low), count):
            yield self.of(slice(first, first + count))

    def trimmed(self) -> SeenSteps:
        """The steps with no more columns than these channels have."""
        before, after = self.width, int((self.top - self.bottom).max())
        if before == after:
            return self
        x, value = (
            np.concatenate(
                [
                    points[:, :_ENDS],
                    at_steps(points, before)[:, :after],
                    before_steps(points, before)[:, :after],
                ],
                axis=1,
            )
            for points in self.points
        )
        return replace(self, places=at_steps(x, after), points=(x, value))

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
        places = at_steps(x, steps[0].width)
        return SeenSteps(low, high, bottom, top, places, (x, value))


def at_steps(points: Integers, width: int) -> Integers:
    """The columns of points that are the places of `width` steps; a view."""
    return points[:, _ENDS : _ENDS + width]


def before_steps(points: Integers, width: int) -> Integers:
    """The columns of points just before the places of `width` steps; a view."""
    return points[:, _ENDS + width : _ENDS + 2 * width]


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
    x = np.empty((len(low), _ENDS + 2 * width), low.dtype)
    x[:, 0], x[:, 1] = low, high
    places, before = at_steps(x, width), before_steps(x, width)
    # The first and the last step are found by bisection. The others are guessed on the
    # line between them, which costs correctness nothing: `_settle` accepts a place only
    # where the function was seen to reach the level there, and not before.
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
    # Invariant: below < x <= above for the x that is asked for. The function is
    # non-decreasing, so the points of a division at which it reaches the level are its
    # last ones, and how many they are says in which part it gets there.
    while np.any(above - below > 1):
        widths: Integers = above - below
        left = below[..., np.newaxis]
        x = left + widths[..., np.newaxis] * parts // _PARTS
        reached = function(channels, x) >= levels[..., np.newaxis]
        reached &= x > left  # in narrow intervals the first points are `below` itself
        part = _PARTS - 1 - np.count_nonzero(reached, axis=-1)
        above = below + widths * (part + 1) // _PARTS
        below = below + widths * part // _PARTS
    return above


def _columns(*ends: Integers) -> list[Integers]:
    return [end[:, np.newaxis] for end in ends]


def _settle(function: Function, steps: SeenSteps) -> bool:
    """Moves guessed places to the true ones, by steps of one; False if they are far.

    A place is true where f(place - 1) < level <= f(place). As f is non-decreasing there
    is one such x only, and whichever of the two comparisons fails says on which side.
    """
    width = steps.width
    value, levels = steps.points[1], steps.levels
    is_off = (at_steps(value, width) < levels) | (before_steps(value, width) >= levels)
    found = np.flatnonzero(is_off & steps.valid)
    channel, index = np.divmod(found, max(width, 1))
    level = levels.reshape(-1)[found]
    # from here on points are flat: those of one place at `here`, before it at `before`
    here = channel * value.shape[1] + _ENDS + index
    x, value = (points.reshape(-1) for points in steps.points)
    for _ in range(_ROUNDS):
        if not len(here):
            return True
        before = here + width
        at_place, below = value[here], value[before]
        goes_back = below >= level
        place = x[here] + np.where(goes_back, -1, 1)
        # of the pair one point is the old pair's other one: one is looked at anew
        seen = function(channel, place - goes_back)
        x[here], x[before] = place, place - 1
        at_place, below = (
            np.where(goes_back, *pair) for pair in ((below, seen), (seen, at_place))
        )
        value[here], value[before] = at_place, below
        moving = np.flatnonzero((at_place < level) | (below >= level))
        channel, level, here = channel[moving], level[moving], here[moving]
    return False
