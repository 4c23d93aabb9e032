"""All products of two vectors added to one number: a sum needs no vector of its own.

A chunk is a vector of activations and one of weights, of one channel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I32, I64, Type, Value, constant, vector_constant
from qlower.codegen.skeletons.products.step import (
    Activations,
    Integers,
    StepCost,
    SummingStep,
)
from qlower.codegen.targets.resolve import Dot

_MOST_SUMS = 6
"""Sums in registers at a time: machines have eight that an instruction adds to, beside
those that point to activations and weights."""


@dataclass(frozen=True)
class WholeProducts(SummingStep):
    """Products of activations that lie in memory as `scalar`, i8 or i16, with bytes."""

    scalar: str = "i8"

    weights_are_joined = True
    # in instructions: a loop's end, and what a tile and its results take beside it
    cost = StepCost(load=1.0, weight=1.0, fixed=1.0, tile=12.0, part=2.0)

    @property
    def type(self) -> Type:
        """The vector that is multiplied."""
        return Type(self.scalar, self.depth)

    @property
    def chunk_bytes(self) -> int:
        return self.depth

    def activation_bias(self, signed: bool) -> int:
        return 0 if signed else -128

    def reads_again(self, length: int) -> bool:
        return length >= self.depth

    def pack(self, weights: Integers) -> bytes:
        return weights.astype(np.int8).tobytes()

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        loaded = f.load(Type("i8", self.depth), address, 1)
        return [f.cast("sext", loaded, self.scalar)]

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        size, bytes_ = part.size, self.type.bits // 8
        if size == self.depth or self.reads_again(part.before + size):
            start = constant(I64, (size - self.depth) * bytes_)
            loaded = f.load(self.type, f.at(part.address, start), bytes_)
        else:
            loaded = f.load_first(self.type, part.address, size, bytes_)
        if not part.signed:
            loaded = f.binary("xor", loaded, constant(self.type, -128))
        return [[loaded]]

    def ones(self, size: int, before: int) -> list[Value]:
        at_end, last = self.reads_again(before + size), self.depth - 1
        pattern = [int((last - i if at_end else i) < size) for i in range(self.depth)]
        return [vector_constant(self.scalar, pattern)]

    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        # signed, added, in order
        flags = [constant(I32, 0)] * 3
        name = f"{self.dot.intrinsic}.{self.type.mangled}"
        return f.call(name, I32, [*flags, total, *x, *w])

    def registers(self, rows: int, summed: int, loads: int) -> int:
        # of eight registers all but four are counted
        return rows * summed + 4 - _MOST_SUMS


class WholeBytes(WholeProducts):
    """16 bytes."""

    depth = 16
    run_length = 16


class WholeWords(WholeProducts):
    """8 numbers of 16 bits."""

    depth = 8
    run_length = 8


def whole_step(dot: Dot, scalar: str) -> WholeProducts:
    """The step that multiplies activations, i8 or i16 in memory."""
    step = WholeWords if scalar == "i16" else WholeBytes
    return step(1, 1, dot, scalar=scalar)
