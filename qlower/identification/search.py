"""Looking for the member of the family that explains the most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice

import numpy as np

from qlower.contracts import Contract
from qlower.contracts.family import Arithmetic
from qlower.contracts.family.choices import (
    CHOICES,
    FUSED,
    FUSED_INSIDE,
    INSIDE,
    ONCE,
    RANGES,
)
from qlower.explain.diff import Progress, no_progress
from qlower.identification.evidence import Evidence, Observed, Places

MOST = 1 << 12
"""Elements that the search looks at: of more, those where the first arithmetics part,
and others that are drawn."""

DRAWN = 1 << 16
"""The number of drawn elements that they are chosen from."""

FEW = 60
"""The first arithmetics by which they are chosen."""

ROUNDS = 3
"""So often what the best doesn't explain is added, and searched again."""

KEPT = 64
"""The best arithmetics that such a search begins with."""

WIDTH = 4
"""The best arithmetics whose neighbours are tried."""

WORTH = 0.8
"""The share of elements that the best has to explain before members are tried that
differ from it in two choices. Of 40 drawn devices two were found by that alone, from
99 % on; where nothing explains a dump, it is most of the time."""


@dataclass(frozen=True)
class Found:
    """The arithmetic that explains the most, `explained` of all `elements`.

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

    From some that are far apart it goes on to those that differ in one choice from one
    of the best, then, if these explain enough, to those that differ in two, until none
    is better.
    """
    work = _Search(_informative(observed, contract), list(first_members()))
    missed = work.search(progress)
    for _ in range(ROUNDS):
        unseen = np.setdiff1d(missed, work.evidence.places)
        if not len(unseen):
            break
        work = work.with_more(unseen)
        missed = work.search(progress)
    scores, elements = work.scores, sum(one.recorded.size for one in observed)
    best = work.best
    others: dict[str, list[str]] = {name: [] for name in CHOICES}
    for name, other in best.neighbours():
        if scores.get(other) == scores[best]:
            others[name].append(other.choices()[name])
    return Found(best, elements - len(missed), elements, len(scores), others)


class _Search:
    """The members that were tried so far, and how much each explains."""

    def __init__(self, evidence: Evidence, first: Iterable[Arithmetic]) -> None:
        self.evidence = evidence
        self.scores: dict[Arithmetic, int] = {}
        self._near: set[Arithmetic] = set()
        self._far: set[Arithmetic] = set()
        self._try(first)

    @property
    def best(self) -> Arithmetic:
        """The member that explains most."""
        return _ranked(self.scores)[0]

    def search(self, progress: Progress) -> Places:
        """Search to the end; the elements that the best leaves unexplained."""
        for _ in progress(self.rounds(), "family"):
            pass
        return _missed(self.best, self.evidence)

    def with_more(self, places: Places) -> _Search:
        """The search with more elements, from the best of this one on."""
        known = self.evidence
        more = np.union1d(known.places, places[:MOST])
        evidence = Evidence(known.observed, known.contract, more)
        return _Search(evidence, _ranked(self.scores)[:KEPT])

    def rounds(self) -> Iterator[int]:
        """Numbers of rounds, until none of the best has anything left to try."""
        elements = len(self.evidence.recorded)
        for number in count():
            ranked = _leaders(self.scores)
            share = self.scores[ranked[0]] / elements
            is_complete = share == 1
            if is_complete:
                ranked = ranked[:1]
            near = [one for one in ranked if one not in self._near]
            far = [one for one in ranked if one not in self._far]
            if near:
                self._near.add(near[0])
                self._try(other for _, other in near[0].neighbours())
            elif far and WORTH <= share < 1:
                self._far.add(far[0])
                self._try(far[0].second_neighbours())
            else:
                return
            yield number

    def _try(self, members: Iterable[Arithmetic]) -> None:
        for one in members:
            if one not in self.scores:
                self.scores[one] = self.evidence.explained(one)


def _missed(best: Arithmetic, evidence: Evidence) -> Places:
    """The elements, of all, that an arithmetic doesn't explain."""
    found: list[Places] = []
    for part in Evidence.parts(evidence.observed, evidence.contract):
        results = part.results(best)
        apart = True if results is None else results != part.recorded
        found.append(part.places[apart].reshape(-1))
    return np.concatenate(found)


def _ranked(scores: Mapping[Arithmetic, int]) -> list[Arithmetic]:
    """The best first; of those that are as good the one with the plainest choices."""
    return sorted(scores, key=lambda one: (-scores[one], _unusual(one)))


def _leaders(scores: Mapping[Arithmetic, int]) -> list[Arithmetic]:
    """Some of the best, and the best of each kind, which differ in more choices than
    are tried together."""
    ranked = _ranked(scores)
    kinds: dict[tuple[str, bool], Arithmetic] = {}
    for one in ranked:
        kinds.setdefault((one.float, one.first == ONCE), one)
    chosen = {*ranked[:WIDTH], *kinds.values()}
    return [one for one in ranked if one in chosen]


def _unusual(one: Arithmetic) -> list[int]:
    return [CHOICES[name].index(value) for name, value in one.choices().items()]


def first_members() -> Iterator[Arithmetic]:
    """Members that are far apart."""
    for rounding in ("half_up", "half_even", "half_away", "floor", "toward_zero"):
        plain = Arithmetic(rounding=rounding)
        for scaling in CHOICES["scaling"]:
            yield replace(plain, scaling=scaling).normal()
        for width in (8, 16, 24):
            yield replace(plain, multiplier=f"{width} bits, half_up")
        for first in ("half_up", "toward_zero"):
            yield replace(plain, first=first)
    for accumulator in CHOICES["accumulator"]:
        yield from _stored(Arithmetic(accumulator=accumulator))
    for products in CHOICES["products"]:
        yield from _stored(Arithmetic(products).normal())
    for bits in (14, 16, 18, 20, 22):
        yield from _stored(Arithmetic("in turn", f"{bits} bits, saturate"))


def _stored(one: Arithmetic) -> Iterator[Arithmetic]:
    """An arithmetic by integers and by floats, with roundings that are far apart."""
    fused = replace(one, bias=FUSED, scaling="reciprocal f32", rounding="half_away")
    ranges = replace(fused, bias="real", scales=RANGES, rounding="half_even")
    starts = (one, replace(one, bias="in steps", scaling="multiply f32"), fused)
    for start in (*starts, replace(ranges, zero_point=FUSED_INSIDE)):
        yield start
        for rounding in ("toward_zero", "floor"):
            yield replace(start, rounding=rounding)
        yield replace(start, rounding="toward_zero", zero_point=INSIDE)


def _informative(observed: Sequence[Observed], contract: Contract) -> Evidence:
    """Elements that distinguish members, up to a limit."""
    size = sum(one.recorded.size for one in observed)
    random = np.random.default_rng(0)
    drawn = np.arange(size)
    if size > DRAWN:
        drawn = np.sort(random.choice(size, DRAWN, replace=False))
    evidence = Evidence(observed, contract, drawn)
    if len(drawn) <= MOST:
        return evidence
    results = [evidence.results(one) for one in islice(first_members(), FEW)]
    known = np.stack([one for one in results if one is not None])
    tells = np.ptp(known, axis=0) > 0
    order = np.lexsort((random.random(len(drawn)), ~tells))
    return evidence.at(np.sort(order[:MOST]))
