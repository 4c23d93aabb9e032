"""Every order of a sum adds each of its terms once, whatever their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeAlias

import pytest

from qlower.operators.eigen_orders import of_panels, of_vectors
from qlower.operators.orders import (
    ELEMENT_ORDERS,
    ROW_ORDERS,
    WINDOW_ORDERS,
    Order,
    Summing,
)

Terms: TypeAlias = tuple[int, ...]

START = -1


def joined(terms: Sequence[Terms]) -> Terms:
    return tuple(chain.from_iterable(terms))


class Named(Summing[Terms]):
    """A third reading of an order: the numbers of the terms in a sum."""

    def __init__(self, names: Sequence[Terms], last: int, has_start: bool) -> None:
        self.names, self.count, self.last = names, len(names), last
        self.block, self.columns, self.has_start = 5, 3, has_start

    def _of(self, names: Sequence[Terms]) -> Named:
        return Named(names, self.last, False)

    def start(self) -> Terms | None:
        return (START,) if self.has_start else None

    def zero(self) -> Terms:
        return ()

    def add(self, one: Terms, other: Terms) -> Terms:
        return one + other

    def term(self, place: int) -> Terms:
        assert 0 <= place < self.count
        return self.names[place]

    def fused(self, place: int, total: Terms) -> Terms:
        return self.term(place) + total

    def chains(self, first: int, count: int, size: int) -> Sequence[Terms]:
        ends = range(first, first + count * size, size)
        return [joined(self.names[at : at + size]) for at in ends]

    def every(
        self,
        count: int,
        build: Callable[[Summing[Terms]], Terms],
        among: range | None = None,
    ) -> Sequence[Terms]:
        names = [self.names[at] for at in among or range(self.count)]
        whole = names[: len(names) // count * count]
        return [build(self._of(whole[lane::count])) for lane in range(count)]

    def grouped(self, size: int) -> Summing[Terms]:
        return self._of(self.chains(0, self.count // size, size))

    def chain(self, first: int = 0, *, fused: bool = False) -> Terms:
        return joined(self.names[first:])

    def groups(self, size: int) -> Terms:
        whole = self.count // size * size
        return joined([self.start() or (), *self.names[:whole]])

    def before(self, end: int, one: Terms, other: Terms) -> Terms:
        assert 0 < end < self.last
        assert sorted(one) == sorted(other)
        return one


STARTED = {**ROW_ORDERS, **WINDOW_ORDERS}
PANELS = {
    f"panels of {chains} in {period}": Order(of_panels(chains, period))
    for chains, period in ((2, 8), (4, 4))
}
ORDERS = {**STARTED, **ELEMENT_ORDERS, **PANELS, "Eigen's vectors": Order(of_vectors)}


@pytest.mark.parametrize("name", [key for key, one in ORDERS.items() if one.build])
def test_each_term_is_added_once(name: str) -> None:
    build = ORDERS[name].build
    assert build is not None
    has_start = name in STARTED
    for count in (*range(1, 20), 31, 32, 33, 64, 71, 259):
        expected = sorted([*range(count), *([START] if has_start else [])])
        names = [(place,) for place in range(count)]
        for last in (1, 2, 3, 4, 7, 33):
            sums = Named(names, last, has_start)
            sums.columns = min(3, count)
            for sums.first in range(min(4, count)):
                assert sorted(build(sums)) == expected, (count, last, sums.first)
