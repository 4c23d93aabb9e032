"""What a quotient of float32 leaves over, which is exact (C's fmodf): on integers.

With x = m 2^p and y = n 2^q, m and n below 2^24, it is (m 2^(p - q) mod n) 2^q.
"""

from __future__ import annotations

import math

from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import SSAValue

from .scalars import Scalars

BITS = 24
"""How many bits a significand has."""

AT_ONCE = 63 - BITS
"""By how many places a significand may move in an i64."""

MOST = 254 - 1
"""How far apart the exponents of finite numbers are."""


def remainder(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """fmodf(x, y), with the sign of x: NaN for an infinite x, and for a y of 0."""
    size, divisor = steps.absolute(x), steps.absolute(y)
    rest, exponent = _parts(steps, size)
    n, unit = _parts(steps, divisor)
    n = steps.step(arith.MaxSIOp(n, steps.constant(1, i64)))
    distance = steps.subtract(exponent, unit)
    zero, at_once = steps.constant(0, i64), steps.constant(AT_ONCE, i64)
    for done in range(0, MOST, AT_ONCE):
        left = steps.subtract(distance, steps.constant(done, i64))
        places = steps.step(arith.MinSIOp(left, at_once))
        places = steps.step(arith.MaxSIOp(places, zero))
        moved = steps.step(arith.ShLIOp(rest, places))
        rest = steps.step(arith.RemSIOp(moved, n))
    magnitude = _scaled(steps, rest, unit)
    result = steps.step(math_dialect.CopySignOp(magnitude, x))
    result = steps.select(steps.compare("lt", size, divisor), x, result)
    infinity, none, nan = (steps.constant(v, f32) for v in (math.inf, 0.0, math.nan))
    is_defined = steps.logical(
        "and",
        steps.compare("lt", size, infinity),
        steps.compare("gt", divisor, none),
    )
    return steps.select(is_defined, result, nan)


def _parts(steps: Scalars, magnitude: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Significand and biased exponent in i64, of a number that isn't negative: a
    subnormal one has the exponent 1."""
    bits = steps.step(arith.BitcastOp(magnitude, i32))
    exponent = steps.step(arith.ShRSIOp(bits, steps.constant(BITS - 1, i32)))
    hidden, one = steps.constant(1 << (BITS - 1), i32), steps.constant(1, i32)
    fraction = steps.logical("and", bits, steps.subtract(hidden, one))
    is_subnormal = steps.compare("lt", exponent, one)
    whole = steps.select(is_subnormal, fraction, steps.add(fraction, hidden))
    exponent = steps.step(arith.MaxSIOp(exponent, one))
    return steps.cast(whole, i64), steps.cast(exponent, i64)


def _scaled(steps: Scalars, whole: SSAValue, exponent: SSAValue) -> SSAValue:
    """A significand with a biased exponent, as f32."""
    bias = steps.constant(1023 - 127 - (BITS - 1), i64)
    bits = steps.step(arith.ShLIOp(steps.add(exponent, bias), steps.constant(52, i64)))
    power = steps.step(arith.BitcastOp(bits, f64))
    wide = steps.multiply(steps.step(arith.SIToFPOp(whole, f64)), power)
    return steps.step(arith.TruncFOp(wide, f32))
