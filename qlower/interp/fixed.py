"""Meaning of the `fixed` ops: rounding and saturation without overflow, on lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from xdsl.interpreter import InterpreterFunctions, PythonValues

from qlower.dialects.fixed import (
    ConvertOp,
    PairDotOp,
    RoundingMode,
    SaturateOp,
    ShiftRightOp,
)
from qlower.dialects.types import integer_range

from .engine import implement, register_implementations
from .values import (
    Array,
    as_signed,
    dtype_of,
    integer_width,
    require,
    wrap,
)

TieRule: TypeAlias = Callable[[Array], Array]
"""From floor(r) of numbers r = floor(r) + 1/2 to whether each becomes the upper."""

TIE_GOES_UP: dict[RoundingMode, TieRule] = {
    RoundingMode.HALF_AWAY: lambda floor: np.greater_equal(floor, 0),
    RoundingMode.HALF_TOWARD_ZERO: lambda floor: np.less(floor, 0),
    RoundingMode.HALF_EVEN: lambda floor: np.not_equal(np.fmod(floor, 2), 0),
}


def rounds_up(
    mode: RoundingMode, floor: Array, fraction: Array, middle: Array
) -> Array:
    """Whether numbers in [floor, floor + 1) become floor + 1.

    `fraction` is 0 for whole numbers, and compares to `middle` as what is above the
    floor compares to 1/2.
    """
    match mode:
        case RoundingMode.FLOOR:
            return np.zeros_like(floor, np.bool_)
        case RoundingMode.CEIL:
            return np.not_equal(fraction, 0)
        case RoundingMode.TOWARD_ZERO:
            return np.logical_and(np.less(floor, 0), np.not_equal(fraction, 0))
        case RoundingMode.HALF_UP:
            return np.greater_equal(fraction, middle)
        case RoundingMode.HALF_DOWN:
            return np.greater(fraction, middle)
        case _:
            is_tie = np.equal(fraction, middle)
            goes_up = np.logical_and(is_tie, TIE_GOES_UP[mode](floor))
            return np.logical_or(np.greater(fraction, middle), goes_up)


def shift_right(value: Array, amount: Array, mode: RoundingMode) -> Array:
    """value / 2^amount, rounded; 0 <= amount < the width of the type."""
    floor = np.right_shift(value, amount)
    one = value.dtype.type(1)
    mask = np.subtract(np.left_shift(one, amount), one)
    remainder = np.bitwise_and(value, mask)
    # 2^(amount - 1), or 1 for amount 0, where the remainder is 0.
    half = np.add(np.right_shift(mask, one), one)
    up = rounds_up(mode, floor, remainder, half)
    return np.add(floor, up.astype(value.dtype))


def round_float(value: Array, mode: RoundingMode) -> Array:
    """The whole number that a float is rounded to; infinities stay."""
    if mode == RoundingMode.HALF_EVEN:
        return np.rint(value)
    whole = np.trunc(value)
    # Exact, and NaN for an infinity, which compares as no fraction at all. To stay
    # exact, a negative fraction is compared to -1/2 instead of having 1 added.
    fraction = np.subtract(value, whole)
    is_negative = np.less(fraction, 0)
    floor = np.subtract(whole, is_negative.astype(value.dtype))
    middle = np.where(is_negative, -0.5, 0.5)
    up = rounds_up(mode, floor, fraction, middle)
    return np.add(floor, up.astype(value.dtype))


def pair_dot(a0: ArrayLike, b0: ArrayLike, a1: ArrayLike, b1: ArrayLike) -> Array:
    """a0 b0 + a1 b1 of bytes, a's unsigned and b's signed, saturated to 16 bits."""
    wide = (np.asarray(value).astype(np.int32) for value in (a0, b0, a1, b1))
    x0, w0, x1, w1 = wide
    first = np.multiply(np.bitwise_and(x0, 0xFF), w0)
    second = np.multiply(np.bitwise_and(x1, 0xFF), w1)
    return np.clip(np.add(first, second), *integer_range(16))


@register_implementations
class FixedFunctions(InterpreterFunctions):
    """Implementations of the `fixed` ops."""

    @implement(ShiftRightOp)
    def run_shift_right(self, op: ShiftRightOp, args: PythonValues) -> PythonValues:
        value_type = op.result.type
        width = integer_width(value_type)
        value, amount = (as_signed(arg, value_type) for arg in args)
        valid = np.logical_and(np.greater_equal(amount, 0), np.less(amount, width))
        message = f"shifts {{}} by {{}}, which is outside [0, {width})"
        require(valid, message, value, amount)
        return (wrap(shift_right(value, amount, op.rounding.data), value_type),)

    @implement(ConvertOp)
    def run_convert(self, op: ConvertOp, args: PythonValues) -> PythonValues:
        (given,), result_type = args, op.result.type
        number = round_float(given, op.rounding.data)
        low, high = integer_range(integer_width(result_type))
        if np.min(number, initial=0) >= low and np.max(number, initial=0) < -float(low):
            return (number.astype(dtype_of(result_type)),)
        number = np.where(np.isnan(number), number.dtype.type(0), number)
        # -2^(width-1) and 2^(width-1) are exact in any float; `high` may not be.
        is_low, is_high = np.less(number, low), np.greater_equal(number, -float(low))
        inside = np.where(np.logical_or(is_low, is_high), 0, number)
        held = np.asarray(inside).astype(np.int64)
        clamped = np.where(is_low, low, np.where(is_high, high, held))
        return (wrap(clamped, result_type)[()],)

    @implement(SaturateOp)
    def run_saturate(self, op: SaturateOp, args: PythonValues) -> PythonValues:
        (wide,), (low, high) = args, op.bounds  # which the wider operand can hold
        clamped = np.minimum(np.maximum(wide, low), high)
        return (wrap(clamped, op.result.type),)

    @implement(PairDotOp)
    def run_pair_dot(self, op: PairDotOp, args: PythonValues) -> PythonValues:
        return (wrap(pair_dot(*args), op.result.type),)
