"""About how many vector instructions an epilogue takes: whether another one pays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, IntegerAttr, IntegerType, i8, i32
from xdsl.ir import Operation

from qlower.dialects.fixed import ConvertOp, RoundingMode, SaturateOp, ShiftRightOp

EXCEPTION = 2
"""A comparison, and an addition under its mask."""


def cost(ops: Iterable[Operation], *, rounds_fast: bool = False) -> int:
    """The instructions for as many lanes as fill a vector with 32-bit numbers.

    With `rounds_fast` a rounding shift is an instruction, and so is the upper half of a
    doubled product: what makes it costs nothing more, and neither does narrowing, which
    every epilogue ends with.
    """
    counted = list(ops)
    if not rounds_fast:
        return sum(_instructions(op, _SHIFTS) * _vectors(op) for op in counted)
    halves = {op: parts for op in counted if (parts := _upper_half(op))}
    free = {part for parts in halves.values() for part in parts}
    return len(halves) + sum(
        _instructions(op, _FAST_SHIFTS) * _vectors(op)
        for op in counted
        if op not in halves and op not in free
    )


_SHIFTS: Mapping[RoundingMode, int] = {}
_FAST_SHIFTS = {RoundingMode.HALF_UP: 1, RoundingMode.HALF_AWAY: 3}
"""Instructions of a shift by rounding mode, 4 of any other."""


def _upper_half(op: Operation) -> list[Operation]:
    """The shift, the product and its extensions that an i32 saturates, if it does."""
    shift = op.operands[0].owner if isinstance(op, SaturateOp) else None
    if not isinstance(shift, ShiftRightOp) or op.results[0].type != i32:
        return []
    amount, product = shift.operands[1].owner, shift.operands[0].owner
    if not isinstance(amount, arith.ConstantOp) or not isinstance(
        product, arith.MuliOp
    ):
        return []
    if not isinstance(amount.value, IntegerAttr) or amount.value.value.data != 31:
        return []
    factors = [factor.owner for factor in product.operands]
    return [shift, product, *(f for f in factors if isinstance(f, arith.ExtSIOp))]


def _instructions(op: Operation, shifts: Mapping[RoundingMode, int]) -> int:
    match op:
        case arith.ConstantOp():
            return 0
        case SaturateOp() if shifts and op.results[0].type == i8:
            return 0
        case ShiftRightOp():
            return shifts.get(op.rounding.data, 4)
        case ConvertOp():
            return 1 if op.rounding.data == RoundingMode.HALF_EVEN else 4
        case SaturateOp():
            return 2
        case _:
            return 1


def _vectors(op: Operation) -> int:
    """The number of vectors that hold its numbers."""
    return 2 if _is_wide(op) else 1


def _is_wide(op: Operation) -> bool:
    return any(
        isinstance(type, Float64Type)
        or (isinstance(type, IntegerType) and type.bitwidth > 32)
        for type in (*op.operand_types, *op.result_types)
    )
