"""Orders in which the terms of a sum of real numbers are added, each stated once.

An order is a chain over all terms, or a function of `Summing`, which has two readings:
the interpreter's, on arrays, and the lowering's, which makes loop nests. Terms are
products of two numbers, or numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

T = TypeVar("T")


class Summing(ABC, Generic[T]):
    """Sums of `count` terms, one sum for each element of a result.

    `block` is the number of terms that `fused_blocks` has in a block, and `columns`
    those in a row of a window. `last` is the size of the innermost loop over the result
    that has more than one iteration. `first` is the first term at an aligned address.
    """

    count: int
    block: int
    last: int
    first: int = 0
    columns: int = 1

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
        """Return a term, rounded, by its number in the sum."""

    @abstractmethod
    def fused(self, place: int, total: T) -> T:
        """Return a sum to which a product is added by an FMA."""

    @abstractmethod
    def chains(self, first: int, count: int, size: int) -> Sequence[T]:
        """Return sums of `size` products each, from number `first` on: chains of FMAs
        that start from 0."""

    @abstractmethod
    def every(
        self, count: int, build: Callable[[Summing[T]], T], among: range | None = None
    ) -> Sequence[T]:
        """Return sums that are built of every `count`-th term `among` these numbers (by
        default all), as far as all have equally many."""

    @abstractmethod
    def grouped(self, size: int) -> Summing[T]:
        """Return the sums of the whole groups of `size` terms, added in turn from 0."""

    @abstractmethod
    def chain(self, first: int = 0, *, fused: bool = False) -> T:
        """Return the sum of all terms from number `first` on, added in turn from 0."""

    def lanes(
        self, count: int, among: range | None = None, *, fused: bool = False
    ) -> Sequence[T]:
        """Return sums from 0, each of every `count`-th term `among` these numbers, as
        far as all have equally many."""
        return self.every(count, lambda terms: terms.chain(fused=fused), among)

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
    lanes = _all_lanes(sums, 8)
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


def _packets(sums: Summing[T]) -> T:
    """Eigen/src/Core/Redux.h, `redux_impl`, packets of four: whole packets from the
    first aligned number on, two in turn, then their lanes, then what is before and
    after them."""
    packets = max(sums.count - sums.first, 0) // 4
    if not packets:
        return sums.add_in_turn([sums.term(place) for place in range(sums.count)])
    end = sums.first + packets * 4
    aligned = range(sums.first, sums.count)
    found = list(sums.lanes(8, aligned)) if packets > 1 else []
    lanes: list[T] = []
    for lane in range(4):
        parts = found[lane::4]
        if packets % 2:
            parts.append(sums.term(end - 4 + lane))
        lanes.append(sums.add_in_turn(parts))
    single = [*range(sums.first), *range(end, sums.count)]
    return sums.add_in_turn([_halved(sums, lanes), *map(sums.term, single)])


def _halved(sums: Summing[T], lanes: Sequence[T]) -> T:
    """The sum of a power of 2 of lanes: those half of them apart are added, and so
    on."""
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [sums.add(lanes[at], lanes[at + half]) for at in range(half)]
    (total,) = lanes
    return total


def _sixteens(sums: Summing[T]) -> T:
    """onnxruntime/core/mlas/lib/x86_64/TransKernelAvx512F.S: sixteen lanes; those
    eight apart are added, then neighbours."""
    lanes = _all_lanes(sums, 16)
    lanes = [sums.add(lanes[at + 8], lanes[at]) for at in range(8)]
    while len(lanes) > 1:
        lanes = [sums.add(*lanes[at : at + 2]) for at in range(0, len(lanes), 2)]
    (total,) = lanes
    return total


def _vectors(sums: Summing[T]) -> T:
    """aten/src/ATen/cpu/vec/functional_base.h, reduce_all with AVX-512: sixteen lanes;
    those half of them apart are added until one is left. Fewer terms in turn."""
    if sums.count < 16:
        return sums.add_in_turn([sums.term(place) for place in range(sums.count)])
    return _halved(sums, _all_lanes(sums, 16))


def _all_lanes(sums: Summing[T], count: int) -> list[T]:
    """Lanes; the first ones have one more term where not all have equally many."""
    whole = sums.count - sums.count % count
    found = list(sums.lanes(count)) if whole else []
    lanes: list[T] = []
    for lane in range(count):
        parts = found[lane : lane + 1]
        if whole + lane < sums.count:
            parts.append(sums.term(whole + lane))
        lanes.append(sums.add_in_turn(parts) if parts else sums.zero())
    return lanes


def _fused_lanes(sums: Summing[T]) -> T:
    """onnxruntime/core/mlas/lib/layernorm.cpp in the wheel for x86-64: eight lanes of
    FMAs. Where four terms or more fill no vector, the first four are rounded before
    they are added."""
    whole = sums.count - sums.count % 8
    total = _halved(sums, sums.lanes(8, fused=True)) if whole else sums.zero()
    rounded = whole + 4 if sums.count - whole >= 4 else whole
    for place in range(whole, rounded):
        total = sums.add(total, sums.term(place))
    for place in range(rounded, sums.count):
        total = sums.fused(place, total)
    return total


def _fused_sixteens(sums: Summing[T]) -> T:
    """onnxruntime/core/mlas/lib/sqnbitgemm_kernel_avx_common_fp32.h: sixteen lanes of
    FMAs. Four results are computed at a time, whose lanes are added four by four; those
    at the end of the innermost loop, which fill no four, one by one."""
    whole = sums.count - sums.count % 16
    lanes = list(sums.lanes(16, fused=True)) if whole else [sums.zero()] * 16
    for place in range(whole, sums.count):
        lanes[place - whole] = sums.fused(place, lanes[place - whole])
    end = sums.last - sums.last % 4
    alone = _halved(sums, lanes)
    if not end:
        return _ended(sums, alone)
    fours = [sums.add_in_turn(lanes[at : at + 4]) for at in range(0, 16, 4)]
    total = _halved(sums, fours)
    both = total if end == sums.last else sums.before(end, total, alone)
    return _ended(sums, both)


def _columns_first(sums: Summing[T]) -> T:
    """onnxruntime/core/mlas/lib/pooling.cpp, steps of 1 and 2: the rows of a window are
    added column by column, then their sums."""
    total = sums.zero()
    for column in range(sums.columns):
        part = sums.zero()
        for place in range(column, sums.count, sums.columns):
            part = sums.add(part, sums.term(place))
        total = sums.add(total, part)
    return total


WAYS = 4
"""Rows that ATen adds together (`nrows`), or parts of one (`ilp_factor`)."""

LEVELS, LEAST_POWER = 4, 4
"""Levels of one of ATen's cascades, and the logarithm of its least step."""


def _cascade(sums: Summing[T]) -> T:
    """aten/src/ATen/native/cpu/SumKernel.cpp, `multi_row_sum`: terms are added 16 in
    turn (more from 2^20 on), these sums again, and so on. Terms that fill no step of a
    level stay there, and are added to the levels above it at the end."""
    step = 1 << max(LEAST_POWER, (sums.count - 1).bit_length() // LEVELS)
    left: list[T] = []
    for level in range(LEVELS):
        groups = sums.count // step if level < LEVELS - 1 else 0
        if groups * step < sums.count:
            left.append(sums.chain(groups * step))
        if not groups:
            break
        sums = sums.grouped(step)
    return sums.add_in_turn(left)


def _in_parts(sums: Summing[T]) -> T:
    """`row_sum`: four cascades, each of every fourth term; the terms that are left over
    are added to the first."""
    whole = sums.count - sums.count % WAYS
    parts = list(sums.every(WAYS, _cascade)) if whole else []
    left = [sums.term(place) for place in range(whole, sums.count)]
    return sums.add_in_turn([*parts[:1], *left, *parts[1:]])


def _cascaded_rows(sums: Summing[T]) -> T:
    """`vectorized_inner_sum`, `scalar_inner_sum`: vectors of eight, as PyTorch
    has no form for AVX-512, then the remaining terms, then the vectors' lanes."""
    if sums.count < 8:
        return _in_parts(sums)
    whole = sums.count - sums.count % 8
    left = [sums.term(place) for place in range(whole, sums.count)]
    if whole < 8 * WAYS:
        lanes = [
            sums.add_in_turn([sums.term(place) for place in range(lane, whole, 8)])
            for lane in range(8)
        ]
    else:
        lanes = sums.every(8, _in_parts)
    return sums.add_in_turn([*left, *lanes])


def _cascaded_columns(sums: Summing[T]) -> T:
    """`vectorized_outer_sum`, `scalar_outer_sum`: one cascade, but for the columns that
    fill no group."""
    group = WAYS * 8 if sums.last >= 8 else WAYS
    grouped = sums.last - sums.last % group
    if grouped == sums.last:
        return _cascade(sums)
    rest = _in_parts(sums)
    return sums.before(grouped, _cascade(sums), rest) if grouped else rest


Build: TypeAlias = Callable[[Summing[Any]], Any]
"""From a `Summing` to its sum, of the same kind as all numbers of it."""


@dataclass(frozen=True, slots=True)
class Order:
    """A chain over all terms, fused or not, unless there is `build`. `loops` are a
    window's, outermost first; "" leaves them as they are stated. Where rows lie counts
    in units of `aligned` terms: 1 if it doesn't matter. With `squares` terms are the
    products of numbers with themselves."""

    build: Build | None = None
    fused: bool = False
    loops: str = ""
    aligned: int = 1
    squares: bool = False


ROW_ORDERS: Mapping[str, Order] = {
    "sequential": Order(),
    "fused": Order(fused=True),
    "lanes": Order(_lanes),
    "fused_blocks": Order(_fused_blocks),
    "fours": Order(_fours),
    "eights": Order(_eights),
    "fused_sixteens": Order(_fused_sixteens),
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

ELEMENT_ORDERS: Mapping[str, Order] = {
    "sequential": Order(),
    "columns_first": Order(_columns_first),
    "lanes": Order(_lanes),
    "fours": Order(_fours),
    "packets": Order(_packets, aligned=4),
    "aligned_packets": Order(_packets),
    "sixteens": Order(_sixteens),
    "vectors": Order(_vectors),
    "squares_in_fused_lanes": Order(_fused_lanes, squares=True),
    "cascaded_rows": Order(_cascaded_rows),
    "cascaded_columns": Order(_cascaded_columns),
}
"""Orders of the elements of a row, of a window, or along some dimensions."""

ORDERS: Mapping[str, Order] = {**ROW_ORDERS, **WINDOW_ORDERS}
