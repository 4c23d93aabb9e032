"""Places in an arena for storages; those that live at the same time don't overlap.

A storage may also lie partly over one that dies where it begins, by as much as the code
in between allows.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from qlower.dialects.kernel import (
    ARENA_ALIGNMENT,
    ArenaAttr,
    Buffer,
    OutputAttr,
)

SMALL_ALIGNMENT = 16
"""Bytes, of what is smaller than that."""

_SMALL = 1 / 8
"""Part of the largest storage below which one is small."""


@dataclass(eq=False)
class Storage:
    """Memory of values that follow each other; live from op `first` to op `last`.

    It is the caller's buffer for result number `output`, if there is one, or lies in
    the arena.
    """

    size: int
    first: int
    last: int
    output: int | None = None
    offset: int = 0

    @property
    def buffer(self) -> Buffer:
        return (
            ArenaAttr(self.offset) if self.output is None else OutputAttr(self.output)
        )


Overlaps = Mapping[tuple[Storage, Storage], int]
"""Pairs of a storage that dies and the one that begins there, with the bytes by which
this must begin before that, or more, if it doesn't begin after its end."""


def place(storages: Iterable[Storage], alignment: int) -> int:
    """Give every storage an offset, the largest first, and return the arena's size."""
    ordered = sorted(storages, key=lambda s: (-s.size, s.first))
    return _Arena(ordered, alignment, {}).place(range(len(ordered)))


def place_tightly(
    storages: Iterable[Storage], alignment: int, overlaps: Overlaps, *, trials: int
) -> int:
    """Give every storage an offset in a small arena, whose size is returned: by the
    best of three orders, the largest first, the latest first, or the small ones last,
    and what `trials` changes that are drawn make of it."""
    ordered = sorted(storages, key=lambda s: (-s.size, s.first))
    if not ordered:
        return 0
    arena = _Arena(ordered, alignment, overlaps)
    largest = [*range(len(ordered))]
    latest = sorted(largest, key=lambda n: (-ordered[n].first, n))
    small = ordered[0].size * _SMALL
    later = sorted(latest, key=lambda n: ordered[n].size < small)
    best, order = min((arena.place(one), one) for one in (largest, latest, later))
    drawn = random.Random(0)
    for _ in range(trials):
        other = [*order]
        moved = other.pop(drawn.randrange(len(order)))
        other.insert(drawn.randrange(len(order)), moved)
        size = arena.place(other)
        if size <= best:
            best, order = size, other
    return arena.place(order)


class _Arena:
    """Storages with what each may not share with any other."""

    def __init__(
        self, storages: Sequence[Storage], alignment: int, overlaps: Overlaps
    ) -> None:
        self.storages = storages
        self.sizes = [_aligned(storage.size, alignment) for storage in storages]
        number = {storage: n for n, storage in enumerate(storages)}
        self.distances = {
            (number[dying], number[born]): -(-distance // alignment) * alignment
            for (dying, born), distance in overlaps.items()
        }
        self.neighbours: list[list[int]] = [[] for _ in storages]
        living: list[int] = []
        for index in sorted(range(len(storages)), key=lambda n: storages[n].first):
            first = storages[index].first
            living = [other for other in living if storages[other].last >= first]
            for other in living:
                self.neighbours[other].append(index)
            self.neighbours[index] += living
            living.append(index)

    def place(self, order: Iterable[int]) -> int:
        """Give storages offsets in this order; return the arena's size."""
        placed: dict[int, int] = {}
        for index in order:
            others = [other for other in self.neighbours[index] if other in placed]
            taken = sorted(self.forbidden(index, others, placed))
            placed[index] = _tightest(taken)
            self.storages[index].offset = placed[index]
        return max((at + self.sizes[n] for n, at in placed.items()), default=0)

    def forbidden(
        self, index: int, others: Sequence[int], placed: Mapping[int, int]
    ) -> Iterator[tuple[int, int]]:
        """The two offsets between which a storage can't begin, for each of the
        others."""
        for other in others:
            at = placed[other]
            low, high = at - self.sizes[index], at + self.sizes[other]
            over = self.distances.get((other, index))
            if over is not None:
                low = min(max(low, at - over), high)
            under = self.distances.get((index, other))
            if under is not None:
                high = max(min(high, at + under), low)
            if low < high:
                yield low, high


def _aligned(size: int, alignment: int) -> int:
    """The size of a storage with what follows it. The larger ones come first, so the
    small are between multiples of theirs."""
    most = ARENA_ALIGNMENT if size >= ARENA_ALIGNMENT else SMALL_ALIGNMENT
    unit = min(alignment, most)
    return -(-size // unit) * unit


def _tightest(forbidden: Iterable[tuple[int, int]]) -> int:
    """The first offset after one of these pairs, in order of the first, that leaves the
    least to the next; else the first after all."""
    gaps: list[tuple[int, int]] = []
    end = 0
    for low, high in forbidden:
        if low >= end:
            gaps.append((low - end, end))
        end = max(end, high)
    return min(gaps)[1] if gaps else end
