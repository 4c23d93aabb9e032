"""Products of 16-bit numbers, one at a time; `pairs` has those of pairs.

Activations are bytes that are widened, or lie in memory as such numbers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import (
    I64,
    Type,
    Value,
    constant,
    vector_constant,
)
from qlower.codegen.skeletons.products.step import (
    WORD_BYTES,
    Activations,
    DotStep,
    Integers,
    SelectingStep,
    StepCost,
    SummingStep,
    VectorStep,
    cut_start,
    load_word,
)

_PLACES = np.arange(0, 16, 4, dtype="<u2")
"""Bits below each of four numbers of 4."""


@dataclass(frozen=True)
class WordWeights(DotStep):
    """Weights as i16; with `extends` they lie in memory as bytes.

    Bytes take an instruction more to load, and half of the memory.
    """

    extends: bool = False

    weight_range = (-(1 << 15), (1 << 15) - 1)

    def holding(self, weights: Integers) -> Self:
        is_small = weights.min() >= -128 and weights.max() <= 127
        limit = self.dot.widens_beyond
        is_large = limit is not None and 2 * weights.size > limit
        return replace(self, extends=is_small and is_large)

    @property
    def chunk_bytes(self) -> int:
        return self.lanes * self.depth * (1 if self.extends else 2)


class WordProducts(WordWeights, VectorStep):
    """Products of vectors of i16.

    A chunk's weights are in `factors` vectors: the first products of all lanes, then
    the next ones.
    """

    factors: ClassVar[int]

    @property
    def width(self) -> int:
        """Numbers in a factor."""
        return self.depth * self.lanes // self.factors

    def used(self, size: int) -> int:
        """The factors that hold the first `size` products."""
        return -(-size * self.factors // self.depth)

    def pack(self, weights: Integers) -> bytes:
        factors = weights.reshape(*weights.shape[:-1], self.factors, -1)
        type = np.int8 if self.extends else np.int16
        return np.moveaxis(factors, -2, -3).astype(type).tobytes()

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        return [
            factor
            for first in range(self.used(size))
            for factor in self.load_factors(f, address, first, 1)
        ]

    def load_factors(
        self, f: Function, address: Value, first: int, count: int
    ) -> list[Value]:
        """`count` factors of a chunk by one load."""
        width = self.width
        type = Type("i8" if self.extends else "i16", count * width)
        size = type.bits // 8
        at = f.at(address, constant(I64, size * first * width))
        loaded = f.cast("sext", f.load(type, at, size * count * width), "i16")
        return [
            f.shuffle(loaded, range(part * width, (part + 1) * width))
            for part in range(count)
        ]

    @abstractmethod
    def broadcast(
        self, f: Function, address: Value, size: int, signed: bool
    ) -> list[Value]:
        """`size` <= `depth` activations in all lanes, as factors."""

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        start = cut_start(self, part)
        at = f.at(part.address, constant(I64, start))
        return [self.broadcast(f, at, part.size - start, part.signed)]


@dataclass(frozen=True)
class Singles(WordProducts, SummingStep):
    """One product is added to each i32 lane; LLVM finds the instruction.

    Activations lie in memory as `scalar`, i8 or i16.
    """

    scalar: str = "i8"

    factors = 4
    cost = StepCost(shared=1.0, latency=10.0, late=0.25, tile=30.0, part=4.0)

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        # where a factor is half a register, two are loaded together
        together = 2 if self.width == 4 else 1
        found: list[Value] = []
        for first in range(0, size, together):
            count = min(together, size - first)
            found += self.load_factors(f, address, first, count)
        return found

    def ones(self, size: int, before: int) -> list[Value]:
        return [vector_constant("i16", [1] * self.lanes) for _ in range(size)]

    def broadcast(
        self, f: Function, address: Value, size: int, signed: bool
    ) -> list[Value]:
        if self.scalar == "i8":
            bytes_ = f.bitcast(load_word(f, address, size), Type("i8", WORD_BYTES))
            wide = f.cast("sext" if signed else "zext", bytes_, "i16")
        elif size == self.depth:
            wide = self.load_numbers(f, address, size, signed)
        else:
            return self.load_each(f, address, size, signed)
        return [f.shuffle(wide, [tap] * self.lanes) for tap in range(size)]

    def load_numbers(
        self, f: Function, address: Value, size: int, signed: bool
    ) -> Value:
        """`size` activations as i16."""
        type = Type(self.scalar, size)
        loaded = f.load(type, address, type.bits // 8)
        return f.cast("sext" if signed else "zext", loaded, "i16")

    def load_each(
        self, f: Function, address: Value, size: int, signed: bool
    ) -> list[Value]:
        """`size` activations in all lanes, loaded one by one."""
        places = [f.scale(constant(I64, at), self.number_bytes) for at in range(size)]
        return [
            f.splat(self.load_numbers(f, f.at(address, place), 1, signed), self.lanes)
            for place in places
        ]

    @property
    def number_bytes(self) -> int:
        """Bytes of an activation in memory."""
        return Type(self.scalar).bits // 8

    def interleave(
        self, f: Function, taps: Sequence[Value], signed: bool
    ) -> list[Value]:
        return [f.cast("sext" if signed else "zext", tap, "i16") for tap in taps]

    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        for a, b in zip(x, w, strict=True):
            factors = f.cast("sext", a, "i32"), f.cast("sext", b, "i32")
            total = f.binary("add", total, f.binary("mul", *factors))
        return total


class LoadedSingles(Singles):
    """Products with bytes that a load widens, a vector at a time."""

    weight_range = (-128, 127)

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        return [self.load_factors(f, address, tap, 1)[0] for tap in range(size)]


class Scalars(Singles):
    """Products of single numbers, without vectors: they are loaded one by one."""

    def broadcast(
        self, f: Function, address: Value, size: int, signed: bool
    ) -> list[Value]:
        return self.load_each(f, address, size, signed)


class SplatScalars(Scalars):
    """Vectors of weights times single activations, which the instruction takes from
    general registers. Weights that are bytes take another instruction to widen."""

    # in instructions: of the end of a loop, and of what a tile and its results take
    cost = StepCost(load=4.0, weight=8.0, fixed=2.0, tile=20.0, part=12.0)

    def registers(self, rows: int, summed: int, loads: int) -> int:
        # activations take none
        return rows * summed - 2


class NarrowScalars(Scalars):
    """Products of single numbers with weights of 4 bits, four in 16: each is what two
    shifts leave, which are one instruction."""

    weight_range = (-8, 7)
    weight_bits = 4

    @property
    def chunk_bytes(self) -> int:
        return 2

    def pack(self, weights: Integers) -> bytes:
        numbers = weights.astype("<u2") & 15
        return np.bitwise_or.reduce(numbers << _PLACES, axis=-1).tobytes()

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        loaded = f.cast("zext", f.load(Type("i16"), address, 2), "i32")
        found: list[Value] = []
        for place in _PLACES[:size]:
            upper = f.binary("shl", loaded, constant(loaded.type, 28 - int(place)))
            found.append(f.binary("ashr", upper, constant(loaded.type, 28)))
        return found


class SelectedSingles(SelectingStep, Singles):
    """Eight activations are loaded together; the instruction selects one of them."""

    run_length = 8

    def activation_loads(self, size: int) -> int:
        whole, rest = divmod(size, self.run_length)
        return whole + rest // WORD_BYTES + rest % WORD_BYTES

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        address, size, signed = part.address, part.size, part.signed
        if size == self.run_length:
            wide = self.load_numbers(f, address, size, signed)
            return [
                [f.shuffle(wide, [at + tap] * self.lanes) for tap in range(WORD_BYTES)]
                for at in range(0, size, WORD_BYTES)
            ]
        return [
            self.broadcast(
                f,
                f.at(address, constant(I64, at * self.number_bytes)),
                min(WORD_BYTES, size - at),
                signed,
            )
            for at in range(0, size, WORD_BYTES)
        ]
