"""The walk over a contraction's taps, that all ways to sum its products share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Value, constant
from qlower.codegen.nests.nest import Span
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.products.partial_sums import Spans

Body: TypeAlias = Callable[[Value, list[Value]], list[Value]]
"""From a step's index and the values it is given to those it gives to the next."""

AtTap: TypeAlias = Callable[[list[Value], Value, list[Value]], list[Value]]
"""From a tap's position, number and the values it is given to those for the next."""


def over_taps(
    f: Function,
    contraction: Contraction,
    loop: Callable[[int, list[Value], Body], list[Value]],
    carried: list[Value],
    code: AtTap,
    spans: Spans,
) -> list[Value]:
    """`code` at every tap of the spans, in row-major order; what the last one carries.

    A tap's position has an index for each reduction loop, 0 for the run's, and its
    number counts from 0. `loop(count, carried, body)` repeats a body, as
    `Function.loop`.
    """
    nest = contraction.nest
    parallel = len(nest.parallel)

    def inside(
        loops: Sequence[int], position: list[Value], tap: Value, carried: list[Value]
    ) -> list[Value]:
        if not loops:
            return code(position, tap, carried)
        tap_loop, *rest = loops

        whole = Span(constant(I64, 0), nest.bounds[tap_loop])
        span = spans.get(tap_loop, whole)

        def step(index: Value, carried: list[Value]) -> list[Value]:
            now = list(position)
            now[tap_loop - parallel] = index = f.add(span.first, index)
            number = f.add(f.scale(tap, nest.bounds[tap_loop]), index)
            return inside(rest, now, number, carried)

        return loop(span.count, carried, step)

    position = [constant(I64, 0)] * len(nest.reduction)
    return inside(contraction.taps, position, constant(I64, 0), carried)
