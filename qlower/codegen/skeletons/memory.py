"""The memory that a nest's code needs, and how far its result may lie over an input
that is not read afterwards.

Code goes through the pixels in order of memory. Where its reads advance as fast as its
writes, the result can lie over its input, if it begins early enough: no element is
overwritten before it was read for the last time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue

from qlower.codegen.nests.nest import LoopNest, analyse
from qlower.codegen.nests.operand import Operand, first_byte
from qlower.codegen.nests.point import Segment, overlapping
from qlower.codegen.skeletons.choose import Skeleton, Skeletons, scratch_bytes
from qlower.codegen.skeletons.contraction.widened import WidenedPlan
from qlower.codegen.skeletons.depthwise.routine import RoutinePlan
from qlower.codegen.skeletons.loops import LoopPlan
from qlower.codegen.skeletons.products.step import Integers
from qlower.codegen.targets.resolve import Target
from qlower.dialects.kernel import BoxAttr, NestOp, root

Steps = Sequence[tuple[int | None, Sequence[Segment]]]
"""Loops, the outermost first, and the segments that code takes of each."""


@dataclass(frozen=True)
class _Code:
    """A nest, how it is run, and the byte of its buffer at which its result begins."""

    nest: LoopNest
    skeleton: Skeleton
    begins: int


class NestMemory:
    """The facts about nests whose padding has its place, for a target; None without
    one. A nest may be in the box of a copy, or not."""

    def __init__(self, target: Target | None) -> None:
        self.target = target if target and target.halves else None
        self.known: dict[tuple[NestOp, bool, bool], _Code] = {}

    def scratch(self, op: NestOp, boxed: bool) -> int:
        """Bytes of the scratch that the nest's code needs."""
        found = self._code(op, boxed)
        return 0 if found is None else scratch_bytes(found.skeleton)

    def distances(self, op: NestOp, boxed: bool) -> Iterator[tuple[SSAValue, float]]:
        """Inputs that the result may overlap, with the least number of bytes by which
        it has to begin before them: see `_distance`."""
        found = self._code(op, boxed)
        tables = {root(table) for table in op.tables}
        values = [root(value) for value in op.inputs]
        for index, value in enumerate(values):
            if found is None or value in tables or values.count(value) > 1:
                continue
            distance = _distance(found, index)
            if distance is not None:
                yield value, distance

    def _code(self, op: NestOp, boxed: bool) -> _Code | None:
        if self.target is None:
            return None
        key = op, boxed, op.scratch is None
        if key not in self.known:
            before, op.buffers = op.buffers, ArrayAttr([BoxAttr()]) if boxed else None
            nest = analyse(op)
            skeleton = Skeletons(self.target, nest).of(nest, op.schedule)
            self.known[key] = _Code(nest, skeleton, first_byte(op.results[0]) or 0)
            op.buffers = before
        return self.known[key]


def _distance(code: _Code, index: int) -> float | None:
    """The number of bytes by which the only result must at least begin before input
    `index`; minus infinity where all is read first, and None where only memory of its
    own will do.

    The input is a tensor that no other operand of the nest reads.
    """
    nest = code.nest
    order = _order(nest, code.skeleton, index)
    if order is None or len(nest.results) != 1:
        return None
    steps, reads_first = order
    (result,), read = nest.results, nest.inputs[index]
    if min(*result.strides, *read.strides, 0) < 0:
        return None
    unread = _starts(read, steps, last=False)
    unread = np.minimum.accumulate(np.maximum(unread, 0)[::-1])[::-1].astype(float)
    if reads_first:
        unread = np.append(unread[1:], math.inf)
    ends = _starts(result, steps, last=True) + _extent(nest, result, steps)
    written = np.maximum.accumulate(code.begins + ends)
    return float((written - unread).max())


def _order(nest: LoopNest, skeleton: Skeleton, index: int) -> tuple[Steps, bool] | None:
    """The steps in which code reads and writes, and whether each reads all that it
    needs of input `index` before it writes; None where that isn't known."""
    match skeleton:
        case WidenedPlan(contraction=contraction, routine=routine):
            outer = (*contraction.groups, *contraction.pixels[:-1])
            steps = [(loop, _single(nest, loop)) for loop in outer]
            for loop in contraction.pixels[-1:]:
                rows = overlapping(
                    nest.bounds[loop], routine.rows, may_repeat=nest.may_repeat
                )
                steps.append((loop, rows))
            return steps, index == contraction.activation.index
        case RoutinePlan(products=products, column_loop=column):
            inner = products.lane, column
            return [(d, _single(nest, d)) for d in _parallel(nest, inner)], False
        case LoopPlan(lane_loop=lane, column_loop=column, woven_loop=woven):
            inner = lane, column, woven
            steps = [(d, _single(nest, d)) for d in _parallel(nest, inner)]
            if nest.reduction:
                return steps, False
            return [*steps, (lane, skeleton.lanes)], True
        case _:
            return None


def _parallel(nest: LoopNest, inner: Sequence[int | None]) -> list[int]:
    return [loop for loop in range(len(nest.parallel)) if loop not in inner]


def _single(nest: LoopNest, loop: int) -> tuple[Segment, ...]:
    return (Segment(0, nest.bounds[loop], 1),)


def _starts(operand: Operand, steps: Steps, *, last: bool) -> Integers:
    """The byte of the first element, or of the `last` one, of each step, in order,
    where the other loops begin."""
    total = np.array([operand.offset], np.int64)
    for loop, segments in steps:
        if loop is None:
            continue
        indices = [
            min(segment.start + number * segment.width, segment.last or math.inf)
            + (segment.width - 1) * last
            for segment in segments
            for number in range(segment.repeat)
        ]
        along = np.array(indices, np.int64) * operand.strides[loop]
        total = np.add.outer(total, along).ravel()
    return total * operand.element_bytes


def _extent(nest: LoopNest, result: Operand, steps: Steps) -> int:
    """Bytes from the start of the first to the end of the last element that a step
    writes along the loops that aren't the steps'."""
    walked = {loop for loop, _ in steps}
    return result.element_bytes * sum(
        (
            result.strides[loop] * (nest.bounds[loop] - 1)
            for loop in range(len(nest.parallel))
            if loop not in walked
        ),
        start=1,
    )
