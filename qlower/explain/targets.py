"""Accumulators that show what a layer's roundings do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qlower.contracts import Rule
from qlower.interp.values import Array
from qlower.observe.coverage import Lanes, analyse
from qlower.tables.table import counted

Integers = NDArray[np.int64]

FEW_SUMS = 1 << 21
"""Up to this many accumulators (over all channels) are checked exhaustively."""

SAMPLES = 1 << 13
"""Number of accumulators that are checked if there are more, at even distances; those
next to a change of the result are checked too."""

CHOICES = 4
"""Accumulators that are tried for each thing to be shown."""

CASES = ("tie", "below", "above")
"""Inputs that a rounding needs: exactly half a step, and the nearest on either side."""


@dataclass
class Coverage:
    """The number of a layer's channels in which vectors show each target.

    For each rounding, sign and case: channels `shown` by the vectors, and channels in
    which it is `possible`. `is_exhaustive` means that all accumulators were tried.
    """

    channels: int
    is_exhaustive: bool
    possible: dict[str, int] = field(default_factory=dict[str, int])
    shown: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def total(self) -> tuple[int, int]:
        """Shown and possible, over everything."""
        return sum(self.shown.values()), sum(self.possible.values())

    @property
    def missing(self) -> list[str]:
        """Targets that some channel could show, and no vector does."""
        return [
            f"{what} in {counted(count - self.shown.get(what, 0), 'channel')}"
            for what, count in self.possible.items()
            if self.shown.get(what, 0) < count
        ]


def candidates(
    low: Integers, high: Integers, edges: NDArray[np.float64]
) -> tuple[Integers, bool]:
    """Accumulators to look at, a column for each channel, and whether these are all.

    `edges` has real accumulators for each channel where results change, in rows.
    """
    span = int((high - low).max()) + 1
    if span * len(low) <= FEW_SUMS:
        return np.minimum(low + np.arange(span)[:, None], high), True
    even = np.linspace(low, high, SAMPLES).astype(np.int64)
    near = np.floor(np.clip(edges, low, high)).astype(np.int64)
    rows = [even, *(near + step for step in (-1, 0, 1, 2))]
    return np.clip(np.concatenate(rows), low, high), False


@dataclass(frozen=True)
class Aim:
    """Something to be shown: by one of these accumulators of each channel, the best
    first, where `exists`."""

    what: str
    sums: Integers
    exists: NDArray[np.bool_]


def choose(rule: Rule, values: Mapping[str, Array], sums: Integers) -> list[Aim]:
    """The best accumulators for each thing to be shown.

    `sums` are those to choose from, [choice, channel].
    """
    lanes = analyse(rule, {**values, "accumulator": sums.astype(np.int32)})
    targets: list[Aim] = []
    for what, fits, badness in _cases(lanes):
        order = np.where(fits, badness, np.inf)
        count = min(CHOICES, len(order))
        best = np.argsort(order, axis=0, kind="stable")[:count]
        chosen = np.take_along_axis(sums, best, axis=0)
        exists = np.take_along_axis(fits, best, axis=0)
        targets.append(Aim(what, np.where(exists, chosen, chosen[:1]), fits.any(0)))
    return targets


def count(targets: Sequence[Aim], shown: Array, is_exhaustive: bool) -> Coverage:
    """Targets that accumulators show; the accumulators' last dimension is the
    channel."""
    rows = shown.reshape(-1, shown.shape[-1])
    coverage = Coverage(rows.shape[1], is_exhaustive)
    for target in targets:
        possible = int(np.count_nonzero(target.exists))
        if possible:
            met = np.array(
                [
                    exists and bool(np.isin(target.sums[:, channel], column).any())
                    for channel, (exists, column) in enumerate(
                        zip(target.exists, rows.T, strict=True)
                    )
                ]
            )
            coverage.possible[target.what] = possible
            coverage.shown[target.what] = int(np.count_nonzero(met))
    return coverage


def _cases(lanes: Lanes) -> Iterator[tuple[str, NDArray[np.bool_], Array]]:
    """Each target with the elements that show it, and how far off the others are."""
    for rounding in lanes.roundings:
        distance = rounding.distance
        for sign in ("+", "-"):
            of_sign = rounding.negative if sign == "-" else ~rounding.negative
            tests = (distance == 0, distance < 0, distance > 0)
            for case, fits in zip(CASES, tests, strict=True):
                yield f"{rounding.name} {case} {sign}", fits & of_sign, abs(distance)
    for end, fits in (("low", lanes.low), ("high", lanes.high)):
        yield f"saturates {end}", fits, -np.arange(len(fits))[:, None]
