"""Sums of products of activations that are widened once, as the code of Arm's cores.

The windows of two neighbouring pixels, or of one, are written to scratch as 16-bit
halves: of four activations the first and the third, then the second and the fourth. A
word of weights has those two of two channels, which alternate. A function multiplies
them for a block of channels, whose sums go through the nest's epilogue.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.contraction.widened import (
    WidenedPlan,
    pack_for_routine,
    plan_widened,
)
from qlower.codegen.skeletons.products.packing import Weights, padded_i32
from qlower.codegen.skeletons.products.step import WORD_BYTES
from qlower.codegen.targets.c99 import PORTABLE_C
from qlower.codegen.targets.resolve import resolve_target

from .inner import sums_of_rows, widen
from .loops import Loop, NestWriter, linear

SCRATCH = "scratch"
"""The argument that is memory of the function's own."""


def plan_rows(contraction: Contraction) -> WidenedPlan | None:
    """The way to sum products of widened activations; None where it doesn't pay or the
    nest has too little scratch."""
    given = contraction.nest.op.scratch
    if given is None or contraction.accumulator != "i32":
        return None
    target = resolve_target(PORTABLE_C)
    plan = plan_widened(target, contraction, Weights(contraction))
    if plan is None or sum(plan.scratch) > given.bytes.data:
        return None
    return plan


@dataclass
class Rows:
    """A contraction, by the plan."""

    writer: NestWriter
    plan: WidenedPlan

    def __post_init__(self) -> None:
        contraction = self.plan.contraction
        self.contraction = contraction
        self.names = [*self.writer.counters]
        self.lane = contraction.lane
        self.pixel = contraction.pixels[-1] if contraction.pixels else None
        sums, _ = self.plan.scratch
        self.x = f"(int16_t *)(void *)({SCRATCH} + {sums})"

    def write(self) -> list[str]:
        """The statements."""
        writer, bounds = self.writer, self.writer.nest.bounds
        lines, rows = writer.lines, self.plan.routine.rows
        lines.add(f"int32_t *const sums = (int32_t *)(void *){SCRATCH};")
        lines.add(f"int16_t *const x = {self.x};")
        loops = (*self.contraction.groups, *self.contraction.pixels[:-1])
        pixels = [writer.loop(loop) for loop in loops]
        if self.pixel is not None:
            name, bound = self.names[self.pixel], bounds[self.pixel]
            pixels.append(Loop(name, bound, 0, rows))
        with lines.loops(pixels):
            self._widen()
            for block in self.plan.blocks:
                with lines.segment(self.names[self.lane], block):
                    self._sum(block.width)
                    self._finish(block.width)
        return lines.texts

    def _widen(self) -> None:
        """Write the windows of the rows to scratch."""
        contraction, writer = self.contraction, self.writer
        x, nest = contraction.activation, writer.nest
        assert contraction.run is not None
        length = nest.bounds[contraction.run]
        counters = [*self.names]
        counters[contraction.run] = counters[self.lane] = ""
        kept = [(s, c) for s, c in zip(x.operand.strides, counters, strict=True) if c]
        place = linear([s for s, _ in kept], x.operand.offset, [c for _, c in kept])
        tap = "0"
        for loop in contraction.taps:
            tap = f"(({tap} * {nest.bounds[loop]}) + {self.names[loop]})"
        rows = self.plan.routine.rows
        halves = rows * WORD_BYTES * -(-length // WORD_BYTES)
        name = widen(writer.helpers, signed=x.signed, rows=rows)
        base = writer.base(x.operand, writer.op.inputs[x.index])
        data = base if x.signed else f"(const uint8_t *){base}"
        arguments = [f"&{data}[{place}]" if x.signed else f"({data}) + ({place})"]
        if rows == 2:
            assert self.pixel is not None
            step = str(x.operand.strides[self.pixel])
            if nest.bounds[self.pixel] % 2:
                step = f"{self._has_second()} ? {step} : 0"
            arguments.append(step)
        arguments += [str(length), f"&x[{tap} * {halves}]"]
        with writer.lines.loops([writer.loop(loop) for loop in contraction.taps]):
            writer.lines.add(f"{name}({', '.join(arguments)});")

    def _has_second(self) -> str:
        assert self.pixel is not None
        return (
            f"(({self.names[self.pixel]} + 1) < {self.writer.nest.bounds[self.pixel]})"
        )

    def _sum(self, channels: int) -> None:
        """Sum the products of a block of channels."""
        plan, writer = self.plan, self.writer
        factors, columns = plan.factors, plan.routine.columns
        start = factors.correction
        if factors.initial is not None:
            start = start + factors.initial
        weights = writer.constants.name("i8", pack_for_routine(factors.weights))
        padded = padded_i32(start, factors.vectors * columns)
        starts = writer.constants.name("i32", padded)
        group = "0"
        for loop in self.contraction.groups:
            group = f"(({group} * {writer.nest.bounds[loop]}) + {self.names[loop]})"
        first = f"(({group} * {factors.vectors * columns}) + {self.names[self.lane]})"
        bytes_of_channel = factors.weights[0, 0].size // columns
        name = sums_of_rows(writer.helpers, plan.routine.rows)
        distance = f"{plan.row_bytes // WORD_BYTES}, " * (plan.routine.rows > 1)
        writer.lines.add(
            f"{name}(x, &{weights}[{first} * {bytes_of_channel}], &{starts}[{first}],"
            f" {plan.words}, {-(-channels // columns)}, {distance}sums);"
        )

    def _finish(self, channels: int) -> None:
        """Init and epilogue of a block of channels of all rows."""
        writer, lines = self.writer, self.writer.lines
        first = self.names[self.lane]
        with lines.loops([Loop("c", f"({first} + {channels})", first)]):
            self._finish_row(0)
            if self.plan.routine.rows == 2:
                assert self.pixel is not None
                is_cut = writer.nest.bounds[self.pixel] % 2
                condition = lines.block(f"if {self._has_second()}")
                with condition if is_cut else nullcontext():
                    self._finish_row(1)

    def _finish_row(self, row: int) -> None:
        writer, first = self.writer, self.names[self.lane]
        writer.counters = [*self.names]
        writer.counters[self.lane] = "c"
        if row:
            assert self.pixel is not None
            writer.counters[self.pixel] = f"({self.names[self.pixel]} + {row})"
        at = f"c - {first}" + (
            f" + {row * self.plan.row_bytes // WORD_BYTES}" if row else ""
        )
        has_initial = self.plan.factors.initial is not None
        writer.complete(f"sums[{at}]", has_initial=has_initial)
        writer.counters = self.names
