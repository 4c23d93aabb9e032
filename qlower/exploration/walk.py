"""The order in which members of the family are tried.

The walk starts from the base and the members that differ from it in one choice. It
continues with the members that differ in one choice from the best ones found. The order
depends on figures alone: a walk that is resumed, or runs elsewhere, is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from qlower.contracts.family import Arithmetic
from qlower.contracts.family.choices import AFTER, BYTE, CHOICES, INSIDE, ONCE
from qlower.contracts.family.names import arithmetic
from qlower.diagnostics import QlowerError

AXES: Mapping[str, Sequence[str]] = {
    "multiplier": CHOICES["multiplier"],
    "rounding": CHOICES["rounding"],
    "first": (ONCE, "half_up", "half_away"),
    "accumulator": [
        one
        for one in CHOICES["accumulator"]
        if one == "32 bits" or 16 <= int(one.split(" ")[0]) <= 24
    ],
    "zero_point": (AFTER, INSIDE, BYTE),
}
"""The choices that are walked: those of integer circuits."""


GENERATION = 64
"""New points at most, before the best are chosen again."""


@dataclass(frozen=True)
class Figures:
    """The figures of a point: large `quality`, small `area` and `bits` are better."""

    quality: float
    area: int
    bits: int

    def beats(self, other: Figures) -> bool:
        """Whether it is as good in all, and better in one."""
        pairs = (
            (self.quality, other.quality),
            (-self.area, -other.area),
            (-self.bits, -other.bits),
        )
        return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def front(figures: Mapping[int, Figures]) -> list[int]:
    """The points that none beats, the largest area first; of equals the first."""
    kept: dict[Figures, int] = {}
    for point, own in sorted(figures.items()):
        if not any(other.beats(own) for other in figures.values()):
            kept.setdefault(own, point)
    return sorted(kept.values(), key=lambda point: (-figures[point].area, point))


def checked_axes(given: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """The axes, those that are given as CHOICE=VALUE,... with their values alone."""
    axes = dict(AXES)
    for text in given:
        name, _, values = text.partition("=")
        if name not in AXES:
            raise QlowerError(
                f"--choice {text!r}: a walk has no choice {name!r}",
                help=f"it has {', '.join(AXES)}",
            )
        wanted = [_words(value) for value in values.split(",") if value.strip()]
        axes[name] = [
            one
            for one in AXES[name]
            if any(_words(one)[: len(words)] == words for words in wanted)
        ]
        if not axes[name]:
            raise QlowerError(
                f"--choice {text!r}: {name} is none of these",
                help=f"it may be {'; '.join(AXES[name])}",
            )
    return axes


def _words(text: str) -> list[str]:
    return [one for one in text.replace(",", "").split() if one != "bits"]


def generations(
    axes: Mapping[str, Sequence[str]],
    count: int,
    figures: Callable[[], Mapping[int, Figures]],
) -> Iterator[list[Arithmetic]]:
    """Lists of new points, `count` at most in all; `figures` gives those of all points
    so far, which are numbered in this order."""
    first = Arithmetic(**{name: values[0] for name, values in axes.items()}).normal()
    seen: list[Arithmetic] = []
    new = [first, *_neighbours(first, axes)]
    while True:
        known = set(seen)
        batch = [one for one in dict.fromkeys(new) if one not in known]
        batch = batch[: min(count - len(seen), GENERATION if seen else count)]
        if not batch:
            return
        seen += batch
        yield batch
        around = [_neighbours(seen[number], axes) for number in front(figures())]
        new = [one for turn in zip_longest(*around) for one in turn if one is not None]


def _neighbours(
    point: Arithmetic, axes: Mapping[str, Sequence[str]]
) -> Iterator[Arithmetic]:
    """Points that differ in one choice: the nearest values first, alternating between
    the choices."""
    lists: list[list[Arithmetic]] = []
    for name, values in axes.items():
        at = values.index(getattr(point, name))
        order = sorted(range(len(values)), key=lambda n, at=at: abs(n - at))
        lists.append([replace(point, **{name: values[n]}) for n in order[1:]])
    for turn in zip_longest(*lists):
        yield from (one for one in turn if one is not None and one == one.normal())


def name_of(point: Arithmetic, base: str) -> str:
    """The contract of that arithmetic."""
    return arithmetic(base, **point.choices())
