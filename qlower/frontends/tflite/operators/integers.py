"""Quotients, powers, shifts and bits of integers, which the kernels take as they are
stored; quotients rounded down and their remainders of float32, too.

LiteRT stops with an error for a divisor of 0, which counts as 1 here, and a negative
exponent, which counts as 0.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, IntegerType, i32, i64
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from qlower.dialects.fixed import RoundingMode, ShiftRightOp

from ...scalars import Scalars
from .plain import binary

SIGNED = "INT8 | INT16 | INT32"
BITS = f"{SIGNED} | UINT8"


def cut_divide(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """The quotient of integers, cut toward 0."""
    return steps.cast(_divided(steps, x, y)[0], x.type)


def floor_divide(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """The quotient rounded down."""
    if isinstance(x.type, Float32Type):
        return steps.floor(steps.divide(x, y))
    quotient, rest = _divided(steps, x, y)
    below = steps.subtract(quotient, steps.constant(1, i64))
    is_below = _is_cut_up(steps, rest, y)
    return steps.cast(steps.select(is_below, below, quotient), x.type)


def floor_modulo(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """What a quotient rounded down leaves over, which has the divisor's sign."""
    if isinstance(x.type, Float32Type):
        rest = steps.c("fmodf", x, y)
        return steps.select(_is_cut_up(steps, rest, y), steps.add(rest, y), rest)
    rest = _long_rest(steps, x, y) if x.type == i64 else _divided(steps, x, y)[1]
    raised = steps.add(rest, steps.cast(y, i64))
    is_raised = _is_cut_up(steps, rest, y)
    return steps.cast(steps.select(is_raised, raised, rest), x.type)


def _divided(steps: Scalars, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Quotient, cut toward 0, and rest in i64 of integers of up to 32 bits: by the
    divisor's magnitude, so that no division overflows."""
    x, y = steps.cast(x, i64), steps.cast(y, i64)
    magnitude = steps.step(arith.MaxSIOp(steps.absolute(y), steps.constant(1, i64)))
    quotient = steps.step(arith.DivSIOp(x, magnitude))
    rest = steps.step(arith.RemSIOp(x, magnitude))
    is_negative = steps.compare("lt", y, steps.constant(0, i64))
    return steps.select(is_negative, steps.negate(quotient), quotient), rest


def _long_rest(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """The rest of a quotient in i64 cut toward 0, where the least divisor has no
    magnitude; of -1, by which a division may overflow, it is that of 1."""
    one, least = steps.constant(1, i64), steps.constant(-2, i64)
    above, below = (
        steps.step(arith.RemSIOp(x, steps.step(bound)))
        for bound in (arith.MaxSIOp(y, one), arith.MinSIOp(y, least))
    )
    return steps.select(steps.compare("le", y, least), below, above)


def _is_cut_up(steps: Scalars, rest: SSAValue, divisor: SSAValue) -> SSAValue:
    """Whether there is a rest, of another sign than the divisor."""
    left, right = (
        steps.compare("lt", value, steps.constant(0, value.type))
        for value in (rest, divisor)
    )
    some = steps.compare("ne", rest, steps.constant(0, rest.type))
    return steps.logical("and", steps.step(arith.XOrIOp(left, right)), some)


def integer_power(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """Powers of i32, converted from a double by x86: the least number where they don't
    fit."""
    limit, zero = steps.constant(1 << 31, i64), steps.constant(0, i32)
    exponent = steps.step(arith.MaxSIOp(y, zero))
    result, base = steps.constant(1, i64), steps.absolute(steps.cast(x, i64))

    def bounded(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return steps.step(arith.MinSIOp(steps.multiply(lhs, rhs), limit))

    def has(bit: int) -> SSAValue:
        masked = steps.logical("and", exponent, steps.constant(1 << bit, i32))
        return steps.compare("ne", masked, zero)

    for bit in range(5):
        result = steps.select(has(bit), bounded(result, base), result)
        base = bounded(base, base)
    is_large = steps.compare("ge", exponent, steps.constant(32, i32))
    result = steps.select(is_large, base, result)  # of 0, 1 and what doesn't fit
    is_negative = steps.logical("and", steps.compare("lt", x, zero), has(0))
    signed = steps.select(is_negative, steps.negate(result), result)
    return steps.cast(signed, i32)


def exclusive_or(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    return steps.step(arith.XOrIOp(x, y))


def shift_right(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """The sign moves in; places are brought between 0 and all but one of the bits."""
    assert isa(x.type, IntegerType)
    most = steps.constant(x.type.bitwidth - 1, i32)
    places = steps.step(arith.MinSIOp(steps.cast(y, i32), most))
    places = steps.step(arith.MaxSIOp(places, steps.constant(0, i32)))
    moved = ShiftRightOp(steps.cast(x, i32), places, RoundingMode.FLOOR)
    return steps.cast(steps.step(moved), x.type)


IMPORTERS = {
    "FLOOR_DIV": binary(floor_divide, f"REAL | {SIGNED}"),
    "FLOOR_MOD": binary(floor_modulo, f"REAL | {SIGNED} | INT64"),
    "BITWISE_XOR": binary(exclusive_or, BITS),
    "RIGHT_SHIFT": binary(shift_right, BITS),
}
