"""Steps through a nest's loops, and its regions at one step: what all skeletons share.

A position is a list with one index a loop of the nest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Region

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Value, constant, vector_constant
from qlower.codegen.nests.nest import LoopNest
from qlower.codegen.targets.resolve import Target
from qlower.codegen.values.bounds import accumulator_magnitudes
from qlower.codegen.values.elements import store_scalars
from qlower.codegen.values.facts import divides
from qlower.codegen.values.region import Context, emit_region


@dataclass(frozen=True)
class Segment:
    """`repeat` steps of `width` from `start` on, along one loop. None begins beyond
    `last`, if there is one."""

    start: int
    repeat: int
    width: int
    last: int | None = None


def split(bound: int, width: int) -> tuple[Segment, ...]:
    """`bound` in steps of `width`, the rest in ever smaller powers of two."""
    segments: list[Segment] = []
    start = 0
    while start < bound:
        while width > bound - start:
            width //= 2
        repeat = (bound - start) // width
        segments.append(Segment(start, repeat, width))
        start += repeat * width
    return tuple(segments)


def overlapping(bound: int, width: int, *, may_repeat: bool) -> tuple[Segment, ...]:
    """`bound` in steps of `width`. The last one begins earlier where it may repeat what
    another has done; see `walk`."""
    whole, rest = divmod(bound, width)
    if rest and whole and may_repeat:
        return (Segment(0, whole + 1, width, bound - width),)
    found = Segment(0, whole, width), Segment(whole * width, 1, rest)
    return tuple(segment for segment in found if segment.repeat and segment.width)


def split_lanes(target: Target, bound: int, width: int) -> tuple[Segment, ...]:
    """`bound` lanes in vectors of `width`, and the rest in smaller ones.

    What is left for less than a register of 32-bit numbers is one vector, of any number
    of lanes, where the target masks the others; and single ones where it knows no
    smaller vectors.
    """
    segments = split(bound, width)
    least = target.vector_bits // 32
    if target.widens_in_memory and not target.masks_lanes and bound % least:
        whole = bound - bound % least
        return (*split(whole, width), Segment(whole, bound - whole, 1))
    whole = tuple(segment for segment in segments if segment.width >= least)
    if not target.masks_lanes or len(segments) - len(whole) < 2:
        return segments
    start = sum(segment.repeat * segment.width for segment in whole)
    return (*whole, Segment(start, 1, bound - start))


def nested(
    f: Function,
    bounds: Sequence[int],
    loops: Sequence[int],
    indices: list[Value],
    code: Callable[[list[Value]], None],
) -> None:
    """`code` inside of the given loops, with their indices filled in."""
    if not loops:
        return code(indices)
    loop, *rest = loops
    whole = Segment(0, bounds[loop], 1)
    return walk(f, loop, whole, indices, lambda now: nested(f, bounds, rest, now, code))


def walk(
    f: Function,
    loop: int | None,
    segment: Segment,
    indices: list[Value],
    code: Callable[[list[Value]], None],
) -> None:
    """`code` at every step of the segment."""
    if loop is None:
        return code(indices)

    def step(index: Value, carried: list[Value]) -> list[Value]:
        start = constant(I64, segment.start)
        now = list(indices)
        now[loop] = f.add(f.scale(index, segment.width), start)
        if segment.last is not None:
            last = constant(I64, segment.last)
            now[loop] = f.intrinsic("umin", now[loop], last)
        code(now)
        return carried

    f.loop(segment.repeat, [], step)
    return None


def moved(
    f: Function, indices: list[Value], loop: int | None, distance: int
) -> list[Value]:
    moved = list(indices)
    if loop is not None:
        moved[loop] = f.add(indices[loop], constant(I64, distance))
    return moved


NOTHING_LOADED: Mapping[int, Value] = {}


@dataclass(frozen=True)
class PointCode:
    """Emits regions of a nest; `lane_loop` is the vectorised loop."""

    f: Function
    target: Target
    nest: LoopNest
    lane_loop: int | None

    def run(
        self,
        region: Region,
        point: Sequence[Value],
        accumulators: Sequence[Value],
        lanes: int,
        loaded: Mapping[int, Value] = NOTHING_LOADED,
    ) -> list[Value]:
        """The values that the region yields at `point`, in all lanes.

        Of some inputs, by their numbers, the elements there are `loaded`.
        """
        used = region.block.args[: len(self.nest.inputs)]
        inputs = [
            (loaded.get(number) or operand.load(self.f, point, self.lane_loop, lanes))
            if argument.uses
            else None
            for number, (operand, argument) in enumerate(
                zip(self.nest.inputs, used, strict=True)
            )
        ]

        def index(loop: int) -> Value:
            position = self.nest.index_loops[loop]
            value = self.nest.index(loop, point)
            if position is None or position != self.lane_loop or lanes == 1:
                return value
            steps = vector_constant("i64", range(lanes))
            return self.f.binary("add", self.f.splat(value, lanes), steps)

        context = Context(self.f, self.target, index, self.nest.tables)
        bounds = [
            operand.magnitude if argument.uses else math.inf
            for operand, argument in zip(self.nest.inputs, used, strict=True)
        ]
        is_bounded = divides(region) or self.target.adds_to_round
        if accumulators and region is self.nest.op.epilogue and is_bounded:
            bounds += accumulator_magnitudes(
                self.nest.op, [operand.magnitude for operand in self.nest.inputs]
            )
        yielded = emit_region(context, region, [*inputs, *accumulators], bounds)
        return [self.f.splat(value, lanes) for value in yielded]

    def complete(
        self, total: Value, point: list[Value], lanes: int, *, has_initial: bool
    ) -> None:
        """Add the initial accumulators, if the total hasn't them, run the epilogue,
        store."""
        if not has_initial:
            (initial,) = self.run(self.nest.op.init, point, [], lanes)
            total = self.f.binary("add", total, initial)
        stored = self.run(self.nest.op.epilogue, point, [total], lanes)
        for result, value in zip(self.nest.results, stored, strict=True):
            store_scalars(self.f, value, result.address(self.f, point))
