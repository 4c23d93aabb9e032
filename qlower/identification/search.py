"""Looking for the member of the family that explains the most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qlower.contracts import Contract
from qlower.explain.diff import Progress, no_progress
from qlower.identification.evidence import Evidence, Observed
from qlower.identification.family import CHOICES, Arithmetic

MOST = 1 << 13
"""Elements that the search looks at: of more, those where the first arithmetics part,
and others that are drawn."""

DRAWN = 1 << 17
"""Of so many those are chosen."""

WIDTH = 4
"""The best arithmetics whose neighbours are tried."""


@dataclass(frozen=True)
class Found:
    """The arithmetic that explains the most of `elements` that were looked at.

    `others` has, for each choice, what else explains as much, given the rest.
    """

    arithmetic: Arithmetic
    explained: int
    elements: int
    tried: int
    others: Mapping[str, Sequence[str]]


def search(
    observed: Sequence[Observed], contract: Contract, progress: Progress = no_progress
) -> Found:
    """The member that explains the most; activations have the bounds of `contract`.

    From a few that are far apart it goes on to those that differ in one choice from one
    of the best, until none of these is better.
    """
    evidence = _informative(observed, contract)
    scores = {one: evidence.explained(one) for one in first_members()}
    expanded: set[Arithmetic] = set()
    elements = len(evidence.recorded)

    def rounds() -> Iterator[int]:
        number = 0
        while _open(scores, expanded, elements):
            yield number
            number += 1

    for _ in progress(rounds(), "family"):
        best = _open(scores, expanded, elements)
        assert best is not None
        expanded.add(best)
        for _, other in best.neighbours():
            if other not in scores:
                scores[other] = evidence.explained(other)
    best = _ranked(scores)[0]
    others: dict[str, list[str]] = {name: [] for name in CHOICES}
    for name, other in best.neighbours():
        if scores[other] == scores[best]:
            others[name].append(other.choices()[name])
    return Found(best, scores[best], elements, len(scores), others)


def _open(
    scores: Mapping[Arithmetic, int], expanded: set[Arithmetic], elements: int
) -> Arithmetic | None:
    """The next whose neighbours are to be tried: of what explains all, only one."""
    ranked = _ranked(scores)[:WIDTH]
    if scores[ranked[0]] == elements:
        ranked = ranked[:1]
    return next((one for one in ranked if one not in expanded), None)


def _ranked(scores: Mapping[Arithmetic, int]) -> list[Arithmetic]:
    """The best first; of those that are as good the one with the plainest choices."""
    return sorted(scores, key=lambda one: (-scores[one], _unusual(one)))


def _unusual(one: Arithmetic) -> list[int]:
    return [
        CHOICES[name].index(value) for name, value in one.choices().items()
    ]


def first_members() -> Iterator[Arithmetic]:
    """Members that are far apart."""
    for rounding in ("half_up", "half_even", "half_away", "floor", "toward_zero"):
        plain = Arithmetic(rounding=rounding)
        for scaling in CHOICES["scaling"]:
            yield replace(plain, scaling=scaling).normal()
        for width in (8, 16, 24):
            yield replace(plain, multiplier=f"{width} bits, half_up")
        yield replace(plain, first="half_up")
    for products in CHOICES["products"]:
        for accumulator in CHOICES["accumulator"]:
            yield Arithmetic(products, accumulator)
            yield Arithmetic(products, accumulator, "in steps", "multiply f32")


def _informative(observed: Sequence[Observed], contract: Contract) -> Evidence:
    """Elements that tell members apart, as far as they are not too many."""
    count = sum(one.recorded.size for one in observed)
    random = np.random.default_rng(0)
    drawn = np.arange(count)
    if count > DRAWN:
        drawn = np.sort(random.choice(count, DRAWN, replace=False))
    evidence = Evidence(observed, contract, drawn)
    if len(drawn) <= MOST:
        return evidence
    results = [evidence.results(one) for one in first_members()]
    known = np.stack([one for one in results if one is not None])
    tells = np.ptp(known, axis=0) > 0
    order = np.lexsort((random.random(len(drawn)), ~tells))
    return evidence.at(np.sort(order[:MOST]))
