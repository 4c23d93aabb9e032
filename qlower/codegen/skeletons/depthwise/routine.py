"""Depthwise convolution by routines of a target, which hold several pixels' sums.

A routine sums the windows of neighbouring pixels, one channel after the other; it is
made for the taps that are padding at an edge, and those that are not. The sums go
through the nest's own init and epilogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, product
from math import gcd

import numpy as np
from xdsl.dialects.builtin import i32

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.routine import WindowStep
from qlower.codegen.llvm.values import I32, I64, Value, constant
from qlower.codegen.nests.nest import LoopNest
from qlower.codegen.nests.point import (
    PointCode,
    Segment,
    moved,
    nested,
    overlapping,
    walk,
)
from qlower.codegen.nests.recognise import DepthwiseProducts
from qlower.codegen.skeletons.contraction.tiling import even_tiles
from qlower.codegen.skeletons.depthwise.taps import (
    Tap,
    cut_at_edges,
    tap_addresses,
    tap_offset,
)
from qlower.codegen.skeletons.products.packing import (
    constant_initial,
    gather_weights,
)
from qlower.codegen.skeletons.products.step import WORD_BYTES, Integers
from qlower.codegen.targets.optimized import SIZE
from qlower.codegen.targets.resolve import Halves, Target

_BLOCK = 32
"""Channels whose sums are in memory together."""

_BORDER = 512
"""Elements of padding that lines are multiples of."""

_FARTHEST = 1 << 12
"""Bytes beyond which an instruction can't reach from a line's first activation."""

_MOST_TAPS = 8
"""Taps of a line whose weights are in registers."""


@dataclass(frozen=True)
class RoutinePlan:
    """A window by routines: the `weights` [channel, line, tap], what sums `starts`
    from, and the pixels that are summed together along `column_loop`. If it `is_small`,
    code and routines are short rather than fast."""

    products: DepthwiseProducts
    halves: Halves
    weights: Integers
    starts: Integers
    starts_from_initial: bool
    column_loop: int
    columns: tuple[Segment, ...]
    is_small: bool

    @property
    def lines(self) -> list[list[Tap]]:
        """The window's taps, those of a line along its last loop together."""
        *outer, last = self.products.nest.reduction
        return [
            [(*line, tap) for tap in range(last)]
            for line in product(*map(range, outer))
        ]

    @property
    def scratch(self) -> tuple[int]:
        """Bytes of the sums of a block of channels, of a tile of pixels each."""
        most = max(segment.width for segment in self.columns)
        channels = self.products.nest.bounds[self.products.lane]
        return (WORD_BYTES * min(_BLOCK, channels) * most,)

    @property
    def line_bytes(self) -> int:
        """Bytes of a line's weights."""
        taps = self.weights.shape[2]
        if self.halves.reads_anywhere:
            return taps
        return -(-taps // WORD_BYTES) * WORD_BYTES

    @property
    def channel_bytes(self) -> int:
        """Bytes of a channel's start and weights."""
        return WORD_BYTES + self.weights.shape[1] * self.line_bytes

    def pack(self) -> bytes:
        """Starts and weights, as `Halves.window` wants them."""
        channels, lines, taps = self.weights.shape
        padded = np.zeros((channels, lines, self.line_bytes), "i1")
        step = -1 if self.is_small else 1
        padded[:, :, :taps] = self.weights[:, ::step]
        starts = self.starts.astype(np.uint64).astype("<u4").view("i1")
        starts = starts.reshape(channels, WORD_BYTES)
        packed = np.hstack([starts, padded.reshape(channels, -1)])
        return packed.tobytes() + bytes(WORD_BYTES - 1)


def plan_routine(target: Target, products: DepthwiseProducts) -> RoutinePlan | None:
    """The way to sum a window by routines, where the target has them, lines are short
    enough and padding is known for each column."""
    halves, nest = target.halves, products.nest
    pixels = [loop for loop in range(len(nest.parallel)) if loop != products.lane]
    weight, operand = products.weight, products.activation.operand
    taps = nest.reduction[-1]
    if halves is None or halves.window_columns is None or not pixels:
        return None
    if weight.operand.packed is not None:
        return None
    if operand.scalar != "i8" or nest.op.accumulator_types != (i32,):
        return None
    column, last = pixels[-1], len(nest.bounds) - 1
    for edge in operand.edges:
        along = [d for d in (column, last) if edge.strides[d]]
        others = [d for d, s in enumerate(edge.strides) if s and d not in along]
        if along and (others or edge.first.constant is None):
            return None
    is_small = target.optimize == SIZE and halves.small_window is not None
    most = halves.window_columns(taps) - is_small
    columns = _columns(nest.bounds[column], most)
    height = max(segment.width for segment in columns)
    reach = (height - 1) * operand.strides[column] + (taps - 1) * operand.strides[last]
    is_far = reach >= _FARTHEST and not target.is_source
    if taps > _MOST_TAPS or is_far or min(operand.strides) < 0:
        return None
    order = (products.lane, *range(len(nest.parallel), len(nest.bounds)))
    shape = [nest.bounds[loop] for loop in order]
    stored, offset = gather_weights(weight, order, shape)
    centred = (stored - offset).reshape(shape[0], -1, taps)
    if centred.min() < -128 or centred.max() > 127:
        return None
    starts = -products.zero_point * centred.sum(axis=(1, 2))
    initial = constant_initial(nest, (products.lane,))
    if initial is not None:
        starts = starts + initial
    known = initial is not None
    return RoutinePlan(
        products, halves, centred, starts, known, column, columns, is_small
    )


def _columns(bound: int, most: int) -> tuple[Segment, ...]:
    """All pixels of a line by tiles of at most `most`, which are code of their own if
    they differ: equal ones, where they need not be much smaller."""
    equal = max(width for width in range(1, most + 1) if bound % width == 0)
    if 3 * equal >= 2 * min(bound, most):
        return (Segment(0, bound // equal, equal),)
    return even_tiles(bound, most)


def channel_blocks(nest: LoopNest, lane: int) -> tuple[Segment, ...]:
    """Blocks of channels whose sums are in memory together, of about equal widths."""
    channels = nest.bounds[lane]
    width = -(-channels // -(-channels // _BLOCK))
    return overlapping(channels, width, may_repeat=nest.may_repeat)


def emit_windows(f: Function, target: Target, plan: RoutinePlan) -> None:
    """The whole nest, which is placed."""
    products = plan.products
    nest, lane = products.nest, products.lane
    weights = f.module.add_constant(plan.pack())
    (sums,) = nest.memory(f, plan.scratch)
    code = _Tile(f, target, nest, lane, plan, weights, sums)
    columns = cut_at_edges(products, plan.column_loop, plan.columns)
    inner = {lane, plan.column_loop}
    outer = [loop for loop in range(len(nest.parallel)) if loop not in inner]
    groups = [list(group) for _, group in groupby(columns, lambda one: one[0].width)]

    def tiles(width: int, indices: list[Value]) -> None:
        for group in groups:
            code.row(width, group, indices)

    def row(indices: list[Value]) -> None:
        for block in channel_blocks(nest, lane):
            walk(f, lane, block, indices, partial(tiles, block.width))

    nested(f, nest.bounds, outer, [constant(I64, 0)] * len(nest.bounds), row)


@dataclass(frozen=True)
class _Tile(PointCode):
    plan: RoutinePlan
    weights: Value
    sums: Value

    def row(
        self,
        channels: int,
        segments: Sequence[tuple[Segment, bool]],
        indices: list[Value],
    ) -> None:
        """Tiles of `channels` channels and of one width in a row, which differ by how
        they are summed: see `sum`."""
        f, loop = self.f, self.plan.column_loop
        first, width = segments[0][0].start, segments[0][0].width
        count = sum(segment.repeat for segment, _ in segments)

        def tile(number: Value, carried: list[Value]) -> list[Value]:
            now = list(indices)
            now[loop] = f.add(f.scale(number, width), constant(I64, first))
            for segment, is_inner in segments:
                begin = (segment.start - first) // width
                if len(segments) == 1:
                    self.sum(channels, width, is_inner, now)
                    continue
                at = list(now)
                if segment.repeat == 1:
                    at[loop] = constant(I64, segment.start)
                distance = f.binary("sub", number, constant(I64, begin))
                here = f.compare("ult", distance, constant(I64, segment.repeat))
                f.when(here, partial(self.sum, channels, width, is_inner, at))
            pixels = [moved(f, now, loop, column) for column in range(width)]

            def finish(channel: Value, carried: list[Value]) -> list[Value]:
                self.finish(pixels, channel)
                return carried

            f.loop(channels, [], finish)
            return carried

        f.loop(count, [], tile)

    def sum(
        self, channels: int, columns: int, is_inner: bool, indices: list[Value]
    ) -> None:
        """The sums of `columns` pixels of `channels` channels, from `indices` on. Their
        windows lie between the edges along the columns, if `is_inner`."""
        f, plan, lane = self.f, self.plan, self.plan.products.lane
        lines, addresses = self.lines(channels, columns, is_inner, indices)
        activation = plan.products.activation
        border = int.from_bytes(
            activation.operand.border_bytes(1), signed=activation.signed
        )
        weights = f.at(self.weights, f.scale(indices[lane], plan.channel_bytes))
        arguments = [self.sums, weights, constant(I32, channels)]
        options = {"signed": activation.signed, "line_bytes": plan.line_bytes}
        if plan.is_small:
            assert plan.halves.small_window is not None
            line, unit = _in_units(lines[0])
            routine = plan.halves.small_window(
                line, len(lines), columns, border, **options
            )
            arguments.append(constant(I32, unit))
        else:
            assert plan.halves.window is not None
            routine = plan.halves.window(lines, columns, border, **options)
        f.call_routine(routine, [*arguments, *addresses])

    def lines(
        self, channels: int, columns: int, is_inner: bool, indices: list[Value]
    ) -> tuple[list[list[WindowStep]], list[Value]]:
        """The steps of each line, and the address of its first activation."""
        f, plan, products = self.f, self.plan, self.plan.products
        loop = plan.column_loop
        lines = plan.lines
        taps = [tap for line in lines for tap in line]
        found = tap_addresses(
            f, products, loop, taps, columns, is_inner, indices, channels, _BORDER
        )
        steps: list[list[WindowStep]] = []
        addresses: list[Value] = []
        for line in lines:
            uses: dict[int | None, list[tuple[int, int]]] = {}
            starts: dict[int, Value] = {}
            for number, column in product(range(len(line)), range(columns)):
                tap, address = line[number], found[column, line[number]]
                place = tap_offset(products, tap, column, loop)
                uses.setdefault(place if address else None, []).append((column, number))
                if address is not None:
                    starts[place] = address
            first = min(starts, default=0)
            steps.append(
                [
                    WindowStep(None if place is None else place - first, uses[place])
                    for place in sorted(uses, key=lambda place: place or 0)
                ]
            )
            addresses.append(starts[first] if starts else self.weights)
        return steps, addresses

    def finish(self, pixels: list[list[Value]], channel: Value) -> None:
        """Init and epilogue of a channel of the block."""
        f, lane, loop = self.f, self.plan.products.lane, self.plan.column_loop
        line = f.at(self.sums, f.scale(channel, WORD_BYTES * len(pixels)))

        def finish(pixel: list[Value], column: Value) -> None:
            point = list(pixel)
            point[lane] = f.add(pixel[lane], channel)
            offset = f.scale(column, WORD_BYTES)
            total = f.load(I32, f.at(line, offset), WORD_BYTES)
            has_initial = self.plan.starts_from_initial
            self.complete(total, point, 1, has_initial=has_initial)

        def step(column: Value, carried: list[Value]) -> list[Value]:
            pixel = list(pixels[0])
            pixel[loop] = f.add(pixel[loop], column)
            finish(pixel, column)
            return carried

        if self.plan.is_small:
            f.loop(len(pixels), [], step)
            return
        for column, pixel in enumerate(pixels):
            finish(pixel, constant(I64, column))


def _in_units(line: Sequence[WindowStep]) -> tuple[list[WindowStep], int]:
    """A line whose offsets count units, and the bytes of a unit."""
    unit = gcd(*(step.offset or 0 for step in line)) or 1
    return [
        replace(step, offset=None if step.offset is None else step.offset // unit)
        for step in line
    ], unit
