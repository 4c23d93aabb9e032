"""A heap of scores as the C++ library of GNU keeps a `std::priority_queue`, whose order
of equal scores is the system's (bits/stl_heap.h).

It is a tensor of keys [N], float32, and one of ids [N], i32; the first `size` of them
count. One step of a scan takes the top off or puts one element in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects.types import shape_of
from qlower.model.nests import Emitter, Nest, extract

from ..scalars import Scalars, nearest

Element: TypeAlias = tuple[SSAValue, SSAValue]
"""A key and an id, or a place, in a nest."""

FIRST = (AffineConstantExpr(0),)
"""The index of the one element of a tensor [1]."""


@dataclass(frozen=True)
class Heap:
    """Keys and ids, the largest key first."""

    emit: Emitter
    keys: SSAValue
    ids: SSAValue

    @property
    def room(self) -> int:
        return shape_of(self.keys)[0]

    @property
    def levels(self) -> int:
        """The number of elements on the longest path down."""
        return self.room.bit_length()

    def read(self, steps: Scalars, place: SSAValue) -> Element:
        """The key and the id at a place, i32, or at the nearest one that there is."""
        index = nearest(steps.nest, place, self.room)
        key, name = (extract(steps.nest, one, [index]) for one in (self.keys, self.ids))
        return key, name

    def pushed(
        self, does: SSAValue, key: SSAValue, name: SSAValue, size: SSAValue
    ) -> Heap:
        """The heap with one more element, at `size`, if it `does` (i1) take it. All are
        tensors [1]."""
        nest = Nest(self.emit, (1,))
        steps = Scalars(nest)
        is_pushed, one, its_id, place = (
            nest.input(value, (0,)) for value in (does, key, name, size)
        )
        hole = steps.select(is_pushed, place, steps.constant(-1, i32))
        return self._sifted(steps, hole, (one, its_id), is_moved=False)

    def popped(self, does: SSAValue, size: SSAValue) -> Heap:
        """The heap without its top, if it `does` (i1) lose it, of `size` elements that
        are left. Both are tensors [1]."""
        nest = Nest(self.emit, (1,))
        steps = Scalars(nest)
        is_popped, left = nest.input(does, (0,)), nest.input(size, (0,))
        hole = steps.constant(0, i32)
        for _ in range(self.levels - 1):
            hole = self._below(steps, hole, left)
        hole = steps.select(is_popped, hole, steps.constant(-1, i32))
        return self._sifted(steps, hole, self.read(steps, left), is_moved=True)

    def _below(self, steps: Scalars, hole: SSAValue, size: SSAValue) -> SSAValue:
        """The child whose key goes up into a hole, of equal ones the second; the hole
        itself where there is none."""
        one = steps.constant(1, i32)
        first = steps.add(steps.add(hole, hole), one)
        second = steps.add(first, one)
        (key, _), (other, _) = (self.read(steps, at) for at in (first, second))
        larger = steps.select(steps.compare("lt", other, key), first, second)
        has_second = steps.compare("lt", second, size)
        child = steps.select(has_second, larger, first)
        return steps.select(steps.compare("lt", first, size), child, hole)

    def _sifted(
        self,
        steps: Scalars,
        hole: SSAValue,
        element: Element,
        *,
        is_moved: bool,
    ) -> Heap:
        """The heap with an element in a hole, or above it where keys are less, which go
        down. If `is_moved` the elements on the way to the hole first go up by one. At a
        hole of -1 nothing changes."""
        levels: list[SSAValue] = []
        own: Element | None = None
        zero, one = (steps.constant(number, i32) for number in range(2))
        place = hole
        for _ in range(self.levels):
            above = steps.step(arith.ShRSIOp(steps.subtract(place, one), one))
            parent = self.read(steps, place if is_moved else above)
            is_top = steps.compare("lt", above, zero)
            is_less = steps.logical("or", is_top, _is_above(steps, parent, element))
            found = chosen(steps, is_less, element, parent)
            if own is not None:
                found = chosen(steps, _is_above(steps, own, element), own, found)
            levels += (place, *found)
            own, place = parent, above
        return self._changed(steps.nest.build(levels))

    def _changed(self, levels: Sequence[SSAValue]) -> Heap:
        """The heap with other elements at some places: of each the place, the key and
        the id as tensors [1]."""
        nest = Nest(self.emit, (self.room,))
        steps = Scalars(nest)
        own = steps.place(0, i32)
        key: SSAValue = nest.input(self.keys, (0,))
        name: SSAValue = nest.input(self.ids, (0,))
        for first in range(0, len(levels), 3):
            place, *new = (
                nest.input(value, FIRST) for value in levels[first : first + 3]
            )
            is_here = steps.compare("eq", place, own)
            key, name = chosen(steps, is_here, (new[0], new[1]), (key, name))
        return Heap(self.emit, *nest.build([key, name]))


def _is_above(steps: Scalars, one: Element, other: Element) -> SSAValue:
    """Whether an element stays above another one that comes later."""
    return steps.compare("ge", one[0], other[0])


def chosen(
    steps: Scalars, condition: SSAValue, one: Element, other: Element
) -> Element:
    """One element where a condition holds, else the other."""
    key, name = (
        steps.select(condition, *pair) for pair in zip(one, other, strict=True)
    )
    return key, name
