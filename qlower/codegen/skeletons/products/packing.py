"""Constant weights in the order in which a dot product reads them.

With x' = x - x0 + x1 and w' = w - w0 + w1 in the ranges that the dot product takes,

    sum (x - x0) (w - w0) = sum x' w' - x1 sum w' - w1 sum x' + K x1 w1

modulo 2^32. Everything but the first sum, and the third where w1 is not 0, is known at
compile time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, Protocol, TypeVar

import numpy as np
from xdsl.ir import BlockArgument

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module, PackedData, Packing
from qlower.codegen.llvm.values import I64, Type, Value, constant
from qlower.codegen.nests.nest import LoopNest
from qlower.codegen.nests.operand import Operand, lanes_of
from qlower.codegen.nests.recognise import (
    NIBBLE,
    Contraction,
    DepthwiseProducts,
    Factor,
)
from qlower.codegen.skeletons.products.partial_sums import (
    Parts,
    is_narrow,
    plan_parts,
)
from qlower.codegen.skeletons.products.step import DotStep, Integers, WeightLayout

PackedT = TypeVar("PackedT")
ProductsT = TypeVar("ProductsT", Contraction, DepthwiseProducts)


class Data(Protocol):
    """A module or a collection to which constants are added."""

    def add_constant(self, data: bytes) -> Value:
        """The address of read-only bytes."""
        ...


@dataclass
class _Collected:
    """Constants one after another, without addresses."""

    found: list[bytes] = field(default_factory=list[bytes])

    def add_constant(self, data: bytes) -> Value:
        self.found.append(data)
        return constant(I64, 0)


@dataclass
class _PackedOutside:
    """Constants that `packing` makes in the same order, as parameters of a unit."""

    module: Module
    packing: Packing
    count: int = 0

    def add_constant(self, data: bytes) -> Value:
        position, self.count = self.count, self.count + 1
        return self.module.add_packed(PackedData(self.packing, position, len(data)))


def with_data(
    module: Module,
    products: ProductsT,
    pack: Callable[[Data, ProductsT], PackedT],
) -> PackedT:
    """The data that `pack` makes of products: of the module, or of its caller where the
    weights are given then."""
    weight = products.weight
    if weight.operand.packed is None:
        return pack(module, products)

    def make(elements: bytes) -> Sequence[bytes]:
        operand = replace(weight.operand, data=elements)
        collected = _Collected()
        pack(collected, replace(products, weight=replace(weight, operand=operand)))
        return collected.found

    packing = Packing(weight.operand.packed, make)
    return pack(_PackedOutside(module, packing), products)


@dataclass(frozen=True)
class Packed:
    """Weights as the dot product wants them.

    `weights`: bytes [group][block][tap][chunk][vector] of the dot step's chunks, in
    blocks of `block` vectors (the last may have fewer). `correction`: i32
    [group][vector][lane], what the sum starts from; that has the initial accumulator
    in it if `starts_from_initial`. `row_factor`: w1 if it is the same
    for all, else in the same layout; None if it is 0.
    """

    weights: Value
    correction: Value
    starts_from_initial: bool
    row_factor: Value | int | None
    vectors: int
    chunks: int
    taps: int
    block: int


@dataclass(frozen=True)
class Factors:
    """The numbers of `Packed`: weights [group, vector, lane, tap, chunk, depth],
    correction, row factor and, where it is constant, initial accumulator
    [group, channel]; and in which `parts` i32 sums are exact, if not as a whole.

    A wide accumulator's initial value is none of them where i32 can't hold it too."""

    weights: Integers
    correction: Integers
    row_factor: Integers
    initial: Integers | None
    parts: Parts | None

    @property
    def vectors(self) -> int:
        return self.weights.shape[1]

    @cached_property
    def has_row_factor(self) -> bool:
        return bool(self.row_factor.any())

    def pack(self, module: Data, dot: DotStep, block: int) -> Packed:
        """The weights as data of the module, in blocks of `block` vectors."""
        blocks = [
            dot.pack(group[first : first + block].transpose(2, 3, 0, 1, 4))
            for group in self.weights
            for first in range(0, self.vectors, block)
        ]
        _, vectors, lanes, taps, chunks, _ = self.weights.shape
        columns = vectors * lanes
        start = self.correction
        if self.initial is not None:
            start = start + self.initial
        return Packed(
            module.add_constant(b"".join(blocks)),
            module.add_constant(padded_i32(start, columns)),
            self.initial is not None,
            self._packed_row_factor(module, columns),
            vectors,
            chunks,
            taps,
            block,
        )

    def _packed_row_factor(self, module: Data, columns: int) -> Value | int | None:
        least, most = int(self.row_factor.min()), int(self.row_factor.max())
        if least == most:
            return least or None
        return module.add_constant(padded_i32(self.row_factor, columns))


class Weights:
    """A contraction's weights, packed at most once for each step.

    Blocks of the nest have the same: they are cut where no constant moves, or keep all
    channels.
    """

    def __init__(self, contraction: Contraction) -> None:
        self.contraction = contraction
        self._packed: dict[WeightLayout, Factors] = {}

    def factors(self, layout: WeightLayout) -> Factors:
        """The numbers that lie in memory."""
        if layout not in self._packed:
            self._packed[layout] = constant_factors(self.contraction, layout)
        return self._packed[layout]

    @property
    def count(self) -> int:
        """Their number."""
        return len(self._data)

    @property
    def uses(self) -> int:
        """The pixels that each of them is multiplied for."""
        bounds = self.contraction.nest.bounds
        return prod(bounds[loop] for loop in self.contraction.pixels)

    @property
    def _data(self) -> bytes:
        """A byte for each."""
        data = self.contraction.weight.operand.data
        assert data is not None
        return data

    @cached_property
    def are_nibbles(self) -> bool:
        """Whether 4 bits hold each, as it is stored."""
        return are_nibbles(self.contraction.weight)


def constant_factors(contraction: Contraction, dot: WeightLayout) -> Factors:
    """The contraction's weights, and what follows from them at compile time."""
    nest, weight = contraction.nest, contraction.weight
    run = [] if contraction.run is None else [contraction.run]
    order = (*contraction.groups, contraction.lane, *contraction.taps, *run)
    shape = [nest.bounds[loop] for loop in order]
    channel_axis = len(contraction.groups)
    groups, channels = prod(shape[:channel_axis]), shape[channel_axis]
    taps = prod(shape[channel_axis + 1 : channel_axis + 1 + len(contraction.taps)])
    length = shape[-1] if run else 1

    # twice the bits of a weight hold its differences too, in half the memory of int64
    stored, offset = gather_weights(weight, order, shape, np.int32)
    centred = (stored - offset).reshape(groups, channels, taps, length)
    least, most = weight_bounds(weight, centred, offset)

    low, high = dot.weight_range
    row = np.zeros((groups, channels), np.int64)
    if least < low or most > high:
        # back to the stored numbers, from `low` on: w1 = w' - (w - w0)
        shift = (-(1 << dot.weight_bits - 1) if weight.signed else 0) - low
        moved_by = stored.reshape(centred.shape) - shift - centred
        row = moved_by[:, :, 0, 0].astype(np.int64)
        centred, least, most = centred + moved_by, low, high
    x0 = contraction.activation.offset
    assert isinstance(x0, int)
    x1 = x0 + dot.activation_bias(contraction.activation.signed)
    correction = -x1 * centred.sum(axis=(2, 3)) + taps * length * x1 * row

    lanes = dot.lanes
    vectors, positions = -(-channels // lanes), dot.positions(length)
    is_small = least >= -128 and most <= 127
    type = np.int8 if is_small else np.int16
    padded = np.zeros((groups, vectors * lanes, taps, *positions.shape), type)
    padded[:, :channels] = centred.astype(type)[..., positions]
    padded[..., positions < 0] = 0
    tiled = padded.reshape(groups, vectors, lanes, taps, *positions.shape)
    largest = centred
    if weight.operand.packed is not None:
        largest = np.full_like(centred, max(-least, most))
    initial = constant_initial(nest, (*contraction.groups, contraction.lane))
    if initial is not None:
        initial = initial.reshape(groups, channels)
        if contraction.accumulator != "i32" and not is_narrow(largest, initial):
            initial = None
    parts = plan_parts(contraction, largest)
    return Factors(tiled, correction, row, initial, parts)


def weight_bounds(
    weight: Factor, centred: Integers, offset: Integers | int
) -> tuple[int, int]:
    """The least and the greatest centred weight, of all of their type where they are
    given later."""
    if weight.operand.packed is None:
        return int(centred.min()), int(centred.max())
    least, most = (-128, 127) if weight.signed else (0, 255)
    return least - int(np.max(offset)), most - int(np.min(offset))


def constant_initial(nest: LoopNest, loops: Sequence[int]) -> Integers | None:
    """The initial accumulators by those parallel loops, if they are data and nothing
    else."""
    block = nest.op.init.block
    terminator = block.last_op
    assert terminator is not None
    (value,) = terminator.operands
    if not isinstance(value, BlockArgument):
        return None
    operand = nest.inputs[value.index]
    moving = {loop for loop, stride in enumerate(operand.strides) if stride}
    if operand.data is None or not moving <= set(loops):
        return None
    return gather(operand, loops, [nest.bounds[loop] for loop in loops])


def group_position(
    f: Function, contraction: Contraction, indices: Sequence[Value]
) -> Value:
    """The number of the group that the group loops choose, as weights are packed."""
    position = constant(I64, 0)
    for loop in contraction.groups:
        scaled = f.scale(position, contraction.nest.bounds[loop])
        position = f.add(scaled, indices[loop])
    return position


def are_nibbles(weight: Factor) -> bool:
    """Whether 4 bits hold each number of a constant factor, as it is stored."""
    if weight.scalar == NIBBLE:
        return True
    if weight.operand.packed is not None:
        return False
    assert weight.operand.data is not None
    stored = lanes_of(weight.scalar, weight.operand.data)
    least = -8 if weight.signed else 0
    return bool(least <= stored.min() and stored.max() < least + 16)


def gather_weights(
    weight: Factor,
    order: Sequence[int],
    shape: Sequence[int],
    type: type[np.signedinteger[Any]] = np.int64,
) -> tuple[Integers, Integers | int]:
    """A constant factor's stored numbers over the loops in `order`, and what is
    subtracted of each."""
    stored = gather(weight.operand, order, shape, type)
    if not weight.signed:
        stored &= (1 << Type(weight.scalar).bits) - 1
    if isinstance(weight.offset, Operand):
        return stored, gather(weight.offset, order, shape, type)
    return stored, weight.offset


def gather(
    operand: Operand,
    order: Sequence[int],
    shape: Sequence[int],
    type: type[np.signedinteger[Any]] = np.int64,
) -> Integers:
    """The constant's elements over the loops in `order`."""
    assert operand.data is not None
    elements = lanes_of(operand.scalar, operand.data)[operand.offset :]
    step = elements.itemsize
    view = np.lib.stride_tricks.as_strided(
        elements, shape, [operand.strides[loop] * step for loop in order]
    )
    return view.astype(type)


def padded_i32(values: Integers, columns: int) -> bytes:
    padded = np.zeros((values.shape[0], columns), np.int64)
    padded[:, : values.shape[1]] = values
    return padded.astype(np.uint64).astype(np.uint32).tobytes()
