"""Products of float32 matrices in the order in which ONNX Runtime adds them.

The order is that of one thread of MLAS on x86-64 with FMA (onnxruntime/core/mlas/lib,
sgemm.cpp and x86_64/SgemmKernelM1*Avx.S): several rows and columns are chains of FMAs
in blocks of K; of a single row or column no product is fused with its sum. Which order
an operator has depends on its sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.arith import AddfOp, CmpiOp, MulfOp, SelectOp
from xdsl.dialects.builtin import IndexType, f32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.dialects.math import FmaOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from qlower.model.nests import Emitter, Nest, scalar_constant

from .sums import add_in_turn

BLOCK = 128
"""Rows and columns of what is packed at once, before it is fitted to the shape."""

NARROWEST = 16
"""Columns of the narrowest block."""

PACKED_BLOCK = 256
"""Rows of a block of a matrix that is packed before the model runs."""

FOURS, LANES = 4, 8
"""Products that are added before a sum takes them, and sums side by side."""

DEPTH = -1
"""In place of a loop: the place in the sum."""

Loops: TypeAlias = Sequence[AffineExpr]


@dataclass(frozen=True)
class Operand:
    """A tensor of float32 and, for each of its dimensions, the loop of the result that
    goes along it, `DEPTH`, or None for the only index of a size of 1."""

    value: SSAValue
    loops: tuple[int | None, ...]

    def read(self, nest: Nest, loops: Loops, depth: AffineExpr | int = 0) -> SSAValue:
        if isinstance(depth, int):
            depth = AffineConstantExpr(depth)
        indices = [
            AffineConstantExpr(0)
            if loop is None
            else depth
            if loop == DEPTH
            else loops[loop]
            for loop in self.loops
        ]
        return nest.input(self.value, indices)


@dataclass(frozen=True)
class Product:
    """Sums of `depth` products, for each iteration of loops of these sizes.

    `before` is what a sum starts from, and `after` is added to it at the end.
    """

    emit: Emitter
    sizes: tuple[int, ...]
    lhs: Operand
    rhs: Operand
    depth: int
    before: Operand | None = None
    after: Operand | None = None

    def in_blocks(self, block: int) -> SSAValue:
        """`F(F(before + sum_0) + sum_1) ...`; each sum is a chain of FMAs from 0."""
        whole, rest = divmod(self.depth, block)
        parts: list[tuple[SSAValue, int]] = []
        if whole:
            sums = self._chains(0, whole, block)
            parts += [(sums, number) for number in range(whole)]
        if rest:
            parts.append((self._chains(whole * block, 1, rest), 0))
        nest, loops = self._nest()
        total = self._start(nest, loops)
        for sums, number in parts:
            part = nest.input(sums, [AffineConstantExpr(number), *loops])
            total = _add(nest, total, part)
        return self._finish(nest, loops, total)

    def _chains(self, start: int, blocks: int, size: int) -> SSAValue:
        """The sums [blocks, ...] of products from place `start` on."""
        rank = len(self.sizes)
        nest = Nest(self.emit, (blocks, *self.sizes, size), reductions=1)
        nest.window((0, rank + 1))
        loops = [AffineDimExpr(1 + loop) for loop in range(rank)]
        depth = AffineDimExpr(0) * size + AffineDimExpr(rank + 1) + start
        lhs, rhs = (side.read(nest, loops, depth) for side in (self.lhs, self.rhs))

        def combine(sums: Sequence[BlockArgument]) -> Sequence[SSAValue]:
            return [nest.add(FmaOp(lhs, rhs, sums[0])).result]

        zeros = self.emit.filled(nest.output_shape, f32, 0)
        return nest.reduce([zeros], combine)[0]

    def of_row(self) -> SSAValue:
        """Four products are added, then the sum to them; of the rest two, then one."""
        sums = self._sum_fours() if self.depth >= FOURS else None
        nest, loops = self._nest()
        total = self._start(nest, loops)
        if sums is not None:
            total = nest.input(sums, loops)
        place = self.depth - self.depth % FOURS
        for count in (2, 1):
            if self.depth - place >= count:
                group = self._products(nest, loops, range(place, place + count))
                total = _add(nest, total, add_in_turn(nest, group))
                place += count
        return self._finish(nest, loops, total)

    def _sum_fours(self) -> SSAValue:
        if self.before is None:
            sums = self.emit.filled(self.sizes, f32, 0)
        else:
            nest, loops = self._nest()
            (sums,) = nest.build([self.before.read(nest, loops)])
        rank = len(self.sizes)
        nest = Nest(self.emit, (*self.sizes, self.depth // FOURS), reductions=1)
        nest.window((rank,))
        loops = [AffineDimExpr(loop) for loop in range(rank)]
        first = AffineDimExpr(rank) * FOURS
        group = self._products(nest, loops, [first + at for at in range(FOURS)])
        four = add_in_turn(nest, group)

        def combine(sums: Sequence[BlockArgument]) -> Sequence[SSAValue]:
            return [nest.add(AddfOp(four, sums[0])).result]

        return nest.reduce([sums], combine)[0]

    def of_column(self) -> SSAValue:
        """Eight sums side by side; how they are added depends on the place along the
        last loop, of which four are computed at once, at its end two or one."""
        lanes = self._sum_lanes() if self.depth >= LANES else None
        nest, loops = self._nest()
        sums = self._lane_sums(nest, loops, lanes)
        rows = self.sizes[-1]
        ends = {4: rows - rows % 4, 2: rows - rows % 2, 1: rows}
        total: SSAValue | None = None
        for count in (1, 2, 4):
            if ends[count] == ends.get(2 * count, 0):
                continue
            added = _add_lanes(nest, sums, count)
            if total is not None:
                row = nest.add(IndexOp(len(loops) - 1)).result
                end = nest.add(scalar_constant(ends[count], IndexType())).result
                is_before = nest.add(CmpiOp(row, end, "ult")).result
                added = nest.add(SelectOp(is_before, added, total)).result
            total = added
        assert total is not None
        if self.before is not None:
            total = _add(nest, total, self.before.read(nest, loops))
        return self._finish(nest, loops, total)

    def _sum_lanes(self) -> SSAValue:
        rank = len(self.sizes)
        bounds = (*self.sizes, LANES, self.depth // LANES)
        nest = Nest(self.emit, bounds, reductions=1)
        nest.window((rank, rank + 1))
        loops = [AffineDimExpr(loop) for loop in range(rank)]
        depth = AffineDimExpr(rank + 1) * LANES + AffineDimExpr(rank)
        (product,) = self._products(nest, loops, [depth])
        zeros = self.emit.filled(nest.output_shape, f32, 0)
        return nest.reduce([zeros], nest.adding(product))[0]

    def _lane_sums(
        self, nest: Nest, loops: Loops, lanes: SSAValue | None
    ) -> list[SSAValue]:
        """The sums side by side, with the products that don't fill them all."""
        first = self.depth - self.depth % LANES
        sums: list[SSAValue] = []
        for lane in range(LANES):
            total: SSAValue | None = None
            if lanes is not None:
                total = nest.input(lanes, [*loops, AffineConstantExpr(lane)])
            if first + lane < self.depth:
                (last,) = self._products(nest, loops, [first + lane])
                total = last if total is None else _add(nest, total, last)
            sums.append(_zero(nest) if total is None else total)
        return sums

    def _products(
        self, nest: Nest, loops: Loops, places: Sequence[AffineExpr | int]
    ) -> list[SSAValue]:
        return [
            nest.add(
                MulfOp(
                    self.lhs.read(nest, loops, place), self.rhs.read(nest, loops, place)
                )
            ).result
            for place in places
        ]

    def _nest(self) -> tuple[Nest, Loops]:
        """A nest over the result."""
        loops = [AffineDimExpr(loop) for loop in range(len(self.sizes))]
        return Nest(self.emit, self.sizes), loops

    def _start(self, nest: Nest, loops: Loops) -> SSAValue:
        return self.before.read(nest, loops) if self.before else _zero(nest)

    def _finish(self, nest: Nest, loops: Loops, total: SSAValue) -> SSAValue:
        if self.after is not None:
            total = _add(nest, total, self.after.read(nest, loops))
        return nest.build([total])[0]


def block_of(columns: int, depth: int) -> int:
    """How many products are added at once where so many columns are to be computed
    (MlasSgemmOperation)."""
    width = block = BLOCK
    if columns >= depth:
        while block // 2 >= depth:
            block //= 2
    else:
        while width > NARROWEST and width // 2 >= columns:
            width //= 2
            block *= 2
    return block


def _add(nest: Nest, one: SSAValue, other: SSAValue) -> SSAValue:
    return nest.add(AddfOp(one, other)).result


def _zero(nest: Nest) -> SSAValue:
    return nest.constant(np.array(0, np.float32), f32)


def _add_lanes(nest: Nest, lanes: Sequence[SSAValue], rows: int) -> SSAValue:
    """The sum of eight, as for so many rows at once."""

    def added(*numbers: SSAValue) -> SSAValue:
        return add_in_turn(nest, numbers)

    low, high = lanes[:4], lanes[4:]
    if rows == 4:
        return added(added(*low), added(*high))
    if rows == 1:
        return added(
            *(added(added(*half[:2]), added(*half[2:])) for half in (low, high))
        )
    return added(
        *(
            added(*(added(half[lane], half[lane + 2]) for half in (low, high)))
            for lane in (0, 1)
        )
    )
