"""Functions in pieces, held against each other number by number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qlower.verification.pieces import Pieces

HIGH: Any = np.array([9, 4])


def pieces(*rows: tuple[int, int, int]) -> Pieces:
    """Of (channel, first x, value)."""
    return Pieces(*(np.array(column) for column in zip(*rows, strict=True)))


def numbers(one: Pieces, low: int = -3) -> dict[tuple[int, int], int]:
    """The value at every x of each channel."""
    found: dict[tuple[int, int], int] = {}
    for channel, high in enumerate(HIGH.tolist()):
        for x in range(low, high + 1):
            own = [
                v
                for c, at, v in zip(one.channel, one.x, one.value, strict=True)
                if c == channel and at <= x
            ]
            found[channel, x] = int(own[-1])
    return found


BASE = pieces((0, -3, 1), (0, 0, 2), (0, 5, 3), (1, -3, 7), (1, 2, 8))
OTHERS = {
    "the same": (BASE, None),
    "cut elsewhere": (
        pieces((0, -3, 1), (0, -1, 1), (0, 0, 2), (0, 5, 3), (1, -3, 7), (1, 2, 8)),
        None,
    ),
    "at the first number": (
        pieces((0, -3, 0), (0, -2, 1), (0, 0, 2), (0, 5, 3), (1, -3, 7), (1, 2, 8)),
        (0, -3, 1, 0),
    ),
    "one number later": (
        pieces((0, -3, 1), (0, 1, 2), (0, 5, 3), (1, -3, 7), (1, 2, 8)),
        (0, 0, 2, 1),
    ),
    "at the end of a channel": (
        pieces((0, -3, 1), (0, 0, 2), (0, 5, 3), (0, 9, 4), (1, -3, 7), (1, 2, 8)),
        (0, 9, 3, 4),
    ),
    "in the second channel": (
        pieces((0, -3, 1), (0, 0, 2), (0, 5, 3), (1, -3, 7), (1, 4, 8)),
        (1, 2, 8, 7),
    ),
    "in both": (
        pieces((0, -3, 1), (0, 0, 9), (0, 2, 2), (0, 5, 3), (1, -3, 6)),
        (0, 0, 2, 9),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_first_number_at_which_functions_differ(name: str) -> None:
    other, expected = OTHERS[name]
    assert BASE.first_difference(other) == expected
    if expected is not None:
        channel, x, first, second = expected
        assert other.first_difference(BASE) == (channel, x, second, first)


@pytest.mark.parametrize("name", OTHERS)
def test_all_numbers_at_which_functions_differ(name: str) -> None:
    """In intervals, the widest first."""
    other, _ = OTHERS[name]
    mine, theirs = numbers(BASE), numbers(other)
    found = BASE.apart(other, HIGH).tolist()
    told = [(c, x) for c, first, last in found for x in range(first, last + 1)]
    assert sorted(told) == [at for at in mine if mine[at] != theirs[at]]
    widths = [last - first for _, first, last in found]
    assert widths == sorted(widths, reverse=True)


def test_a_part_of_a_domain() -> None:
    part = BASE.up_to(np.array([4, 1]))
    assert part.channel.tolist() == [0, 0, 1]
    assert (part.x.tolist(), part.value.tolist()) == ([-3, 0, -3], [1, 2, 7])
