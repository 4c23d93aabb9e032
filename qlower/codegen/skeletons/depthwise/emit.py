"""Sums of products where every lane has its own activation: depthwise convolution.

Lanes are channels. Four taps of a window make a step of the target's dot product, or
two of 16 bits: they are interleaved, so that each lane finds its own side by side, and
the weights are packed in the same order at compile time. Several pixels are in flight;
what is interleaved once serves every one of them whose window holds these taps.

With x' and w' as in `packing`, the sum starts from -x1 sum(w'). A weight beyond the
range that the dot product takes is split into several that are within it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.dialects.builtin import i32

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Type, Value, constant, zero
from qlower.codegen.nests.point import (
    PointCode,
    Segment,
    moved,
    nested,
    split,
    split_lanes,
    walk,
)
from qlower.codegen.nests.recognise import MOST_TAPS, DepthwiseProducts
from qlower.codegen.skeletons.depthwise.taps import (
    Tap,
    TapAddresses,
    cut_at_edges,
    tap_addresses,
    tap_offset,
)
from qlower.codegen.skeletons.products.choose import narrow_step, wide_step
from qlower.codegen.skeletons.products.packing import (
    Data,
    are_nibbles,
    constant_initial,
    gather_weights,
    padded_i32,
    weight_bounds,
    with_data,
)
from qlower.codegen.skeletons.products.partial_sums import is_narrow
from qlower.codegen.skeletons.products.step import Integers, VectorStep
from qlower.codegen.targets.resolve import Target
from qlower.codegen.values.elements import scalar_type

_MAXIMUM_COLUMNS = 8

_WIDEST_BYTES = 8
"""Bytes of the widest integer that is put into a vector."""


@dataclass(frozen=True)
class TapGroup:
    """Taps that are multiplied in one step."""

    taps: tuple[Tap, ...]


@dataclass(frozen=True)
class WindowPlan:
    """`steps` of a window, by products of `dot`, and the pixels in flight along
    `column_loop`."""

    products: DepthwiseProducts
    dot: VectorStep
    steps: tuple[TapGroup, ...]
    column_loop: int | None
    columns: tuple[Segment, ...]


def plan_window(target: Target, products: DepthwiseProducts) -> WindowPlan:
    """The way to sum the window.

    Taps along one reduction loop, `across`, may go to different steps, so that pixels
    in flight share them; all taps may else be grouped at will. The cheaper grouping is
    taken.
    """
    nest = products.nest
    first = len(nest.parallel)
    pixels = [loop for loop in range(first) if loop != products.lane]
    column_loop = pixels[-1] if pixels else None
    bound = 1 if column_loop is None else nest.bounds[column_loop]
    counters = list(itertools.product(*map(range, nest.reduction)))
    best: tuple[float, tuple[TapGroup, ...]] | None = None
    # two columns of registers hold bytes and weights, one the accumulators
    channels = nest.bounds[products.lane]
    scalar, signed = products.activation.scalar, products.activation.signed
    dot = wide_step(target, channels, scalar, signed=signed)
    weight = products.weight
    if weight.signed and weight.offset == 0 and are_nibbles(weight):
        dot = narrow_step(target, dot)
    width = min(bound, _MAXIMUM_COLUMNS, target.vector_registers // 4)
    if dot.lanes > dot.vector_lanes:
        # what accumulators leave of the registers holds bytes and weights
        most = min(12, target.vector_registers // 2)
        width = min(width, most * dot.vector_lanes // dot.lanes)
    for across in (None, *range(len(nest.reduction))):
        groups: dict[int, list[tuple[int, ...]]] = {}
        for counter in counters:
            key = 0 if across is None else counter[across]
            groups.setdefault(key, []).append(counter)
        steps = tuple(
            TapGroup(tuple(group[i : i + dot.depth]))
            for group in groups.values()
            for i in range(0, len(group), dot.depth)
        )
        loads = {
            tuple(tap_offset(products, tap, column, column_loop) for tap in step.taps)
            for step in steps
            for column in range(width)
        }
        cost = len(steps) + 2 * len(loads) / width
        if best is None or (cost < best[0] and len(steps) <= MOST_TAPS // dot.depth):
            best = cost, steps
    assert best is not None
    return WindowPlan(products, dot, best[1], column_loop, split(bound, width))


@dataclass(frozen=True)
class Packed:
    """Weights in `vectors` of channels, the last of which ends with the channels.

    `weights`: [vector][step][part] chunks of the dot step; `correction`: i32
    [vector][lane], what the sum starts from. That has the initial accumulator in it if
    `starts_from_initial`.
    """

    vectors: int
    weights: Value
    correction: Value
    parts: int
    starts_from_initial: bool


def pack_weights(
    module: Data,
    products: DepthwiseProducts,
    dot: VectorStep,
    steps: Sequence[TapGroup],
) -> Packed:
    """The weights; channels that don't fill a vector overlap the vector before."""
    nest, weight = products.nest, products.weight
    channels = nest.bounds[products.lane]
    order = (products.lane, *range(len(nest.parallel), len(nest.bounds)))
    shape = [nest.bounds[loop] for loop in order]
    stored, offset = gather_weights(weight, order, shape)
    centred = stored - offset
    chunks = np.zeros((max(channels, dot.lanes), len(steps), dot.depth), np.int64)
    for index, step in enumerate(steps):
        for position, tap in enumerate(step.taps):
            chunks[:channels, index, position] = centred[(slice(None), *tap)]
    x1 = products.zero_point + dot.activation_bias(products.activation.signed)
    correction = -x1 * chunks.sum(axis=(1, 2))
    initial = constant_initial(nest, (products.lane,))
    is_wide = nest.op.accumulator_types != (i32,) and weight.operand.packed is None
    if initial is not None and is_wide and is_narrow(chunks[None, :channels], initial):
        correction[:channels] += initial  # then the whole is a number of 32 bits
    else:
        initial = None

    first = np.arange(0, channels, dot.lanes)
    np.minimum(first, max(channels - dot.lanes, 0), out=first)
    lanes = first[:, np.newaxis] + np.arange(dot.lanes)
    low, high = dot.weight_range
    least, most = weight_bounds(weight, chunks, offset)
    parts: list[Integers] = []
    for _ in range(max(1, -(-least // low), -(-most // high))):
        parts.append(np.clip(chunks, low, high))
        chunks = chunks - parts[-1]
    vectors = np.stack([part[lanes] for part in parts])
    return Packed(
        len(first),
        module.add_constant(dot.pack(vectors.transpose(1, 3, 0, 2, 4))),
        module.add_constant(padded_i32(correction[lanes], dot.lanes)),
        len(parts),
        initial is not None,
    )


def emit_depthwise(f: Function, target: Target, plan: WindowPlan) -> None:
    """The whole nest, which is placed.

    Channels of two vectors are computed twice, to the same value.
    """
    products, dot = plan.products, plan.dot
    nest = products.nest
    channels = nest.bounds[products.lane]

    def pack(data: Data, of: DepthwiseProducts) -> Packed:
        return pack_weights(data, of, dot, plan.steps)

    packed = with_data(f.module, products, pack)
    code = _Tile(f, target, nest, products.lane, plan, packed)
    columns = cut_at_edges(products, plan.column_loop, plan.columns)
    inner = {products.lane, plan.column_loop}
    outer = [loop for loop in range(len(nest.parallel)) if loop not in inner]

    def row(indices: list[Value]) -> None:
        def block(vector: Value, carried: list[Value]) -> list[Value]:
            now = list(indices)
            now[products.lane] = f.scale(vector, dot.lanes)
            if packed.vectors * dot.lanes > channels > dot.lanes:
                last = constant(I64, channels - dot.lanes)
                now[products.lane] = f.intrinsic("umin", now[products.lane], last)
            for segment, is_inner in columns:
                tile = partial(code.emit, vector, segment.width, is_inner)
                walk(f, plan.column_loop, segment, now, tile)
            return carried

        f.loop(packed.vectors, [], block)

    nested(f, nest.bounds, outer, [constant(I64, 0)] * len(nest.bounds), row)


@dataclass(frozen=True)
class _Tile(PointCode):
    plan: WindowPlan
    packed: Packed

    @property
    def products(self) -> DepthwiseProducts:
        return self.plan.products

    @property
    def dot(self) -> VectorStep:
        return self.plan.dot

    @property
    def valid(self) -> int:
        """Lanes that are channels."""
        return min(self.nest.bounds[self.products.lane], self.dot.lanes)

    def emit(
        self, vector: Value, columns: int, is_inner: bool, indices: list[Value]
    ) -> None:
        """`columns` pixels of a vector of channels, from `indices` on.

        Their windows lie between the edges along the columns, if `is_inner`.
        """
        f, lane_loop = self.f, self.products.lane
        addresses = tap_addresses(
            f,
            self.products,
            self.plan.column_loop,
            [tap for step in self.plan.steps for tap in step.taps],
            columns,
            is_inner,
            indices,
            self.dot.lanes,
        )
        for column, total in enumerate(self.sums(vector, columns, addresses)):
            pixel = moved(f, indices, self.plan.column_loop, column)
            for piece in split_lanes(self.target, self.valid, self.dot.lanes):
                for step in range(piece.repeat):
                    first = piece.start + step * piece.width
                    point = moved(f, pixel, lane_loop, first)
                    channels = range(first, first + piece.width)
                    self.finish(f.shuffle(total, channels), point, piece.width)

    def finish(self, total: Value, point: list[Value], lanes: int) -> None:
        """Add the initial accumulators, run the epilogue, store."""
        (type,) = self.nest.op.accumulator_types
        total = self.f.cast("sext", total, scalar_type(type))
        has_initial = self.packed.starts_from_initial
        self.complete(total, point, lanes, has_initial=has_initial)

    def sums(self, vector: Value, columns: int, addresses: TapAddresses) -> list[Value]:
        """The corrected sum of each pixel."""
        f, dot, packed, plan = self.f, self.dot, self.packed, self.plan
        activation = self.products.activation
        step_bytes = packed.parts * dot.chunk_bytes
        weights = f.at(packed.weights, f.scale(vector, len(plan.steps) * step_bytes))
        lane_bytes = 4 * dot.lanes
        correction = f.at(packed.correction, f.scale(vector, lane_bytes))
        start = f.load(Type("i32", dot.lanes), correction, lane_bytes)
        totals = [start] * columns
        known: dict[tuple[Value | None, ...], list[Value]] = {}

        def factors(column: int, step: TapGroup) -> list[Value]:
            places = tuple(addresses[column, tap] for tap in step.taps)
            if places not in known:
                taps = [self.load_tap(address) for address in places]
                known[places] = dot.interleave(f, taps, activation.signed)
            return known[places]

        for index, step in enumerate(plan.steps):
            for part in range(packed.parts):
                at = constant(I64, index * step_bytes + part * dot.chunk_bytes)
                place = f.at(weights, at)
                weight = dot.ready(f, dot.load_weights(f, place, len(step.taps)))
                for column in range(columns):
                    x = factors(column, step)
                    totals[column] = dot.multiply(f, totals[column], x, weight)
        return totals

    def load_tap(self, address: Value | None) -> Value:
        """A number a channel, the other lanes 0; no more is read. None: padding."""
        f, lanes = self.f, self.dot.lanes
        operand = self.products.activation.operand
        type, size = Type(operand.scalar, lanes), operand.element_bytes
        if address is None:
            return f.splat(constant(Type(operand.scalar), operand.border), lanes)
        if self.valid == lanes:
            return f.load(type, address, size)
        if self.target.masks_lanes:
            return f.load_first(type, address, self.valid, size)
        loaded = zero(type)
        for piece in split(self.valid, min(lanes, _WIDEST_BYTES // size)):
            word = Type(f"i{8 * size * piece.width}")
            first = piece.start // piece.width
            for part in range(first, first + piece.repeat):
                place = constant(I64, part * piece.width * size)
                value = f.load(word, f.at(address, place), size)
                words = f.bitcast(loaded, Type(word.scalar, lanes // piece.width))
                loaded = f.insert(words, value, part)
        return f.bitcast(loaded, type)
