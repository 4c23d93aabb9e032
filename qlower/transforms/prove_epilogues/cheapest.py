"""The cheapest lines that are proved to give what an epilogue gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from qlower.transforms.prove_epilogues.costs import EXCEPTION, cost
from qlower.transforms.prove_epilogues.exceptions import Exceptions, find_exceptions
from qlower.transforms.prove_epilogues.forms import Form, Kind, LineForm, Lines
from qlower.transforms.prove_epilogues.integer_lines import (
    WORD,
    IntegerForm,
    fit_integer_lines,
    most_bits,
)
from qlower.transforms.prove_epilogues.lines import best_scale, fit_lines
from qlower.transforms.prove_epilogues.machine import Machine
from qlower.transforms.prove_epilogues.staircase import Staircase
from qlower.transforms.prove_epilogues.steps import Integers, SeenSteps
from qlower.transforms.prove_epilogues.together import steps_of_each


@dataclass
class _Search:
    """A search for operations that are cheaper than `limit`, the present ones, or than
    `best`."""

    staircase: Staircase
    steps: SeenSteps
    limit: int
    best: tuple[Lines, Exceptions] | None = None

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest value."""
        return int(self.steps.bottom.min()), int(self.steps.top.max())

    @property
    def has_line(self) -> bool:
        """Whether there is a step, and a line's int32 can hold the values."""
        least, most = self.ends
        return bool(self.steps.places.size) and -(1 << 31) <= least <= most < 1 << 31

    def form(self, *, fused: bool, odd: bool) -> Form:
        return Form(fused, odd, self._middle() if odd else 0, *self.ends)

    def slots(self, form: LineForm) -> int:
        """The number of exceptions that pay in a channel; below 0 if none would."""
        return (self.limit - 1 - form.cost) // EXCEPTION

    def try_lines(self, lines: Lines, slots: int) -> None:
        """Keep lines with no more exceptions than that."""
        exceptions = find_exceptions(self.staircase, lines, self.steps, slots)
        if exceptions is not None:
            self.best = lines, exceptions
            self.limit = lines.form.cost + EXCEPTION * exceptions.slots

    def try_integers(self) -> None:
        """Keep the cheapest lines of integers, with factors of a word's bits or finer.
        Odd ones cost more, so they don't pay either where the others don't."""
        fine = WORD
        for odd in (False, True):
            if self.slots(IntegerForm(odd, WORD, *self.ends)) < 0:
                return
            scale = best_scale(self.steps, odd=odd, middle=self._middle())
            if not odd:
                fine = most_bits(scale)
            for bits in dict.fromkeys((WORD, fine)):
                form = IntegerForm(odd, bits, *self.ends)
                slots = self.slots(form)
                if slots < 0:
                    continue
                lines = fit_integer_lines(form, self.steps, scale)
                if lines is not None:
                    self.try_lines(lines, slots)

    def _middle(self) -> int:
        """The result of most channels for the accumulator 0: their zero point."""
        steps = self.steps
        nearest = np.clip(0, steps.low, steps.high)[:, np.newaxis]
        reached = steps.valid & (steps.places <= nearest)
        value: Integers = steps.bottom + np.count_nonzero(reached, axis=1)
        return int(np.median(value))


def cheapest_lines(
    staircases: Sequence[Staircase], machine: Machine
) -> list[tuple[Lines, Exceptions] | None]:
    """Lines for each of a group that are proved, cheaper than the epilogue as it is."""
    fused, mended = machine.fused, machine.mended
    searches: list[_Search | None] = []
    for own, steps in zip(staircases, steps_of_each(staircases), strict=True):
        limit = cost(own.ops, rounds_fast=not mended)
        searches.append(None if steps is None else _Search(own, steps, limit))
    searched = [search for search in searches if search and search.has_line]
    for search in searched if machine.long_products else ():
        search.try_integers()
    for odd in (False, True) if machine.floats else ():
        for group in _of_equal_kind(searched, fused=fused, odd=odd):
            own = [search for search, _ in group]
            forms = [form for _, form in group]
            found = fit_lines(forms, [search.steps for search in own])
            for search, lines in zip(own, found, strict=True):
                if lines is not None:
                    search.try_lines(lines, search.slots(lines.form) if mended else 0)
    return [search and search.best for search in searches]


def _of_equal_kind(
    searches: Sequence[_Search], *, fused: bool, odd: bool
) -> Iterable[list[tuple[_Search, Form]]]:
    """Searches with a form that may pay: of one kind, and steps with as many columns
    each."""
    groups: dict[tuple[Kind, int], list[tuple[_Search, Form]]] = {}
    for search in searches:
        if search.slots(Form(fused, odd, 0, *search.ends)) < 0:
            continue
        form = search.form(fused=fused, odd=odd)
        if search.slots(form) >= 0:
            width = search.steps.places.shape[1]
            groups.setdefault((form.kind, width), []).append((search, form))
    return groups.values()
