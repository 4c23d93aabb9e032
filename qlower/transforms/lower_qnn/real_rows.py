"""Rows of real numbers: their sums in the order of the contract, and its rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from qlower.contracts.real_rows import UNGIVEN, row_values
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.emit.row_rules import Columns, Read, RowNests
from qlower.model.nests import broadcast_indices
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_pool(lowering: Lowering, op: qnn.RealPool2DOp) -> SSAValue:
    """The rows are what windows see."""
    low, high = op.sums.padding()
    image = lowering.pad(lowering.value(op.input), low, high, op.around)
    rows = _rows(lowering, op, image)
    rows = replace(rows, slides=True, columns=_columns(op, rows))
    return rows.row(lowering.contract.rule(op.rules[0]).function)


def lower_reduce(lowering: Lowering, op: qnn.RealReduceOp) -> SSAValue:
    """The rows are what lies along the axes."""
    rows = _rows(lowering, op, lowering.value(op.input))
    if not op.axes:
        rows = replace(rows, depth=(1,), slides=True)
    result = rows.row(lowering.contract.rule(op.rules[0]).function)
    return lowering.reshape(result, shape_of(op.result))


def lower_normalize(lowering: Lowering, op: qnn.RealNormalizeOp) -> SSAValue:
    """The rows have the last dimensions."""
    rule, emit = lowering.contract.rule(op.rules[0]), lowering.emit
    shapes = [shape_of(operand) for operand in op.parameters]
    outer, depth = op.loops
    shapes = [(1,) * (len(outer + depth) - len(shape)) + shape for shape in shapes]
    rank = len(outer)
    if all(math.prod(shape[:rank]) == 1 for shape in shapes):
        outer, shapes = (math.prod(outer),), [(1, *shape[rank:]) for shape in shapes]
    ones = (1,) * len(depth)
    if all(shape[-len(depth) :] in (ones, depth) for shape in shapes):
        depth, shapes = (
            (math.prod(depth),),
            [
                (*shape[: -len(depth)], math.prod(shape[-len(depth) :]))
                for shape in shapes
            ],
        )
    shape, constants = (*outer, *depth), {**row_values(op), **UNGIVEN}
    loops = [AffineDimExpr(at) for at in range(len(shape))]
    reads = {"input": Read(lowering.reshape(lowering.value(op.input), shape), loops)}
    for name, operand, sizes in zip(
        qnn.PARAMETERS, op.parameters, shapes, strict=False
    ):
        reads[name] = _whole(lowering.reshape(lowering.value(operand), sizes), shape)
    if "turn" in rule.values:
        turns = np.arange(1, math.prod(depth) + 1).reshape(depth)
        reads["turn"] = _whole(emit.constant(turns, f32), shape)
    rows = RowNests(emit, outer, depth, reads, constants)
    return lowering.reshape(rows.element(rule.function), shape_of(op.result))


def _whole(tensor: SSAValue, shape: Sequence[int]) -> Read:
    """A tensor that broadcasts to the elements of all rows."""
    indices = broadcast_indices(shape_of(tensor), shape)
    return Read(
        tensor, [AffineDimExpr(i) if isinstance(i, int) else i for i in indices]
    )


def _rows(lowering: Lowering, op: qnn.RealRowsOp, input: SSAValue) -> RowNests:
    reads = {"input": Read(input, op.places)}
    return RowNests(lowering.emit, *op.loops, reads, row_values(op))


def _columns(op: qnn.RealPool2DOp, rows: RowNests) -> Columns:
    """Windows of one column at all columns of an image, then of one row."""
    batch, height, _, channels = rows.outer
    x = rows.reads["input"]
    n, y, column, c, tap = (AffineDimExpr(at) for at in range(5))
    row = y * op.stride[0] + tap * op.dilation[0]
    sums = replace(
        rows,
        outer=(batch, height, shape_of(x.tensor)[2], channels),
        depth=(op.kernel[0],),
        reads={"input": Read(x.tensor, [n, row, column, c])},
        slides=True,
    )
    place = column * op.stride[1] + tap * op.dilation[1]

    def across(made: SSAValue) -> RowNests:
        reads = {"input": Read(made, [n, y, place, c])}
        return replace(sums, outer=rows.outer, depth=(op.kernel[1],), reads=reads)

    return Columns(sums, across)
