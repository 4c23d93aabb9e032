"""Products with weights of 4 bits, two in a byte, by the steps that multiply bytes.

A chunk is two of such a step's. The weights of the first are the lower halves of bytes,
those of the second the upper ones: a mask and a shift give them as whole vectors. They
lie as what they exceed the least such number by, so that no sign needs an instruction;
the sums of activations, which that asks for, all channels share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Type, Value, constant
from qlower.codegen.skeletons.products.byte_products import (
    BroadcastBytes,
    SelectedBytes,
)
from qlower.codegen.skeletons.products.pairs import Pairs
from qlower.codegen.skeletons.products.step import (
    WORD_BYTES,
    Activations,
    Integers,
    StepCost,
    SummingStep,
    VectorStep,
)
from qlower.codegen.skeletons.products.word_products import SelectedSingles

_BITS = 4
_MASK = (1 << _BITS) - 1


@dataclass(frozen=True)
class Nibbles(SummingStep):
    """Chunks of `step` in pairs; each of them has `operands` factors."""

    step: SummingStep

    depth = 2 * WORD_BYTES
    run_length = 2 * WORD_BYTES
    weight_range = (0, _MASK)
    weight_bits = _BITS

    operands: ClassVar[int] = 1

    least_count: ClassVar[int] = 1 << 14
    """Fewer weights take as long in bytes, or less."""

    is_for_reads: ClassVar[bool] = True
    """Whether only what reads weights gets faster, not what multiplies them."""

    def pays(self, count: int, uses: int) -> bool:
        """Whether `count` weights, each used `uses` times, take no longer than
        bytes."""
        return count >= self.least_count and (uses == 1 or not self.is_for_reads)

    @property
    def chunk_bytes(self) -> int:
        return WORD_BYTES * self.lanes

    def activation_bias(self, signed: bool) -> int:
        return self.step.activation_bias(signed)

    def positions(self, length: int) -> Integers:
        found = self.step.positions(length)
        missing = np.full((len(found) % 2, WORD_BYTES), -1)
        return np.concatenate([found, missing]).reshape(-1, self.depth)

    def products(self, size: int, before: int) -> int:
        rest = size % WORD_BYTES
        whole = size - rest
        return whole + (self.step.products(rest, before + whole) if rest else 0)

    def ones(self, size: int, before: int) -> list[Value]:
        return [
            one
            for first in range(0, size, WORD_BYTES)
            for one in self.step.ones(min(WORD_BYTES, size - first), before + first)
        ]

    def registers(self, rows: int, summed: int, loads: int) -> int:
        return self.step.registers(rows, summed, loads) + summed

    def order(self, xs: int, ws: int) -> list[tuple[int, int]]:
        return self.step.order(xs, ws)

    def pack(self, weights: Integers) -> bytes:
        lower, upper = (
            np.frombuffer(self.step.pack(half), np.uint8)
            for half in np.split(weights, 2, axis=-1)
        )
        return (lower | upper << _BITS).tobytes()

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        loaded = f.load(Type("i8", self.chunk_bytes), address, self.chunk_bytes)
        halves = [f.binary("and", loaded, constant(loaded.type, _MASK))]
        if size > WORD_BYTES:
            halves.append(f.binary("lshr", loaded, constant(loaded.type, _BITS)))
        factors = [factor for half in halves for factor in self.factors_of(f, half)]
        return factors[: -(-size * self.operands // WORD_BYTES)]

    def factors_of(self, f: Function, weights: Value) -> list[Value]:
        """The factors of a chunk of `step`, of bytes that are its weights."""
        return [weights]

    def activation_loads(self, size: int) -> int:
        pieces = (self.step.activation_loads(number) for _, number in self._cut(size))
        return sum(pieces)

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        chunks: list[list[Value]] = []
        for first, size in self._cut(part.size):
            at = [f.at(address, constant(I64, first)) for address in part.addresses]
            before = part.before + first
            piece = replace(part, addresses=at, size=size, before=before)
            chunks += self.step.load_activations(f, piece)
        pairs = (chunks[first : first + 2] for first in range(0, len(chunks), 2))
        return [[factor for chunk in pair for factor in chunk] for pair in pairs]

    def _cut(self, size: int) -> list[tuple[int, int]]:
        """Beginning and size of the piece that `step` loads."""
        length = self.step.run_length
        return [(at, min(length, size - at)) for at in range(0, size, length)]

    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        for first in range(0, len(x), self.operands):
            last = first + self.operands
            total = self.step.multiply(f, total, x[first:last], w[first:last])
        return total


class BroadcastNibbles(Nibbles):
    """Nibbles for activations of 8 bits; four of these are loaded into all lanes."""

    cost = StepCost(weight=0.75, shared=1.0, latency=10.0, late=0.25, tile=15.0, part=2)


class SelectedNibbles(Nibbles):
    """Nibbles for activations as bytes that the instruction selects. Unpacking weights
    takes as long as their products: it pays where memory takes longer."""

    run_length = 16
    weights_are_joined = True
    least_count = 1 << 20
    cost = StepCost(load=0.3, weight=1.3, latency=8.0, fixed=0.5)


class SelectedSingleNibbles(Nibbles):
    """Nibbles, widened to words, for activations as words that the instruction
    selects."""

    operands = 4
    weights_are_joined = True
    is_for_reads = False
    cost = StepCost(load=0.6, weight=1.0, latency=8.0, fixed=0.5)

    def factors_of(self, f: Function, weights: Value) -> list[Value]:
        lanes = self.lanes
        parts = range(0, weights.type.lanes, 2 * lanes)
        bytes_ = [f.shuffle(weights, range(at, at + 2 * lanes)) for at in parts]
        return [
            f.shuffle(f.cast("zext", pair, "i16"), range(at, at + lanes))
            for pair in bytes_
            for at in (0, lanes)
        ]


class SummedNibbles(Nibbles):
    """Nibbles for an instruction that sums two products of bytes into 16 bits: these
    hold four products of weights of 4 bits, which halves the instructions on words."""

    is_for_reads = False
    cost = StepCost(weight=0.6, shared=0.4, latency=4.0, tile=6.0, part=1.0)

    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        words = Type("i16", 2 * self.lanes)
        assert self.dot.byte_pairs is not None  # `nibble_step` has asked
        pairs = [
            f.call(self.dot.byte_pairs, words, (weights, bytes_))
            for weights, bytes_ in zip(w, x, strict=True)
        ]
        summed = pairs[0] if len(pairs) == 1 else f.binary("add", *pairs)
        factors = summed, constant(words, 1)
        return f.binary("add", total, f.call(self.dot.intrinsic, total.type, factors))


class _SignedBytes(BroadcastBytes):
    """Activations as signed bytes."""

    def flips(self, signed: bool) -> bool:
        return not signed


def nibble_step(step: VectorStep) -> Nibbles | None:
    """The step for weights of 4 bits in place of `step`, if there is one."""
    common = step.lanes, step.vector_lanes, step.dot
    match step:
        case SelectedBytes():
            return SelectedNibbles(*common, step)
        case BroadcastBytes():
            return BroadcastNibbles(*common, step)
        case Pairs() if step.dot.byte_pairs is not None:
            return SummedNibbles(*common, _SignedBytes(*common))
        case SelectedSingles(scalar="i8"):
            return SelectedSingleNibbles(*common, replace(step, extends=True))
        case _:
            return None
