"""Elements that lie side by side along another loop than the lanes: read by squares.

A vector of them would be read one by one. Where a step of the other loop is a step in
memory, each lane's next elements are read together, as many as there are lanes, and
the square is transposed in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Type, Value, constant
from qlower.codegen.nests.nest import LoopNest
from qlower.codegen.nests.operand import Operand
from qlower.codegen.targets.resolve import Target

_MOST_LANES = 16
_LEAST_LANES = 8

_ELEMENT_BYTES = 4
"""LLVM takes seconds for the squares of bytes of a large network, which save little."""


def square_side(target: Target, lanes: int) -> int:
    """The lanes and steps of a square where there are `lanes`, 0 for none."""
    if lanes < _LEAST_LANES or lanes & (lanes - 1) or target.widens_in_memory:
        return 0
    return min(lanes, _MOST_LANES)


def read_by_squares(nest: LoopNest, lane_loop: int | None, loop: int) -> list[int]:
    """The inputs, by number, whose lanes are apart and steps of `loop` neighbours."""
    return [
        number
        for number, operand in enumerate(nest.inputs)
        if lane_loop is not None
        and operand.strides[lane_loop] > 1
        and operand.strides[loop] == 1
        and not operand.edges
        and operand.element_bytes == _ELEMENT_BYTES
    ]


def load_square(
    f: Function, operand: Operand, lane_loop: int, indices: Sequence[Value], lanes: int
) -> list[Value]:
    """The elements in `lanes` lanes from `indices` on: a vector for each step of a
    square."""
    side = min(lanes, _MOST_LANES)
    address = operand.address(f, indices)
    row = operand.strides[lane_loop] * operand.element_bytes
    type = Type(operand.scalar, side)
    steps: list[list[Value]] = []
    for first in range(0, lanes, side):
        rows = [
            f.load(
                type, f.at(address, constant(I64, lane * row)), operand.element_bytes
            )
            for lane in range(first, first + side)
        ]
        steps.append(_transposed(f, rows))
    return [f.concatenate_all(parts) for parts in zip(*steps, strict=True)]


def _transposed(f: Function, rows: list[Value]) -> list[Value]:
    """The columns of a square: rows half a square apart are interleaved, until each
    vector has an element of every row."""
    half = len(rows) // 2
    for _ in range(half.bit_length()):
        pairs = [
            f.interleave(a, b) for a, b in zip(rows[:half], rows[half:], strict=True)
        ]
        count = len(rows)
        rows = [
            f.shuffle(pair, range(start, start + count))
            for pair in pairs
            for start in (0, count)
        ]
    return rows
