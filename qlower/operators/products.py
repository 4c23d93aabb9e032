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


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that is seen in `shape`, and the index for each dimension of that."""

    shape: Shape
    indices: tuple[Steps, ...]


@dataclass(frozen=True, slots=True)
class Products:
    """`result[loops] = sum(depth) of lhs[...] * rhs[...]`.

    `result` has the size of each loop of the result, of which the last `channels` go
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
        """Those of operands of these shapes, which fit."""
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

    def in_turn(self, lanes: int) -> Products:
        """Sums of every so-manieth product of the one loop of a sum, with a loop
        "lane" behind those of the result; what is left over is in none."""
        ((loop, size),) = self.depth.items()

        def split(operand: Operand) -> Operand:
            indices = [
                {**index, loop: index[loop] * lanes, "lane": index[loop]}
                if loop in index
                else index
                for index in operand.indices
            ]
            return replace(operand, indices=tuple(indices))

        return replace(
            self,
            result={**self.result, "lane": lanes},
            depth={loop: size // lanes},
            lhs=split(self.lhs),
            rhs=split(self.rhs),
            channels=0,
        )

    @property
    def count(self) -> int:
        """How many products a sum has."""
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
    def places(self) -> int:
        """The places of all images, or the rows."""
        return math.prod([*self.result.values()][: -self.channels])


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
