"""The products of sums one by one, for sums whose order matters.

`Sums` state an operator for operands of any shape; here are the loops of one operation,
with the element of each operand that an iteration reads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from qlower.operators.shapes import Shape
from qlower.operators.structured import WINDOWS
from qlower.operators.sums import Sums

Steps: TypeAlias = Mapping[str, int]
"""An index: the sum of loops, each times a step. The empty one is 0."""

IMAGES = "n"
"""The loop over images."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that is seen in `shape`, and the index for each dimension of that."""

    shape: Shape
    indices: tuple[Steps, ...]

    @property
    def steps(self) -> Steps:
        """The step of each loop, in elements in row-major order."""
        found: dict[str, int] = {}
        stride = 1
        for index, size in zip(
            reversed(self.indices), reversed(self.shape), strict=True
        ):
            for loop, step in index.items():
                found[loop] = found.get(loop, 0) + step * stride
            stride *= size
        return found


@dataclass(frozen=True, slots=True)
class Products:
    """`result[loops] = sum(depth) of lhs[...] * rhs[...]`.

    `result` has the size of each loop of the result, and the last `channels` ones go
    along the bias; `depth` has those that are summed over, in the order of a plain loop
    nest. The operand on the left has the padding of a window around it.
    """

    result: Mapping[str, int]
    depth: Mapping[str, int]
    lhs: Operand
    rhs: Operand
    channels: int

    @staticmethod
    def of(sums: Sums, first: Shape, second: Shape) -> Products:
        """The products of operands of these shapes, which fit."""
        structure, bounds = sums.structure, sums.bounds(first, second)
        loops = {loop: bounds[loop] for loop in structure.loops}
        parallel = [loop for loop in loops if loop in structure.letters[-1]]
        image = tuple(map(sum, zip(first, *sums.padding(), strict=True)))
        apart = structure.letters[1]
        along = tuple(_steps(sums, axis, bounds) for axis in structure.axes[0])
        return Products(
            {loop: loops[loop] for loop in parallel},
            {loop: size for loop, size in loops.items() if loop not in parallel},
            Operand(image, along),
            Operand(tuple(bounds[x] for x in apart), tuple({x: 1} for x in apart)),
            len(structure.axes[-1][-1]),
        )

    @property
    def bounds(self) -> tuple[int, ...]:
        """The sizes of all loops."""
        return (*self.result.values(), *self.depth.values())

    @property
    def loops(self) -> dict[str, int]:
        """The number of each loop."""
        return {name: number for number, name in enumerate((*self.result, *self.depth))}

    @property
    def count(self) -> int:
        """The number of products in a sum."""
        return math.prod(self.depth.values())

    @property
    def group_channels(self) -> int:
        """The results of each group of channels at one place."""
        return [*self.result.values()][-1]

    @property
    def groups(self) -> int:
        """The groups of channels."""
        return math.prod([*self.result.values()][-self.channels : -1])

    @property
    def last(self) -> int:
        """The size of the innermost loop of the result that has several iterations."""
        return next((n for n in reversed([*self.result.values()]) if n > 1), 1)

    @property
    def places(self) -> int:
        """The places of one image, or the rows that meet one matrix."""
        others = {IMAGES, *(loop for index in self.rhs.indices for loop in index)}
        return math.prod(n for loop, n in self.result.items() if loop not in others)

    def in_order(self, loops: str) -> Products:
        """The products with the loops of a sum in this order, outermost first."""
        depth = {loop: self.depth[loop] for loop in loops if loop in self.depth}
        return replace(self, depth=depth or self.depth)


def _steps(sums: Sums, axis: str, bounds: Mapping[str, int]) -> Steps:
    """The index along an axis of the first operand."""
    if axis in WINDOWS:
        return dict(zip(WINDOWS[axis], sums.steps[axis], strict=True))
    steps: dict[str, int] = {}
    step = 1
    for loop in reversed(axis.replace("1", "")):
        steps[loop] = step
        step *= bounds[loop]
    return dict(reversed(steps.items()))
