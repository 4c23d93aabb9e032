"""Long graphs as columns, so that a screen shows more than a thread of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from qlower.report.layout import Layout

ASPECT = 1.6
"""Width over height of the picture that is aimed at: that of a screen."""


@dataclass(frozen=True)
class Columns:
    """The positions at which ranks and places of a layout are drawn.

    `starts` are the first ranks of the columns; `left` the least place in each, and
    `shift` where that is drawn, in widths of a node as the places of the layout.
    """

    starts: Sequence[int]
    left: Sequence[float]
    shift: Sequence[float]
    width: float
    height: int

    def column(self, rank: int) -> int:
        """The column of a rank."""
        return sum(start <= rank for start in self.starts) - 1

    def at(self, place: float, rank: int) -> tuple[float, int]:
        """Widths from the left and ranks from the top, for a place of a rank."""
        column = self.column(rank)
        across = self.shift[column] + place - self.left[column]
        return across, rank - self.starts[column]


def fold(layout: Layout, across: int, down: int, gap: float) -> Columns:
    """The columns of a layout whose nodes are `across` and `down` pixels apart, with
    `gap` widths of a node between columns. Their number is the one with which the
    layout is drawn largest.

    A column ends where few edges pass, as between two blocks of a network.
    """
    count = len(layout.ranks)
    wide = _extent(layout, 0, count)
    span = wide[1] - wide[0] + 1

    def smallness(number: int) -> float:
        width = across * (number * (span + gap) - gap)
        return max(width, ASPECT * down * -(-count // number))

    number = min(range(1, max(count // 4, 1) + 1), key=smallness)
    starts = _starts(layout, number)
    left: list[float] = []
    shift: list[float] = []
    total = 0.0
    for start, end in pairwise([*starts, count]):
        first, last = _extent(layout, start, end)
        left.append(first)
        shift.append(total)
        total += last - first + 1 + gap
    height = max((b - a for a, b in pairwise([*starts, count])), default=0)
    return Columns(starts, left, shift, total - gap, height)


def _starts(layout: Layout, number: int) -> list[int]:
    """The ranks that `number` columns begin with: near equal shares, and where least
    values pass from above."""
    count = len(layout.ranks)
    passing: list[set[int]] = [set() for _ in range(count + 1)]
    for (source, _), route in layout.routes.items():
        for _, rank in route[1:]:
            passing[rank].add(source)
    starts = [0]
    reach = count // (4 * number)
    for place in range(1, number):
        ideal = place * count // number
        near = range(ideal - reach, ideal + reach + 1)
        starts.append(
            min(near, key=lambda rank: (len(passing[rank]), abs(rank - ideal)))
        )
    return starts


def _extent(layout: Layout, start: int, end: int) -> tuple[float, float]:
    """The least and the greatest place that ranks from `start` to `end` have."""
    nodes = {node for row in layout.ranks[start:end] for node in row}
    found = [layout.places[node] for node in nodes]
    found += [
        place
        for route in layout.routes.values()
        for place, rank in route
        if start <= rank < end
    ]
    return min(found, default=0.0), max(found, default=0.0)
