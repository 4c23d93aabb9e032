"""What the environment asks for besides the default; `pytest --long` asks for all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from qlower.codegen.targets.resolve import Target

T = TypeVar("T")

LARGE_VARIABLE = "QLOWER_TEST_LARGE"
"""The variable for the largest models where they are slow, and for more fuzzing."""

LEVELS_VARIABLE = "QLOWER_TEST_EVERY_LEVEL"
"""The variable that makes tests of many cases run each at every machine level."""

TURN_VARIABLE = "QLOWER_TEST_TURN"
"""The variable that says which part of the cases runs of tests that are marked `parts`:
a number, 0 by default, or `EVERY_TURN`."""

EVERY_TURN = "all"


def is_asked_for(variable: str) -> bool:
    return bool(os.environ.get(variable))


def seeds(drawn: Sequence[int], first: int) -> Sequence[object]:
    """Parameters of a test: the first `first`, and the others in the long lane."""
    long = [pytest.param(seed, marks=pytest.mark.long) for seed in drawn[first:]]
    return [*drawn[:first], *long]


def a_part(cases: Sequence[T], parts: int, turn: int) -> Sequence[T]:
    """One of so many parts of the cases, the next turn's another, unless all are asked
    for."""
    return cases if is_asked_for(LARGE_VARIABLE) else cases[turn % parts :: parts]


def in_turn(levels: Mapping[str, Target], turn: int) -> dict[str, Target]:
    """One of the levels, the next turn's another, unless all are asked for."""
    names: Sequence[str] = list(levels)
    if not is_asked_for(LEVELS_VARIABLE):
        names = [names[turn % len(names)]]
    return {name: levels[name] for name in names}


def cases_of_turn(
    test: str, cases: Sequence[str], parts: int, turn: int
) -> frozenset[str]:
    """The cases of a test that run in this turn: one in `parts`, others in the next.

    They are drawn by their names, so that no parameter is the same in all. A test with
    fewer cases than parts has one in as many turns, which its name decides, and none in
    the others.
    """
    first = crc32(test.encode()) if len(cases) < parts else 0
    drawn = sorted(cases, key=lambda case: crc32(case.encode()))
    return frozenset(
        case for at, case in enumerate(drawn, first) if at % parts == turn % parts
    )
