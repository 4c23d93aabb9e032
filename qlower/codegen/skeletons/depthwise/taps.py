"""The places of the taps of windows, some of which may be in padding that isn't stored.

Of a tile of pixels along the columns it is known here which taps are outside the image:
a tile that reaches beyond an edge is written out separately. A row may be outside too,
which is known when the code runs: then a line of padding is read in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import mul
from typing import TypeAlias

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Value, constant
from qlower.codegen.nests.edges import is_inside
from qlower.codegen.nests.point import Segment, moved
from qlower.codegen.nests.recognise import DepthwiseProducts

Tap: TypeAlias = tuple[int, ...]
"""Counters of the reduction loops."""

TapAddresses: TypeAlias = Mapping[tuple[int, Tap], Value | None]
"""For a column and a tap its address, None where it is padding."""


def tap_offset(
    products: DepthwiseProducts, tap: Tap, column: int, column_loop: int | None
) -> int:
    """The offset of a tap of a column, in elements from the first tap of the first
    column."""
    strides = products.activation.operand.strides
    base = 0 if column_loop is None else column * strides[column_loop]
    return base + _distance(tap, strides[len(products.nest.parallel) :])


def _distance(tap: Tap, strides: Sequence[int]) -> int:
    """The distance from the first tap to this one."""
    return sum(map(mul, tap, strides))


def cut_at_edges(
    products: DepthwiseProducts, loop: int | None, segments: Sequence[Segment]
) -> list[tuple[Segment, bool]]:
    """`segments` cut so that each knows whether all its taps lie inside the image.

    Only the columns decide that; steps with a tap outside are segments of their own.
    """
    if loop is None:
        return [(segment, True) for segment in segments]
    first, last = 0, products.nest.bounds[loop]
    for edge in products.activation.operand.edges:
        stride = edge.strides[loop]
        if not stride:
            continue
        if edge.first.constant is None:
            return [(segment, False) for segment in segments]
        reduction = range(len(products.nest.parallel), len(products.nest.bounds))
        reach = sum(edge.strides[d] * (products.nest.bounds[d] - 1) for d in reduction)
        first = max(first, -(edge.first.constant // stride))
        last = min(last, (edge.size - 1 - reach - edge.first.constant) // stride + 1)
    cut: list[tuple[Segment, bool]] = []
    for segment in segments:
        starts = [segment.start + i * segment.width for i in range(segment.repeat)]
        inner = [s for s in starts if first <= s and s + segment.width <= last]
        before = [s for s in starts if not inner or s < inner[0]]
        after = [s for s in starts if inner and s > inner[-1]]
        cut += [(Segment(start, 1, segment.width), False) for start in before]
        if inner:
            cut.append((Segment(inner[0], len(inner), segment.width), True))
        cut += [(Segment(start, 1, segment.width), False) for start in after]
    return cut


def tap_addresses(
    f: Function,
    products: DepthwiseProducts,
    column_loop: int | None,
    taps: Sequence[Tap],
    columns: int,
    is_inner: bool,
    indices: list[Value],
    lanes: int,
    border_unit: int = 1,
) -> TapAddresses:
    """The addresses of the taps of neighbouring pixels, in a tile at `indices`.

    Along the columns they are all inside, if `is_inner`. At most `lanes` activations
    may be read at each. Lines of padding are multiples of `border_unit`: nests share
    equal ones.
    """
    operand = products.activation.operand
    parallel = len(products.nest.parallel)
    edges = [
        edge
        for edge in operand.edges
        if not (is_inner and column_loop is not None and edge.strides[column_loop])
    ]

    pixels = [moved(f, indices, column_loop, column) for column in range(columns)]

    def counters(column: int, tap: Tap) -> list[Value]:
        return [*pixels[column][:parallel], *(constant(I64, n) for n in tap)]

    # taps that share a line are inside or outside together
    lines: dict[tuple[int, ...], list[tuple[int, int, Tap]]] = {}
    addresses: dict[tuple[int, Tap], Value | None] = {}
    steps = [[_distance(tap, e.strides[parallel:]) for e in edges] for tap in taps]
    first_tap = (0,) * len(products.nest.reduction)
    for column in range(columns):
        starts = [edge.known_index(counters(column, first_tap)) for edge in edges]
        for tap, step in zip(taps, steps, strict=True):
            line: list[int] = []
            is_padding = False
            for edge, start, distance in zip(edges, starts, step, strict=True):
                if start is not None:
                    is_padding |= not 0 <= start + distance < edge.size
                    continue
                line.append(distance)
                if column_loop is not None:
                    line[-1] += column * edge.strides[column_loop]
            if is_padding:
                addresses[column, tap] = None
            else:
                place = tap_offset(products, tap, column, column_loop)
                lines.setdefault(tuple(line), []).append((place, column, tap))
    for members in lines.values():
        first, column, tap = min(members)
        start = operand.address(f, counters(column, tap))
        inside = is_inside(f, edges, counters(column, tap))
        if isinstance(inside, Value):
            length = max(members)[0] - first + lanes
            length = -(-length // border_unit) * border_unit
            border = f.module.add_constant(operand.border_bytes(length))
            start = f.select(inside, start, border)
        size = operand.element_bytes
        at = {
            place: f.at(start, constant(I64, (place - first) * size))
            for place in dict.fromkeys(place for place, _, _ in members)
        }
        addresses |= {(column, tap): at[place] for place, column, tap in members}
    return addresses
