"""Products of small matrices: two pixels times two channels, eight bytes deep.

Other steps are for one pixel, this one is for two: an accumulator has the sums of both,
for four channels.
"""

from __future__ import annotations

import numpy as np

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Type, Value, constant
from qlower.codegen.skeletons.products.step import (
    Activations,
    DotStep,
    Integers,
    StepCost,
)
from qlower.codegen.targets.resolve import Target


class MatrixStep(DotStep):
    """An instruction that adds, to four i32, the products of two rows of eight bytes
    with two others."""

    depth = 8
    rows = 2
    run_length = 16
    weights_are_joined = True
    cost = StepCost(load=0.25, weight=0.25, row=0.5, latency=8.0, fixed=0.5)

    def reads_again(self, length: int) -> bool:
        return length >= self.depth

    def pack(self, weights: Integers) -> bytes:
        return weights.astype(np.int8).tobytes()

    def activation_loads(self, size: int) -> int:
        whole, rest = divmod(size, self.run_length)
        half, rest = divmod(rest, self.depth)
        return whole + half + rest // 4 + (rest % 4 > 0)

    def registers(self, rows: int, summed: int, loads: int) -> int:
        # the pieces of two rows are joined, and so fill as many registers as rows
        return (rows + self.rows) * summed + rows - 2

    @property
    def chunk_bytes(self) -> int:
        return self.lanes * self.depth

    def load_weights(self, f: Function, address: Value, size: int) -> list[Value]:
        """Two vectors, each of two channels."""
        return [
            f.load(Type("i8", 16), f.at(address, constant(I64, 16 * pair)), 16)
            for pair in range(2)
        ]

    def load_activations(self, f: Function, part: Activations) -> list[list[Value]]:
        """For each eight bytes of the run, those of both rows."""
        both = [self._load_row(f, address, part.size) for address in part.addresses]
        joined = f.concatenate(*both)
        width = joined.type.lanes // 2
        return [
            [
                f.shuffle(
                    joined,
                    [*range(at, at + 8), *range(at + width, at + width + 8)],
                )
            ]
            for at in range(0, width, 8)
        ]

    def _load_row(self, f: Function, address: Value, size: int) -> Value:
        """`size` bytes, the last eight whole, with some again that lie before."""
        if size in (8, 16):
            return f.load(Type("i8", size), address, 1)
        last = self._load_row(f, f.at(address, constant(I64, size - 8)), 8)
        return f.concatenate(self._load_row(f, address, 8), last) if size > 8 else last

    def multiply(
        self, f: Function, total: Value, x: list[Value], w: list[Value]
    ) -> Value:
        """`total` plus the products; its halves are two pairs of channels."""
        sums = [
            f.call(
                self.dot.intrinsic,
                Type("i32", 4),
                (f.shuffle(total, range(4 * pair, 4 * pair + 4)), x[0], w[pair]),
            )
            for pair in range(2)
        ]
        return f.concatenate(*sums)

    def spread(self, f: Function, start: Value) -> Value:
        """The accumulator of pixels whose sums all start from `start`."""
        return f.shuffle(start, [0, 1, 0, 1, 2, 3, 2, 3])

    def collect(self, f: Function, total: Value) -> list[Value]:
        """The sums of each pixel."""
        return [f.shuffle(total, [0, 1, 4, 5]), f.shuffle(total, [2, 3, 6, 7])]


def matrix_step(target: Target, scalar: str, *, signed: bool) -> MatrixStep | None:
    """The step that multiplies activations of that type and signedness, if the target
    has one."""
    matrix = target.signed_matrix if signed else target.unsigned_matrix
    lanes = target.vector_bits // 32
    if matrix is None or scalar != "i8":
        return None
    return MatrixStep(lanes, lanes, matrix)
