"""Sums of real numbers in a given order, on arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from qlower.operators.orders import Order, Summing

from .math import fma
from .values import Array


class ArraySums(Summing[Array]):
    """Sums of terms, each of which is one factor or the product of two.

    Factors have the dimensions of the result, then the loops of the sum, of these
    sizes; sums start from an array of the result's shape, or 0.
    """

    def __init__(
        self,
        factors: Sequence[Array],
        depth: Sequence[int],
        start: Array | None = None,
    ) -> None:
        self._factors, self._depth, self._start = factors, tuple(depth), start
        self._result: tuple[int, ...] = factors[0].shape[: -len(depth)]
        self.count = self.block = math.prod(depth)
        self.last = next((size for size in reversed(self._result) if size > 1), 1)

    def ordered(self, order: Order) -> Array:
        """Return the sums in this order; rows are one behind the other in memory."""
        if order.build is None:
            return self._chained(self._started(), 0, order.fused)
        total: Array | None = None
        rows = np.arange(math.prod(self._result)).reshape(self._result)
        firsts = -rows * self.count % order.aligned
        for first in np.unique(firsts).tolist():
            self.first = first
            found = order.build(self)
            total = found if total is None else np.where(firsts == first, found, total)
        assert total is not None, "a tensor has elements"
        return total

    def start(self) -> Array | None:
        return self._start

    def zero(self) -> Array:
        return np.zeros(self._result, self._factors[0].dtype)

    def add(self, one: Array, other: Array) -> Array:
        return np.asarray(np.add(one, other))

    def term(self, place: int) -> Array:
        return reduce(np.multiply, self._at(place))

    def fused(self, place: int, total: Array) -> Array:
        one, other = self._at(place)
        return np.asarray(fma(one, other, total))

    def chain(self, first: int = 0, *, fused: bool = False) -> Array:
        return self._chained(self.zero(), first, fused)

    def chains(self, first: int, count: int, size: int) -> Sequence[Array]:
        starts = range(first, first + count * size, size)
        return [self._part(range(s, s + size)).chain(fused=True) for s in starts]

    def every(
        self,
        count: int,
        build: Callable[[Summing[Array]], Array],
        among: range | None = None,
    ) -> Sequence[Array]:
        among = range(self.count) if among is None else among
        whole = among[: len(among) // count * count]
        return [build(self._part(whole[lane::count])) for lane in range(count)]

    def grouped(self, size: int) -> Summing[Array]:
        starts = range(0, self.count - self.count % size, size)
        sums = [self._part(range(s, s + size)).chain() for s in starts]
        return ArraySums([np.stack(sums, axis=-1)], [len(sums)])

    def groups(self, size: int) -> Array:
        total = self._started()
        for first in range(0, self.count - self.count % size, size):
            group = [self.term(place) for place in range(first, first + size)]
            total = self.add(self.add_in_turn(group), total)
        return total

    def before(self, end: int, one: Array, other: Array) -> Array:
        inner = max(
            (axis for axis, size in enumerate(self._result) if size > 1), default=0
        )
        index = np.arange(self._result[inner]).reshape(
            [-1 if axis == inner else 1 for axis in range(len(self._result))]
        )
        return np.where(index < end, one, other)

    def _started(self) -> Array:
        return self.zero() if self._start is None else self._start

    def _chained(self, total: Array, first: int, fused: bool) -> Array:
        for place in range(first, self.count):
            total = (
                self.fused(place, total) if fused else self.add(total, self.term(place))
            )
        return total

    def _part(self, places: range) -> ArraySums:
        """Sums from 0 of some of the terms."""
        index = np.unravel_index(np.array(places, np.intp), self._depth)
        return ArraySums(
            [factor[(..., *index)] for factor in self._factors], [len(places)]
        )

    def _at(self, place: int) -> Sequence[Array]:
        index = np.unravel_index(place, self._depth)
        return [factor[(..., *index)] for factor in self._factors]
