"""Sums of float32 numbers in the order in which ATen adds them.

aten/src/ATen/native/cpu/SumKernel.cpp, of which PyTorch has no form for AVX-512:
vectors hold eight numbers everywhere. Numbers are added 16 in turn, these sums again 16
in turn, and so on ("cascade sum"). From 2^20 numbers on it is more than 16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from qlower.dialects.types import shape_of
from qlower.model.nests import Emitter, Index, Nest

from ...graph.operators.sums import add_in_turn

LANES = 8
"""Numbers in a vector of AVX2."""

WAYS = 4
"""Columns that are added together (`nrows`), or parts of one (`ilp_factor`)."""

LEVELS, LEAST_POWER = 4, 4
"""Levels of a cascade, and the logarithm of its least step."""


@dataclass(frozen=True)
class _Rows:
    """`count` rows of numbers, to be added for each of `bounds`: `read` gives the place
    of a row in the tensor for the loops over these."""

    tensor: SSAValue
    count: int
    bounds: tuple[int, ...]
    read: Callable[[AffineExpr, Sequence[int]], Sequence[Index]]


def sum_columns(emit: Emitter, matrices: SSAValue) -> SSAValue:
    """The sums [B, C] of the columns of matrices [B, N, C] (`vectorized_outer_sum`,
    `scalar_outer_sum`): in one cascade, but for those that fill no group of columns."""
    batch, count, columns = shape_of(matrices)
    group = WAYS * LANES if columns >= LANES else WAYS
    grouped = columns - columns % group

    def part(first: int, size: int) -> _Rows:
        box = matrices
        if size < columns:
            shape = (batch, count, size)
            slice = tensor.ExtractSliceOp(
                matrices, (0, 0, first), shape, (1, 1, 1), TensorType(f32, shape)
            )
            box = emit.add(slice).result
        return _Rows(box, count, (batch, size), lambda row, at: (at[0], row, at[1]))

    if grouped == columns:
        return _cascade(emit, part(0, columns))
    rest = _in_parts(emit, part(grouped, columns - grouped))
    if not grouped:
        return rest
    sums = emit.filled((batch, columns), f32, 0)
    sums = emit.inserted(_cascade(emit, part(0, grouped)), sums, (0, 0))
    return emit.inserted(rest, sums, (0, grouped))


def sum_rows(emit: Emitter, matrix: SSAValue) -> SSAValue:
    """The sums [B] of the rows of a matrix [B, N] (`vectorized_inner_sum`,
    `scalar_inner_sum`): vectors, then what is left over, then the vectors' lanes."""
    batch, count = shape_of(matrix)
    if count < LANES:
        numbers = _Rows(matrix, count, (batch,), lambda row, loops: (loops[0], row))
        return _in_parts(emit, numbers)

    def read(row: AffineExpr, loops: Sequence[int]) -> Sequence[Index]:
        return loops[0], row * LANES + AffineDimExpr(loops[1])

    vectors = _Rows(matrix, count // LANES, (batch, LANES), read)
    lanes = _in_parts(emit, vectors)
    nest = Nest(emit, (batch,))
    places = [(matrix, at) for at in range(count - count % LANES, count)]
    places += [(lanes, at) for at in range(LANES)]
    elements: list[SSAValue] = [
        nest.input(source, (0, AffineConstantExpr(at))) for source, at in places
    ]
    return nest.build([add_in_turn(nest, elements)])[0]


def _in_parts(emit: Emitter, rows: _Rows) -> SSAValue:
    """`row_sum`: four cascades, each of every fourth row; the rows that are left over
    are added to the first."""
    nest = Nest(emit, rows.bounds)
    loops = range(len(rows.bounds))
    numbers: list[SSAValue] = [
        nest.input(rows.tensor, rows.read(AffineConstantExpr(at), loops))
        for at in range(rows.count - rows.count % WAYS, rows.count)
    ]
    if rows.count >= WAYS:

        def read(row: AffineExpr, loops: Sequence[int]) -> Sequence[Index]:
            return rows.read(row * WAYS + AffineDimExpr(loops[0]), loops[1:])

        count = rows.count // WAYS
        parts = _cascade(emit, _Rows(rows.tensor, count, (WAYS, *rows.bounds), read))
        first, *others = (
            nest.input(parts, (AffineConstantExpr(way), *loops)) for way in range(WAYS)
        )
        numbers = [first, *numbers, *others]
    return nest.build([add_in_turn(nest, numbers)])[0]


def _cascade(emit: Emitter, rows: _Rows) -> SSAValue:
    """`multi_row_sum`: what fills no step of a level stays there, and is added to the
    levels above it at the end."""
    step = 1 << max(LEAST_POWER, (rows.count - 1).bit_length() // LEVELS)
    left: list[SSAValue] = []
    for level in range(LEVELS):
        groups = rows.count // step if level < LEVELS - 1 else 0
        if rest := rows.count - groups * step:
            left.append(_sums(emit, rows, groups * step, 1, rest))
        if not groups:
            break
        sums = _sums(emit, rows, 0, groups, step)
        rows = _Rows(sums, groups, rows.bounds, lambda row, loops: (row, *loops))
    nest = Nest(emit, rows.bounds)
    loops = range(len(rows.bounds))
    numbers: list[SSAValue] = [
        nest.input(sums, (AffineConstantExpr(0), *loops)) for sums in left
    ]
    return nest.build([add_in_turn(nest, numbers)])[0]


def _sums(emit: Emitter, rows: _Rows, first: int, groups: int, step: int) -> SSAValue:
    """The sums [groups, *bounds] of `step` rows each, from the `first` row on."""
    nest = Nest(emit, (groups, *rows.bounds, step), reductions=1)
    nest.window(range(len(nest.bounds)))
    row = AffineDimExpr(0) * step + AffineDimExpr(nest.parallel) + first
    element = nest.input(rows.tensor, rows.read(row, range(1, nest.parallel)))
    zeros = emit.filled(nest.output_shape, f32, 0)
    return nest.reduce([zeros], nest.adding(element))[0]
