"""Sums of products by a target's routines, of activations that are widened once.

The runs of a pixel's window, or of two pixels', are written to scratch as 16-bit
halves; a routine multiplies them with the weights of all channels, and the sums go
through the nest's own init and epilogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.routine import RowsRoutine
from qlower.codegen.llvm.values import I32, I64, Value, constant
from qlower.codegen.nests.point import (
    PointCode,
    Segment,
    moved,
    nested,
    overlapping,
    split,
    walk,
)
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.contraction.tiling import nibbles_save
from qlower.codegen.skeletons.products.packing import (
    Factors,
    Weights,
    group_position,
    padded_i32,
)
from qlower.codegen.skeletons.products.step import (
    WORD_BYTES,
    Integers,
    WeightLayout,
    load_word,
)
from qlower.codegen.skeletons.products.taps import over_taps
from qlower.codegen.targets.optimized import SIZE
from qlower.codegen.targets.resolve import Halves, Target

_ROW_BYTES = 2 * WORD_BYTES
"""Bytes of a row's halves of a word of activations."""

_WIDENED = 4
"""Words of each row that are widened together."""

_FINISHED = 2
"""Channels of each row that go through the epilogue together: LLVM spills more."""

_BLOCK = 64
"""Channels whose sums are in memory together, at most."""

_MOST_BYTES = 1 << 13
"""Bytes of the largest scratch that holds activations and sums."""


@dataclass(frozen=True)
class WidenedPlan:
    """A contraction by a routine, which takes activations as `halves`. If it
    `is_small`, its code is short rather than fast."""

    contraction: Contraction
    halves: Halves
    routine: RowsRoutine
    factors: Factors
    is_small: bool

    @property
    def words(self) -> int:
        """Words of activations of a row."""
        return self.factors.weights.shape[3] * self.factors.weights.shape[4]

    @property
    def x_bytes(self) -> int:
        """Bytes of the activations of all rows."""
        return _ROW_BYTES * self.routine.rows * self.words

    @property
    def scratch(self) -> tuple[int, int]:
        """Bytes of the sums and of the activations of all rows."""
        return self.routine.rows * self.row_bytes, self.x_bytes

    @property
    def blocks(self) -> tuple[Segment, ...]:
        """Blocks of channels, which begin with whole columns."""
        nest, columns = self.contraction.nest, self.routine.columns
        channels = nest.bounds[self.contraction.lane]
        most = -(-channels // -(-channels // _BLOCK))
        width = min(-(-most // columns) * columns, channels)
        if self.is_small:
            even = range(columns, min(_BLOCK, channels) + 1, columns)
            width = max((n for n in even if channels % n == 0), default=width)
        may_repeat = nest.may_repeat and channels % columns == 0
        return overlapping(channels, width, may_repeat=may_repeat)

    @property
    def row_bytes(self) -> int:
        """Bytes of the sums of a row."""
        columns = -(-max(block.width for block in self.blocks) // self.routine.columns)
        return WORD_BYTES * columns * self.routine.columns


def plan_widened(
    target: Target, contraction: Contraction, weights: Weights
) -> WidenedPlan | None:
    """The routine that pays, where the target has any for bytes, all of whose sums fit
    32 bits."""
    halves, run, nest = target.halves, contraction.run, contraction.nest
    if halves is None or run is None or contraction.activation.scalar != "i8":
        return None
    if contraction.weight.operand.packed is not None:
        return None
    if nibbles_save(contraction, weights):
        return None
    length = nest.bounds[run]
    if 4 * length < 3 * WORD_BYTES * -(-length // WORD_BYTES):
        return None
    rows = nest.bounds[contraction.pixels[-1]] if contraction.pixels else 1
    routine = halves.rows[rows > 1]
    if 2 * nest.bounds[contraction.lane] <= routine.columns:
        return None
    factors = weights.factors(WeightLayout(routine.columns))
    is_small = target.optimize == SIZE
    plan = WidenedPlan(contraction, halves, routine, factors, is_small)
    if factors.has_row_factor or factors.parts is not None:
        return None
    if sum(plan.scratch) > _MOST_BYTES:
        return None
    return plan


def pack_for_routine(weights: Integers) -> bytes:
    """Weights [group, vector, lane, tap, chunk, 4] as a routine wants them: [group,
    vector, tap, chunk, half of the chunk, pair of lanes, number, lane]."""
    groups, vectors, lanes, taps, chunks, _ = weights.shape
    parted = weights.reshape(groups, vectors, lanes // 2, 2, taps, chunks, 2, 2)
    return parted.transpose(0, 1, 4, 5, 7, 2, 6, 3).astype(np.int8).tobytes()


def emit_widened(f: Function, target: Target, plan: WidenedPlan) -> None:
    """The whole nest, which is placed."""
    contraction, factors = plan.contraction, plan.factors
    nest = contraction.nest
    start = factors.correction
    if factors.initial is not None:
        start = start + factors.initial
    weights = f.module.add_constant(pack_for_routine(factors.weights))
    starts = padded_i32(start, factors.vectors * plan.routine.columns)
    data = weights, f.module.add_constant(starts)
    sums, x = nest.memory(f, plan.scratch)
    code = _Rows(f, target, nest, contraction.lane, plan, *data, x, sums)
    indices = [constant(I64, 0)] * len(nest.bounds)
    loops = (*contraction.groups, *contraction.pixels[:-1])
    nested(f, nest.bounds, loops, indices, code.pixels)


@dataclass(frozen=True)
class _Rows(PointCode):
    plan: WidenedPlan
    weights: Value
    starts: Value
    x: Value
    sums: Value

    @property
    def contraction(self) -> Contraction:
        return self.plan.contraction

    @property
    def pixel(self) -> int | None:
        """The loop whose steps are rows."""
        return self.contraction.pixels[-1] if self.contraction.pixels else None

    def pixels(self, indices: list[Value]) -> None:
        """All rows along the last loop over pixels."""
        f, nest, rows = self.f, self.nest, self.plan.routine.rows
        bound = 1 if self.pixel is None else nest.bounds[self.pixel]
        for segment in overlapping(bound, rows, may_repeat=nest.may_repeat):
            walk(f, self.pixel, segment, indices, partial(self.rows, segment.width))

    def rows(self, count: int, indices: list[Value]) -> None:
        """`count` rows, the first at `indices`. What a routine makes of rows beyond
        them isn't read."""
        f, lane = self.f, self.contraction.lane
        points = [moved(f, indices, self.pixel, row) for row in range(count)]
        self.widen(points)
        for block in self.plan.blocks:
            code = partial(self.block, points, block.width)
            walk(f, lane, block, indices, code)

    def block(
        self, points: list[list[Value]], channels: int, first: list[Value]
    ) -> None:
        """`channels` channels of the rows, from those of `first` on."""
        f, plan, lane = self.f, self.plan, self.contraction.lane
        routine, factors = plan.routine, plan.factors
        columns = routine.columns
        group = f.scale(group_position(f, self.contraction, first), factors.vectors)
        column = f.add(group, f.divide(first[lane], columns))
        numbers = (
            routine.left_out(plan.words * WORD_BYTES),
            -(-channels // columns),
            plan.row_bytes,
        )
        arguments = [
            f.at(self.weights, f.scale(column, factors.weights[0, 0].size)),
            f.at(self.starts, f.scale(column, WORD_BYTES * columns)),
            f.at(self.x, constant(I64, plan.x_bytes)),
            *(constant(I32, number) for number in numbers),
        ]
        f.call_routine(routine, [self.sums, self.x, *arguments])
        for segment in split(channels, 1 if plan.is_small else _FINISHED):

            def finish(
                index: Value, carried: list[Value], segment: Segment = segment
            ) -> list[Value]:
                start = constant(I64, segment.start)
                number = f.add(f.scale(index, segment.width), start)
                self.finish(points, segment.width, first[lane], number)
                return carried

            f.loop(segment.repeat, [], finish)

    def finish(
        self, points: list[list[Value]], channels: int, first: Value, number: Value
    ) -> None:
        """Init and epilogue of channels of all rows, one after another, from `number`
        of a block on, which begins with `first`."""
        f, lane = self.f, self.contraction.lane
        has_initial = self.plan.factors.initial is not None
        line = f.at(self.sums, f.scale(number, WORD_BYTES))

        def complete(pixel: list[Value], row: Value, channel: int) -> None:
            point = list(pixel)
            point[lane] = f.add(first, f.add(number, constant(I64, channel)))
            offset = f.add(
                f.scale(row, self.plan.row_bytes), constant(I64, channel * WORD_BYTES)
            )
            total = f.load(I32, f.at(line, offset), WORD_BYTES)
            self.complete(total, point, 1, has_initial=has_initial)

        def step(row: Value, carried: list[Value]) -> list[Value]:
            assert self.pixel is not None
            pixel = list(points[0])
            pixel[self.pixel] = f.add(pixel[self.pixel], row)
            complete(pixel, row, 0)
            return carried

        if self.plan.is_small and len(points) > 1:
            f.loop(len(points), [], step)
            return
        for channel in range(channels):
            for row, pixel in enumerate(points):
                complete(pixel, constant(I64, row), channel)

    def widen(self, points: list[list[Value]]) -> None:
        """The windows of rows at `points` as halves."""
        f, nest, run = self.f, self.nest, self.contraction.run
        assert run is not None
        place = run - len(nest.parallel)
        whole, rest = divmod(nest.bounds[run], WORD_BYTES)
        segments = [*split(whole, 1 if self.plan.is_small else _WIDENED)]
        if rest:
            segments.append(Segment(whole, 1, 1))

        def at_tap(
            position: list[Value], tap: Value, carried: list[Value]
        ) -> list[Value]:
            first = f.scale(tap, whole + bool(rest))

            def words(segment: Segment, now: list[Value]) -> None:
                for word in range(segment.width):
                    size = rest if segment.start == whole else WORD_BYTES
                    number = f.add(now[place], constant(I64, word))
                    at = list(now)
                    at[place] = f.scale(number, WORD_BYTES)
                    self.widen_word(points, at, size, f.add(first, number))

            for segment in segments:
                walk(f, place, segment, position, partial(words, segment))
            return carried

        over_taps(f, self.contraction, f.loop, [], at_tap, {})

    def widen_word(
        self,
        points: list[list[Value]],
        position: list[Value],
        size: int,
        number: Value,
    ) -> None:
        """`size` <= 4 activations of each row, as word `number` of each."""
        f, plan, activation = self.f, self.plan, self.contraction.activation
        halves, rows = plan.halves, plan.routine.rows
        signed = activation.signed
        extend = halves.extend_signed if signed else halves.extend_unsigned
        at = f.at(self.x, f.scale(number, _ROW_BYTES * rows))
        outer = len(self.nest.parallel)
        words = [
            load_word(
                f, activation.operand.address(f, [*point[:outer], *position]), size
            )
            for point in points
        ]
        for half in range(2):
            for row, word in enumerate(words):
                if half:
                    word = f.call("llvm.fshr.i32", I32, (word, word, constant(I32, 8)))
                offset = constant(I64, WORD_BYTES * (half * rows + row))
                f.store(f.call(extend, I32, (word,)), f.at(at, offset), WORD_BYTES)
