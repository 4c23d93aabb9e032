"""The points where a line differs from its staircase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qlower.transforms.prove_epilogues.forms import Lines
from qlower.transforms.prove_epilogues.steps import Function, Integers, SeenSteps


@dataclass(frozen=True)
class Exceptions:
    """`difference` is to be added to the unlimited line at `x`: [channel, slot] each.

    A slot that a channel doesn't need has the difference 0.
    """

    x: Integers
    difference: Integers

    @property
    def slots(self) -> int:
        return self.x.shape[1]

    def __len__(self) -> int:
        return int(np.count_nonzero(self.difference))


def find_exceptions(
    function: Function, lines: Lines, steps: SeenSteps, most: int
) -> Exceptions | None:
    """The exceptions of the lines, None if some channel has more than `most`.

    Both are non-decreasing. Between two neighbouring points the function is constant;
    where the line is equal to it at both, it is equal in between (steps.py). Where it
    is below the function it was so from the left one of the points on, and where it is
    above, it stays so up to the right one: the x where they differ are runs that begin
    at a point. Looking at the neighbours of what is found, until these are equal, finds
    all of them.
    """
    rows = np.flatnonzero(lines.wrong)
    x, value = (points[rows] for points in steps.points)
    channel = np.broadcast_to(rows[:, np.newaxis], x.shape).reshape(-1)
    x, value = x.reshape(-1), value.reshape(-1)
    found: dict[int, dict[int, int]] = {}
    while len(x):
        wrong = np.flatnonzero(value != lines(channel, x))
        channel, x, value = (column[wrong] for column in (channel, x, value))
        difference = np.subtract(value, lines.unlimited(channel, x), dtype=np.int64)
        new = [column.tolist() for column in (channel, x, difference)]
        for c, place, step in zip(*new, strict=True):
            found.setdefault(c, {})[place] = step
        if any(len(places) > most for places in found.values()):
            return None
        beside = {
            (c, near)
            for c, place, _ in zip(*new, strict=True)
            for near in (place - 1, place + 1)
            if near not in found[c] and steps.low[c] <= near <= steps.high[c]
        }
        channel, x = np.array(sorted(beside), np.int64).reshape(-1, 2).T
        value = function(channel, x)
    return _in_slots(found, len(steps.low))


def _in_slots(found: dict[int, dict[int, int]], channels: int) -> Exceptions:
    shape = channels, max(map(len, found.values()), default=0)
    x, difference = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for c, places in found.items():
        x[c, : len(places)] = list(places)
        difference[c, : len(places)] = list(places.values())
    return Exceptions(x, difference)
