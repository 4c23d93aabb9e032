"""About how many vector instructions an epilogue takes: whether another one pays."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, IntegerType
from xdsl.ir import Operation

from qlower.dialects.fixed import ConvertOp, RoundingMode, SaturateOp, ShiftRightOp

EXCEPTION = 2
"""A comparison, and an addition under its mask."""


def cost(ops: Iterable[Operation]) -> int:
    """Of all lanes that fill a vector with 32-bit numbers."""
    return sum(_instructions(op) * (2 if _is_wide(op) else 1) for op in ops)


def _instructions(op: Operation) -> int:
    match op:
        case arith.ConstantOp():
            return 0
        case ShiftRightOp():
            return 4
        case ConvertOp():
            return 1 if op.rounding.data == RoundingMode.HALF_EVEN else 4
        case SaturateOp():
            return 2
        case _:
            return 1


def _is_wide(op: Operation) -> bool:
    return any(
        isinstance(type, Float64Type)
        or (isinstance(type, IntegerType) and type.bitwidth > 32)
        for type in (*op.operand_types, *op.result_types)
    )
