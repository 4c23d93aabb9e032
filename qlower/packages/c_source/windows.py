"""Depthwise windows of neighbouring pixels, as the routines of Arm's cores sum them.

A function sums the windows of several pixels in a row, one channel after the other: an
activation is loaded once for all of them. The sums of a block of channels go through
the nest's epilogue. A line of the window that is beyond the image is a constant one;
tiles at the ends of a row have a function of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby, product

from qlower.codegen.nests.edges import Edge
from qlower.codegen.nests.point import Segment
from qlower.codegen.nests.recognise import DepthwiseProducts
from qlower.codegen.skeletons.depthwise.routine import (
    RoutinePlan,
    channel_blocks,
    plan_routine,
)
from qlower.codegen.skeletons.depthwise.taps import cut_at_edges, tap_offset
from qlower.codegen.targets.c99 import PORTABLE_C
from qlower.codegen.targets.resolve import resolve_target

from .inner import windows
from .loops import Loop, NestWriter, linear
from .rows import SCRATCH

_BORDER = 512
"""Elements of padding that lines are multiples of: nests share equal ones."""


def plan_windows(products: DepthwiseProducts) -> RoutinePlan | None:
    """The way to sum windows by a function; None where there is none or the nest has
    too little scratch."""
    given = products.nest.op.scratch
    plan = plan_routine(resolve_target(PORTABLE_C), products)
    if plan is None or given is None or sum(plan.scratch) > given.bytes.data:
        return None
    return plan


@dataclass
class Windows:
    """A depthwise nest, by the plan."""

    writer: NestWriter
    plan: RoutinePlan

    def __post_init__(self) -> None:
        self.products = self.plan.products
        self.nest = self.products.nest
        self.lane, self.column = self.products.lane, self.plan.column_loop
        self.names = [*self.writer.counters]

    def write(self) -> list[str]:
        """The statements."""
        writer, lines, nest = self.writer, self.writer.lines, self.nest
        x = self.products.activation
        inner = self.lane, self.column
        outer = [loop for loop in range(len(nest.parallel)) if loop not in inner]
        lines.add(f"int32_t *const sums = (int32_t *)(void *){SCRATCH};")
        type = "int8_t" if x.signed else "uint8_t"
        lines.add(f"const {type} *lines[{len(self.plan.lines)}];")
        if not x.signed:
            base = writer.base(x.operand, writer.op.inputs[x.index])
            lines.add(f"const uint8_t *const bytes = (const uint8_t *){base};")
        columns = cut_at_edges(self.products, self.column, self.plan.columns)
        groups = [list(g) for _, g in groupby(columns, lambda one: one[0].width)]
        with lines.loops([writer.loop(loop) for loop in outer]):
            for block in channel_blocks(nest, self.lane):
                with lines.segment(self.names[self.lane], block):
                    for group in groups:
                        self._tiles(block.width, group)
        return lines.texts

    def _tiles(self, channels: int, group: Sequence[tuple[Segment, bool]]) -> None:
        """Tiles of one width in a row, which differ by the function that sums them."""
        lines, name = self.writer.lines, self.names[self.column]
        first, width = group[0][0].start, group[0][0].width
        count = sum(segment.repeat for segment, _ in group)
        with lines.segment(name, Segment(first, count, width)):
            self._cases(channels, group)
            c, p = Loop("c", channels), Loop("p", width)
            with lines.loops([c, p]):
                writer = self.writer
                writer.counters = [*self.names]
                writer.counters[self.lane] = f"({self.names[self.lane]} + c)"
                writer.counters[self.column] = f"({name} + p)"
                total = f"sums[(c * {width}) + p]"
                writer.complete(total, has_initial=self.plan.starts_from_initial)
                writer.counters = self.names

    def _cases(self, channels: int, group: Sequence[tuple[Segment, bool]]) -> None:
        """The function of each tile: cases by column, where they differ."""
        *cases, (last, is_inner) = group
        for position, (segment, case_is_inner) in enumerate(cases):
            end = segment.start + segment.repeat * segment.width
            head = f"if ({self.names[self.column]} < {end})"
            with self.writer.lines.block(f"else {head}" if position else head):
                self._sum(channels, segment, case_is_inner)
        with self.writer.lines.block("else") if cases else nullcontext():
            self._sum(channels, last, is_inner)

    def _sum(self, channels: int, segment: Segment, is_inner: bool) -> None:
        """Sum the windows of a tile for a block of channels."""
        plan, writer, lines = self.plan, self.writer, self.writer.lines
        x = self.products.activation
        taps = len(plan.lines[0])
        known = None if is_inner else segment.start
        uses: dict[int | None, list[tuple[int, int]]] = {}
        for tap, column in product(range(taps), range(segment.width)):
            place = self._place(tap, column, known)
            uses.setdefault(place, []).append((column, tap))
        first = min((place for place in uses if place is not None), default=0)
        last = max((place for place in uses if place is not None), default=0)
        steps = [
            (None if place is None else place - first, uses[place])
            for place in sorted(uses, key=lambda place: place or 0)
        ]
        border = x.operand.border if x.signed else x.operand.border % 256
        name = windows(
            writer.helpers,
            "int8_t" if x.signed else "uint8_t",
            (len(plan.lines), taps, segment.width),
            steps,
            border,
        )
        length = -(-(last - first + channels) // _BORDER) * _BORDER
        for number in range(len(plan.lines)):
            lines.add(f"lines[{number}] = {self._line(number, first, length)};")
        weights = writer.constants.name("i8", plan.weights.astype("i1").tobytes())
        starts = (plan.starts & 0xFFFFFFFF).astype("<u4").tobytes()
        channel = self.names[self.lane]
        lines.add(
            f"{name}(lines, &{weights}[{channel} * {len(plan.lines) * taps}],"
            f" &{writer.constants.name('i32', starts)}[{channel}], {channels}, sums);"
        )

    def _place(self, tap: int, column: int, start: int | None) -> int | None:
        """The distance of a tap from the first one of the first column; None where it
        is padding, as is known of a tile that begins at column `start`."""
        products = self.products
        last = len(self.nest.bounds) - 1
        for edge in products.activation.operand.edges:
            if start is None or not (edge.strides[self.column] or edge.strides[last]):
                continue
            at = edge.first.constant
            assert at is not None
            at += edge.strides[self.column] * (start + column)
            if not 0 <= at + edge.strides[last] * tap < edge.size:
                return None
        tapped = (*self.plan.lines[0][0][:-1], tap)
        return tap_offset(products, tapped, column, self.column)

    def _line(self, number: int, first: int, length: int) -> str:
        """The address of a line's first activation, or that of a line of padding."""
        writer, x = self.writer, self.products.activation
        operand, outer = x.operand, self.plan.lines[number][0]
        parallel = len(self.nest.parallel)

        def index(strides: Sequence[int], start: int) -> str:
            steps = strides[parallel:]
            start += sum(s * n for s, n in zip(steps, outer, strict=True))
            return linear(strides[:parallel], start, self.names[:parallel])

        base = "bytes"
        if x.signed:
            base = writer.base(operand, writer.op.inputs[x.index])
        address = f"&{base}[{index(operand.strides, operand.offset + first)}]"
        conditions = [
            f"((uint32_t)({index(edge.strides, _start(edge))}) < {edge.size}u)"
            for edge in operand.edges
            if not edge.strides[self.column] and not edge.strides[-1]
        ]
        if not conditions:
            return address
        border = writer.constants.name(operand.scalar, operand.border_bytes(length))
        cast = "" if x.signed else "(const uint8_t *)"
        return f"({' && '.join(conditions)}) ? {address} : {cast}{border}"


def _start(edge: Edge) -> int:
    found = edge.first.constant
    assert found is not None
    return found
