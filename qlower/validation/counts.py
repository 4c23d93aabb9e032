"""Counts for a set: integers, so that no order of adding changes the answer.

A set is cut into chunks, each chunk is counted by itself, and counts are added in any
order. Addition of integers is associative, so one thread, many, a cluster and a resumed
run give the same figures to the last digit. Everything that is derived (shares,
decibels) is computed once, from the sums.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from qlower.files.arrays import Array
from qlower.model.signature import TensorSpec

Classes: TypeAlias = frozenset[int] | None
"""The classes that are right for an example; None or empty where nobody said."""

Ticks: TypeAlias = NDArray[np.int64]
"""Stored values less their zero point, in ticks: 1/256 of a step of the own output."""

TICKS = 256
"""Ticks a step, fine enough to hold a float reference against steps."""

_LARGEST_TICK = 1 << 40
"""Where ticks saturate: beyond any 32-bit stored value."""

NAMED_FAILURES = 20
"""The most unusable rows that are named; all are counted."""


ADDED = (
    *("examples", "labelled", "top1", "top5", "agreeing", "compared"),
    *("lost", "gained"),
)
"""Counts that are added as they are."""

T = TypeVar("T", "Counts", "Partial", "Signal", "Spread")

BINS = 16
"""Bars of a histogram, over all values that a type stores."""


@dataclass
class Signal:
    """The difference of one tensor from its reference, in ticks, over all examples."""

    elements: int = 0
    differing: int = 0
    largest: int = 0
    absolute: int = 0
    """The sum of |own - reference|."""
    noise: int = 0
    """The sum of (own - reference)^2."""
    power: int = 0
    """The sum of reference^2."""
    own_power: int = 0
    product: int = 0
    """The sum of own * reference."""

    def count(self, own: Ticks, reference: Ticks) -> None:
        """Add the elements of two tensors of one shape."""
        difference = own - reference
        magnitude = np.abs(difference)
        self.elements += difference.size
        self.differing += int(np.count_nonzero(difference))
        self.largest = max(self.largest, int(magnitude.max(initial=0)))
        self.absolute += _dot(magnitude, np.ones_like(magnitude))
        self.noise += _dot(difference, difference)
        self.power += _dot(reference, reference)
        self.own_power += _dot(own, own)
        self.product += _dot(own, reference)

    def add(self, other: Signal) -> None:
        """Add what another count found."""
        for name, value in vars(other).items():
            own: int = getattr(self, name)
            setattr(self, name, max(own, value) if name == "largest" else own + value)

    @property
    def mean_steps(self) -> float:
        """The mean of |own - reference|, in steps."""
        return self.absolute / (TICKS * self.elements) if self.elements else 0.0

    @property
    def largest_steps(self) -> float:
        """The largest |own - reference|, in steps."""
        return self.largest / TICKS

    @property
    def decibels(self) -> float:
        """Signal to noise: 10 log10 of the reference's power over the noise's."""
        if self.noise == 0:
            return math.inf
        if self.power == 0:
            return -math.inf
        return 10 * (math.log10(self.power) - math.log10(self.noise))

    @property
    def cosine(self) -> float | None:
        """The cosine between own and reference; None where one of them is all zero."""
        if self.power == 0 or self.own_power == 0:
            return None
        return self.product / (math.sqrt(self.power) * math.sqrt(self.own_power))


@dataclass
class Spread:
    """The spread of a layer's stored values over the range of their type.

    `saturated` counts the least and the largest value, except an end that represents 0,
    as with a RELU. `bins` are `BINS` equal parts of the range; `least` and `most` are
    the reference's, in ticks.
    """

    elements: int = 0
    saturated: int = 0
    bins: list[int] = field(default_factory=lambda: [0] * BINS)
    least: int = 0
    most: int = 0

    def count(self, spec: TensorSpec, stored: Array, reference: Ticks) -> None:
        """Add the elements of a tensor of integers."""
        limits, own = np.iinfo(spec.dtype), stored.astype(np.int64).reshape(-1)
        ends = {int(limits.min), int(limits.max)} - {spec.zero_point}
        width = (int(limits.max) - int(limits.min) + 1) // BINS
        found = np.bincount((own - int(limits.min)) // width, minlength=BINS)
        self.elements += own.size
        self.saturated += int(np.isin(own, list(ends)).sum())
        self.bins = [a + b for a, b in zip(self.bins, found.tolist(), strict=True)]
        self.least = min(self.least, int(reference.min(initial=0)))
        self.most = max(self.most, int(reference.max(initial=0)))

    def add(self, other: Spread) -> None:
        """Add what another count found."""
        self.elements += other.elements
        self.saturated += other.saturated
        self.bins = [a + b for a, b in zip(self.bins, other.bins, strict=True)]
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)


@dataclass
class Counts:
    """The counts of one contract on a set."""

    examples: int = 0
    labelled: int = 0
    top1: int = 0
    top5: int = 0
    agreeing: int = 0
    """Examples whose largest output is where the reference has its own."""
    compared: int = 0
    lost: int = 0
    """Labelled examples that the reference has right and this has wrong."""
    gained: int = 0
    """Labelled examples that this has right and the reference has wrong."""
    output: Signal = field(default_factory=Signal)
    steps: Counter[int] = field(default_factory=Counter[int])
    """The number of outputs by distance above their reference, in steps (rounded)."""
    confusion: Counter[tuple[int, int]] = field(
        default_factory=Counter[tuple[int, int]]
    )
    """The number of examples of a class (the first) that were taken for another."""
    layers: dict[str, Signal] = field(default_factory=dict[str, Signal])
    spreads: dict[str, Spread] = field(default_factory=dict[str, Spread])
    custom: dict[str, Fraction] = field(default_factory=dict[str, Fraction])
    """Sums of what the user's own function gave; exact, as integers are."""

    def count_classes(self, scores: Array, classes: Sequence[Classes]) -> Array:
        """Count hits of `scores`, examples x classes; returns each one's largest.

        Of equal scores the first counts as the largest, as in `argmax`.
        """
        found = scores.argmax(axis=1)
        self.examples += len(scores)
        for score, best, right in zip(scores, found.tolist(), classes, strict=True):
            if not right:
                continue
            self.labelled += 1
            self.top1 += best in right
            self.top5 += best in right or any(_rank(score, c) < 5 for c in right)
            self.confusion[best if best in right else min(right), best] += 1
        return found

    def count_against(
        self, own: TensorSpec, got: Array, reference: TensorSpec, wanted: Array
    ) -> None:
        """Count how an output differs from its reference; both examples x elements."""
        ticks, reference_ticks = (
            to_ticks(own, own, got),
            to_ticks(own, reference, wanted),
        )
        self.compared += len(got)
        self.agreeing += int(
            np.count_nonzero(got.argmax(axis=1) == wanted.argmax(axis=1))
        )
        self.output.count(ticks, reference_ticks)
        steps = np.rint((ticks - reference_ticks) / TICKS).astype(np.int64)
        values, counts = np.unique(steps, return_counts=True)
        self.steps.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))

    def count_pairs(
        self, got: Array, wanted: Array, classes: Sequence[Classes]
    ) -> None:
        """Count examples that only one of the two has right; examples x elements."""
        answers = zip(got.argmax(1), wanted.argmax(1), classes, strict=True)
        for own, reference, right in answers:
            if right:
                self.lost += int(reference) in right and int(own) not in right
                self.gained += int(own) in right and int(reference) not in right

    def count_custom(self, values: Mapping[str, float]) -> None:
        """Add what the user's function gave for one example: finite numbers."""
        for name, value in values.items():
            self.custom[name] = self.custom.get(name, Fraction(0)) + Fraction(value)

    def add(self, other: Counts) -> None:
        """Add what another count found, of other examples."""
        for name in ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.output.add(other.output)
        self.steps.update(other.steps)
        self.confusion.update(other.confusion)
        for layer, signal in other.layers.items():
            self.layers.setdefault(layer, Signal()).add(signal)
        for layer, spread in other.spreads.items():
            self.spreads.setdefault(layer, Spread()).add(spread)
        for name, total in other.custom.items():
            self.custom[name] = self.custom.get(name, Fraction(0)) + total

    @property
    def by_class(self) -> dict[int, tuple[int, int]]:
        """For each class its examples, and how many of them were met."""
        found: dict[int, tuple[int, int]] = {}
        for (right, taken), count in sorted(self.confusion.items()):
            examples, hits = found.get(right, (0, 0))
            found[right] = (examples + count, hits + (count if right == taken else 0))
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads back."""
        return {
            **vars(self),
            "output": vars(self.output),
            "steps": sorted(self.steps.items()),
            "confusion": [[*pair, n] for pair, n in sorted(self.confusion.items())],
            "layers": {name: vars(signal) for name, signal in self.layers.items()},
            "spreads": {name: vars(spread) for name, spread in self.spreads.items()},
            "custom": {name: str(total) for name, total in self.custom.items()},
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Counts:
        """The counts that `to_json` made `data` of."""
        made: dict[str, Any] = {
            **data,
            "output": Signal(**data["output"]),
            "steps": Counter(dict(data["steps"])),
            "confusion": Counter({(a, b): n for a, b, n in data["confusion"]}),
            "layers": {k: Signal(**signal) for k, signal in data["layers"].items()},
            "spreads": {k: Spread(**spread) for k, spread in data["spreads"].items()},
            "custom": {k: Fraction(total) for k, total in data["custom"].items()},
        }
        counts = _checked(Counts(**made))
        for signal in (counts.output, *counts.layers.values()):
            _checked(signal)
        bins = [n for one in counts.spreads.values() for n in _checked(one).bins]
        numbers = (*bins, *counts.steps.values(), *counts.confusion.values())
        if {type(number) for number in numbers} - {int}:
            raise TypeError("a count that is no number")
        return counts


@dataclass
class Partial:
    """The counts of some chunks: for each contract, and of rows that failed."""

    counts: dict[str, Counts] = field(default_factory=dict[str, Counts])
    rows: int = 0
    failed: int = 0
    not_finite: int = 0
    """Rows with infinities or NaN, which are among those that failed."""
    failures: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """The first rows that failed, by number, each with its reason."""

    def fail(self, row: int, reason: str) -> None:
        """Note a row that can't be used."""
        self.failed += 1
        self.failures = sorted([*self.failures, (row, reason)])[:NAMED_FAILURES]

    def add(self, other: Partial) -> None:
        """Add what was counted of other chunks."""
        self.rows += other.rows
        self.failed += other.failed
        self.not_finite += other.not_finite
        self.failures = sorted(self.failures + other.failures)[:NAMED_FAILURES]
        for name, counts in other.counts.items():
            self.counts.setdefault(name, Counts()).add(counts)

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads back."""
        counts = {name: counts.to_json() for name, counts in self.counts.items()}
        return {**vars(self), "counts": counts}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Partial:
        """The counts that `to_json` made `data` of."""
        counts = {name: Counts.from_json(c) for name, c in data["counts"].items()}
        failures = [(int(row), str(reason)) for row, reason in data["failures"]]
        rows, failed, not_finite = data["rows"], data["failed"], data["not_finite"]
        return _checked(Partial(counts, rows, failed, not_finite, failures))


def _checked(made: T) -> T:
    """Counts that a file has, whose numbers are numbers; else a TypeError."""
    for one in fields(made):
        value = getattr(made, one.name)
        if type(one.default) in (int, float) and type(value) not in (int, float):
            raise TypeError(f"{one.name} is no number")
    return made


def to_ticks(own: TensorSpec, spec: TensorSpec, values: Array) -> Ticks:
    """Values of `spec`'s storage as ticks of `own`: exact where both are stored alike.

    Where `own` isn't quantized, its step is 2^-20; NaN counts as 0.
    """
    if own.scale is not None and own.scale == spec.scale:
        assert spec.zero_point is not None
        return (values.astype(np.int64) - spec.zero_point) * TICKS
    if own.scale is None and values.dtype.kind in "iub" and not spec.scales:
        return values.astype(np.int64) * TICKS
    step = output_step(own) or 2.0**-20
    ticks = np.rint(spec.dequantize(values) * (TICKS / step))
    ticks = np.clip(np.nan_to_num(ticks), -_LARGEST_TICK, _LARGEST_TICK)
    return ticks.astype(np.int64)


def output_step(spec: TensorSpec) -> float | None:
    """The step in which a tensor's differences are counted, as a real number: its
    scale, or 2^-20 for real numbers; None for integers without a scale."""
    if spec.scale is not None:
        return spec.scale
    return 2.0**-20 if spec.numpy_dtype.kind == "f" else None


def wilson_interval(hits: int, count: int) -> tuple[float, float]:
    """The 95 % confidence interval of a share, by E. B. Wilson's formula (1927)."""
    z = 1.959963984540054  # the normal distribution's quantile at 97.5 %
    share, spread = hits / count, z * z / count
    centre = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count))
    low, high = (centre - half) / (1 + spread), (centre + half) / (1 + spread)
    return (low if hits else 0.0), (high if hits < count else 1.0)


def paired_interval(lost: int, gained: int, count: int) -> tuple[float, float]:
    """The 95 % confidence interval of the difference of two shares of `count` examples,
    by D. G. Bonett and R. M. Price (2012): `lost` and `gained` of them differ."""
    z = 1.959963984540054
    first, second = (lost + 1) / (count + 2), (gained + 1) / (count + 2)
    difference = first - second
    half = z * math.sqrt((first + second - difference**2) / (count + 2))
    return difference - half, difference + half


def exact_mcnemar(lost: int, gained: int) -> float:
    """The probability of so uneven a split of examples that differ, were both sides as
    likely: McNemar's test (1947), exact."""
    count, least = lost + gained, min(lost, gained)
    tail = sum(math.comb(count, k) for k in range(least + 1))
    return min(1.0, float(Fraction(2 * tail, 2**count)))


def _rank(scores: Array, index: int) -> int:
    """The number of larger elements, and of equal ones in front of it."""
    own = scores[index]
    before = int(np.count_nonzero(scores > own))
    return before + int(np.count_nonzero(scores[:index] == own))


def _dot(a: Ticks, b: Ticks) -> int:
    """The exact inner product."""
    peak = int(np.abs(a).max(initial=0)) * int(np.abs(b).max(initial=0))
    if peak * a.size < 1 << 63:
        return int(np.dot(a.ravel(), b.ravel()))
    return sum(
        x * y for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    )
