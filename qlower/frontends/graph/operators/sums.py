"""Sums of float32 numbers in the order that ONNX Runtime adds them in."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.arith import AddfOp
from xdsl.dialects.builtin import f32
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from qlower.dialects.types import shape_of
from qlower.model.nests import Emitter, Nest

LANES = 4
"""Numbers in a vector of SSE, for which ONNX Runtime compiles Eigen."""


def add_in_turn(nest: Nest, numbers: Sequence[SSAValue]) -> SSAValue:
    """`F(F(a + b) + c) ...` of numbers inside of a nest."""
    first, *rest = numbers
    for number in rest:
        first = nest.add(AddfOp(first, number)).result
    return first


def sum_rows(emit: Emitter, matrix: SSAValue, *, is_computed: bool = False) -> SSAValue:
    """The sum of each row of a matrix [R, K], which lies at an aligned address, or with
    `is_computed` nowhere, so that vectors begin where rows do.

    ReduceMean calls Eigen's `redux_impl` (Eigen/src/Core/Redux.h) for each row: whole
    vectors from the row's first aligned element on, two in turn, then their lanes, then
    what is before and after them. So rows are added in up to `LANES` ways.
    """
    rows, size = shape_of(matrix)
    period = LANES if size % LANES and not is_computed else 1
    # What is returned as a layer on the way has no element that isn't written.
    sums = emit.filled((rows,), f32, 0)
    for first in range(min(period, rows)):
        group = range(first, rows, period)
        part = _sum_group(emit, matrix, group, -first * size % LANES)
        insert = InsertSliceOp.from_static_parameters(
            part, sums, [first], [len(group)], [period]
        )
        sums = emit.add(insert).result
    return sums


def _sum_group(emit: Emitter, matrix: SSAValue, rows: range, start: int) -> SSAValue:
    """The sums of rows that are aligned from column `start` on."""
    size = shape_of(matrix)[1]
    vectors = max(size - start, 0) // LANES
    # Before the first vector and after the last one; all where there is none.
    single = [*range(start), *range(start + vectors * LANES, size)]
    if not vectors:
        single = [*range(size)]
    row = AffineDimExpr(0) * rows.step + rows.start
    columns = _sum_vectors(emit, matrix, row, len(rows), start, vectors // 2)
    nest = Nest(emit, (len(rows),))

    def element(column: int) -> SSAValue:
        return nest.input(matrix, (row, AffineConstantExpr(column)))

    numbers: list[SSAValue] = []
    if vectors:
        lanes: list[SSAValue] = []
        for lane in range(LANES):
            place = (0, AffineConstantExpr(lane))
            parts: list[SSAValue] = [nest.input(part, place) for part in columns]
            if vectors % 2:
                parts.append(element(start + (vectors - 1) * LANES + lane))
            lanes.append(add_in_turn(nest, parts))
        numbers.append(
            add_in_turn(nest, [add_in_turn(nest, lanes[at::2]) for at in (0, 1)])
        )
    return nest.build([add_in_turn(nest, [*numbers, *map(element, single)])])[0]


def _sum_vectors(
    emit: Emitter,
    matrix: SSAValue,
    row: AffineExpr,
    rows: int,
    start: int,
    pairs: int,
) -> Sequence[SSAValue]:
    """The sums of every other vector [rows, LANES] from `start` on, and of those
    between; none if there is no pair of them."""
    if not pairs:
        return []
    nest = Nest(emit, (rows, LANES, pairs), reductions=1)
    nest.window((2,))
    column = AffineDimExpr(1) + AffineDimExpr(2) * (2 * LANES) + start
    vectors = [nest.input(matrix, (row, at)) for at in (column, column + LANES)]

    def combine(sums: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return [
            nest.add(AddfOp(before, vector)).result
            for before, vector in zip(sums, vectors, strict=True)
        ]

    zeros = [emit.filled((rows, LANES), f32, 0) for _ in vectors]
    return nest.reduce(zeros, combine)
