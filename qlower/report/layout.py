"""A layout of a graph: nodes in ranks, with few edges that cross.

The steps are those of Sugiyama, Tagawa and Toda ("Methods for visual understanding of
hierarchical system structures", 1981): ranks by the longest path, dummy points where
edges pass ranks, an order in each rank by the means of neighbours, and then places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

Slot: TypeAlias = tuple[int, int]
"""A node and 0; or `~node` and how many ranks below it its edges pass there."""

SWEEPS = 8
"""The number of times that the order within ranks is improved, down and up."""


@dataclass(frozen=True)
class Layout:
    """Nodes by their numbers: `ranks` from the top, each from left to right; `places`
    in widths of a node, and `routes` the places that edges pass, ends included."""

    ranks: Sequence[Sequence[int]]
    places: Mapping[int, float]
    routes: Mapping[tuple[int, int], Sequence[tuple[float, int]]]


def lay_out(sources: Sequence[Sequence[int]]) -> Layout:
    """The layout of a graph whose node `n` reads the nodes `sources[n]`, all of which
    have lesser numbers. It depends on nothing else."""
    rank = _ranks(sources)
    slots: list[list[Slot]] = [[] for _ in range(max(rank, default=-1) + 1)]
    above: dict[Slot, list[Slot]] = {}
    paths: dict[tuple[int, int], list[Slot]] = {}
    for node, read in enumerate(sources):
        slots[rank[node]].append((node, 0))
        above[node, 0] = []
        for source in read:
            # Edges from one source pass ranks together.
            passed = range(1, rank[node] - rank[source])
            path = [(source, 0), *((~source, down) for down in passed), (node, 0)]
            for upper, lower in pairwise(path):
                if lower not in above:
                    slots[rank[source] + lower[1]].append(lower)
                    above[lower] = []
                if upper not in above[lower]:
                    above[lower].append(upper)
            paths[source, node] = path
    _order(slots, above)
    x = _places(slots, above)
    height = {slot: number for number, row in enumerate(slots) for slot in row}
    return Layout(
        [[node for node, down in row if not down] for row in slots],
        {node: x[node, 0] for node in range(len(sources))},
        {
            edge: [(x[slot], height[slot]) for slot in path]
            for edge, path in paths.items()
        },
    )


def _ranks(sources: Sequence[Sequence[int]]) -> list[int]:
    """One more than the lowest source; a node without sources is just above its
    reader."""
    rank: list[int] = []
    for read in sources:
        rank.append(1 + max((rank[source] for source in read), default=-1))
    for start, read in enumerate(sources):
        readers = [node for node, others in enumerate(sources) if start in others]
        if readers and not read:
            rank[start] = min(rank[reader] for reader in readers) - 1
    return rank


def _order(slots: list[list[Slot]], above: Mapping[Slot, Sequence[Slot]]) -> None:
    """Sort each rank by the mean position of neighbours, up and down in turn."""
    below = _turned(above)
    for sweep in range(SWEEPS):
        neighbours = below if sweep % 2 else above
        rows = reversed(slots) if sweep % 2 else slots
        position = {slot: n for row in slots for n, slot in enumerate(row)}
        for row in rows:
            means = {
                slot: _mean(
                    [position[other] for other in neighbours[slot]], position[slot]
                )
                for slot in row
            }
            row.sort(key=means.__getitem__)
            position.update((slot, n) for n, slot in enumerate(row))


def _places(
    slots: Sequence[Sequence[Slot]], above: Mapping[Slot, Sequence[Slot]]
) -> dict[Slot, float]:
    """Places that keep the order and a distance of 1, near those of neighbours."""
    below = _turned(above)
    x = {slot: n - (len(row) - 1) / 2 for row in slots for n, slot in enumerate(row)}
    for sweep in range(SWEEPS):
        rows = reversed(slots) if sweep % 2 else slots
        for row in rows:
            wanted = [_mean([x[o] for o in (*above[s], *below[s])], x[s]) for s in row]
            x.update(zip(row, _apart(wanted), strict=True))
    left = min(x.values(), default=0.0)
    return {slot: place - left for slot, place in x.items()}


def _apart(wanted: Sequence[float]) -> list[float]:
    """The places nearest to those wanted (least squares) in the same order and at least
    1 apart: neighbours that are too close are put side by side, and their group where
    it fits best."""
    groups: list[tuple[float, int]] = []  # the mean of `wanted[n] - n`, and the size
    for number, place in enumerate(wanted):
        groups.append((place - number, 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (a, m), (b, n) = groups[-2:]
            groups[-2:] = [((a * m + b * n) / (m + n), m + n)]
    starts = (start for start, size in groups for _ in range(size))
    return [start + number for number, start in enumerate(starts)]


def _turned(above: Mapping[Slot, Sequence[Slot]]) -> dict[Slot, list[Slot]]:
    below: dict[Slot, list[Slot]] = {slot: [] for slot in above}
    for lower, uppers in above.items():
        for upper in uppers:
            below[upper].append(lower)
    return below


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise
