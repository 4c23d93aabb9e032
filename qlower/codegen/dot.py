"""The dot-product step: four bytes of x times four weights, summed into i32 lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qlower.codegen.llvm import (
    I8,
    I32,
    Function,
    Type,
    Value,
    constant,
    vector_constant,
)
from qlower.codegen.target import Dot, DotKind, Target

Integers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True)
class DotStep:
    """How a target multiplies and accumulates; `lanes` i32 sums in a vector.

    A chunk is four weights for each lane, `chunk_bytes` in all.
    """

    dot: Dot
    lanes: int

    @property
    def _bytes(self) -> bool:
        return self.dot.kind is DotKind.BYTES

    @property
    def chunk_bytes(self) -> int:
        return self.lanes * (4 if self._bytes else 8)

    @property
    def weight_range(self) -> tuple[int, int]:
        """What a packed weight can be."""
        return (-128, 127) if self._bytes else (-(1 << 15), (1 << 15) - 1)

    def activation_bias(self, signed: bool) -> int:
        """What the loaded activation exceeds the stored one by."""
        return 128 if self._bytes and signed else 0

    def pack(self, weights: Integers) -> bytes:
        """Bytes of weights [..., lane, 4], all within `weight_range`."""
        if self._bytes:
            return weights.astype(np.int8).tobytes()
        # two vectors of pairs: the first two products of all lanes, then the others
        pairs = weights.reshape(*weights.shape[:-1], 2, 2)
        return np.moveaxis(pairs, -2, -3).astype(np.int16).tobytes()

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        """The factors of a chunk, `size` of whose four products are not zero."""
        if self._bytes:
            return [f.load(Type("i8", 4 * self.lanes), address, 4 * self.lanes)]
        pair = Type("i16", 2 * self.lanes)
        bytes_ = 4 * self.lanes
        return [
            f.load(pair, f.at(address, constant(Type("i64"), half * bytes_)), bytes_)
            for half in range(1 if size <= 2 else 2)
        ]

    def ones(self, size: int) -> list[Value]:
        """Weights that give the sum of `size` activations."""
        pattern = [int(i < size) for i in range(4)]
        if self._bytes:
            return [vector_constant("i8", pattern * self.lanes)]
        halves = (pattern[:2], pattern[2:])[: 1 if size <= 2 else 2]
        return [vector_constant("i16", half * self.lanes) for half in halves]

    def load_activation(
        self, f: Function, address: Value, size: int, signed: bool
    ) -> list[Value]:
        """`size` bytes, in all lanes, in the form that the weights have.

        Reads no byte more than that.
        """
        word = _load_word(f, address, size)
        if self._bytes:
            if signed:
                # LLVM 22 hangs when it lowers what it makes of a vector xor here
                word = f.binary("xor", word, constant(I32, 0x80808080))
            lanes = f.splat(word, self.lanes)
            return [f.bitcast(lanes, Type("i8", 4 * self.lanes))]
        wide = f.cast(
            "sext" if signed else "zext", f.bitcast(word, Type("i8", 4)), "i16"
        )
        return [
            f.shuffle(wide, [2 * half, 2 * half + 1] * self.lanes)
            for half in range(1 if size <= 2 else 2)
        ]

    def interleave(
        self, f: Function, taps: Sequence[Value], signed: bool
    ) -> list[Value]:
        """One to four vectors of a byte a lane, in the form that the weights have.

        The products of what stands in for a missing tap have the weight 0.
        """
        size = len(taps)
        a, b, c, d = (*taps, *[taps[-1]] * (4 - size))
        if self._bytes:
            joined = f.concatenate(f.concatenate(a, b), f.concatenate(c, d))
            order = [
                tap * self.lanes + i for i in range(self.lanes) for tap in range(4)
            ]
            bytes_ = f.shuffle(joined, order)
            if signed:
                bytes_ = f.binary("xor", bytes_, constant(bytes_.type, -128))
            return [bytes_]
        n = self.lanes
        order = [tap * n + lane for lane in range(n) for tap in range(2)]
        return [
            f.cast(
                "sext" if signed else "zext",
                f.shuffle(f.concatenate(*pair), order),
                "i16",
            )
            for pair in ((a, b), (c, d))[: 1 if size <= 2 else 2]
        ]

    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        """`total` plus the products."""
        if self._bytes:
            return f.call(self.dot.intrinsic, total.type, (total, x[0], w[0]))
        for a, b in zip(x, w, strict=True):
            products = f.call(self.dot.intrinsic, total.type, (a, b))
            total = f.binary("add", total, products)
        return total


def dot_step(target: Target) -> DotStep:
    return DotStep(target.dot, target.vector_bits // 32)


def _load_word(f: Function, address: Value, size: int) -> Value:
    """`size` bytes, little-endian, the rest zero."""
    if size == 4:
        return f.load(I32, address, 1)
    word = f.cast("zext", f.load(I8, address, 1), "i32")
    for index in range(1, size):
        byte = f.load(I8, f.at(address, constant(Type("i64"), index)), 1)
        shifted = f.binary("shl", f.cast("zext", byte, "i32"), constant(I32, 8 * index))
        word = f.binary("or", word, shifted)
    return word
