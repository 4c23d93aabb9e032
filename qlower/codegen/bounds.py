"""How large an integer can get, from how it is computed."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from qlower.codegen.elements import scalar_type
from qlower.codegen.llvm import Type


def largest_magnitude(value: SSAValue, bounds: Mapping[SSAValue, int]) -> int:
    """A bound on |value|, from how it is computed and `bounds` on the arguments."""
    limit = 1 << (Type(scalar_type(value.type)).bits - 1)
    if isinstance(value, BlockArgument):
        return bounds.get(value, limit)
    op = value.owner
    assert isinstance(op, Operation)

    def operands() -> list[int]:
        return [largest_magnitude(operand, bounds) for operand in op.operands]

    match op.name:
        case "arith.extsi":
            return operands()[0]
        case "arith.extui":
            return 2 * operands()[0]
        case "arith.muli":
            a, b = operands()
            bound = a * b
        case "arith.addi" | "arith.subi":
            bound = sum(operands())
        case "fixed.shift_right":
            shift = constant_value(op.operands[1])
            half = 1 << shift >> 1
            bound = (operands()[0] + half) >> shift
        case "arith.constant":
            bound = abs(constant_value(value))
        case _:
            return limit
    return min(bound, limit)  # a bound beyond the type says that it may wrap


def constant_value(value: SSAValue) -> int:
    """The integer of a constant, 0 of anything else."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return 0
