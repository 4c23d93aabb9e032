"""Quotients, powers, shifts and bits of integers, which the kernels take as they are
stored; quotients rounded down and their remainders of float32, too.

LiteRT stops with an error for a divisor of 0, which counts as 1 here, and a negative
exponent, which counts as 0.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from qlower.dialects.fixed import RoundingMode, ShiftRightOp

from ...scalars import Binary, Scalars
from .plain import binary, litert

SIGNED = "INT8 | INT16 | INT32"
BITS = f"{SIGNED} | UINT8"


def of_integers(name: str) -> Binary:
    """A function of 64-bit integers, for those of other types."""
    compute = litert(name)

    def of_type(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
        result = compute(steps, *(steps.cast(value, i64) for value in (x, y)))
        return steps.cast(result, x.type)

    return of_type


def exclusive_or(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    return steps.step(arith.XOrIOp(x, y))


def shift_right(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """Shift right with the sign; distances are clamped to between 0 and the width less
    one."""
    assert isa(x.type, IntegerType)
    most = steps.constant(x.type.bitwidth - 1, i32)
    places = steps.step(arith.MinSIOp(steps.cast(y, i32), most))
    places = steps.step(arith.MaxSIOp(places, steps.constant(0, i32)))
    moved = ShiftRightOp(steps.cast(x, i32), places, RoundingMode.FLOOR)
    return steps.cast(steps.step(moved), x.type)


IMPORTERS = {
    "FLOOR_DIV": binary(litert("floor_quotient_f32"), "REAL")
    | binary(of_integers("floor_quotient"), SIGNED),
    "FLOOR_MOD": binary(litert("floor_rest_f32"), "REAL")
    | binary(litert("floor_rest_i64"), "INT64")
    | binary(of_integers("floor_rest"), SIGNED),
    "BITWISE_XOR": binary(exclusive_or, BITS),
    "RIGHT_SHIFT": binary(shift_right, BITS),
}
