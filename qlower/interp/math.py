"""Meaning of the `math` ops, on lanes.

fma, the roundings, absf, copysign and sqrt are exact or correctly rounded, as IEEE 754
defines them. The transcendental functions have no such definition: for f32 they are
computed in float64 and rounded once, which is the correctly rounded result in practice;
for f64 they are numpy's. They run only at compile time, so that a program
carries their results as constants.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erf
from typing import TypeAlias

import numpy as np
from xdsl.dialects import math
from xdsl.interpreter import InterpreterFunctions, PythonValues
from xdsl.ir import Operation

from .engine import implement, implement_table, register_implementations
from .values import Array, as_signed, as_unsigned, integer_width, wrap

Unary: TypeAlias = Callable[[Array], Array]
Binary: TypeAlias = Callable[[Array, Array], Array]


def round_half_away(value: Array) -> Array:
    """The nearest whole number, ties away from zero; -0 and NaN stay."""
    whole = np.trunc(value)
    # value - whole is exact, so this sees ties as they are.
    is_away = np.greater_equal(np.abs(np.subtract(value, whole)), 0.5)
    step = np.copysign(is_away.astype(value.dtype), value)
    return np.copysign(np.add(whole, step), value)


def _rsqrt(value: Array) -> Array:
    return np.divide(1.0, np.sqrt(value))


_erf = np.vectorize(erf, otypes=[np.float64])

EXACT_UNARY: dict[type[Operation], Unary] = {
    math.AbsFOp: np.abs,
    math.CeilOp: np.ceil,
    math.FloorOp: np.floor,
    math.TruncOp: np.trunc,
    math.RoundOp: round_half_away,
    math.RoundEvenOp: np.rint,
    math.SqrtOp: np.sqrt,
}

ROUNDED_UNARY: dict[type[Operation], Unary] = {
    math.ExpOp: np.exp,
    math.Exp2Op: np.exp2,
    math.ExpM1Op: np.expm1,
    math.LogOp: np.log,
    math.Log2Op: np.log2,
    math.Log10Op: np.log10,
    math.Log1pOp: np.log1p,
    math.ErfOp: _erf,
    math.TanhOp: np.tanh,
    math.SinOp: np.sin,
    math.CosOp: np.cos,
    math.AtanOp: np.arctan,
    math.RsqrtOp: _rsqrt,
}

ROUNDED_BINARY: dict[type[Operation], Binary] = {
    math.Atan2Op: np.arctan2,
    math.PowFOp: np.power,
}


def run_rounded(
    function: Callable[..., Array], op: Operation, args: PythonValues
) -> PythonValues:
    """`function` in float64, rounded once to the type of the operands."""
    wide = (np.asarray(arg, np.float64) for arg in args)
    return (function(*wide).astype(args[0].dtype)[()],)


def count_leading_zeros(value: Array, width: int) -> Array:
    """The zero bits above the highest one bit of an unsigned number of `width` bits."""
    # The float64 exponent of a number below 2^53 is the place of its highest one bit.
    number = np.asarray(value).astype(np.uint64)
    high = np.right_shift(number, np.uint64(32))
    has_high = np.greater(high, 0)
    half = np.where(has_high, high, np.bitwise_and(number, np.uint64(0xFFFFFFFF)))
    _, bits = np.frexp(half.astype(np.float64))
    return width - (bits + np.where(has_high, 32, 0))


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c, rounded once."""
    if a.dtype == np.float64:
        return np.asarray(_fma_float64_lanes(a, b, c)).astype(np.float64)[()]
    # The product of two numbers of at most 24 bits is exact in float64. Rounding its
    # sum with c there, and then to float32, is as rounding once, unless the first gives
    # a number halfway between two of float32: then it is rounded to odd.
    product = np.multiply(np.asarray(a, np.float64), np.asarray(b, np.float64))
    wide = np.asarray(c, np.float64)
    total = np.asarray(np.add(product, wide))
    result = total.astype(np.float32)
    # A sum of zero is exact, and comes to no harm among the subnormal numbers.
    is_close = np.equal(np.bitwise_and(total.view(np.int64), _BELOW_FLOAT32), _HALF)
    is_close |= np.less_equal(np.abs(result), _LEAST_NORMAL)
    if np.any(is_close):
        parts = (
            np.broadcast_to(part, total.shape)[is_close] for part in (product, wide)
        )
        result = np.asarray(result)
        result[is_close] = _add_to_odd(*parts).astype(np.float32)
    return result[()]


_LEAST_NORMAL = np.finfo(np.float32).tiny

_BELOW_FLOAT32 = (1 << 29) - 1
"""The bits of a float64 beyond the last one of a float32 that isn't subnormal."""

_HALF = 1 << 28


def _add_to_odd(a: Array, b: Array) -> Array:
    """a + b toward zero, but with the last bit set if inexact; no overflow."""
    total = np.add(a, b)
    # Knuth's two-sum: error = a + b - total, exactly.
    part = np.subtract(total, a)
    error = np.add(np.subtract(a, np.subtract(total, part)), np.subtract(b, part))
    bits = np.asarray(total).view(np.int64)
    is_even = np.equal(np.bitwise_and(bits, 1), 0)
    # NaN where the sum is not finite, and not to be touched there.
    is_inexact = np.logical_or(np.less(error, 0), np.greater(error, 0))
    # The magnitude's next number is one step up in the bits, for either sign.
    step = np.where(np.equal(np.signbit(error), np.signbit(total)), 1, -1)
    to_odd = np.where(np.logical_and(is_inexact, is_even), step, 0)
    return np.add(bits, to_odd).view(np.float64)


def _fma_float64(a: float, b: float, c: float) -> float:
    """a * b + c by exact arithmetic: slow, but float64 is for a few numbers only."""
    if not np.isfinite([a, b, c]).all():
        return a * b + c
    from fractions import Fraction

    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # The product is exact here, and the sum has IEEE's zero.
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


_fma_float64_lanes = np.frompyfunc(_fma_float64, 3, 1)


@register_implementations
@implement_table(EXACT_UNARY, lambda function, _op, args: (function(*args),))
@implement_table(ROUNDED_UNARY, run_rounded)
@implement_table(ROUNDED_BINARY, run_rounded)
class MathFunctions(InterpreterFunctions):
    """The ops that are not in a table above."""

    @implement(math.CopySignOp)
    def run_copysign(self, op: math.CopySignOp, args: PythonValues) -> PythonValues:
        return (np.copysign(*args),)

    @implement(math.FmaOp)
    def run_fma(self, op: math.FmaOp, args: PythonValues) -> PythonValues:
        return (fma(*args),)

    @implement(math.AbsIOp)
    def run_absi(self, op: math.AbsIOp, args: PythonValues) -> PythonValues:
        """|x|; the least number stays, as it has no opposite."""
        (number,), value_type = args, op.result.type
        return (wrap(np.abs(as_signed(number, value_type)), value_type),)

    @implement(math.CountLeadingZerosOp)
    def run_ctlz(
        self, op: math.CountLeadingZerosOp, args: PythonValues
    ) -> PythonValues:
        """The number of zero bits above the highest one bit; the width for 0."""
        (number,), value_type = args, op.result.type
        bits = as_unsigned(number, value_type)
        count = count_leading_zeros(bits, integer_width(value_type))
        return (wrap(count, value_type),)
