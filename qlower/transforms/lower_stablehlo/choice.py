"""Comparisons, and elements chosen by conditions: what is stored goes as it is."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from qlower.dialects import stablehlo
from qlower.dialects.stablehlo import Direction
from qlower.dialects.stablehlo.base import plain_integer
from qlower.dialects.types import shape_of
from qlower.model.nests import Nest, broadcast_indices
from qlower.transforms.lower_stablehlo.lowering import Lowering


def lower_compare(lowering: Lowering, op: stablehlo.CompareOp) -> SSAValue:
    """One comparison of arith."""
    nest = Nest(lowering.emit, shape_of(op.output))
    lhs, rhs = (
        nest.input(lowering.value(operand), range(nest.parallel))
        for operand in (op.lhs, op.rhs)
    )
    name, integer = op.direction.lower(), plain_integer(op.lhs.type)
    if integer is None:
        predicate = "une" if op.direction == Direction.NE else f"o{name}"
        found = nest.add(arith.CmpfOp(lhs, rhs, predicate)).result
    else:
        if op.direction not in (Direction.EQ, Direction.NE):
            name = f"{'u' if integer == i1 else 's'}{name}"
        found = nest.add(arith.CmpiOp(lhs, rhs, name)).result
    return nest.build_one(found)


def lower_select(lowering: Lowering, op: stablehlo.SelectOp) -> SSAValue:
    """Elements as they are stored."""
    shape = shape_of(op.output)
    nest = Nest(lowering.emit, shape)
    condition, *values = (
        nest.input(lowering.value(operand), broadcast_indices(shape_of(operand), shape))
        for operand in op.operands
    )
    return nest.build_one(nest.add(arith.SelectOp(condition, *values)).result)
