"""The dot-product step: numbers of x times weights, summed into i32 lanes.

A run of activations is multiplied chunk by chunk. A chunk is `depth` consecutive ones
of the run, of each of `rows` pixels, and as many weights for each of `lanes` channels.
Each kind of instruction has a step of its own, which knows how weights are packed for
it, how they and activations are loaded, and what that costs.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I8, I32, I64, Value, constant
from qlower.codegen.targets.resolve import Dot

Integers = np.ndarray[tuple[int, ...], np.dtype[np.signedinteger[Any]]]

WORD_BYTES = 4
"""Bytes of activations that are loaded together, as one i32."""


@dataclass(frozen=True)
class StepCost:
    """The approximate time of a chunk, where a product takes 1.

    Besides its products each load of activations adds `load`, each vector of weights
    `weight` and each pixel `row`. Every load takes `shared` of a unit that products
    don't need, so that it bounds the time from below, as the `latency` of a chain of
    products does; `late` of it and `fixed` are added on top. A tile takes `tile` once,
    and `part` for every vector of bytes of each pixel that it stores.
    """

    load: float = 0.0
    weight: float = 0.0
    row: float = 0.0
    shared: float = 0.0
    latency: float = 0.0
    late: float = 0.0
    fixed: float = 0.0
    tile: float = 0.0
    part: float = 0.0

    def of_chunk(self, loads: float, weights: int, rows: int, width: int) -> float:
        """The time of `rows` pixels times `width` vectors of channels, with `loads`
        loads of activations and as many vectors of `weights` as given."""
        beside = self.load * loads + self.weight * weights + self.row * rows
        loaded = loads + weights
        bound = max(rows * width + beside, self.shared * loaded, self.latency)
        return bound + self.late * loaded + self.fixed


@dataclass(frozen=True)
class WeightLayout:
    """The packing of weights for products: `lanes` channels side by side, `depth`
    numbers of each."""

    lanes: int

    depth: ClassVar[int] = 4
    weight_range: ClassVar[tuple[int, int]] = (-128, 127)
    """The least and the greatest number that a packed weight can be."""

    weight_bits: ClassVar[int] = 8
    """Bits of a weight as the model stores it."""

    def activation_bias(self, signed: bool) -> int:
        """The excess of the multiplied activation over the stored one."""
        return 0

    def reads_again(self, length: int) -> bool:
        """Whether the last chunk of a run may overlap the one before, to be loaded
        whole."""
        return False

    def positions(self, length: int) -> Integers:
        """The position in the run that each product of its chunks reads, -1 for none:
        [chunk, depth]."""
        chunks = -(-length // self.depth)
        found = np.arange(chunks * self.depth)
        missing = chunks * self.depth - length
        if self.reads_again(length):
            found[-self.depth :] -= missing
            found[-self.depth :][:missing] = -1
        found[found >= length] = -1
        return found.reshape(chunks, self.depth)


@dataclass(frozen=True)
class Activations:
    """`size` neighbouring activations of a run, of each pixel whose are at one of
    `addresses`; `before` others of the run lie before them. Nothing beyond the run is
    read."""

    addresses: Sequence[Value]
    size: int
    signed: bool
    before: int = 0

    @property
    def address(self) -> Value:
        """The address of the activations of a single pixel."""
        (address,) = self.addresses
        return address


@dataclass(frozen=True)
class DotStep(WeightLayout, ABC):
    """The way a target multiplies and accumulates `lanes` i32 sums of a vector.

    `dot` is the instruction; it has `vector_lanes`, and `lanes` are a multiple of them.
    `run_length` activations of a run are loaded together, a multiple of `depth`. A
    tile's weights are loaded from one place if `weights_are_joined`, else each vector's
    from a place of its own.
    """

    vector_lanes: int
    dot: Dot

    rows: ClassVar[int] = 1
    run_length: ClassVar[int] = WORD_BYTES
    weights_are_joined: ClassVar[bool] = False
    cost: ClassVar[StepCost]

    def holding(self, weights: Integers) -> Self:
        """This step with a layout of `weights` that saves memory, if there is one."""
        return self

    @property
    @abstractmethod
    def chunk_bytes(self) -> int:
        """The packed weights of a chunk."""

    @abstractmethod
    def pack(self, weights: Integers) -> bytes:
        """Bytes of weights [..., lane, depth], all within `weight_range`."""

    @abstractmethod
    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        """The factors of a chunk; only its first `size` products count."""

    @abstractmethod
    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        """`part.size` <= `run_length` numbers of each row, for one chunk after the
        other; a chunk's are in all lanes, in the form that the weights have."""

    @abstractmethod
    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        """`total` plus the products of a chunk."""

    def ready(self, f: Function, weights: list[Value]) -> list[Value]:
        """Loaded weights as `multiply` takes them."""
        return weights

    def products(self, size: int, before: int) -> int:
        """The products of a chunk in which `size` <= `depth` activations take part.

        `before` others of the run lie before them.
        """
        return size

    def activation_loads(self, size: int) -> int:
        """The number of loads that `load_activations` needs for `size` numbers of a
        run."""
        return -(-size // self.run_length)

    def registers(self, rows: int, summed: int, loads: int) -> int:
        """The vector registers that a tile needs in addition to four spare ones: `rows`
        pixels times `summed` vectors, with `loads` of activations together."""
        return (rows + self.rows) * summed

    def multiply_all(
        self,
        f: Function,
        totals: Sequence[Value],
        xs: Sequence[list[Value]],
        ws: Sequence[list[Value]],
    ) -> list[Value]:
        """Each x with each w: `totals` [x][w] plus their products."""
        flat = list(totals)
        ready: dict[int, list[Value]] = {}
        for x, w in self.order(len(xs), len(ws)):
            at = x * len(ws) + w
            if w not in ready:
                ready[w] = self.ready(f, ws[w])
            flat[at] = self.multiply(f, flat[at], xs[x], ready[w])
        return flat

    def order(self, xs: int, ws: int) -> list[tuple[int, int]]:
        """The order in which these factors are multiplied with each other."""
        return list(itertools.product(range(xs), range(ws)))

    def spread(self, f: Function, start: Value) -> Value:
        """The accumulator of rows whose sums all start from `start`."""
        return start

    def collect(self, f: Function, total: Value) -> list[Value]:
        """The sums of each row."""
        return [total]


class SelectingStep(DotStep, ABC):
    """A step whose instruction selects the activations of a chunk from a vector of
    them."""

    weights_are_joined = True
    cost = StepCost(load=0.6, weight=0.6, latency=8.0, fixed=0.5)

    def registers(self, rows: int, summed: int, loads: int) -> int:
        return (rows + self.rows) * summed + rows * loads - 2


class SummingStep(DotStep):
    """A step that sums activations too, as weights with an offset ask for."""

    @abstractmethod
    def ones(self, size: int, before: int) -> list[Value]:
        """Weights that give the sum of `size` activations, `before` others in."""


class VectorStep(DotStep):
    """A step of one pixel that multiplies windows too: each lane has its own bytes."""

    @abstractmethod
    def interleave(
        self, f: Function, taps: Sequence[Value], signed: bool
    ) -> list[Value]:
        """One to `depth` vectors with a number in each lane, in the form that the
        weights have.

        The products of a missing tap's substitute have the weight 0.
        """


def load_word(f: Function, address: Value, size: int) -> Value:
    """`size` <= 4 bytes as a little-endian i32, the rest zero."""
    if size == WORD_BYTES:
        return f.load(I32, address, 1)
    word = f.cast("zext", f.load(I8, address, 1), "i32")
    for index in range(1, size):
        byte = f.load(I8, f.at(address, constant(I64, index)), 1)
        shifted = f.binary("shl", f.cast("zext", byte, "i32"), constant(I32, 8 * index))
        word = f.binary("or", word, shifted)
    return word


def cut_start(step: DotStep, part: Activations) -> int:
    """The position of the last word of activations, which is earlier if it may overlap
    the word before it."""
    is_cut = part.size < WORD_BYTES and step.reads_again(part.before + part.size)
    return part.size - WORD_BYTES if is_cut else 0
