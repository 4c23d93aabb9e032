"""The dot-product step: four bytes of x times four weights, summed into i32 lanes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from qlower.codegen.llvm.text import (
    I8,
    I32,
    I64,
    Function,
    Type,
    Value,
    constant,
    vector_constant,
)
from qlower.codegen.targets.resolve import Dot, DotKind, Target

_EVEN_THEN_ODD = [0, 2, 1, 3]

Integers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True)
class DotStep:
    """How a target multiplies and accumulates; `lanes` i32 sums in a vector.

    A chunk is `depth` weights for each lane, `chunk_bytes` in all. `run_bytes`
    activations are loaded at once, `rows` of them. Of a product's time a load takes
    `load_cost`, and `join_cost` what else a row needs. The instruction has
    `vector_lanes`, of which `lanes` are a multiple. With `extends` weights lie in
    memory as bytes, but are multiplied as i16.
    """

    dot: Dot
    lanes: int
    vector_lanes: int
    extends: bool = False

    depth: ClassVar[int] = 4
    rows: ClassVar[int] = 1
    load_cost: ClassVar[float] = 0.6
    join_cost: ClassVar[float] = 0.0

    def holding(self, weights: Integers) -> DotStep:
        """The same for weights that may all be bytes, where that saves memory."""
        is_small = weights.min() >= -128 and weights.max() <= 127
        limit = self.dot.widens_beyond
        is_large = limit is not None and 2 * weights.size > limit
        return replace(self, extends=is_small and is_large)

    @property
    def _bytes(self) -> bool:
        return self.dot.kind.is_bytes

    @property
    def is_pairs(self) -> bool:
        """Whether a chunk's products are made of two vectors of pairs.

        Along a run these are the even bytes of its chunks, and the odd ones.
        """
        return self.dot.kind is DotKind.PAIRS

    @property
    def _factors(self) -> int:
        """Vectors that hold the factors of a chunk."""
        return {DotKind.PAIRS: 2, DotKind.SINGLES: 4}.get(self.dot.kind, 1)

    @property
    def chunk_bytes(self) -> int:
        return self.lanes * (4 if self._bytes or self.extends else 8)

    @property
    def selects_lane(self) -> bool:
        return self.dot.selects_lane

    @property
    def run_bytes(self) -> int:
        """Activations that are loaded at once."""
        if not self.selects_lane:
            return 4
        return 16 if self._bytes else 8

    @property
    def weight_range(self) -> tuple[int, int]:
        """What a packed weight can be."""
        return (-128, 127) if self._bytes else (-(1 << 15), (1 << 15) - 1)

    def _flips(self, signed: bool) -> bool:
        """Whether activations change their sign bit, to be what the dot takes."""
        wanted = DotKind.UNSIGNED_BYTES if signed else DotKind.SIGNED_BYTES
        return self.dot.kind is wanted

    def activation_bias(self, signed: bool) -> int:
        """What the loaded activation exceeds the stored one by."""
        return (128 if signed else -128) if self._flips(signed) else 0

    def pack(self, weights: Integers) -> bytes:
        """Bytes of weights [..., lane, 4], all within `weight_range`."""
        if self._bytes:
            return weights.astype(np.int8).tobytes()
        # factor after factor: the first products of all lanes, then the next ones
        factors = weights.reshape(*weights.shape[:-1], self._factors, -1)
        type = np.int8 if self.extends else np.int16
        return np.moveaxis(factors, -2, -3).astype(type).tobytes()

    def _used(self, size: int) -> int:
        """The factors that hold `size` products."""
        return -(-size * self._factors // 4)

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        """The factors of a chunk, `size` of whose four products are not zero."""
        if self._bytes:
            return [f.load(Type("i8", 4 * self.lanes), address, 4 * self.lanes)]
        width = 4 * self.lanes // self._factors
        used = self._used(size)
        # where a factor is half a register, two are loaded together
        together = 2 if self.dot.kind is DotKind.SINGLES and width == 4 else 1
        factors: list[Value] = []
        for first in range(0, used, together):
            count = min(together, used - first)
            type = Type("i8" if self.extends else "i16", count * width)
            size = type.bits // 8
            at = f.at(address, constant(I64, size * first * width))
            loaded = f.load(type, at, size * count * width)
            loaded = f.cast("sext", loaded, "i16")
            factors += [
                f.shuffle(loaded, range(part * width, (part + 1) * width))
                for part in range(count)
            ]
        return factors

    def positions(self, length: int) -> Integers:
        """Which byte of a run each product of its chunks takes, -1 for none: [chunk,
        depth]. The last chunk begins early if it must and may, to be loaded whole."""
        chunks = -(-length // self.depth)
        found = np.arange(chunks * self.depth)
        missing = chunks * self.depth - length
        if self.reads_again(length):
            found[-self.depth :] -= missing
            found[-self.depth :][:missing] = -1
        found[found >= length] = -1
        in_chunks = found.reshape(chunks, self.depth)
        return in_chunks[:, _EVEN_THEN_ODD] if self.is_pairs else in_chunks

    def reads_again(self, length: int) -> bool:
        """Whether the last chunk of a run may overlap the one before."""
        return (self._bytes or self.is_pairs) and length >= self.depth

    def products(self, size: int, before: int) -> int:
        """Of a chunk, up to the last that a run's `size` <= 4 bytes take part in.

        `before` bytes of the run lie before them.
        """
        if not self.is_pairs:
            return size
        return 4 if self.reads_again(before + size) else 2 * size - size // 3 - 1

    def ones(self, size: int, before: int) -> list[Value]:
        """Weights that give the sum of `size` activations, `before` others in."""
        at_end = self.reads_again(before + size)
        pattern = [int((3 - i if at_end else i) < size) for i in range(4)]
        if self.is_pairs:
            pattern = [pattern[i] for i in _EVEN_THEN_ODD]
            size = self.products(size, before)
        if self._bytes:
            return [vector_constant("i8", pattern * self.lanes)]
        each = 4 // self._factors
        return [
            vector_constant("i16", pattern[first : first + each] * self.lanes)
            for first in range(0, self._used(size) * each, each)
        ]

    def activation_loads(self, size: int) -> int:
        """How many loads `load_activations` needs for so many bytes of a run."""
        if not self.selects_lane:
            return -(-size // 4)
        whole, rest = divmod(size, self.run_bytes)
        pair, rest = divmod(rest, 8)
        return whole + pair + rest // 4 + (rest % 4 > 0 if self._bytes else rest % 4)

    def load_activations(
        self,
        f: Function,
        addresses: Sequence[Value],
        size: int,
        signed: bool,
        before: int = 0,
    ) -> list[list[Value]]:
        """`size` <= `run_bytes` bytes of the rows, for one chunk after the other.

        A chunk's are in all lanes, in the form that the weights have. `before` bytes of
        the run lie before these. No byte beyond the run is read.
        """
        (address,) = addresses
        if self.selects_lane and size == self.run_bytes:
            return self._select_lanes(f, f.load(Type("i8", size), address, 1), signed)
        first = 0
        found: list[list[Value]] = []
        if self.selects_lane and size >= 8:
            found = self._select_lanes(f, f.load(Type("i8", 8), address, 1), signed)
            first = 8
        for at in range(first, size, 4):
            is_cut = at + 4 > size and self.reads_again(before + size)
            start = size - 4 if is_cut else at
            if self._bytes and self.selects_lane and start - 4 >= -before:
                # the second half of eight bytes: no instruction to broadcast it
                both = f.load(Type("i8", 8), f.at(address, constant(I64, start - 4)), 1)
                found.append(self._select_lanes(f, both, signed)[1])
            else:
                word = f.at(address, constant(I64, start))
                found.append(self._broadcast(f, word, min(4, size - start), signed))
        return found

    def _select_lanes(
        self, f: Function, loaded: Value, signed: bool
    ) -> list[list[Value]]:
        """Each four bytes of a vector as a chunk's activations."""
        chunks = range(loaded.type.lanes // 4)
        if self._bytes:
            words = f.bitcast(
                self._flipped(f, loaded, signed), Type("i32", len(chunks))
            )
            type = Type("i8", 4 * self.lanes)
            return [
                [f.bitcast(f.shuffle(words, [chunk] * self.lanes), type)]
                for chunk in chunks
            ]
        wide = f.cast("sext" if signed else "zext", loaded, "i16")
        return [
            [f.shuffle(wide, [4 * chunk + tap] * self.lanes) for tap in range(4)]
            for chunk in chunks
        ]

    def _broadcast(
        self, f: Function, address: Value, size: int, signed: bool
    ) -> list[Value]:
        """Up to four bytes in all lanes."""
        extend = "sext" if signed else "zext"
        if self.lanes == 1:
            each_byte = [f.at(address, constant(I64, at)) for at in range(size)]
            return [f.cast(extend, f.load(I8, at, 1), "i16") for at in each_byte]
        word = load_word(f, address, size)
        if self._bytes:
            if self._flips(signed):
                # LLVM 22 hangs when it lowers what it makes of a vector xor here
                word = f.binary("xor", word, constant(I32, 0x80808080))
            lanes = f.splat(word, self.lanes)
            return [f.bitcast(lanes, Type("i8", 4 * self.lanes))]
        if self.is_pairs:
            return self._halves(f, f.splat(word, self.lanes), signed)[: min(size, 2)]
        wide = f.cast(extend, f.bitcast(word, Type("i8", 4)), "i16")
        return [f.shuffle(wide, [tap] * self.lanes) for tap in range(size)]

    def _halves(self, f: Function, words: Value, signed: bool) -> list[Value]:
        """The even bytes of i32 lanes as pairs of i16, and the odd ones.

        They are shifted and masked, which more units can do than move bytes about.
        """
        pairs = f.bitcast(words, Type("i16", 2 * self.lanes))
        byte = constant(pairs.type, 8)
        if signed:
            even = f.binary("ashr", f.binary("shl", pairs, byte), byte)
            return [even, f.binary("ashr", pairs, byte)]
        even = f.binary("and", pairs, constant(pairs.type, 0xFF))
        return [even, f.binary("lshr", pairs, byte)]

    def _flipped(self, f: Function, bytes_: Value, signed: bool) -> Value:
        if not self._flips(signed):
            return bytes_
        return f.binary("xor", bytes_, constant(bytes_.type, -128))

    def interleave(
        self, f: Function, taps: Sequence[Value], signed: bool
    ) -> list[Value]:
        """One to four vectors of a byte a lane, in the form that the weights have.

        The products of what stands in for a missing tap have the weight 0.
        """
        size = len(taps)
        extend = "sext" if signed else "zext"
        if self.dot.kind is DotKind.SINGLES:
            return [f.cast(extend, tap, "i16") for tap in taps]
        a, b, c, d = (*taps, *[taps[-1]] * (4 - size))
        if self._bytes and self.selects_lane:
            words = [
                f.bitcast(f.interleave(*pair), Type("i16", self.lanes))
                for pair in ((a, b), (c, d))
            ]
            bytes_ = f.bitcast(f.interleave(*words), Type("i8", 4 * self.lanes))
            return [self._flipped(f, bytes_, signed)]
        if self._bytes:
            joined = f.concatenate(f.concatenate(a, b), f.concatenate(c, d))
            order = [
                tap * self.lanes + i for i in range(self.lanes) for tap in range(4)
            ]
            return [self._flipped(f, f.shuffle(joined, order), signed)]
        n = self.lanes
        order = [tap * n + lane for lane in range(n) for tap in range(2)]
        return [
            f.cast(extend, f.shuffle(f.concatenate(*pair), order), "i16")
            for pair in ((a, b), (c, d))[: self._used(size)]
        ]

    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        """`total` plus the products."""
        if self._bytes:
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
                        *(
                            f.shuffle(a, range(4 * first, 4 * (first + n)))
                            for a in factors
                        ),
                    ),
                )
                for first in range(0, self.lanes, n)
            ]
            return f.concatenate_all(sums)
        for a, b in zip(x, w, strict=True):
            if self.dot.kind is DotKind.PAIRS:
                products = f.call(self.dot.intrinsic, total.type, (a, b))
            else:
                products = f.binary(
                    "mul", f.cast("sext", a, "i32"), f.cast("sext", b, "i32")
                )
            total = f.binary("add", total, products)
        return total

    def multiply_all(
        self,
        f: Function,
        totals: Sequence[Value],
        xs: Sequence[list[Value]],
        ws: Sequence[list[Value]],
    ) -> list[Value]:
        """Each x with each w: `totals` [x][w] plus their products."""
        flat = list(totals)
        pairs = list(itertools.product(range(len(xs)), range(len(ws))))
        if self.is_pairs and len(xs) <= len(ws):
            # few registers: the more numerous factors are in use the more briefly
            pairs.sort(key=lambda pair: pair[1])
        for x, w in pairs:
            at = x * len(ws) + w
            flat[at] = self.multiply(f, flat[at], xs[x], ws[w])
        return flat

    def spread(self, f: Function, start: Value) -> Value:
        """The accumulator of rows whose sums all start from `start`."""
        return start

    def collect(self, f: Function, total: Value) -> list[Value]:
        """The sums of each row."""
        return [total]


def dot_step(target: Target, *, signed: bool) -> DotStep:
    """What multiplies activations of that signedness."""
    lanes = target.vector_bits // 32
    return DotStep(target.dot(signed=signed), lanes, lanes)


def wide_dot_step(target: Target, channels: int, *, signed: bool) -> DotStep:
    """The same in several registers, so that narrow vectors are loaded by 16 bytes.

    No lane is idle if there are as many channels as the vector has.
    """
    step = dot_step(target, signed=signed)
    lanes = step.lanes
    while step.selects_lane and lanes < 16 and 2 * lanes <= channels:
        lanes *= 2
    return DotStep(step.dot, lanes, step.vector_lanes)


def load_word(f: Function, address: Value, size: int) -> Value:
    """`size` bytes, little-endian, the rest zero."""
    if size == 4:
        return f.load(I32, address, 1)
    word = f.cast("zext", f.load(I8, address, 1), "i32")
    for index in range(1, size):
        byte = f.load(I8, f.at(address, constant(I64, index)), 1)
        shifted = f.binary("shl", f.cast("zext", byte, "i32"), constant(I32, 8 * index))
        word = f.binary("or", word, shifted)
    return word
