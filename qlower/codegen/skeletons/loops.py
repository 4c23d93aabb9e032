"""The general loop skeleton: any nest, vectorised along the results' contiguous loop.

Lanes are neighbours in the results. With reductions, several columns (steps of the
next loop) are in flight, so that their accumulators stay in registers and share
operands; the reduction loops are inside. What is left over at the end of the contiguous
loop runs with half, a quarter ... of the lanes: nothing beyond a buffer is touched.

Where the contiguous loop has a few steps only, such as the colours of an image that is
read colour by colour, lanes are neighbours along the loop outside of it: each of its
steps makes a vector, and these are interleaved before they are stored.

It serves elementwise maps, lookups, transposes, windows (depthwise convolution, pools),
row reductions, and whatever else a nest can say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.tensor import ExtractOp

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Value, constant
from qlower.codegen.nests.nest import LoopNest
from qlower.codegen.nests.point import (
    NOTHING_LOADED,
    PointCode,
    Segment,
    moved,
    nested,
    split,
    split_lanes,
    walk,
)
from qlower.codegen.skeletons.squares import (
    load_square,
    read_by_squares,
    square_side,
)
from qlower.codegen.targets.resolve import Target
from qlower.codegen.values.byte_tables import table_codes
from qlower.codegen.values.elements import store_scalars
from qlower.codegen.values.facts import widest_scalar

COLUMNS = 4
"""Columns in flight, with 16 or more vector registers."""

_FEW_BITS = 32

_SPARE = 4
"""Vector registers that are left to the body of a nest."""

_VECTORS_OF_SQUARES = 2
"""Vectors of each accumulator where squares are read, whose steps take registers."""

_LOOKED_UP = 8
"""Lanes that are read one by one: their indices are extracted one by one too."""

MOST_INTERLEAVED = 4
"""Steps of the contiguous loop up to which results are interleaved."""

UNROLLED_TAPS = 8
"""The innermost reduction loop is written out up to this trip count."""


@dataclass(frozen=True)
class LoopPlan:
    """The loop that is vectorized and the loop over columns; None if there is none.

    `woven_loop` is the contiguous loop where its results are interleaved.
    """

    lane_loop: int | None
    lanes: tuple[Segment, ...]
    column_loop: int | None
    columns: tuple[Segment, ...]
    woven_loop: int | None = None


def plan_loops(target: Target, nest: LoopNest) -> LoopPlan:
    """A loop to vectorise and a loop for columns."""
    single = (Segment(0, 1, 1),)
    stride_one = [
        loop
        for loop in range(len(nest.parallel))
        if all(result.strides[loop] == 1 for result in nest.results)
    ]
    if not stride_one:
        return LoopPlan(None, single, None, single)
    lane_loop = stride_one[0]
    width = target.vector_bits // _lane_bits(nest, target)
    outside = _woven_outside(nest, lane_loop)
    if outside is not None:
        lanes = _lanes(target, nest.bounds[outside], width)
        return LoopPlan(outside, lanes, None, single, lane_loop)
    lanes = _lanes(target, nest.bounds[lane_loop], width)
    others = [loop for loop in range(len(nest.parallel)) if loop != lane_loop]
    if not nest.reduction:
        for loop in others:
            side = square_side(target, lanes[0].width)
            if side and read_by_squares(nest, lane_loop, loop):
                columns = split(nest.bounds[loop], side)
                return LoopPlan(lane_loop, lanes, loop, columns)
    if not others or not nest.reduction:
        return LoopPlan(lane_loop, lanes, None, single)
    column_loop = others[-1]
    return LoopPlan(
        lane_loop, lanes, column_loop, split(nest.bounds[column_loop], COLUMNS)
    )


def _woven_outside(nest: LoopNest, contiguous: int) -> int | None:
    """The loop whose neighbours lie side by side in all inputs, and in the results as
    far apart as the short contiguous loop is long."""
    count = nest.bounds[contiguous]
    if nest.op.reduction_bounds or not 1 < count <= MOST_INTERLEAVED:
        return None
    if any(operand.edges for operand in nest.inputs):
        return None
    for loop in range(len(nest.parallel)):
        if all(result.strides[loop] == count for result in nest.results) and all(
            operand.strides[loop] in (0, 1) for operand in nest.inputs
        ):
            return loop
    return None


def _lanes(target: Target, bound: int, width: int) -> tuple[Segment, ...]:
    """The vectors of a loop of lanes: of any size where memory holds narrow numbers as
    they are, and as `split_lanes` has them where loads widen these."""
    if target.widens_in_memory:
        return split_lanes(target, bound, width)
    return split(bound, width)


def _lane_bits(nest: LoopNest, target: Target) -> int:
    """The width of lanes that fill a vector register.

    Numbers of 32 bits and less may take several registers, so that a whole one is
    stored; not where the accumulators of columns take them, or wider numbers, or where
    lanes are read one by one.
    """
    blocks = [region.block for region in nest.op.regions if region.blocks]
    widest = max(widest_scalar(block) for block in blocks)
    extracts = [op for b in blocks for op in b.ops if isinstance(op, ExtractOp)]
    if any(table_codes(op, target) is None for op in extracts):
        return max(_FEW_BITS, target.vector_bits // _LOOKED_UP)
    has_columns = bool(nest.reduction) and len(nest.parallel) > 1
    stored = 8 * max(result.element_bytes for result in nest.results)
    if nest.reduction and widest <= _FEW_BITS:
        if has_columns and nest.op.family.data == "loop":
            return widest // _vectors_of_sums(target, nest, COLUMNS)
        if not has_columns and _reads_together(nest):
            most = _vectors_of_sums(target, nest, 1)
            if read_by_squares(nest, 0, len(nest.bounds) - 1):
                most = min(most, _VECTORS_OF_SQUARES)
            return min(stored, widest // most)
    if has_columns or widest > _FEW_BITS or target.widens_in_memory:
        return min(_FEW_BITS, widest)
    return stored


def _reads_together(nest: LoopNest) -> bool:
    """Whether a nest whose only parallel loop is its lanes reads no lane by itself."""
    squares = read_by_squares(nest, 0, len(nest.bounds) - 1)
    return all(
        operand.strides[0] in (0, 1) or number in squares
        for number, operand in enumerate(nest.inputs)
    )


def _vectors_of_sums(target: Target, nest: LoopNest, columns: int) -> int:
    """The vectors of each accumulator where columns share an operand, as those of a
    product of two activations do: as many as the registers hold of all columns, with
    those of the shared operand and one of a column's own."""
    count = 1
    if target.widens_in_memory or target.vector_bits <= _FEW_BITS:
        return count
    sums = columns * len(nest.op.accumulator_types) + 1
    while 2 * count * sums + 1 <= target.vector_registers - _SPARE:
        count *= 2
    return count


def emit_loops(f: Function, target: Target, nest: LoopNest, plan: LoopPlan) -> None:
    """The whole nest, which is placed."""
    inner = {plan.lane_loop, plan.column_loop, plan.woven_loop}
    outer = [loop for loop in range(len(nest.parallel)) if loop not in inner]
    indices = [constant(I64, 0)] * len(nest.bounds)
    skeleton = _Skeleton(f, target, nest, plan.lane_loop)

    def tiles(indices: list[Value]) -> None:
        for lanes in plan.lanes:
            walk(f, plan.lane_loop, lanes, indices, partial(columns, lanes.width))

    def columns(lanes: int, indices: list[Value]) -> None:
        if plan.woven_loop is not None:
            skeleton.woven_tile(lanes, plan.woven_loop, indices)
            return
        for segment in plan.columns:
            tile = partial(skeleton.tile, lanes, plan.column_loop, segment.width)
            walk(f, plan.column_loop, segment, indices, tile)

    nested(f, nest.bounds, outer, indices, tiles)


class _Skeleton(PointCode):
    def tile(
        self, lanes: int, column_loop: int | None, columns: int, indices: list[Value]
    ) -> None:
        """One vector of results in each of `columns` columns."""
        points = [
            moved(self.f, indices, column_loop, column) for column in range(columns)
        ]
        accumulators: list[list[Value]] = [[] for _ in points]
        loaded = [NOTHING_LOADED] * columns
        if self.nest.op.reduction_bounds:
            init = self.nest.op.init
            accumulators = [self.run(init, point, [], lanes) for point in points]
            accumulators = self.reduce(points, accumulators, lanes)
        elif column_loop is not None and columns == square_side(self.target, lanes):
            loaded = self.squares(column_loop, indices, lanes)
        for point, values, known in zip(points, accumulators, loaded, strict=True):
            stored = self.run(self.nest.op.epilogue, point, values, lanes, known)
            for result, value in zip(self.nest.results, stored, strict=True):
                store_scalars(self.f, value, result.address(self.f, point))

    def squares(
        self, loop: int, indices: Sequence[Value], lanes: int
    ) -> list[Mapping[int, Value]]:
        """Elements read by squares, by input, at each step of a square along a loop."""
        assert self.lane_loop is not None
        numbers = read_by_squares(self.nest, self.lane_loop, loop)
        vectors = [
            load_square(
                self.f, self.nest.inputs[number], self.lane_loop, indices, lanes
            )
            for number in numbers
        ]
        return [
            dict(zip(numbers, step, strict=True)) for step in zip(*vectors, strict=True)
        ]

    def woven_tile(self, lanes: int, loop: int, indices: list[Value]) -> None:
        """One vector for each step of a loop, stored lane after lane of them all."""
        count = self.nest.bounds[loop]
        parts = [
            self.run(self.nest.op.epilogue, moved(self.f, indices, loop, at), [], lanes)
            for at in range(count)
        ]
        order = [at * lanes + lane for lane in range(lanes) for at in range(count)]
        for number, result in enumerate(self.nest.results):
            values = [part[number] for part in parts]
            if lanes == 1:
                woven = self.f.join(values)
            else:
                # As many as are joined in pairs.
                values += values[:1] * (count % 2)
                woven = self.f.shuffle(self.f.concatenate_all(values), order)
            store_scalars(self.f, woven, result.address(self.f, indices))

    def reduce(
        self, points: list[list[Value]], start: list[list[Value]], lanes: int
    ) -> list[list[Value]]:
        """The accumulators of all points after all reduction loops."""
        width = len(start[0])
        first = len(self.nest.parallel)
        loops = range(first, len(self.nest.bounds))
        side = 0
        is_apart = bool(loops) and len(points) == 1
        if is_apart and read_by_squares(self.nest, self.lane_loop, loops[-1]):
            side = square_side(self.target, lanes)

        def point_after(
            taps: Sequence[Value],
            flat: Sequence[Value],
            loaded: Mapping[int, Value] = NOTHING_LOADED,
        ) -> list[Value]:
            after: list[Value] = []
            for position, point in enumerate(points):
                now = [*point[:first], *taps]
                values = flat[position * width : (position + 1) * width]
                after += self.run(self.nest.op.body, now, values, lanes, loaded)
            return after

        def by_squares(taps: tuple[Value, ...], flat: Sequence[Value]) -> list[Value]:
            whole, rest = divmod(self.nest.bounds[loops[-1]], side)

            def square(index: Value, carried: Sequence[Value]) -> list[Value]:
                start = self.f.scale(index, side)
                now = [*points[0][:first], *taps, start]
                for step, loaded in enumerate(self.squares(loops[-1], now, lanes)):
                    tap = self.f.add(start, constant(I64, step))
                    carried = point_after((*taps, tap), carried, loaded)
                return list(carried)

            current = self.f.loop(whole, flat, square)
            for step in range(rest):
                tap = constant(I64, whole * side + step)
                current = point_after((*taps, tap), current)
            return current

        def step(taps: tuple[Value, ...], flat: Sequence[Value]) -> list[Value]:
            depth = len(taps)
            if depth == len(loops):
                return point_after(taps, flat)
            if depth == len(loops) - 1 and side:
                return by_squares(taps, flat)
            bound = self.nest.bounds[loops[depth]]
            if depth == len(loops) - 1 and bound <= UNROLLED_TAPS:
                current = list(flat)
                for tap in range(bound):
                    current = step((*taps, constant(I64, tap)), current)
                return current
            return self.f.loop(
                bound, flat, lambda index, carried: step((*taps, index), carried)
            )

        flat = step((), [value for values in start for value in values])
        return [flat[i : i + width] for i in range(0, len(flat), width)]
