"""Measures that colour layers: how far they differ, how long they take, how much they
cut."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from qlower.explain.diff_result import Diff, LayerDifference
from qlower.explain.difference import Difference
from qlower.runtime.profiling import Profile
from qlower.tables.table import percentage

COLOURS = 5
"""Colours of layers that have some of what is measured; there is one more for none."""


@dataclass(frozen=True)
class Measure:
    """A share of each layer, with what is written on its node.

    `shares` and `texts` are by layers' names; layers that it says nothing of are
    missing. `about` explains it in a sentence.
    """

    key: str
    title: str
    about: str
    shares: Mapping[str, float]
    texts: Mapping[str, str]

    @cached_property
    def edges(self) -> list[float]:
        """The shares at which the colour changes: 0, and steps of equal ratios between
        the least and the greatest share of the model's layers, rounded to two
        digits."""
        some = [share for share in self.shares.values() if share > 0]
        greatest = max(some, default=1.0)
        least = min([*some, greatest / 10])
        ratio = (greatest / least) ** (1 / COLOURS)
        inner = (float(f"{least * ratio**n:.2g}") for n in range(1, COLOURS))
        return [0.0, *inner]

    def colour(self, layer: str) -> int | None:
        """The colour of a layer, from 0 for a share of zero to `len(edges)`."""
        share = self.shares.get(layer)
        return None if share is None else bisect_left(self.edges, share)

    def bar(self, layer: str, width: int) -> int:
        """The length of a bar that shows a layer's colour to readers who see none."""
        return width * (self.colour(layer) or 0) // len(self.edges)

    @property
    def legend(self) -> list[str]:
        """The meaning of each colour."""
        shown = [f"{100 * edge:.2g}" for edge in self.edges]
        between = [f"to {edge} %" for edge in shown[1:]]
        return ["none", *between, f"over {shown[-1]} %"]


@dataclass(frozen=True)
class Cut:
    """The number of a result's elements that the layer's rule cuts at each end.

    `at_zero` of those at the low end are zeros of a ReLU, which is what it is for.
    """

    elements: int
    low: int
    high: int
    at_zero: int = 0

    @property
    def saturated(self) -> int:
        """Elements that are cut where the layer doesn't say so."""
        return self.low + self.high - self.at_zero


def divergences(diff: Diff) -> list[Measure]:
    """The numbers of elements that differ, alone and carried, as far as known."""

    def measure(
        key: str,
        title: str,
        about: str,
        of: Callable[[LayerDifference], Difference | None],
    ) -> Measure:
        found = {row.name: one for row in diff.layers if (one := of(row)) is not None}
        shares = {n: one.differing / max(one.elements, 1) for n, one in found.items()}
        texts = {
            name: f"{one.differing:,} differ, max {one.largest:.4g}"
            if one.differing
            else "equal"
            for name, one in found.items()
        }
        return Measure(key, title, about, shares, texts)

    alone = (
        "Elements that differ where the layer gets the same values on both sides, "
        f"those of {diff.reference}: what it adds itself."
    )
    carried = "Elements that differ with each side on its own values: what a user sees."
    measures = [
        measure("alone", "differs alone", alone, lambda row: row.alone),
        measure("carried", "differs carried", carried, lambda row: row.carried),
    ]
    return [one for one in measures if one.shares]


@dataclass(frozen=True)
class LayerTime:
    """The time of the kernels that a layer is part of, and the others in them."""

    nanoseconds: float = 0.0
    kernels: list[str] = field(default_factory=list[str])
    others: list[str] = field(default_factory=list[str])


def layer_times(profile: Profile) -> dict[str, LayerTime]:
    """Each layer's time; a kernel of several layers counts for each of them."""
    times: dict[str, LayerTime] = {}
    for kernel in profile:
        for layer in kernel.layers:
            known = times.get(layer, LayerTime())
            others = [name for name in kernel.layers if name != layer]
            times[layer] = LayerTime(
                known.nanoseconds + kernel.nanoseconds,
                [*known.kernels, kernel.family],
                list(dict.fromkeys([*known.others, *others])),
            )
    return times


def time_measure(profile: Profile) -> Measure:
    """Each layer's share of the time of all kernels."""
    total = sum(kernel.nanoseconds for kernel in profile)
    times = layer_times(profile)
    return Measure(
        "time",
        "time",
        f"Share of the {total / 1e3:,.1f} us that all kernels take; layers that are "
        "fused into one kernel all have its time.",
        {name: one.nanoseconds / max(total, 1.0) for name, one in times.items()},
        {
            name: f"{one.nanoseconds / 1e3:,.2f} us{', fused' if one.others else ''}"
            for name, one in times.items()
        },
    )


def saturation(cuts: Mapping[str, Cut]) -> Measure:
    """The share of elements that each layer's rule cuts to the ends of its range."""
    return Measure(
        "saturated",
        "saturated",
        "Elements that the contract's rule cuts at the ends of their range, for this "
        "input; the zeros that a ReLU makes aren't counted.",
        {name: cut.saturated / max(cut.elements, 1) for name, cut in cuts.items()},
        {
            name: f"{percent(cut.saturated / max(cut.elements, 1))} saturated"
            for name, cut in cuts.items()
        },
    )


def percent(share: float) -> str:
    """A share for people in two digits, or in as many as it takes not to be all."""
    if not share:
        return "0 %"
    digits = max(0, 1 - math.floor(math.log10(100 * share)))
    return percentage(share, digits).replace("%", " %")
