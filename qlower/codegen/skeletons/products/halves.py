"""Two products at a time of 16-bit halves of words, without vector registers.

The even and the odd bytes of a word are the halves of two: what extends them is one
instruction, and so is the sum of two products with an accumulator. Activations of 16
bits are halves as they lie in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I32, I64, Type, Value, constant
from qlower.codegen.skeletons.products.step import (
    Activations,
    Integers,
    StepCost,
    SummingStep,
    load_word,
)
from qlower.codegen.skeletons.products.word_products import WordWeights
from qlower.codegen.targets.resolve import Halves, Target


@dataclass(frozen=True)
class HalvesStep(WordWeights):
    """`halves` are the instructions, in one lane; `dot` is that of singles."""

    halves: Halves = field(kw_only=True)

    cost = StepCost(shared=1.0, latency=10.0, late=0.25, tile=30.0, part=4.0)

    def registers(self, rows: int, summed: int, loads: int) -> int:
        # a pixel's sums, halves and address, and the address of each channel's weights
        return rows * (summed + self.depth // 2 + 1) + summed - 2

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        if self.extends:
            return self.split(f, f.load(I32, address, 4), size, signed=True)
        return [
            f.load(I32, f.at(address, constant(I64, 4 * word)), 4)
            for word in range(min(size, 2))
        ]

    def split(
        self, f: Function, word: Value, size: int, *, signed: bool
    ) -> list[Value]:
        """The even bytes as halves, and the odd ones if any of them is meant."""
        extend = self.halves.extend_signed if signed else self.halves.extend_unsigned
        turned = f.call("llvm.fshr.i32", I32, (word, word, constant(I32, 8)))
        return [f.call(extend, I32, (part,)) for part in (word, turned)[: min(size, 2)]]

    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        for a, b in zip(x, w, strict=True):
            total = f.call(self.halves.multiply, I32, (a, b, total))
        return total


class HalvesOfBytes(HalvesStep, SummingStep):
    """Activations that are bytes."""

    def pack(self, weights: Integers) -> bytes:
        """Bytes as they are, or the even ones of four numbers before the odd ones."""
        if self.extends:
            return weights.astype(np.int8).tobytes()
        return weights[..., [0, 2, 1, 3]].astype(np.int16).tobytes()

    def ones(self, size: int, before: int) -> list[Value]:
        return [
            constant(I32, int(size > word) | int(size > word + 2) << 16)
            for word in range(min(size, 2))
        ]

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        """Up to four bytes, as one chunk."""
        word = load_word(f, part.address, part.size)
        return [self.split(f, word, part.size, signed=part.signed)]


class StoredHalves(HalvesStep):
    """Activations of 16 bits. Weights that are bytes lie so that even ones are the
    first two of four."""

    def pack(self, weights: Integers) -> bytes:
        if self.extends:
            return weights[..., [0, 2, 1, 3]].astype(np.int8).tobytes()
        return weights.astype(np.int16).tobytes()

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        return super().load_weights(f, address, -(-size // 2))

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        """Up to four numbers, as one chunk; a last one beside 0."""
        halves: list[Value] = []
        for first in range(0, part.size, 2):
            type = Type(f"i{16 * min(part.size - first, 2)}")
            loaded = f.load(type, f.at(part.address, constant(I64, 2 * first)), 2)
            halves.append(f.cast("zext", loaded, "i32"))
        return [halves]


def halves_step(target: Target, scalar: str, *, signed: bool) -> HalvesStep | None:
    """What multiplies activations of that type and signedness, if there is such a
    thing."""
    if target.halves is None:
        return None
    step = StoredHalves if scalar == "i16" else HalvesOfBytes
    return step(1, 1, target.dot(scalar, signed=signed), halves=target.halves)
