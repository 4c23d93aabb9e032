"""Functions of integers that are constant over long stretches, one for each channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qlower.interp import Array
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.decide import AFFORDABLE, Domain, steps_of
from qlower.verification.functions import BLOCK, RuleFunction
from qlower.verification.proof import prove

_X_BITS = 40
"""The width of a number beside its channel, in one key of both."""

_HALF = 1 << (_X_BITS - 1)


@dataclass(frozen=True)
class Pieces:
    """Step functions: from `x` on the function of `channel` is `value`, until its next
    piece.

    Flat arrays, by channel and x; each channel begins with its least x, and no two
    neighbours have the same value. Values are bits, as unsigned numbers.
    """

    channel: Integers
    x: Integers
    value: Integers

    @staticmethod
    def of(channel: Integers, x: Integers, value: Integers) -> Pieces:
        """Pieces in any order, some of which may go on as those before them do.

        Of several at one place the last given counts.
        """
        order = np.lexsort([x, channel])
        channel, x, value = channel[order], x[order], value[order]
        last = _differs(channel, x, after=True)
        channel, x, value = channel[last], x[last], value[last]
        first = _differs(channel, value, after=False)
        return Pieces(channel[first], x[first], value[first])

    def mapped(self, table: Integers) -> Pieces:
        """The pieces of the function with `table` applied to its values."""
        return Pieces.of(self.channel, self.x, table[self.value])

    def moved(self, offset: Integers) -> Pieces:
        """The function of x + offset, [channel] each."""
        return Pieces(self.channel, self.x + offset[self.channel], self.value)

    def spread(self, of: Integers) -> Pieces:
        """The functions of channels `of`, one after another."""
        counts = np.bincount(self.channel)
        starts = np.cumsum(counts) - counts
        channel = np.repeat(np.arange(len(of)), counts[of])
        begins = np.cumsum(counts[of]) - counts[of]
        take = np.arange(len(channel)) + np.repeat(starts[of] - begins, counts[of])
        return Pieces(channel, self.x[take], self.value[take])

    def since(self, low: Integers) -> Pieces:
        """The functions on a part of the domain, which begins at [channel]."""
        start = np.maximum(self.x, low[self.channel])
        return Pieces.of(self.channel, start, self.value)

    def up_to(self, high: Integers) -> Pieces:
        """The functions on a part of the domain, whose ends are [channel]."""
        inside = self.x <= high[self.channel]
        return Pieces(self.channel[inside], self.x[inside], self.value[inside])

    def first_difference(self, other: Pieces) -> tuple[int, int, int, int] | None:
        """The first channel and x for which functions on the same domain have other
        values, and those; None where there are none."""
        keys = [(one.channel << _X_BITS) + one.x for one in (self, other)]
        at = np.unique(np.concatenate(keys))
        values = [
            one.value[np.searchsorted(key, at, side="right") - 1]
            for one, key in zip((self, other), keys, strict=True)
        ]
        apart = np.flatnonzero(values[0] != values[1])
        if not len(apart):
            return None
        place = int(at[apart[0]])
        channel = (place + _HALF) >> _X_BITS
        first, second = (int(value[apart[0]]) for value in values)
        return channel, place - (channel << _X_BITS), first, second

    def apart(self, other: Pieces, high: Integers) -> Integers:
        """The intervals in which functions on the same domain differ: channel, first
        and last x of each, [interval, 3], the widest first. `high` ends each
        channel."""
        keys = [(one.channel << _X_BITS) + one.x for one in (self, other)]
        at = np.unique(np.concatenate(keys))
        values = [
            one.value[np.searchsorted(key, at, side="right") - 1]
            for one, key in zip((self, other), keys, strict=True)
        ]
        channel = (at + _HALF) >> _X_BITS
        first = at - (channel << _X_BITS)
        is_last = np.append(np.diff(channel) > 0, True)
        last = np.where(is_last, high[channel], np.append(first[1:] - 1, 0))
        found = np.stack([channel, first, last], axis=1)[values[0] != values[1]]
        return found[np.argsort(found[:, 1] - found[:, 2], kind="stable")]

    def ends(self, high: Integers) -> tuple[Integers, Integers, Integers]:
        """Both ends of each piece: channels, x and values. `high` is the greatest x of
        each channel."""
        last = np.append(self.x[1:] - 1, 0)
        is_last = np.append(np.diff(self.channel) > 0, True)
        last = np.where(is_last, high[self.channel], last)
        twice = (np.concatenate([one, one]) for one in (self.channel, self.value))
        channel, value = twice
        return channel, np.concatenate([self.x, last]), value


def _differs(a: Integers, b: Integers, *, after: bool) -> Array:
    """A mask of the pairs that differ from a neighbour."""
    changes = (np.diff(a) != 0) | (np.diff(b) != 0)
    edge = np.ones(min(len(a), 1), bool)
    return np.concatenate([changes, edge] if after else [edge, changes])


def pieces_of(function: RuleFunction, domain: Domain, bits: int) -> Pieces | str:
    """The pieces of a rule, whose results have `bits` bits, on a domain that has each
    lane once; or the reason why they aren't found."""
    if max(-int(domain.low.min()), int(domain.high.max())) >= _HALF:
        return f"sums have more than {_X_BITS} bits"
    fault: object = None
    for candidate in (domain, domain.cut()):
        fault = prove(function, candidate)
        if fault is None:
            return _by_steps(function, candidate, bits)
    if domain.count > AFFORDABLE:
        return f"{fault}; {domain.count:,} numbers are too many"
    return _seen(function, domain, bits)


def _by_steps(function: RuleFunction, domain: Domain, bits: int) -> Pieces:
    """The pieces of a rule that is non-decreasing on each interval."""
    steps = steps_of(function, domain)
    own, index = np.nonzero(steps.valid)
    return Pieces.of(
        np.concatenate([domain.lanes, domain.lanes[own]]),
        np.concatenate([domain.low, steps.places[own, index]]),
        np.concatenate([steps.bottom, steps.levels[own, index]]) & ((1 << bits) - 1),
    )


def _seen(function: RuleFunction, domain: Domain, bits: int) -> Pieces:
    """The pieces by looking at every number."""
    found: list[tuple[Integers, Integers, Integers]] = []
    for lane, low, high in zip(domain.lanes, domain.low, domain.high, strict=True):
        for first in range(int(low), int(high) + 1, BLOCK):
            x = np.arange(first, min(first + BLOCK, int(high) + 1))
            lanes = np.full(len(x), lane)
            value = function(lanes, x)
            begins = np.append(True, np.diff(value) != 0)
            found.append((lanes[begins], x[begins], value[begins]))
    channel, x, value = (np.concatenate(column) for column in zip(*found, strict=True))
    return Pieces.of(channel, x, value & ((1 << bits) - 1))
