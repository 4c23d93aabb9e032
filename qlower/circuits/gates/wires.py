"""Lists of gates, whose wires carry integers between proved ends.

Wires are numbered in the order in which they are made, and arrays of wires are arrays
of their numbers. There are constants, sums, products, shifts to the right by constants,
which round down, and tables. All else is made of these: `below`, `larger`, `wrapped`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qlower.interp.values import Poison

Wires = NDArray[np.int64]
"""Numbers of wires, of any shape."""

KINDS = ("constant", "input", "add", "multiply", "shift", "table")

MOST_WIRES = 1 << 27
"""More than these don't fit into the memory of a desk."""

_LARGEST = 2.0**63 - 2.0**12
"""A larger number, known to 53 bits, may need more than 63 bits and a sign."""


@dataclass(frozen=True)
class Group:
    """Gates of one kind that make consecutive wires; `a` and `b` are as in the file."""

    kind: str
    layer: str
    a: NDArray[np.int32]
    b: NDArray[np.int32]


class Gates:
    """A list of gates that grows; `layer` is what they are for."""

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.values: list[int] = []
        """Constants and entries of tables."""
        self.layer = ""
        self.count = 0
        self._low = np.zeros(1 << 16, np.int64)
        self._high = np.zeros(1 << 16, np.int64)
        self._known: dict[int, int] = {}
        self._tables: dict[tuple[int, ...], int] = {}

    def ends(self, wires: Wires) -> tuple[Wires, Wires]:
        """The least and the greatest number of each wire."""
        return self._low[wires], self._high[wires]

    def all_ends(self) -> tuple[Wires, Wires]:
        """The least and greatest numbers of all wires, in order."""
        return self._low[: self.count], self._high[: self.count]

    def constants(self, numbers: object) -> Wires:
        """Wires of constants, one for each number that there is."""
        found = np.asarray(numbers).astype(np.int64)
        unique, places = np.unique(found, return_inverse=True)
        new = [one for one in unique.tolist() if one not in self._known]
        if new:
            at = np.arange(len(new)) + len(self.values)
            self.values += new
            ends = np.array(new, np.int64)
            wires = self._new("constant", at, np.zeros_like(at), ends, ends)
            self._known.update(zip(new, wires.tolist(), strict=True))
        wires = np.array([self._known[one] for one in unique.tolist()], np.int64)
        return wires[places].reshape(found.shape)

    def numbers(self, wires: Wires) -> Wires | None:
        """The numbers that wires carry, if they never change."""
        low, high = self.ends(wires)
        return low if np.array_equal(low, high) else None

    def inputs(self, shape: Sequence[int], low: int, high: int) -> Wires:
        """The elements of an input, in row-major order."""
        zeros = np.zeros(shape, np.int64)
        return self._new("input", zeros, zeros, zeros + low, zeros + high)

    def add(self, a: Wires, b: Wires) -> Wires:
        low, high = self.ends(a)
        other_low, other_high = self.ends(b)
        if not other_low.any() and not other_high.any():
            return np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape))
        estimates = [1.0 * low + other_low, 1.0 * high + other_high]
        return self._made("add", a, b, low + other_low, high + other_high, estimates)

    def multiply(self, a: Wires, b: Wires) -> Wires:
        ends, other = self.ends(a), self.ends(b)
        if (other[0] == 1).all() and (other[1] == 1).all():
            return np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape))
        corners = [x * y for x in ends for y in other]
        estimates = [1.0 * x * y for x in ends for y in other]
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
        return self._made("multiply", a, b, low, high, estimates)

    def shift(self, a: Wires, amounts: object) -> Wires:
        """floor(a / 2^amounts); `amounts` are integers in [0, 62]."""
        by = np.asarray(amounts, np.int64)
        if not by.any():
            return np.broadcast_to(a, np.broadcast_shapes(a.shape, by.shape))
        low, high = self.ends(a)
        return self._made("shift", a, by, low >> by, high >> by, [])

    def table(self, a: Wires, entries: Sequence[int]) -> Wires:
        """The entry that each wire chooses; `Poison` if it may choose none."""
        low, high = self.ends(a)
        if low.min() < 0 or high.max() >= len(entries):
            raise Poison(
                f"looks up {low.min()} to {high.max()} in a table of {len(entries)}"
            )
        numbers = self.numbers(a)
        listed = np.array(entries, np.int64)
        if numbers is not None:
            return self.constants(listed[numbers])
        key = tuple(entries)
        if key not in self._tables:
            self._tables[key] = len(self.values)
            self.values += entries
        places = np.full(a.shape, self._tables[key])
        used = listed[low.min() : high.max() + 1]
        ends = np.full(a.shape, used.min()), np.full(a.shape, used.max())
        return self._new("table", a, places, *ends)

    def bounded(self, wires: Wires, low: object, high: object) -> Wires:
        """The wires, which are known to carry nothing outside these ends."""
        flat = wires.reshape(-1)
        ends = (np.broadcast_to(np.asarray(x), wires.shape) for x in (low, high))
        least, most = (one.reshape(-1) for one in ends)
        self._low[flat] = np.maximum(self._low[flat], least)
        self._high[flat] = np.minimum(self._high[flat], most)
        return wires

    # What is made of these.

    def negative(self, a: Wires) -> Wires:
        return self.multiply(a, self.constants(-1))

    def subtract(self, a: Wires, b: Wires) -> Wires:
        return self.add(a, self.negative(b))

    def scaled(self, a: Wires, numbers: object) -> Wires:
        return self.multiply(a, self.constants(numbers))

    def raised(self, a: Wires, numbers: object) -> Wires:
        return self.add(a, self.constants(numbers))

    def sign(self, a: Wires) -> Wires:
        """-1 below 0, else 0."""
        low, high = self.ends(a)
        if low.min() >= 0 or high.max() < 0:
            return np.broadcast_to(self.constants(-int(high.max() < 0)), a.shape)
        return self.shift(a, max(int(high.max()), ~int(low.min())).bit_length())

    def below(self, a: Wires, b: Wires) -> Wires:
        """1 if a < b, else 0."""
        return self.negative(self.sign(self.subtract(a, b)))

    def inverted(self, a: Wires) -> Wires:
        """1 - a."""
        return self.raised(self.negative(a), 1)

    def positive(self, a: Wires) -> Wires:
        """a, or 0 where it is less."""
        low, high = self.ends(a)
        if low.min() >= 0:
            return a
        found = self.multiply(a, self.raised(self.sign(a), 1))
        return self.bounded(found, np.maximum(low, 0), np.maximum(high, 0))

    def larger(self, a: Wires, b: Wires) -> Wires:
        (low, high), (other_low, other_high) = self.ends(a), self.ends(b)
        if (low >= other_high).all():
            return np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape))
        found = self.add(self.positive(self.subtract(a, b)), b)
        ends = np.maximum(low, other_low), np.maximum(high, other_high)
        return self.bounded(found, *ends)

    def smaller(self, a: Wires, b: Wires) -> Wires:
        (low, high), (other_low, other_high) = self.ends(a), self.ends(b)
        if (high <= other_low).all():
            return np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape))
        found = self.subtract(b, self.positive(self.subtract(b, a)))
        ends = np.minimum(low, other_low), np.minimum(high, other_high)
        return self.bounded(found, *ends)

    def chosen(self, condition: Wires, a: Wires, b: Wires) -> Wires:
        """a where the condition is 1, b where it is 0."""
        found = self.add(self.multiply(condition, self.subtract(a, b)), b)
        (low, high), (other_low, other_high) = self.ends(a), self.ends(b)
        ends = np.minimum(low, other_low), np.maximum(high, other_high)
        return self.bounded(found, *ends)

    def magnitude(self, a: Wires) -> Wires:
        low, high = self.ends(a)
        found = self.multiply(a, self.raised(self.scaled(self.sign(a), 2), 1))
        most = np.maximum(np.abs(low), np.abs(high))
        return self.bounded(found, np.maximum(low, -high).clip(0), most)

    def remainder(self, a: Wires, bits: int) -> Wires:
        """a modulo 2^bits."""
        low, high = self.ends(a)
        if low.min() >= 0 and high.max() < 1 << bits:
            return a
        found = self.add(a, self.scaled(self.shift(a, bits), -(1 << bits)))
        return self.bounded(found, 0, (1 << bits) - 1)

    def wrapped(self, a: Wires, bits: int) -> Wires:
        """The low bits, as a signed number."""
        low, high = self.ends(a)
        half = 1 << (bits - 1)
        if low.min() >= -half and high.max() < half:
            return a
        if bits > 62:
            raise Poison("may wrap in 64 bits, which gates don't")
        return self.raised(self.remainder(self.raised(a, half), bits), -half)

    def _made(
        self,
        kind: str,
        a: Wires,
        b: Wires,
        low: Wires,
        high: Wires,
        estimates: Sequence[NDArray[np.float64]],
    ) -> Wires:
        if any(abs(one).max(initial=0) > _LARGEST for one in estimates):
            raise Poison("may have a result of more than 63 bits")
        if np.array_equal(low, high):
            return self.constants(low)
        return self._new(kind, a, b, low, high)

    def _new(self, kind: str, a: Wires, b: Wires, low: Wires, high: Wires) -> Wires:
        shape = np.broadcast_shapes(a.shape, b.shape)
        first, size = self.count, int(np.prod(shape))
        self.count += size
        if self.count > MOST_WIRES:
            raise Poison(f"needs more than {MOST_WIRES:,} wires")
        if self.count > len(self._low):
            room = max(self.count, 2 * len(self._low)) - len(self._low)
            self._low = np.concatenate([self._low, np.zeros(room, np.int64)])
            self._high = np.concatenate([self._high, np.zeros(room, np.int64)])
        for kept, ends in ((self._low, low), (self._high, high)):
            kept[first : self.count] = np.broadcast_to(ends, shape).reshape(-1)
        given = (np.broadcast_to(x, shape).reshape(-1).astype(np.int32) for x in (a, b))
        self.groups.append(Group(kind, self.layer, *given))
        return np.arange(first, self.count, dtype=np.int64).reshape(shape)
