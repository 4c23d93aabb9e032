"""The orders of sums as trees: which partial sums are added to which."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from hashlib import sha256
from pathlib import Path

import pytest

from qlower.operators.eigen_orders import of_panels, of_vectors
from qlower.operators.orders import (
    ELEMENT_ORDERS,
    ORDERS,
    ROW_ORDERS,
    WINDOW_ORDERS,
    Order,
    Summing,
)

RECORDED = Path(__file__).with_name("order_trees.txt")
"""Made by `pytest tests/operators/test_order_trees.py --bless`."""


def shortened(text: str) -> str:
    """A text as it is if it is short, or its digest."""
    return text if len(text) <= 60 else digest(text)


def digest(text: str) -> str:
    return f"#{sha256(text.encode()).hexdigest()[:10]}"


class Trees(Summing[str]):
    """The sums of terms that are texts; `x(a b)` is an FMA, the others are `(a b)`."""

    def __init__(self, terms: Sequence[str], last: int, start: str | None) -> None:
        self._terms, self._start = terms, start
        self.count, self.last = len(terms), last
        self.block, self.columns = 5, 3

    def _of(self, terms: Sequence[str]) -> Trees:
        return Trees(terms, self.last, None)

    def start(self) -> str | None:
        return self._start

    def zero(self) -> str:
        return "0"

    def add(self, one: str, other: str) -> str:
        return shortened(f"({one} {other})")

    def term(self, place: int) -> str:
        assert 0 <= place < self.count
        return self._terms[place]

    def fused(self, place: int, total: str) -> str:
        return shortened(f"x({total} {self.term(place)})")

    def chains(self, first: int, count: int, size: int) -> Sequence[str]:
        ends = range(first, first + count * size, size)
        return [self._of(self._terms[at : at + size]).chain(fused=True) for at in ends]

    def every(
        self,
        count: int,
        build: Callable[[Summing[str]], str],
        among: range | None = None,
    ) -> Sequence[str]:
        terms = [self._terms[at] for at in among or range(self.count)]
        whole = terms[: len(terms) // count * count]
        return [build(self._of(whole[lane::count])) for lane in range(count)]

    def grouped(self, size: int) -> Summing[str]:
        groups = range(self.count // size)
        return self._of(
            [self._of(self._terms[at * size :][:size]).chain() for at in groups]
        )

    def chain(self, first: int = 0, *, fused: bool = False) -> str:
        mark = "x" if fused else ""
        return reduce(
            lambda total, term: shortened(f"{mark}({total} {term})"),
            self._terms[first:],
            "0",
        )

    def groups(self, size: int) -> str:
        total = self._start or "0"
        for at in range(self.count // size):
            group = self.add_in_turn(self._terms[at * size :][:size])
            total = self.add(total, group)
        return total

    def before(self, end: int, one: str, other: str) -> str:
        return shortened(f"[{one} below {end}, {other}]")


class Counted(Trees):
    """Sums with too many terms to write: only their numbers are."""

    def chain(self, first: int = 0, *, fused: bool = False) -> str:
        return f"{self.count} from {first}"

    def grouped(self, size: int) -> Summing[str]:
        found = Counted([], self.last, None)
        found.count = self.count // size
        return found


PANELS = {
    f"panels of {chains} in {period}": Order(of_panels(chains, period))
    for chains, period in ((1, 1), (2, 8), (4, 4), (4, 8))
}
STARTED = {
    **{f"rows {name}": order for name, order in ROW_ORDERS.items()},
    **{f"windows {name}": order for name, order in WINDOW_ORDERS.items()},
}
ALL = {
    **STARTED,
    **{f"elements {name}": order for name, order in ELEMENT_ORDERS.items()},
    **PANELS,
    "vectors of Eigen": Order(of_vectors),
}
LAST = (1, 2, 3, 4, 5, 6, 7, 8, 32, 35)
COUNTS = (1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17, 23, 31, 32, 33, 40, 65, 259)


def lines() -> Iterator[str]:
    """Short trees as they are, long ones by their digests."""
    for name, order in ALL.items():
        about = f"fused {order.fused}, loops {order.loops!r}, aligned {order.aligned}"
        yield f"{name}: {about}, squares {order.squares}"
        if order.build is None:
            continue
        for count in COUNTS:
            trees: dict[str, list[str]] = {}
            terms = [str(place) for place in range(count)]
            for last in (
                LAST
                if "eights" in name or "teens" in name or "columns" in name
                else (1, 7)
            ):
                for start in (None, "s") if name in STARTED else (None,):
                    for first in range(min(4, count + 1) if "packets" in name else 1):
                        sums = Trees(terms, last, start)
                        sums.first, sums.columns = first, min(3, count)
                        case = f"{last}{start or ''}{first}"
                        trees.setdefault(order.build(sums), []).append(case)
            whole = str(trees)
            shown = whole if count in (5, 9) and len(trees) < 4 else digest(whole)
            yield f"  {count}: {shown}"


def test_trees(request: pytest.FixtureRequest) -> None:
    """Any change of an order, which would be a change of some system's arithmetic."""
    found = "\n".join(lines()) + "\n"
    if request.config.getoption("--bless"):
        RECORDED.write_text(found)
    assert found == RECORDED.read_text()


def test_orders_by_name() -> None:
    assert {**ROW_ORDERS, **WINDOW_ORDERS} == ORDERS
    assert all(
        order.build or order.fused or not order.aligned > 1 for order in ALL.values()
    )


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (16, "1 from 0"),
        (17, "(17 from 16 1 from 0)"),
        (4096, "1 from 0"),
        (1 << 19, "128 from 0"),
        ((1 << 20) - 32, "((32767 from 32736 1023 from 992) 31 from 0)"),
        (1 << 20, "32 from 0"),
        ((1 << 20) + 1, "(1048577 from 1048576 32 from 0)"),
        (3 << 23, "96 from 0"),
    ],
)
def test_cascades_of_many_terms(count: int, expected: str) -> None:
    """Steps grow from 2^20 terms on."""
    sums = Counted([], 4, None)
    sums.count = count
    build = ELEMENT_ORDERS["cascaded_columns"].build
    assert build is not None
    assert build(sums) == expected
