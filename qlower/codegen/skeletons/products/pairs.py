"""Products of 16-bit numbers, two of them summed into each i32 lane."""

from __future__ import annotations

from collections.abc import Sequence

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import (
    I64,
    POINTER,
    Type,
    Value,
    constant,
    vector_constant,
)
from qlower.codegen.skeletons.products.step import (
    Activations,
    Integers,
    StepCost,
    SummingStep,
    load_word,
)
from qlower.codegen.skeletons.products.word_products import WordProducts

_EVEN_THEN_ODD = [0, 2, 1, 3]


class PairedProducts(WordProducts):
    """An instruction that sums two products into each i32 lane."""

    def order(self, xs: int, ws: int) -> list[tuple[int, int]]:
        order = super().order(xs, ws)
        # few registers: the more numerous factors are in use the more briefly
        return sorted(order, key=lambda pair: pair[1]) if xs <= ws else order

    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        for a, b in zip(x, w, strict=True):
            products = f.call(self.dot.intrinsic, total.type, (a, b))
            total = f.binary("add", total, products)
        return total


class Pairs(PairedProducts, SummingStep):
    """Pairs of bytes.

    The two factors have the even bytes of a run's chunks, and the odd ones: activations
    are shifted and masked, which more units can do than move bytes about.
    """

    factors = 2
    # four instructions a product, two to make an activation of what was loaded
    cost = StepCost(load=0.5, weight=0.3, tile=30.0, part=4.0)

    def reads_again(self, length: int) -> bool:
        return length >= self.depth

    def positions(self, length: int) -> Integers:
        return super().positions(length)[:, _EVEN_THEN_ODD]

    def products(self, size: int, before: int) -> int:
        if self.reads_again(before + size):
            return self.depth
        return 2 * size - size // 3 - 1

    def ones(self, size: int, before: int) -> list[Value]:
        at_end = self.reads_again(before + size)
        last = self.depth - 1
        pattern = [int((last - i if at_end else i) < size) for i in _EVEN_THEN_ODD]
        return [
            vector_constant("i16", pattern[first : first + 2] * self.lanes)
            for first in range(0, 2 * self.used(self.products(size, before)), 2)
        ]

    def registers(self, rows: int, summed: int, loads: int) -> int:
        return rows * summed + 2 * min(rows, summed) - 2

    def broadcast(
        self, f: Function, address: Value, size: int, signed: bool
    ) -> list[Value]:
        words = f.splat(load_word(f, address, size), self.lanes)
        pairs = f.bitcast(words, Type("i16", 2 * self.lanes))
        byte = constant(pairs.type, 8)
        if signed:
            even = f.binary("ashr", f.binary("shl", pairs, byte), byte)
            odd = f.binary("ashr", pairs, byte)
        else:
            even = f.binary("and", pairs, constant(pairs.type, 0xFF))
            odd = f.binary("lshr", pairs, byte)
        return [even, odd][: min(size, 2)]

    def interleave(
        self, f: Function, taps: Sequence[Value], signed: bool
    ) -> list[Value]:
        a, b, c, d = (*taps, *[taps[-1]] * (self.depth - len(taps)))
        return [
            f.cast("sext" if signed else "zext", f.interleave(*pair), "i16")
            for pair in ((a, b), (c, d))[: self.used(len(taps))]
        ]


class LoadedPairs(PairedProducts, SummingStep):
    """Pairs of bytes that a load widens, eight at a time: one instruction then puts a
    pair into all lanes."""

    depth = 2
    run_length = 8
    factors = 1
    weights_are_joined = True
    # a product is two instructions
    cost = StepCost(load=2.5, weight=0.3, fixed=0.3, tile=30.0, part=4.0)

    def reads_again(self, length: int) -> bool:
        return length >= self.depth

    def products(self, size: int, before: int) -> int:
        return self.depth if self.reads_again(before + size) else size

    def ones(self, size: int, before: int) -> list[Value]:
        is_cut = size < self.depth and self.reads_again(before + size)
        pattern = [int(not is_cut), int(is_cut or size == self.depth)]
        return [vector_constant("i16", pattern * self.lanes)]

    def activation_loads(self, size: int) -> int:
        whole, rest = divmod(size, self.run_length)
        return whole + rest.bit_count()

    def registers(self, rows: int, summed: int, loads: int) -> int:
        # activations as they were loaded, and pairs of them
        return rows * summed + rows + 1

    def broadcast(
        self, f: Function, address: Value, size: int, signed: bool
    ) -> list[Value]:
        """The pairs of `size` activations, a power of two, each in all lanes."""
        loaded = f.load(Type("i8", size), address, 1)
        if size < self.run_length:
            word = f.bitcast(loaded, Type(f"i{8 * size}"))
            count = self.run_length // size
            loaded = f.bitcast(f.splat(word, count), Type("i8", self.run_length))
        wide = f.cast("sext" if signed else "zext", loaded, "i16")
        pairs = f.bitcast(wide, Type("i32", self.run_length // 2))
        return [
            f.bitcast(
                f.shuffle(pairs, [pair] * self.lanes), Type("i16", 2 * self.lanes)
            )
            for pair in range(-(-size // 2))
        ]

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        return [address]

    def ready(self, f: Function, weights: list[Value]) -> list[Value]:
        (weight,) = weights
        if weight.type != POINTER:
            return weights
        # no earlier: registers are few, and LLVM leaves loads where they are
        return self.load_factors(f, weight, 0, 1)

    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        n = self.vector_lanes
        sums: list[Value] = []
        for first in range(0, self.lanes, n):
            part = f.shuffle(total, range(first, first + n))
            a, b = (
                [f.shuffle(factor, range(2 * first, 2 * (first + n)))]
                for (factor,) in (x, w)
            )
            # LLVM would sum up one total after the other, and hold factors until then
            sums.append(f.in_turn(super().multiply(f, part, a, b)))
        return f.concatenate_all(sums)

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        found: list[Value] = []
        at = 0
        for size in (8, 4, 2, 1):
            if part.size - at < size:
                continue
            if size == 1 and self.reads_again(part.before + part.size):
                at, size = at - 1, 2
            place = f.at(part.address, constant(I64, at))
            found += self.broadcast(f, place, size, part.signed)
            at += size
        return [[pair] for pair in found]

    def interleave(
        self, f: Function, taps: Sequence[Value], signed: bool
    ) -> list[Value]:
        extension = "sext" if signed else "zext"
        wide = [f.cast(extension, tap, "i16") for tap in (taps[0], taps[-1])]
        return [f.interleave(*wide)]


class PairedWords(PairedProducts):
    """Pairs of activations of 16 bits, as they lie in memory."""

    depth = 2
    run_length = 2
    factors = 1
    cost = StepCost(shared=1.0, latency=10.0, late=0.25, tile=30.0, part=8.0)

    def broadcast(
        self, f: Function, address: Value, size: int, signed: bool
    ) -> list[Value]:
        loaded = f.load(Type(f"i{16 * size}"), address, 2)
        words = f.splat(f.cast("zext", loaded, "i32"), self.lanes)
        return [f.bitcast(words, Type("i16", 2 * self.lanes))]

    def interleave(
        self, f: Function, taps: Sequence[Value], signed: bool
    ) -> list[Value]:
        if len(taps) == 1:
            words = f.cast("zext", taps[0], "i32")
            return [f.bitcast(words, Type("i16", 2 * self.lanes))]
        return [f.interleave(*taps)]
