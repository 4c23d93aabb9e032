"""The order of elements along the last axis, and running sums, as loop nests.

Tensors are [rows..., size].
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.utils.hints import isa

from qlower.dialects.types import integer_range, shape_of
from qlower.emit.reductions import axes_nest
from qlower.model.nests import Emitter, Nest

from .scalars import Scalars


def ranks(
    emit: Emitter,
    source: SSAValue,
    predicate: str = "gt",
    *,
    is_unsigned: bool = False,
    has_nan: bool = False,
) -> SSAValue:
    """The number of elements of its row before each, i32: those for which the predicate
    holds, and equal ones in front of it; with `has_nan` NaN comes last."""
    *rows, size = shape_of(source)
    nest = Nest(emit, (*rows, size, size), reductions=1)
    steps, last = Scalars(nest, is_unsigned), len(rows)
    one = nest.input(source, range(last + 1))
    other = nest.input(source, [*range(last), last + 1])
    place, turn = (steps.step(IndexOp(loop)) for loop in (last, last + 1))
    earlier = steps.step(arith.CmpiOp(turn, place, "slt"))
    equal = steps.logical("and", steps.compare("eq", other, one), earlier)
    precedes = steps.logical("or", steps.compare(predicate, other, one), equal)
    if has_nan:
        is_number = steps.compare("eq", other, other)
        first = steps.logical("or", is_number, earlier)
        after = steps.logical("and", steps.compare("ne", one, one), first)
        precedes = steps.logical("or", precedes, after)
    counted = steps.step(arith.ExtUIOp(precedes, i32))
    zeros = emit.filled((*rows, size), i32, 0)
    return nest.reduce_one(zeros, nest.adding(counted))


def of_ranks(
    emit: Emitter, source: SSAValue, ranks: SSAValue, count: int, places: IntegerType
) -> tuple[SSAValue, ...]:
    """The first `count` elements of each row by their ranks, and where they lie, as
    integers of the type `places`."""
    *rows, size = shape_of(source)
    nest = Nest(emit, (*rows, count, size), reductions=1)
    steps, last = Scalars(nest), len(rows)
    place = [*range(last), last + 1]
    wanted, position = steps.place(last, i32), steps.place(last + 1, places)
    value, rank = nest.input(source, place), nest.input(ranks, place)
    found = steps.compare("eq", rank, wanted)
    inits = [emit.filled((*rows, count), one.type, 0) for one in (value, position)]

    def keep(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [
            steps.select(found, new, old)
            for new, old in zip((value, position), before, strict=True)
        ]

    return nest.reduce(inits, keep)


def running_sums(
    emit: Emitter,
    source: SSAValue,
    axis: int,
    start: float,
    *,
    is_exclusive: bool,
    is_reverse: bool,
) -> SSAValue:
    """`F(F(start + a) + b) ...` up to each element along an axis, or to the one before
    it; in reverse from the last one on."""
    shape = shape_of(source)
    size, rank = shape[axis], len(shape)
    nest = Nest(emit, (*shape, size), reductions=1)
    nest.window((rank,))
    steps, turn = Scalars(nest), AffineDimExpr(rank)
    read = turn * -1 + (size - 1) if is_reverse else turn
    value = nest.input(source, [read if d == axis else d for d in range(rank)])
    place, now = steps.place(axis, i32), steps.place(rank, i32)
    if is_reverse:
        place = steps.subtract(steps.constant(size - 1, i32), place)
    counts = steps.compare("lt" if is_exclusive else "le", now, place)
    init = emit.filled(shape, value.type, start)

    def add(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        (total,) = before
        return [steps.select(counts, steps.add(total, value), total)]

    return nest.reduce_one(init, add)


def place_of_extreme(
    emit: Emitter,
    source: SSAValue,
    axis: int,
    predicate: str,
    places: Attribute = i64,
    *,
    is_unsigned: bool = False,
) -> SSAValue:
    """The place along an axis, as an integer of the type `places`, of the first of the
    largest numbers, or with the predicate `lt` (in place of `gt`) of the least. NaN is
    passed over."""
    nest, indices = axes_nest(emit, shape_of(source), [axis])
    steps = Scalars(nest, is_unsigned)
    element = nest.input(source, indices)
    place = steps.place(nest.parallel, places)
    shape = nest.output_shape
    ends = (-inf, inf)
    if isa(element.type, IntegerType):
        low, high = integer_range(element.type.bitwidth, not is_unsigned)
        ends = (low, high)
    start = ends[predicate == "lt"]
    starts = emit.filled(shape, element.type, start), emit.filled(shape, places, 0)

    def combine(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        is_better = steps.compare(predicate, element, before[0])
        found = zip((element, place), before, strict=True)
        return [steps.select(is_better, *pair) for pair in found]

    return nest.reduce(starts, combine)[1]
