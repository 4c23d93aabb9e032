"""The ends of a tensor beyond which a nest reads padding that isn't stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Value, constant


@dataclass(frozen=True)
class Edge:
    """An axis of `size` elements, and where along it a nest reads.

    The index is `first` plus the loops' counters times `strides`.
    """

    strides: tuple[int, ...]
    first: Value
    size: int

    def known_index(self, counters: Sequence[Value]) -> int | None:
        """The index that the nest reads at these counters, maybe outside; None: not
        known."""
        index = self.first.constant
        for stride, counter in zip(self.strides, counters, strict=True):
            if stride and index is not None:
                known = counter.constant
                index = None if known is None else index + stride * known
        return index

    def index(self, f: Function, counters: Sequence[Value]) -> Value:
        """The range as values, computed when the code runs."""
        index = self.first
        for stride, counter in zip(self.strides, counters, strict=True):
            if stride:
                index = f.add(index, f.scale(counter, stride))
        return index

    def moved(self, f: Function, loop: int, distance: Value) -> Edge:
        """The edge seen from a nest whose loop begins at `distance`."""
        step = f.scale(distance, self.strides[loop])
        return replace(self, first=f.add(self.first, step))


def is_inside(
    f: Function, edges: Sequence[Edge], counters: Sequence[Value]
) -> Value | bool:
    """Whether the nest reads inside of the tensor; an i1 where that isn't known."""
    inside: Value | bool = True
    for edge in edges:
        known = edge.known_index(counters)
        if known is None:
            index = edge.index(f, counters)
            if f.is_below(index, edge.size):
                continue
            # a negative index is a large unsigned number
            condition = f.compare("ult", index, constant(I64, edge.size))
            inside = condition if inside is True else f.binary("and", inside, condition)
        elif not 0 <= known < edge.size:
            return False
    return inside
