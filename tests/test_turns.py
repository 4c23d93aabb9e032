"""Which cases of a test that is marked `parts` run in which turn."""

from __future__ import annotations

import pytest
from support.lanes import cases_of_turn


def _drawn(test: str, count: int, parts: int) -> list[int]:
    """How many of a test's cases run in each turn; after the last each has run once."""
    cases = [f"{test}[{number}]" for number in range(count)]
    turns = [cases_of_turn(test, cases, parts, turn) for turn in range(parts)]
    assert sorted(case for drawn in turns for case in drawn) == sorted(cases)
    assert cases_of_turn(test, cases, parts, parts) == turns[0]
    return list(map(len, turns))


@pytest.mark.parametrize(
    ("count", "parts", "expected"),
    [(12, 3, [4, 4, 4]), (7, 3, [3, 2, 2]), (3, 3, [1, 1, 1]), (2, 1, [2])],
)
def test_a_turn_has_one_in_so_many_cases(count: int, parts: int, expected: list[int]):
    assert _drawn("test", count, parts) == expected


def test_a_case_runs_in_one_turn_that_the_name_of_its_test_decides():
    every = [_drawn(f"test_{number}", 1, 5) for number in range(100)]
    assert all(sorted(turns) == [0, 0, 0, 0, 1] for turns in every)
    assert all(10 <= sum(turns) <= 30 for turns in zip(*every, strict=True))


def test_fewer_cases_than_parts_run_in_turns_that_follow():
    turns = _drawn("test", 3, 10)
    assert sorted(turns) == [0] * 7 + [1] * 3
    assert "111" in "".join(map(str, turns * 2))
