"""TOPK_V2: the largest elements of each row, and where they are."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from ..context import OperatorContext
from ..importer import Importer
from ..nests import finish, start
from ..scalars import Scalars
from ..types import MAX_RANK
from .plain import check_type

INTEGERS = ("INT8", "UINT8", "INT16", "INT32", "INT64")


def import_top_k(op: OperatorContext) -> None:
    """Elements and their positions by rank: from the largest on, of equal ones the
    first (topk_v2.cc, TopContainer). Real numbers may be NaN, which has no rank."""
    check_type(op, INTEGERS)
    op.check_type(op.output(), op.input(0).type)
    op.check_range("number of dimensions", len(op.shape(0)), 1, MAX_RANK)
    *rows, size = op.shape(0)
    (count,) = op.integers(1, "k", count=1)
    op.check_range("k", count, 1, size)
    source = op.elements(0)
    ranks = _ranks(op, source, rows, size)
    nest = start(op, (*rows, count, size), reductions=1)
    steps, last = Scalars(nest), len(rows)
    place = [*range(last), last + 1]
    wanted, position = (
        steps.step(arith.IndexCastOp(steps.step(IndexOp(loop)), i32))
        for loop in (last, last + 1)
    )
    value, rank = nest.input(source, place), nest.input(ranks, place)
    found = steps.compare("eq", rank, wanted)
    shape = (*rows, count)
    inits = [nest.emitter.filled(shape, one.type, 0) for one in (value, position)]

    def keep(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [
            steps.select(found, new, old)
            for new, old in zip((value, position), before, strict=True)
        ]

    for number, result in enumerate(nest.reduce(inits, keep)):
        finish(op, result, number)


def _ranks(
    op: OperatorContext, source: SSAValue, rows: Sequence[int], size: int
) -> SSAValue:
    """How many elements of its row come before each."""
    nest = start(op, (*rows, size, size), reductions=1)
    steps, last = Scalars(nest, op.input(0).type == "UINT8"), len(rows)
    one = nest.input(source, range(last + 1))
    other = nest.input(source, [*range(last), last + 1])
    place, turn = (steps.step(IndexOp(loop)) for loop in (last, last + 1))
    earlier = steps.step(arith.CmpiOp(turn, place, "slt"))
    equal = steps.logical("and", steps.compare("eq", other, one), earlier)
    precedes = steps.logical("or", steps.compare("gt", other, one), equal)
    counted = steps.step(arith.ExtUIOp(precedes, i32))
    init = nest.emitter.filled((*rows, size), i32, 0)
    return nest.reduce([init], lambda before: [steps.add(before[0], counted)])[0]


IMPORTERS = {"TOPK_V2": Importer(import_top_k, (2, 2), outputs=(2, 2))}
