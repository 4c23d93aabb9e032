"""Sums of products by a target's routines, of activations that are widened once.

The runs of a pixel's window, or of two pixels', are written to the stack as 16-bit
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
from qlower.codegen.nests.point import PointCode, Segment, moved, nested, split, walk
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
from qlower.codegen.targets.resolve import Halves, Target

_ROW_BYTES = 2 * WORD_BYTES
"""Bytes of a row's halves of a word of activations."""

_WIDENED = 4
"""Words of each row that are widened together."""

_FINISHED = 2
"""Channels of each row that go through the epilogue together: LLVM spills more."""

_MOST_BYTES = 1 << 13
"""Bytes of the largest frame that holds activations and sums."""


@dataclass(frozen=True)
class WidenedPlan:
    """A contraction by a routine, which takes activations as `halves`."""

    contraction: Contraction
    halves: Halves
    routine: RowsRoutine
    factors: Factors

    @property
    def words(self) -> int:
        """Words of activations of a row."""
        return self.factors.weights.shape[3] * self.factors.weights.shape[4]

    @property
    def row_bytes(self) -> int:
        """Bytes of the sums of a row."""
        return WORD_BYTES * self.factors.vectors * self.routine.columns


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
    plan = WidenedPlan(contraction, halves, routine, factors)
    frame = routine.rows * (_ROW_BYTES * plan.words + plan.row_bytes)
    if factors.has_row_factor or factors.parts is not None or frame > _MOST_BYTES:
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
    starts = padded_i32(start, plan.row_bytes // WORD_BYTES)
    data = weights, f.module.add_constant(starts)
    code = _Rows(f, target, nest, contraction.lane, plan, *data)
    indices = [constant(I64, 0)] * len(nest.bounds)
    loops = (*contraction.groups, *contraction.pixels[:-1])
    nested(f, nest.bounds, loops, indices, code.pixels)


@dataclass(frozen=True)
class _Rows(PointCode):
    plan: WidenedPlan
    weights: Value
    starts: Value

    @property
    def contraction(self) -> Contraction:
        return self.plan.contraction

    @property
    def pixel(self) -> int | None:
        """The loop whose steps are rows."""
        return self.contraction.pixels[-1] if self.contraction.pixels else None

    def pixels(self, indices: list[Value]) -> None:
        """All rows along the last loop over pixels."""
        rows = self.plan.routine.rows
        bound = 1 if self.pixel is None else self.nest.bounds[self.pixel]
        whole = bound // rows
        for segment in (
            Segment(0, whole, rows),
            Segment(whole * rows, bound % rows, 1),
        ):
            if segment.repeat:
                code = partial(self.rows, segment.width)
                walk(self.f, self.pixel, segment, indices, code)

    def rows(self, count: int, indices: list[Value]) -> None:
        """`count` rows, the first at `indices`. What a routine makes of rows beyond
        them isn't read."""
        f, plan = self.f, self.plan
        routine, factors = plan.routine, plan.factors
        words = _ROW_BYTES * routine.rows
        x = f.allocate(words * plan.words)
        sums = f.allocate(plan.row_bytes * routine.rows)
        points = [moved(f, indices, self.pixel, row) for row in range(count)]
        self.widen(points, x)
        group = group_position(f, self.contraction, indices)
        group_bytes = factors.weights[0].size
        many = plan.words * WORD_BYTES // routine.MANY * routine.MANY // WORD_BYTES
        ends = [constant(I64, words * size) for size in (many, plan.words)]
        numbers = factors.vectors, plan.row_bytes
        f.call_routine(
            routine,
            [
                sums,
                x,
                f.at(self.weights, f.scale(group, group_bytes)),
                f.at(self.starts, f.scale(group, plan.row_bytes)),
                *(f.at(x, end) for end in ends),
                *(constant(I32, number) for number in numbers),
            ],
        )
        lane, bounds = self.contraction.lane, self.nest.bounds
        for segment in split(bounds[lane], _FINISHED):
            code = partial(self.finish, sums, points, segment.width)
            walk(f, lane, segment, indices, code)

    def finish(
        self, sums: Value, points: list[list[Value]], lanes: int, channel: list[Value]
    ) -> None:
        """Init and epilogue of `lanes` channels of all rows, one after another."""
        f, lane = self.f, self.contraction.lane
        has_initial = self.plan.factors.initial is not None
        line = f.at(sums, f.scale(channel[lane], WORD_BYTES))
        for number in range(lanes):
            for row, pixel in enumerate(points):
                point = list(pixel)
                point[lane] = f.add(channel[lane], constant(I64, number))
                offset = row * self.plan.row_bytes + number * WORD_BYTES
                total = f.load(I32, f.at(line, constant(I64, offset)), WORD_BYTES)
                self.complete(total, point, 1, has_initial=has_initial)

    def widen(self, points: list[list[Value]], x: Value) -> None:
        """The windows of rows at `points` as halves at `x`."""
        f, nest, run = self.f, self.nest, self.contraction.run
        assert run is not None
        place = run - len(nest.parallel)
        whole, rest = divmod(nest.bounds[run], WORD_BYTES)
        segments = [*split(whole, _WIDENED)]
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
                    self.widen_word(points, at, size, x, f.add(first, number))

            for segment in segments:
                walk(f, place, segment, position, partial(words, segment))
            return carried

        over_taps(f, self.contraction, f.loop, [], at_tap, {})

    def widen_word(
        self,
        points: list[list[Value]],
        position: list[Value],
        size: int,
        x: Value,
        number: Value,
    ) -> None:
        """`size` <= 4 activations of each row, as word `number` of each at `x`."""
        f, plan, activation = self.f, self.plan, self.contraction.activation
        halves, rows = plan.halves, plan.routine.rows
        signed = activation.signed
        extend = halves.extend_signed if signed else halves.extend_unsigned
        at = f.at(x, f.scale(number, _ROW_BYTES * rows))
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
