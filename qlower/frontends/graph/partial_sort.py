"""The largest elements of rows in the order of `std::partial_sort` as the C++ library
of GNU has it (bits/stl_algo.h, bits/stl_heap.h), which decides between equal ones.

A heap holds the first elements of a row, the least of them on top; each later one that
is larger comes in place of the top, and then the top is taken off again and again. The
heap's elements, keys with their places in the row (i64), are scalars of a nest, since
their number is small and known.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qlower.dialects.types import shape_of
from qlower.model.nests import Emitter, Nest

from ..scalars import Scalars
from .heap import Element, chosen


def partially_sorted(
    emit: Emitter, rows: SSAValue, count: int
) -> list[tuple[SSAValue, SSAValue]]:
    """The `count` largest elements of rows [R, N], the largest first, each as keys [R]
    and places [R], i64. `count` is from 2 to N; comparisons with NaN are false."""
    size = shape_of(rows)[1]
    kept = _first(emit, rows, count)
    if count < size:
        kept = _larger(emit, rows, kept)
    nest = Nest(emit, shape_of(kept[0]))
    steps = Scalars(nest)
    heap = _pairs([nest.input(one, (0,)) for one in kept])
    for last in range(count - 1, 0, -1):
        heap[last], moved = heap[0], heap[last]
        heap = [*_sifted(steps, heap[:last], 0, moved), *heap[last:]]
    return _pairs(nest.build(_flat(heap)))


def _first(emit: Emitter, rows: SSAValue, count: int) -> Sequence[SSAValue]:
    """The heap of the first elements: keys and places [R] by turns."""
    nest = Nest(emit, shape_of(rows)[:1])
    steps = Scalars(nest)
    heap = [
        (nest.input(rows, (0, AffineConstantExpr(at))), steps.constant(at, i64))
        for at in range(count)
    ]
    for top in range((count - 2) // 2, -1, -1):
        heap = _sifted(steps, heap, top, heap[top])
    return nest.build(_flat(heap))


def _larger(
    emit: Emitter, rows: SSAValue, kept: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """The heap after the later elements have come."""
    (count, size), first = shape_of(rows), len(kept) // 2
    nest = Nest(emit, (count, size - first), reductions=1)
    nest.window((1,))
    steps = Scalars(nest)
    key = nest.input(rows, (0, AffineDimExpr(1) + first))
    place = steps.add(steps.place(1, i64), steps.constant(first, i64))

    def come(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        heap = _pairs(before)
        comes = steps.compare("gt", key, heap[0][0])
        return _flat(_sifted(steps, heap, 0, (key, place), comes))

    return nest.reduce(kept, come)


def _sifted(
    steps: Scalars,
    heap: Sequence[Element],
    top: int,
    new: Element,
    does: SSAValue | None = None,
) -> list[Element]:
    """The heap with a new element in place of one at the `top` of others, if it `does`
    come (i1). A path of least children, of equal ones the second, goes up by one; from
    its end the new element rises past larger ones."""
    size = len(heap)
    nodes = [at for at in range(top, size) if _is_below(at, top)]
    turns: dict[int, SSAValue] = {}
    rises: dict[int, SSAValue] = {}
    filled: dict[int, Element] = {}
    for node in reversed(nodes):
        first, second = 2 * node + 1, 2 * node + 2
        rises[node] = steps.compare("gt", heap[node][0], new[0])
        below, up = rises.get(first), heap[node]
        if below is not None:
            up = heap[first]
            if second < size:
                turns[node] = steps.compare("gt", heap[second][0], up[0])
                below = steps.select(turns[node], below, rises[second])
                up = chosen(steps, turns[node], up, heap[second])
            rises[node] = steps.logical("and", below, rises[node])
        own = new if node == top else chosen(steps, rises[node], heap[node], new)
        filled[node] = own if below is None else chosen(steps, below, own, up)
    on_path = {top: does}
    result = list(heap)
    for node in nodes:
        reached = on_path[node]
        result[node] = filled[node]
        if reached is not None:
            result[node] = chosen(steps, reached, filled[node], heap[node])
        turn = turns.get(node)
        for child in range(2 * node + 1, min(2 * node + 3, size)):
            goes = turn
            if turn is not None and child == 2 * node + 2:
                goes = steps.invert(turn)
            on_path[child] = _both(steps, reached, goes)
    return result


def _is_below(node: int, top: int) -> bool:
    while node > top:
        node = (node - 1) // 2
    return node == top


def _both(
    steps: Scalars, one: SSAValue | None, other: SSAValue | None
) -> SSAValue | None:
    """Whether both hold; one that is left out always does."""
    if one is None or other is None:
        return other if one is None else one
    return steps.logical("and", one, other)


def _pairs(values: Sequence[SSAValue]) -> list[Element]:
    return list(zip(values[::2], values[1::2], strict=True))


def _flat(heap: Sequence[Element]) -> list[SSAValue]:
    return [value for element in heap for value in element]
