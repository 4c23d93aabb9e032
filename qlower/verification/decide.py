"""Deciding whether two functions of integers are the same on intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from qlower.interp import Array, InterpretationError
from qlower.transforms.prove_epilogues.steps import (
    Function,
    Integers,
    Steps,
    find_steps,
    search_steps,
)
from qlower.verification.functions import BLOCK, RuleFunction
from qlower.verification.proof import Unproved, prove

SMALL = 1 << 18
"""So many numbers are looked at one by one rather than proved about."""

AFFORDABLE = 1 << 26
"""The most numbers that are looked at where there is no proof."""

_TOGETHER = 1 << 15
"""Steps that are held at a time, of as many lanes as have them."""

_MOST_KEPT = 64
"""The differing intervals of a layer that are listed, the widest first."""


@dataclass(frozen=True)
class Interval:
    """Numbers first ... last of a lane; both functions differ for each of them."""

    lane: int
    first: int
    last: int


@dataclass(frozen=True)
class Decision:
    """The result: all `count` numbers are decided, or `why` they aren't.

    `intervals` are some of those where the functions differ; `apart` has all lanes with
    such intervals. There are none where the functions are the same.
    """

    count: int
    how: str
    intervals: Sequence[Interval] = ()
    apart: frozenset[int] = frozenset()
    why: str | None = None


@dataclass(frozen=True)
class Domain:
    """Intervals low ... high of lanes; a lane may have several.

    A proof that fails is tried again where each is cut before one of `cuts`, [interval]
    each: where a sign changes, or a number wraps.
    """

    lanes: Integers
    low: Integers
    high: Integers
    cuts: Sequence[Integers] = ()

    @property
    def count(self) -> int:
        """The count of the numbers."""
        return int((self.high - self.low + 1).sum())

    def cut(self) -> Domain:
        """The numbers in smaller intervals."""
        lanes, low, high = self.lanes, self.low, self.high
        cuts: list[Integers] = list(self.cuts)
        while cuts:
            point = cuts.pop()
            inside = np.flatnonzero((low < point) & (point <= high))
            upper = point[inside]
            lanes = np.concatenate([lanes, lanes[inside]])
            cuts = [np.concatenate([other, other[inside]]) for other in cuts]
            new_low = np.concatenate([low, upper])
            high = np.concatenate([high, high[inside]])
            high[inside] = upper - 1
            low = new_low
        return Domain(lanes, low, high)

    def part(self, first: int, last: int) -> Domain:
        """Some of the intervals."""
        one = slice(first, last)
        return Domain(self.lanes[one], self.low[one], self.high[one])


def decide(functions: Sequence[RuleFunction], domain: Domain) -> Decision:
    """Whether two functions are the same on a domain.

    Non-decreasing ones are the same exactly if their steps are. Those that aren't
    proved to be such are compared number by number, if that is affordable.
    """
    try:
        if domain.count <= SMALL:
            return _one_by_one(functions, domain)
        faults: list[Unproved] = []
        for candidate in (domain, domain.cut()):
            found = [prove(function, candidate) for function in functions]
            faults = [fault for fault in found if fault is not None]
            if not faults:
                return _by_steps(functions, candidate)
        if domain.count <= AFFORDABLE:
            return _one_by_one(functions, domain)
    except InterpretationError as error:
        return Decision(0, "", why=f"some value has no result: {error.message}")
    return Decision(0, "", why=f"{faults[0]}; {domain.count:,} numbers are too many")


def _by_steps(functions: Sequence[RuleFunction], domain: Domain) -> Decision:
    """Compare where the functions, which are non-decreasing, step up."""
    found: list[Interval] = []
    apart: set[int] = set()
    ends = [f(domain.lanes, x) for f in functions for x in (domain.low, domain.high)]
    together = max(_TOGETHER // max(int(np.ptp(ends)), 1), 1)
    for first in range(0, len(domain.lanes), together):
        part = domain.part(first, first + together)
        a, b = (steps_of(function, part) for function in functions)
        intervals = list(_apart(a, b, part))
        apart.update(interval.lane for interval in intervals)
        found = _widest([*found, *intervals])
    return Decision(domain.count, "steps", found, frozenset(apart))


def steps_of(function: RuleFunction, part: Domain) -> Steps:
    """The steps of a function that is proved to be non-decreasing on some intervals."""

    def of_part(intervals: Integers, x: Integers) -> Integers:
        return function(np.broadcast_to(part.lanes[intervals], x.shape), x)

    steps = find_steps(of_part, part.low, part.high)
    return steps or _search_all(of_part, part)


def _search_all(function: Function, part: Domain) -> Steps:
    """The steps of functions that aren't near a line."""
    own = np.arange(len(part.lanes))
    bottom, top = function(own, part.low), function(own, part.high)
    count = np.arange(1, int((top - bottom).max(initial=0)) + 1, dtype=np.int64)
    levels = bottom[:, np.newaxis] + count
    places = search_steps(function, part.low, part.high, levels)
    return Steps(part.low, part.high, bottom, top, places)


def _apart(a: Steps, b: Steps, part: Domain) -> Iterator[Interval]:
    """The widest interval, for each of the domain's, where two functions differ.

    From where the first of them reaches a level to where the other one does, one is
    below it and the other isn't.
    """
    base = np.minimum(a.bottom, b.bottom)
    count = int((np.maximum(a.top, b.top) - base).max(initial=0))
    if not count:
        return
    first, second = (_reached(steps, base, count) for steps in (a, b))
    widths = np.abs(first - second)
    for own in np.flatnonzero(widths.any(axis=1)):
        level = int(widths[own].argmax())
        ends = sorted((int(first[own, level]), int(second[own, level])))
        yield Interval(int(part.lanes[own]), ends[0], ends[1] - 1)


def _reached(steps: Steps, base: Integers, count: int) -> Integers:
    """The first number with more than base + i: the lower end where all have, one more
    than the upper where none has. [interval, i]."""
    level = base[:, np.newaxis] + np.arange(1, count + 1)
    index = level - steps.bottom[:, np.newaxis] - 1
    width = steps.places.shape[1]
    known = (index >= 0) & (level <= steps.top[:, np.newaxis])
    low, high = steps.low[:, np.newaxis], steps.high[:, np.newaxis]
    beyond = np.where(index < 0, low, high + 1)
    if not width:
        return beyond
    own = np.take_along_axis(steps.places, np.clip(index, 0, width - 1), axis=1)
    return np.where(known, own, beyond)


def _one_by_one(functions: Sequence[RuleFunction], domain: Domain) -> Decision:
    """Compare on every number."""
    starts = np.concatenate([[0], np.cumsum(domain.high - domain.low + 1)])
    found: list[Interval] = []
    lanes: set[int] = set()
    for first in range(0, domain.count, BLOCK):
        number = np.arange(first, min(first + BLOCK, domain.count))
        own = np.searchsorted(starts, number, side="right") - 1
        x = domain.low[own] + number - starts[own]
        a, b = (function(domain.lanes[own], x) for function in functions)
        apart = np.flatnonzero(~same(a, b))
        lanes.update(np.unique(domain.lanes[own[apart]]).tolist())
        for place in apart[:_MOST_KEPT]:
            at = int(x[place])
            found.append(Interval(int(domain.lanes[own[place]]), at, at))
        found = found[:_MOST_KEPT]
    return Decision(domain.count, "one by one", found, frozenset(lanes))


def _widest(intervals: Sequence[Interval]) -> list[Interval]:
    return sorted(intervals, key=lambda one: one.first - one.last)[:_MOST_KEPT]


def same(a: Array, b: Array) -> Array:
    """A mask of equal values in two arrays; NaN equals NaN."""
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        return (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
    return a == b
