"""Four products of bytes summed into each i32 lane by one instruction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I32, I64, Type, Value, constant, vector_constant
from qlower.codegen.skeletons.products.step import (
    WORD_BYTES,
    Activations,
    Integers,
    SelectingStep,
    StepCost,
    SummingStep,
    VectorStep,
    cut_start,
    load_word,
)
from qlower.codegen.targets.resolve import DotKind

_HALF = 8
"""Bytes of half a vector register, from which lanes are selected too."""


class ByteProducts(VectorStep, SummingStep):
    """Products of unsigned with signed bytes, or of signed with signed."""

    @property
    def chunk_bytes(self) -> int:
        return self.lanes * WORD_BYTES

    def flips(self, signed: bool) -> bool:
        """Whether activations change their sign bit, to be what the dot takes."""
        wanted = DotKind.UNSIGNED_BYTES if signed else DotKind.SIGNED_BYTES
        return self.dot.kind is wanted

    def flipped(self, f: Function, bytes_: Value, signed: bool) -> Value:
        """Bytes of activations as the dot takes them."""
        if not self.flips(signed):
            return bytes_
        return f.binary("xor", bytes_, constant(bytes_.type, -128))

    def activation_bias(self, signed: bool) -> int:
        return (128 if signed else -128) if self.flips(signed) else 0

    def reads_again(self, length: int) -> bool:
        return length >= self.depth

    def pack(self, weights: Integers) -> bytes:
        return weights.astype(np.int8).tobytes()

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        return [f.load(self.bytes_of_chunk, address, self.chunk_bytes)]

    @property
    def bytes_of_chunk(self) -> Type:
        """The vector of a chunk's weights, and of the activations with which it is
        multiplied."""
        return Type("i8", WORD_BYTES * self.lanes)

    def ones(self, size: int, before: int) -> list[Value]:
        at_end = self.reads_again(before + size)
        pattern = [
            int((WORD_BYTES - 1 - i if at_end else i) < size) for i in range(WORD_BYTES)
        ]
        return [vector_constant("i8", pattern * self.lanes)]

    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        # signed bytes commute; LLVM looks for a selected lane in the second factor
        is_signed = self.dot.kind is DotKind.SIGNED_BYTES
        factors = (w[0], x[0]) if is_signed else (x[0], w[0])
        n = self.vector_lanes
        sums = [
            f.call(
                self.dot.intrinsic,
                Type("i32", n),
                (
                    f.shuffle(total, range(first, first + n)),
                    *(f.shuffle(a, range(4 * first, 4 * (first + n))) for a in factors),
                ),
            )
            for first in range(0, self.lanes, n)
        ]
        return f.concatenate_all(sums)


class BroadcastBytes(ByteProducts):
    """Four activations are loaded into all lanes, for machines with an instruction for
    that."""

    cost = StepCost(shared=1.0, latency=10.0, late=0.25, tile=30.0, part=4.0)

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        start = cut_start(self, part)
        at = f.at(part.address, constant(I64, start))
        return [[self.broadcast(f, at, part.size - start, part.signed)]]

    def broadcast(self, f: Function, address: Value, size: int, signed: bool) -> Value:
        """`size` <= 4 bytes in all lanes."""
        word = load_word(f, address, min(WORD_BYTES, size))
        if self.flips(signed):
            # LLVM 22 hangs when it lowers what it makes of a vector xor here
            word = f.binary("xor", word, constant(I32, 0x80808080))
        return f.bitcast(f.splat(word, self.lanes), self.bytes_of_chunk)

    def interleave(
        self, f: Function, taps: Sequence[Value], signed: bool
    ) -> list[Value]:
        a, b, c, d = (*taps, *[taps[-1]] * (WORD_BYTES - len(taps)))
        n = self.lanes
        order = [tap * n + i for i in range(n) for tap in range(WORD_BYTES)]
        joined = f.shuffle_both(f.concatenate(a, b), f.concatenate(c, d), order)
        return [self.flipped(f, joined, signed)]


class SelectedBytes(SelectingStep, BroadcastBytes):
    """16 activations are loaded together; the instruction selects four of them."""

    run_length = 16

    def activation_loads(self, size: int) -> int:
        whole, rest = divmod(size, self.run_length)
        half, rest = divmod(rest, _HALF)
        return whole + half + rest // WORD_BYTES + (rest % WORD_BYTES > 0)

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        address, size, signed = part.address, part.size, part.signed
        if size == self.run_length:
            return self._selected(f, f.load(Type("i8", size), address, 1), signed)
        first = 0
        found: list[list[Value]] = []
        if size >= _HALF:
            found = self._selected(f, f.load(Type("i8", _HALF), address, 1), signed)
            first = _HALF
        for at in range(first, size, WORD_BYTES):
            is_cut = at + WORD_BYTES > size and self.reads_again(part.before + size)
            start = size - WORD_BYTES if is_cut else at
            if start - WORD_BYTES >= -part.before:
                # the second half of eight bytes: no instruction to broadcast it
                early = f.at(address, constant(I64, start - WORD_BYTES))
                both = f.load(Type("i8", _HALF), early, 1)
                found.append(self._selected(f, both, signed)[1])
            else:
                word = f.at(address, constant(I64, start))
                found.append([self.broadcast(f, word, size - start, signed)])
        return found

    def _selected(self, f: Function, loaded: Value, signed: bool) -> list[list[Value]]:
        """Each four bytes of a vector in all lanes."""
        chunks = range(loaded.type.lanes // WORD_BYTES)
        flipped = self.flipped(f, loaded, signed)
        words = f.bitcast(flipped, Type("i32", len(chunks)))
        return [
            [f.bitcast(f.shuffle(words, [chunk] * self.lanes), self.bytes_of_chunk)]
            for chunk in chunks
        ]

    def interleave(
        self, f: Function, taps: Sequence[Value], signed: bool
    ) -> list[Value]:
        a, b, c, d = (*taps, *[taps[-1]] * (WORD_BYTES - len(taps)))
        words = [
            f.bitcast(f.interleave(*pair), Type("i16", self.lanes))
            for pair in ((a, b), (c, d))
        ]
        bytes_ = f.bitcast(f.interleave(*words), self.bytes_of_chunk)
        return [self.flipped(f, bytes_, signed)]
