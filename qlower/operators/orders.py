"""Orders in which the products of a sum of real numbers are added, each stated once.

An order is a chain over all products, or a function of `Summing`, which has two
readings: the interpreter's, on arrays, and the lowering's, which makes loop nests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

T = TypeVar("T")


class Summing(ABC, Generic[T]):
    """Sums of `count` products, one sum for each element of a result.

    `block` is the number of products that `fused_blocks` has in a block. `last` is the
    size of the innermost loop over the result that has more than one iteration.
    """

    count: int
    block: int
    last: int

    @abstractmethod
    def start(self) -> T | None:
        """Return the number that each sum starts from; None for 0."""

    @abstractmethod
    def zero(self) -> T:
        """Return 0."""

    @abstractmethod
    def add(self, one: T, other: T) -> T:
        """Return a rounded sum."""

    @abstractmethod
    def term(self, place: int) -> T:
        """Return a product, rounded, by its number in the sum."""

    @abstractmethod
    def chains(self, first: int, count: int, size: int) -> Sequence[T]:
        """Return sums of `size` products each, from number `first` on: chains of FMAs
        that start from 0."""

    @abstractmethod
    def lanes(self, count: int) -> Sequence[T]:
        """Return sums from 0, each of every `count`-th product, as far as all have
        equally many."""

    @abstractmethod
    def groups(self, size: int) -> T:
        """Return the sum, from the start, of all whole groups of `size` products: those
        of a group are added in turn, then the sum so far to them."""

    @abstractmethod
    def before(self, end: int, one: T, other: T) -> T:
        """Return `one` where the index of the innermost loop is below `end`, `other`
        elsewhere."""

    def add_in_turn(self, numbers: Sequence[T]) -> T:
        """Return `F(F(a + b) + c) ...`."""
        total, *others = numbers
        for number in others:
            total = self.add(total, number)
        return total


def _lanes(sums: Summing[T]) -> T:
    """Eigen/src/Core/products/GeneralMatrixVector.h, packets of four: four lanes are
    added crosswise, then the products that fill no packet and the start."""
    whole = sums.count // 4 * 4
    total = sums.zero()
    if whole:
        a, b, c, d = sums.lanes(4)
        total = sums.add(sums.add(a, c), sums.add(b, d))
    for place in range(whole, sums.count):
        total = sums.add(total, sums.term(place))
    return _ended(sums, total)


def _ended(sums: Summing[T], total: T) -> T:
    """A sum to which the start is added last."""
    start = sums.start()
    return total if start is None else sums.add(total, start)


def _started(sums: Summing[T]) -> T:
    start = sums.start()
    return sums.zero() if start is None else start


def _fused_blocks(sums: Summing[T]) -> T:
    """onnxruntime/core/mlas/lib/sgemm.cpp: chains of FMAs from 0, which are added to
    the start one after the other."""
    whole, rest = divmod(sums.count, sums.block)
    parts = list(sums.chains(0, whole, sums.block)) if whole else []
    if rest:
        parts += sums.chains(whole * sums.block, 1, rest)
    return sums.add_in_turn([_started(sums), *parts])


def _fours(sums: Summing[T]) -> T:
    """x86_64/SgemmKernelM1Avx.S: four products are added, then the sum so far to them;
    of the products behind them two, then one."""
    whole = sums.count - sums.count % 4
    total = sums.groups(4) if whole else _started(sums)
    for count in (2, 1):
        if sums.count - whole >= count:
            group = [sums.term(place) for place in range(whole, whole + count)]
            total = sums.add(total, sums.add_in_turn(group))
            whole += count
    return total


def _eights(sums: Summing[T]) -> T:
    """x86_64/SgemmKernelM1TransposeBAvx.S: eight lanes. How they are added depends on
    the position along the innermost loop: four results are computed at a time, and two
    or one at its end."""
    whole = sums.count - sums.count % 8
    found = list(sums.lanes(8)) if whole else []
    lanes: list[T] = []
    for lane in range(8):
        parts = found[lane : lane + 1]
        if whole + lane < sums.count:
            parts.append(sums.term(whole + lane))
        lanes.append(sums.add_in_turn(parts) if parts else sums.zero())
    ends = {4: sums.last - sums.last % 4, 2: sums.last - sums.last % 2, 1: sums.last}
    total: T | None = None
    for count in (1, 2, 4):
        if ends[count] == ends.get(2 * count, 0):
            continue
        added = _add_eight(sums, lanes, count)
        if total is not None:
            added = sums.before(ends[count], added, total)
        total = added
    assert total is not None, "the innermost loop has an iteration"
    return _ended(sums, total)


def _add_eight(sums: Summing[T], lanes: Sequence[T], results: int) -> T:
    """The sum of eight lanes, where that number of results is computed at a time."""
    halves = lanes[:4], lanes[4:]
    if results == 4:
        pairs = [sums.add_in_turn(half) for half in halves]
    elif results == 2:
        pairs = [
            sums.add_in_turn([sums.add(half[i], half[i + 2]) for half in halves])
            for i in (0, 1)
        ]
    else:
        pairs = [sums.add(sums.add(*half[:2]), sums.add(*half[2:])) for half in halves]
    return sums.add_in_turn(pairs)


Build: TypeAlias = Callable[[Summing[Any]], Any]
"""From a `Summing` to its sum, of the same kind as all numbers of it."""


@dataclass(frozen=True, slots=True)
class Order:
    """A chain over all products, fused or not, unless there is `build`. `loops` are a
    window's, outermost first; "" leaves them as they are stated."""

    build: Build | None = None
    fused: bool = False
    loops: str = ""


ROW_ORDERS: Mapping[str, Order] = {
    "sequential": Order(),
    "fused": Order(fused=True),
    "lanes": Order(_lanes),
    "fused_blocks": Order(_fused_blocks),
    "fours": Order(_fours),
    "eights": Order(_eights),
}
"""Orders of the products of two rows."""

PLANES = "cij"

WINDOW_ORDERS: Mapping[str, Order] = {
    "sequential": Order(),
    "fused": Order(fused=True),
    "fused_columns": Order(fused=True, loops="jic"),
    "fused_blocks_planes": Order(_fused_blocks, loops=PLANES),
    "fours_planes": Order(_fours, loops=PLANES),
    "eights_planes": Order(_eights, loops=PLANES),
}
"""Orders of the products of what a window sees: row by row, column by column or, as in
images that have one plane a channel, channel by channel."""

ORDERS: Mapping[str, Order] = {**ROW_ORDERS, **WINDOW_ORDERS}
