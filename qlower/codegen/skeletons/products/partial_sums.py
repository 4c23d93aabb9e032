"""Sums of products of 16 bits that fit the i32 lanes in which machines sum them.

An accumulator of more bits is their exact sum. A sum of products x w with the known
weights w of a channel is an i32 for every x, if 2^15 sum(|w|) < 2^31. A longer
reduction is cut into parts for which this holds; each is added to a sum with the
accumulator's bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Value, constant
from qlower.codegen.nests.nest import Span
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.products.step import Integers

_LARGEST_ACTIVATION = 1 << 15
_LIMIT = 1 << 31

_UNIT = 8
"""Numbers of a run that a part has a multiple of: all pieces that steps load divide
it."""

Spans: TypeAlias = Mapping[int, Span]
"""The part of a reduction loop that is summed, for loops that aren't summed whole."""


@dataclass(frozen=True)
class Parts:
    """A reduction in parts: of every step of the `outer` loops, `size` steps of `loop`
    and all of those inside of it."""

    outer: tuple[int, ...]
    loop: int
    size: int

    def each(
        self, f: Function, contraction: Contraction, code: Callable[[Spans], None]
    ) -> None:
        """`code` for one part after the other."""
        bounds = contraction.nest.bounds
        whole, rest = divmod(bounds[self.loop], self.size)

        def inside(loops: tuple[int, ...], spans: Spans) -> None:
            if loops:
                loop, *others = loops

                def step(index: Value, _: list[Value]) -> list[Value]:
                    inside(tuple(others), {**spans, loop: Span(index, 1)})
                    return []

                f.loop(bounds[loop], [], step)
                return

            def part(index: Value, _: list[Value]) -> list[Value]:
                first = f.scale(index, self.size)
                code({**spans, self.loop: Span(first, self.size)})
                return []

            f.loop(whole, [], part)
            if rest:
                last = Span(constant(I64, whole * self.size), rest)
                code({**spans, self.loop: last})

        inside(self.outer, {})


def plan_parts(contraction: Contraction, weights: Integers) -> Parts | None:
    """The fewest parts that fit i32; None where the whole does, or needn't.

    Weights: [group, channel, tap, number of the run].
    """
    if contraction.accumulator == "i32" or is_narrow(weights):
        return None
    assert contraction.run is not None
    bounds, loops = contraction.nest.bounds, (*contraction.taps, contraction.run)
    magnitudes = np.abs(weights).reshape(-1, *(bounds[loop] for loop in loops))
    for axis, loop in enumerate(loops):
        inner = tuple(range(axis + 2, magnitudes.ndim))
        steps = magnitudes.sum(axis=inner)
        unit = _UNIT if loop == contraction.run else 1
        counts = range(2, bounds[loop] + 1)
        sizes = dict.fromkeys(-(-bounds[loop] // (n * unit)) * unit for n in counts)
        for size in sizes:
            starts = range(0, bounds[loop], size)
            sums = np.add.reduceat(steps, starts, axis=-1)
            if _LARGEST_ACTIVATION * sums.max() < _LIMIT:
                return Parts(loops[:axis], loop, size)
    raise AssertionError("products of a few weights fit")


def is_narrow(weights: Integers, initial: Integers | int = 0) -> bool:
    """Whether i32 holds all sums of each channel with what they start from.

    Weights: [group, channel, tap, number of the run]; initial: [group, channel].
    """
    sums = _LARGEST_ACTIVATION * np.abs(weights).sum(axis=(2, 3))
    return bool((sums + np.abs(initial)).max() < _LIMIT)
