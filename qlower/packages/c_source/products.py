"""Sums of products with constant weights, several at a time.

Two pixels by two channels, or four channels of one pixel, share what they load.
Everything but the reduction is written as `loops` does; what runs inside of it is in
`inner`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import prod

import numpy as np

from qlower.codegen.nests.operand import lanes_of
from qlower.codegen.nests.recognise import (
    Contraction,
    Products,
    recognise,
)
from qlower.codegen.skeletons.products.packing import gather

from .inner import dot
from .loops import Loop, NestWriter, linear
from .rows import Rows, plan_rows
from .windows import Windows, plan_windows

_BLOCK = 4
"""Sums of a block."""


def write_nest(writer: NestWriter) -> list[str]:
    """The statements of a nest, in blocks where it is a sum of products of bytes."""
    products = recognise(writer.nest)
    if products is None or not _is_plain(products):
        return writer.write()
    if isinstance(products, Contraction):
        plan = plan_rows(products)
        if plan is not None:
            return Rows(writer, plan).write()
        products = _with_rows(products)
        if not _has_blocks(products):
            return writer.write()
        writer.nest = products.nest
        return _Dots(writer, products).write()
    windows = plan_windows(products)
    return writer.write() if windows is None else Windows(writer, windows).write()


def _with_rows(products: Contraction) -> Contraction:
    """The products with weights that lie as activations do, a run after another
    for each channel."""
    nest, weight = products.nest, products.weight.operand
    run = products.run
    if run is None or products.groups or weight.strides[run] == 1:
        return products
    order = (products.lane, *products.taps, run)
    shape = [nest.bounds[loop] for loop in order]
    data = gather(weight, order, shape, np.int8).tobytes()
    strides = [0] * len(nest.bounds)
    for position, loop in enumerate(order):
        strides[loop] = prod(shape[position + 1 :])
    operand = replace(weight, strides=tuple(strides), offset=0, data=data)
    inputs = list(nest.inputs)
    inputs[products.weight.index] = operand
    nest = replace(nest, inputs=tuple(inputs))
    return replace(products.on(nest), weight=replace(products.weight, operand=operand))


def _has_blocks(products: Contraction) -> bool:
    """Whether weights lie as activations do, and a row of channels is cut evenly."""
    run, bounds = products.run, products.nest.bounds
    if run is None or products.groups or products.weight.operand.strides[run] != 1:
        return False
    has_pixels = any(bounds[loop] > 1 for loop in products.pixels)
    return has_pixels or bounds[products.lane] % _BLOCK == 0


def _is_plain(products: Products) -> bool:
    """Whether it multiplies bytes with signed ones that have no zero point."""
    weight = products.weight
    is_byte = weight.scalar == products.activation.scalar == "i8"
    return is_byte and weight.signed and weight.offset == 0


class _Dots:
    """A contraction in blocks of two pixels by two channels, or of four channels.

    With the zero point z, sum (x - z) w = sum x w - z sum w, modulo 2^32: the second
    sum is known.
    """

    def __init__(self, writer: NestWriter, products: Contraction) -> None:
        self.writer = writer
        self.products = products
        self.names = [*writer.counters]
        bounds = writer.nest.bounds
        self.lane = products.lane
        pixels = [loop for loop in products.pixels if bounds[loop] > 1]
        self.pixel = pixels[-1] if pixels else None

    def write(self) -> list[str]:
        """The statements."""
        writer, nest, lines = self.writer, self.writer.nest, self.writer.lines
        width = _BLOCK if self.pixel is None else 2
        cut = [loop for loop in (self.pixel, self.lane) if loop is not None]
        blocks = [Loop(self.names[d], nest.bounds[d], 0, width) for d in cut]
        outer = [d for d in range(len(nest.parallel)) if d not in cut]
        with lines.loops([*map(writer.loop, outer), *blocks]):
            lasts = {loop: self._ends(loop, width) for loop in cut}
            members = {
                loop: Loop("cp"[loop == self.pixel], f"{end}", self.names[loop])
                for loop, end in lasts.items()
            }
            place = f"c - {self.names[self.lane]}"
            if self.pixel is not None:
                place = f"((p - {self.names[self.pixel]}) * 2) + {place}"
            lines.add("int32_t sums[4] = {0, 0, 0, 0};")
            with self._members(members):
                (start,) = writer.run(writer.op.init, [])
                lines.add(f"sums[{place}] = {self._corrected(start)};")
            taps = self.products.taps
            with lines.loops([*map(writer.loop, taps[:-1])]):
                lines.add(self._call(width, taps[-1] if taps else None))
            with self._members(members):
                writer.finish([f"sums[{place}]"])
        return lines.texts

    def _ends(self, loop: int, width: int) -> str:
        """The end of a block along a loop; the last one may be smaller."""
        name, bound = self.names[loop], self.writer.nest.bounds[loop]
        if bound % width == 0:
            return f"({name} + {width})"
        end = f"{name}_end"
        whole = f"{name} + {width}"
        self.writer.lines.add(
            f"const int32_t {end} = ({whole} < {bound}) ? ({whole}) : {bound};"
        )
        return end

    def _corrected(self, start: str) -> str:
        """A sum's beginning less the zero point times the sum of weights."""
        products, nest = self.products, self.writer.nest
        zero = products.activation.offset
        if zero == 0:
            return start
        weight = products.weight.operand
        assert weight.data is not None
        assert isinstance(zero, int)
        taken = np.lib.stride_tricks.as_strided(
            lanes_of("i8", weight.data)[weight.offset :],
            [nest.bounds[self.lane], *nest.reduction],
            [weight.strides[self.lane], *weight.strides[len(nest.parallel) :]],
        )
        sums = zero * taken.astype(np.int64).reshape(len(taken), -1).sum(1)
        name = self.writer.constants.name("i32", sums.astype("<i4").tobytes())
        return f"(int32_t)((uint32_t){start} - (uint32_t){name}[c])"

    def _call(self, width: int, tap: int | None) -> str:
        """The products of all runs along a loop, added to the block's sums.

        A block that is cut off reads its last pixel or channel again.
        """
        products, nest = self.products, self.writer.nest
        assert products.run is not None
        counters = [*self.names]
        for loop in (products.run, tap):
            if loop is not None:
                counters[loop] = ""

        def row(index: int, loop: int | None) -> str:
            """The distance to the next pixel or channel."""
            stride = 0 if loop is None else nest.inputs[index].strides[loop]
            if loop is None or nest.bounds[loop] % width == 0:
                return str(stride)
            name = self.names[loop]
            return f"(({name} + {width} <= {nest.bounds[loop]}) ? {stride} : 0)"

        x, w = products.activation, products.weight
        type = "int8_t" if x.signed else "uint8_t"
        cast = "" if x.signed else "(const uint8_t *)"
        arguments = [
            cast + self._place(x.index, counters),
            row(x.index, self.pixel),
            self._place(w.index, counters),
            row(w.index, self.lane),
            *(
                ("1", "0", "0")
                if tap is None
                else map(
                    str,
                    (nest.bounds[tap], x.operand.strides[tap], w.operand.strides[tap]),
                )
            ),
            str(nest.bounds[products.run]),
            "sums",
        ]
        rows = 1 if self.pixel is None else 2
        return f"{dot(self.writer.helpers, type, rows)}({', '.join(arguments)});"

    def _place(self, index: int, counters: Sequence[str]) -> str:
        """The address of an input's element; counters without a name are at zero."""
        operand, value = self.writer.nest.inputs[index], self.writer.op.inputs[index]
        kept = [
            (stride, counter)
            for stride, counter in zip(operand.strides, counters, strict=True)
            if counter
        ]
        strides, names = [s for s, _ in kept], [c for _, c in kept]
        return f"&{self.writer.base(operand, value)}" + (
            f"[{linear(strides, operand.offset, names)}]"
        )

    @contextmanager
    def _members(self, members: dict[int, Loop]) -> Generator[None]:
        """Loops over a block's members, with counters that regions can read."""
        counters = self.writer.counters
        self.writer.counters = [
            members[loop].name if loop in members else counter
            for loop, counter in enumerate(counters)
        ]
        with self.writer.lines.loops([*members.values()]):
            yield
        self.writer.counters = counters
