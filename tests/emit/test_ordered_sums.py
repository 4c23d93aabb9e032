"""Parts of ordered sums, on arrays and as loop nests, against one number at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import pytest
from support.layers.built import built
from xdsl.ir import SSAValue

from qlower.emit.ordered_sums import Factors, NestSums, sums_in
from qlower.interp.math import fma
from qlower.interp.ordered_sums import ArraySums
from qlower.model.nests import Emitter
from qlower.operators.orders import ORDERS, Summing
from qlower.operators.products import Operand, Products

Number: TypeAlias = Any
"""A float32 of numpy."""


@dataclass
class OneSum(Summing[Number]):
    """The sum of pairs of numbers for one element, whose index is `place`."""

    pairs: Sequence[tuple[Number, Number]]
    place: int
    first_of_all: Number | None = None

    def __post_init__(self) -> None:
        self.count = self.block = len(self.pairs)

    def start(self) -> Number | None:
        return self.first_of_all

    def zero(self) -> Number:
        return np.float32(0)

    def add(self, one: Number, other: Number) -> Number:
        return np.float32(one + other)

    def term(self, place: int) -> Number:
        one, other = self.pairs[place]
        return np.float32(one * other)

    def fused(self, place: int, total: Number) -> Number:
        return fma(*map(np.asarray, (*self.pairs[place], total)))[()]

    def chain(self, first: int = 0, *, fused: bool = False) -> Number:
        total = self.zero()
        for place in range(first, self.count):
            step = self.fused(place, total)
            total = step if fused else self.add(total, self.term(place))
        return total

    def chains(self, first: int, count: int, size: int) -> Sequence[Number]:
        pairs = (self.pairs[first + n * size :][:size] for n in range(count))
        return [OneSum(some, self.place).chain(fused=True) for some in pairs]

    def every(
        self,
        count: int,
        build: Callable[[Summing[Number]], Number],
        among: range | None = None,
    ) -> Sequence[Number]:
        pairs = [self.pairs[at] for at in among or range(self.count)]
        each = len(pairs) // count
        return [
            build(OneSum(pairs[lane::count][:each], self.place))
            for lane in range(count)
        ]

    def grouped(self, size: int) -> Summing[Number]:
        groups = range(self.count // size)
        sums = [OneSum(self.pairs[n * size :][:size], self.place) for n in groups]
        return OneSum([(one.chain(), np.float32(1)) for one in sums], self.place)

    def groups(self, size: int) -> Number:
        total = self.zero() if self.first_of_all is None else self.first_of_all
        for at in range(0, self.count // size * size, size):
            group = [self.term(at + n) for n in range(size)]
            total = self.add(reduce(self.add, group), total)
        return total

    def before(self, end: int, one: Number, other: Number) -> Number:
        return one if self.place < end else other


COUNT = 7
PARTS: dict[str, Callable[[Summing[Any]], Any]] = {
    "start": lambda sums: sums.start() if sums.start() is not None else sums.zero(),
    "zero": lambda sums: sums.add(sums.zero(), sums.term(0)),
    "first term": lambda sums: sums.term(0),
    "last term": lambda sums: sums.term(COUNT - 1),
    "fused": lambda sums: sums.fused(4, sums.term(1)),
    "chain from 1": lambda sums: sums.chain(1),
    "chain from 3, fused": lambda sums: sums.chain(3, fused=True),
    "first chain": lambda sums: sums.chains(1, 2, 3)[0],
    "last chain": lambda sums: sums.chains(1, 2, 3)[1],
    "chains of one": lambda sums: sums.add_in_turn(sums.chains(5, 1, 2)),
    "first lane": lambda sums: sums.every(3, lambda lane: lane.chain())[0],
    "last lane": lambda sums: sums.every(3, lambda lane: lane.chain(1))[2],
    "lanes of some": lambda sums: sums.lanes(2, range(2, 7))[1],
    "fused lanes": lambda sums: sums.lanes(2, range(1, 7), fused=True)[0],
    "lanes of lanes": lambda sums: sums.every(2, lambda one: one.lanes(3)[1])[1],
    "terms of lanes": lambda sums: sums.every(
        2, lambda one: one.add(one.term(2), one.term(1))
    )[1],
    "groups of 2 as terms": lambda sums: sums.grouped(2).chain(),
    "last of these": lambda sums: sums.grouped(3).term(1),
    "groups of groups": lambda sums: sums.grouped(2).grouped(2).chain(),
    "sum of groups of 3": lambda sums: sums.groups(3),
    "sum of groups of 2": lambda sums: sums.groups(2),
    "before 1": lambda sums: sums.before(1, sums.term(0), sums.term(1)),
    "before 2": lambda sums: sums.before(2, sums.term(0), sums.term(1)),
}
SHAPES = [(2, 3, 1), (1, 3, 2), (4, 1, 1), (1, 1, 1)]


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    """Whose products and sums are hardly ever exact."""
    return np.random.default_rng(17).standard_normal(shape).astype(np.float32)


def innermost(shape: Sequence[int], at: Sequence[int]) -> int:
    """The index along the last dimension of several elements."""
    return ([0] + [n for n, size in zip(at, shape, strict=True) if size > 1])[-1]


@pytest.mark.parts(6)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("has_start", [False, True])
def test_parts(shape: tuple[int, int, int], has_start: bool) -> None:
    """In each reading, bit by bit."""
    lhs, rhs = numbers(shape[0], COUNT), numbers(*shape[1:], COUNT) + 1
    start = numbers(*shape) * 2 if has_start else None
    loops = dict(zip("abc", shape, strict=True))
    products = Products(
        loops,
        {"s": COUNT},
        Operand(lhs.shape, ({"a": 1}, {"s": 1})),
        Operand(rhs.shape, ({"b": 1}, {"c": 1}, {"s": 1})),
        1,
    )

    def nests(emit: Emitter, *values: SSAValue) -> list[SSAValue]:
        factors = Factors(products, values[0], values[1])
        first = values[2] if has_start else None
        found: list[SSAValue] = []
        for part in PARTS.values():
            sums = NestSums(emit, factors, first)
            last = [1, *(size for size in shape if size > 1)][-1]
            assert (sums.count, sums.block, sums.last) == (COUNT, COUNT, last)
            found += sums.nest.build([part(sums)])
        return found

    from_nests, _ = built(nests, lhs, rhs, *([] if start is None else [start]))
    terms = [np.broadcast_to(lhs[:, None, None], (*shape, COUNT)), rhs[None]]
    for (name, part), nest in zip(PARTS.items(), from_nests, strict=True):
        sums = ArraySums(terms, [COUNT], start)
        array = np.broadcast_to(np.asarray(part(sums)), shape)
        expected = np.zeros(shape, np.float32)
        for a, b, c in np.ndindex(*shape):
            pairs = [*zip(lhs[a], rhs[b, c], strict=True)]
            first = None if start is None else start[a, b, c]
            place = innermost(shape, (a, b, c))
            expected[a, b, c] = part(OneSum(pairs, place, first))
        assert array.tolist() == expected.tolist(), name
        assert nest.tolist() == expected.tolist(), name
        assert array.dtype == nest.dtype == np.float32, name


@pytest.mark.parametrize("name", ORDERS)
def test_orders(name: str) -> None:
    """Of sums over two loops, whose windows lie otherwise."""
    lhs, rhs = numbers(3, 2, 5), numbers(4, 2, 5) + 1
    start = numbers(3, 4)
    products = Products(
        {"a": 3, "b": 4},
        {"s": 10},
        Operand((3, 10), ({"a": 1}, {"s": 1})),
        Operand((4, 10), ({"b": 1}, {"s": 1})),
        1,
    )

    def nest(emit: Emitter, one: SSAValue, other: SSAValue, first: SSAValue) -> Any:
        return sums_in(ORDERS[name], emit, Factors(products, one, other), first, 4)

    (found,), _ = built(nest, lhs, rhs, start)
    terms = [
        np.broadcast_to(lhs[:, None], (3, 4, 2, 5)),
        np.broadcast_to(rhs[None], (3, 4, 2, 5)),
    ]
    sums = ArraySums(terms, [2, 5], start)
    sums.block = 4
    assert sums.ordered(ORDERS[name]).tolist() == found.tolist()
