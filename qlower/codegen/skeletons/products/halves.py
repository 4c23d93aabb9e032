"""Two products at a time of 16-bit halves of words, without vector registers.

The even and the odd bytes of a word are the halves of two: what extends them is one
instruction, and so is the sum of two products with an accumulator. Activations of 16
bits are halves as they lie in memory. Two weights of 4 bits are what is left of a
shifted word under a mask, which is one instruction too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I32, I64, Type, Value, constant
from qlower.codegen.skeletons.products.step import (
    WORD_BYTES,
    Activations,
    DotStep,
    Integers,
    StepCost,
    SummingStep,
    load_word,
)
from qlower.codegen.skeletons.products.word_products import WordWeights
from qlower.codegen.targets.resolve import Halves, Target


@dataclass(frozen=True)
class HalvesStep(DotStep):
    """`halves` are the instructions, in one lane; `dot` is that of singles."""

    halves: Halves = field(kw_only=True)

    # a chunk's products are two instructions, what is loaded takes three, the loop two
    cost = StepCost(load=1.5, weight=1.5, fixed=1.0, tile=30.0, part=4.0)

    def registers(self, rows: int, summed: int, loads: int) -> int:
        # a pixel's sums and halves, and a channel's halves, are in use at once; two
        # pixels by two channels are what LLVM finds registers for
        return rows * (summed + self.depth // 2) + summed - 1

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


class ByteActivations(HalvesStep, SummingStep):
    """Activations that are bytes, loaded by words as one chunk."""

    def ones(self, size: int, before: int) -> list[Value]:
        return [
            constant(I32, int(number > half) | int(number > half + 2) << 16)
            for number in _by_words(size)
            for half in range(min(number, 2))
        ]

    def activation_loads(self, size: int) -> int:
        return len(_by_words(size))

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        chunk: list[Value] = []
        for index, number in enumerate(_by_words(part.size)):
            address = f.at(part.address, constant(I64, WORD_BYTES * index))
            word = load_word(f, address, number)
            chunk += self.split(f, word, number, signed=part.signed)
        return [chunk]


@dataclass(frozen=True)
class ByteWeights(HalvesStep, WordWeights):
    """Weights that are extended as activations are, or that lie as halves."""

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        if self.extends:
            return self.split(f, f.load(I32, address, 4), size, signed=True)
        return [
            f.load(I32, f.at(address, constant(I64, 4 * word)), 4)
            for word in range(min(size, 2))
        ]


class HalvesOfBytes(ByteWeights, ByteActivations):
    """Bytes times bytes."""

    def pack(self, weights: Integers) -> bytes:
        """Bytes as they are, or the even ones of four numbers before the odd ones."""
        if self.extends:
            return weights.astype(np.int8).tobytes()
        return weights[..., [0, 2, 1, 3]].astype(np.int16).tobytes()


class HalvesOfNibbles(ByteActivations):
    """Bytes times weights of 4 bits, eight in a word.

    Weights lie as what they exceed the least such number by, so that no sign needs an
    instruction.
    """

    depth = 8
    run_length = 8
    weight_range = (0, 15)
    weight_bits = 4

    _ORDER = (0, 1, 4, 5, 2, 3, 6, 7)
    """The weights of a chunk, from the lowest bits of the word on: each is beside the
    next but one, as halves of activations are, 16 bits above it."""

    @property
    def chunk_bytes(self) -> int:
        return WORD_BYTES * self.lanes

    def pack(self, weights: Integers) -> bytes:
        placed = weights[..., self._ORDER].astype(np.uint32)
        places = 4 * np.arange(self.depth, dtype=np.uint32)
        return np.bitwise_or.reduce(placed << places, axis=-1).tobytes()

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        word = f.load(I32, address, 4)
        # LLVM doesn't see through the instruction: a mask that it knows would be part
        # of another one, which can't shift too
        mask = f.call(self.halves.extend_unsigned, I32, (constant(I32, 0x000F000F),))
        pairs = sum(min(number, 2) for number in _by_words(size))
        return [
            f.binary("and", f.binary("lshr", word, constant(I32, 4 * pair)), mask)
            for pair in range(pairs)
        ]


class StoredHalves(ByteWeights):
    """Activations of 16 bits. Weights that are bytes lie so that even ones are the
    first two of four."""

    def pack(self, weights: Integers) -> bytes:
        if self.extends:
            return weights[..., [0, 2, 1, 3]].astype(np.int8).tobytes()
        return weights.astype(np.int16).tobytes()

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        return super().load_weights(f, address, -(-size // 2))

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        """Up to four numbers, as one chunk; a single last one is paired with 0."""
        halves: list[Value] = []
        for first in range(0, part.size, 2):
            type = Type(f"i{16 * min(part.size - first, 2)}")
            loaded = f.load(type, f.at(part.address, constant(I64, 2 * first)), 2)
            halves.append(f.cast("zext", loaded, "i32"))
        return [halves]


def _by_words(size: int) -> list[int]:
    """The number of bytes in each word of `size` bytes."""
    return [min(WORD_BYTES, size - first) for first in range(0, size, WORD_BYTES)]


def halves_step(
    target: Target, scalar: str, *, signed: bool, nibbles: bool
) -> HalvesStep:
    """The step that multiplies activations of that type and signedness on a target that
    has such instructions; `nibbles` says that all weights have 4 bits."""
    assert target.halves is not None
    if scalar == "i16":
        step = StoredHalves
    else:
        step = HalvesOfNibbles if nibbles else HalvesOfBytes
    return step(1, 1, target.dot(scalar, signed=signed), halves=target.halves)
