"""Places of storages in an arena: orders, alignments, overlaps and gaps."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from qlower.dialects.kernel import ArenaAttr, OutputAttr
from qlower.transforms.arena import Storage, place, place_tightly

own: Any = vars(import_module("qlower.transforms.arena"))


def test_buffers() -> None:
    assert Storage(8, 0, 1, offset=32).buffer == ArenaAttr(32)
    assert Storage(8, 0, 1, output=2, offset=32).buffer == OutputAttr(2)
    assert Storage(8, 0, 1, output=0).buffer == OutputAttr(0)


@pytest.mark.parametrize(
    ("size", "alignment", "found"),
    [
        *((1, 1, 1), (63, 1, 63), (64, 1, 64), (100, 1, 100)),
        *((1, 16, 16), (17, 16, 32), (63, 16, 64), (64, 16, 64), (65, 16, 80)),
        *((1, 64, 16), (16, 64, 16), (17, 64, 32), (63, 64, 64), (65, 64, 128)),
        *((128, 64, 128), (129, 128, 192)),
    ],
)
def test_sizes(size: int, alignment: int, found: int) -> None:
    """Small ones are multiples of 16 bytes, whatever the alignment."""
    assert own["_aligned"](size, alignment) == found


@pytest.mark.parametrize(
    ("forbidden", "found"),
    [
        ([], 0),
        ([(0, 5)], 0),
        ([(-1, 5)], 5),
        ([(2, 5)], 0),
        ([(-4, 5), (5, 7)], 5),
        ([(-4, 5), (6, 7), (10, 12)], 5),
        ([(-4, 5), (9, 11), (13, 15)], 11),
        ([(-4, 5), (7, 11), (13, 15)], 5),
        ([(-4, 9), (3, 5), (20, 21)], 9),
        ([(-4, 0), (1, 3)], 0),
        ([(-4, 5), (3, 8)], 8),
    ],
)
def test_the_tightest_gap(forbidden: list[tuple[int, int]], found: int) -> None:
    """The first of the smallest; else what is after all. Both ends are free."""
    assert own["_tightest"](forbidden) == found


def offsets(storages: list[Storage]) -> list[int]:
    return [storage.offset for storage in storages]


def test_storages_that_live_together() -> None:
    """The largest come first, of equal ones the earliest; a value that dies where
    another begins still lives there."""
    storages = [
        Storage(8, 0, 2),
        Storage(16, 2, 4),
        Storage(8, 3, 5),
        Storage(16, 5, 6),
    ]
    assert place(storages, 1) == 24
    assert offsets(storages) == [16, 0, 16, 0]
    storages = [Storage(16, 1, 1), Storage(16, 0, 1)]
    assert place(storages, 1) == 32
    assert offsets(storages) == [16, 0]
    assert place([], 16) == 0
    one = [Storage(5, 0, 0)]
    assert (place(one, 16), offsets(one)) == (16, [0])


def test_a_storage_over_one_that_dies() -> None:
    """By as much as is allowed, rounded up; never beyond its other end."""
    for distance, aligned, found in (
        (20, 1, (0, 20, 52)),
        (20, 8, (0, 24, 56)),
        (0, 1, (0, 0, 32)),
        (32, 1, (0, 32, 64)),
        (90, 1, (0, 32, 64)),
    ):
        dying, born = Storage(32, 0, 1), Storage(32, 1, 2)
        size = place_tightly(
            [dying, born], aligned, {(dying, born): distance}, trials=0
        )
        assert sorted((dying.offset, born.offset)) == [0, found[1]]
        assert size == found[2]


def test_small_arenas() -> None:
    assert place_tightly([], 16, {}, trials=3) == 0
    one = Storage(7, 0, 0)
    assert place_tightly([one], 16, {}, trials=3) == 16
    assert one.offset == 0


def crowd() -> list[Storage]:
    """One that lives throughout in front of what comes and goes."""
    lives = [(40, 0, 1), (24, 1, 2), (56, 2, 3), (8, 0, 3), (32, 3, 4), (16, 1, 4)]
    return [Storage(*life) for life in lives]


def least(storages: list[Storage]) -> int:
    """The bytes of what lives at one time, at most."""
    return max(
        sum(one.size for one in storages if one.first <= now <= one.last)
        for now in range(5)
    )


def test_changes_that_are_drawn_only_help() -> None:
    sizes = [place_tightly(crowd(), 1, {}, trials=n) for n in (0, 10, 200)]
    assert sizes == sorted(sizes, reverse=True)
    storages = crowd()
    assert place_tightly(storages, 1, {}, trials=200) == least(storages)
    ends = [one.offset + one.size for one in storages]
    assert max(ends) == least(storages)
    for one in storages:
        for other in storages:
            together = one.first <= other.last and other.first <= one.last
            if one is not other and together:
                assert (
                    one.offset + one.size <= other.offset
                    or other.offset + other.size <= one.offset
                )


Life = tuple[int, int, int]
Overlap = tuple[int, int, int]
PLACED: list[tuple[list[Life], int, list[Overlap], int, int, list[int]]] = [
    # lives, alignment, overlaps, trials; the size of the arena and the places
    (
        [(64, 2, 4), (2, 4, 5), (2, 1, 1), (64, 0, 1), (128, 1, 3), (16, 0, 0)],
        *(64, [(3, 2, 2)], 0, 208, [128, 0, 192, 128, 0, 0]),
    ),
    ([(32, 1, 2), (24, 1, 3), (8, 1, 3)], 1, [], 12, 64, [0, 40, 32]),
    (
        [(64, 4, 6), (24, 2, 2), (64, 3, 4), (8, 4, 4)],
        *(1, [(2, 0, 20), (2, 3, 0)], 0, 128, [64, 0, 0, 0]),
    ),
    ([(4, 4, 6), (4, 3, 4)], 1, [(1, 0, 20)], 12, 8, [0, 4]),
    (
        [(32, 1, 3), (2, 1, 2), (64, 0, 1), (2, 2, 4)],
        *(16, [(1, 3, 8), (2, 0, 2), (2, 1, 5)], 12, 96, [0, 80, 16, 32]),
    ),
    (
        [(128, 3, 4), (4, 1, 1), (64, 0, 1), (32, 4, 4), (4, 1, 2), (8, 4, 5)],
        *(1, [(0, 3, 8), (0, 5, 2), (2, 1, 2), (2, 4, 2)], 12),
        *(144, [8, 64, 0, 0, 68, 136]),
    ),
]
"""Storages whose places show which order was the best, and which are small."""


@pytest.mark.parametrize(
    ("lives", "alignment", "overlaps", "trials", "size", "places"), PLACED
)
def test_the_best_of_three_orders(
    lives: list[Life],
    alignment: int,
    overlaps: list[Overlap],
    trials: int,
    size: int,
    places: list[int],
) -> None:
    storages = [Storage(*life) for life in lives]
    allowed = {(storages[a], storages[b]): bytes for a, b, bytes in overlaps}
    assert place_tightly(storages, alignment, allowed, trials=trials) == size
    assert offsets(storages) == places
