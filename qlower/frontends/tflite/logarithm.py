"""logf and powf of the GNU C library, which LiteRT calls, step by step in float64.

x = 2^k z, with z between about 0.7 and 1.4 in one of 16 parts. Each part has a number
near the reciprocal of its middle, so that r = z * reciprocal - 1 is small: log(x) is
k log(2) - log(reciprocal) and a polynomial of r.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import SSAValue

from qlower.model.nests import extract, to_index

from .exponential import STEPS, power_of_two
from .scalars import Scalars

RECIPROCALS = tuple(
    map(
        float.fromhex,
        (
            *("0x1.661ec79f8f3bep+0", "0x1.571ed4aaf883dp+0", "0x1.49539f0f010bp+0"),
            *("0x1.3c995b0b80385p+0", "0x1.30d190c8864a5p+0", "0x1.25e227b0b8eap+0"),
            *("0x1.1bb4a4a1a343fp+0", "0x1.12358f08ae5bap+0", "0x1.0953f419900a7p+0"),
            *("0x1p+0", "0x1.e608cfd9a47acp-1", "0x1.ca4b31f026aap-1"),
            *("0x1.b2036576afce6p-1", "0x1.9c2d163a1aa2dp-1", "0x1.886e6037841edp-1"),
            "0x1.767dcf5534862p-1",
        ),
    )
)
"""The reciprocals of the parts, by the four bits that follow the exponent in
x / FIRST."""

FIRST = 0x3F330000
"""The bits of where the first part begins, about 0.7."""

NATURAL = tuple(
    map(
        float.fromhex,
        ("-0x1.00ea348b88334p-2", "0x1.5575b0be00b6ap-2", "-0x1.ffffef20a4123p-2"),
    )
)
"""The coefficients of log(1 + r), from r^4 down to r^2; that of r is 1."""

BINARY = tuple(
    map(
        float.fromhex,
        (
            *("0x1.27616c9496e0bp-2", "-0x1.71969a075c67ap-2"),
            *("0x1.ec70a6ca7baddp-2", "-0x1.7154748bef6c8p-1"),
            "0x1.71547652ab82bp0",
        ),
    )
)
"""The coefficients of log2(1 + r), from r^5 down to r."""

LN2 = float.fromhex("0x1.62e42fefa39efp-1")
SMALLEST = 2.0**-126
"""The smallest number that has all its bits."""

SUBNORMAL_BITS = 23

FARTHEST = 160.0
"""The power of 2 beyond which a result is infinite in float32; beyond its negative,
0."""


def logarithm(steps: Scalars, x: SSAValue) -> SSAValue:
    """logf(x): of 0 it is -inf, of a negative number NaN."""
    if steps.of_bytes:
        return steps.log(x)
    r, k, part = _reduced(steps, x)
    highest, middle, lowest = (steps.constant(factor, f64) for factor in NATURAL)
    ln2 = steps.constant(LN2, f64)
    base = _line(steps, k, ln2, _look_up(steps, _logarithms(None), part))
    square = steps.multiply(r, r)
    y = _line(steps, middle, r, lowest)
    y = _line(steps, highest, square, y)
    y = _line(steps, y, square, steps.add(base, r))
    result = steps.step(arith.TruncFOp(y, f32))
    zero, infinity, nan = (steps.constant(v, f32) for v in (0.0, math.inf, math.nan))
    finite = steps.compare("lt", x, infinity)
    result = steps.select(finite, result, x)
    result = steps.select(steps.compare("lt", x, zero), nan, result)
    least = steps.negate(infinity)
    return steps.select(steps.compare("eq", x, zero), least, result)


def power(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """powf(x, y), with what C says of zeros, infinities, NaN and negative numbers."""
    if steps.of_bytes:
        return steps.power(x, y)
    zero, one, infinity = (steps.constant(v, f32) for v in (0.0, 1.0, math.inf))
    nan, half = (steps.constant(v, f32) for v in (math.nan, 0.5))
    magnitude = steps.absolute(x)
    exponent = steps.multiply(steps.cast(y, f64), _binary_logarithm(steps, magnitude))
    exponent = steps.clamp(exponent, -FARTHEST, FARTHEST)
    scaled = steps.multiply(exponent, steps.constant(float(STEPS), f64))
    result = power_of_two(steps.nest, scaled)
    # whole and odd exponents keep the sign
    halved = steps.multiply(y, half)
    is_whole = steps.compare("eq", steps.floor(y), y)
    is_odd = steps.compare("ne", steps.floor(halved), halved)
    is_odd = steps.logical("and", is_odd, is_whole)
    sign = steps.step(math_dialect.CopySignOp(one, x))
    result = steps.select(is_odd, steps.multiply(sign, result), result)
    is_negative = steps.compare("lt", x, zero)
    is_finite = steps.compare("lt", magnitude, infinity)
    rootless = steps.logical("and", is_negative, steps.invert(is_whole))
    rootless = steps.logical("and", rootless, is_finite)
    result = steps.select(rootless, nan, result)
    is_nan = steps.logical("or", steps.compare("ne", x, x), steps.compare("ne", y, y))
    result = steps.select(is_nan, nan, result)
    is_endless = steps.compare("eq", steps.absolute(y), infinity)
    is_unit = steps.compare("eq", magnitude, one)
    is_one = steps.logical(
        "or", steps.compare("eq", x, one), steps.compare("eq", y, zero)
    )
    is_one = steps.logical("or", is_one, steps.logical("and", is_unit, is_endless))
    return steps.select(is_one, one, result)


def _binary_logarithm(steps: Scalars, x: SSAValue) -> SSAValue:
    """log2(x) of an f32 that isn't negative, in f64: of 0 it is -inf."""
    r, k, part = _reduced(steps, x)
    fifth, fourth, third, second, first = (steps.constant(c, f64) for c in BINARY)
    base = steps.add(_look_up(steps, _logarithms(2), part), k)
    square = steps.multiply(r, r)
    high = _line(steps, fifth, r, fourth)
    middle = _line(steps, third, r, second)
    low = _line(steps, middle, square, _line(steps, first, r, base))
    result = _line(steps, high, steps.multiply(square, square), low)
    infinity = steps.constant(math.inf, f64)
    is_finite = steps.compare("lt", x, steps.constant(math.inf, f32))
    result = steps.select(is_finite, result, infinity)
    is_zero = steps.compare("eq", x, steps.constant(0.0, f32))
    return steps.select(is_zero, steps.negate(infinity), result)


def _reduced(steps: Scalars, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """r and k in f64, and the part; of what isn't positive and finite, any numbers."""
    is_small = steps.compare("lt", x, steps.constant(SMALLEST, f32))
    raised = steps.multiply(x, steps.constant(2.0**SUBNORMAL_BITS, f32))
    bits = steps.step(arith.BitcastOp(steps.select(is_small, raised, x), i32))
    places = steps.constant(23, i32)
    lowered = steps.subtract(bits, steps.constant(SUBNORMAL_BITS << 23, i32))
    bits = steps.select(is_small, lowered, bits)
    above = steps.subtract(bits, steps.constant(FIRST, i32))
    k = steps.step(arith.ShRSIOp(above, places))
    z = steps.subtract(bits, steps.step(arith.ShLIOp(k, places)))
    wide = steps.cast(steps.step(arith.BitcastOp(z, f32)), f64)
    part = steps.step(arith.ShRSIOp(above, steps.constant(19, i32)))
    part = steps.logical("and", part, steps.constant(len(RECIPROCALS) - 1, i32))
    part = to_index(steps.nest, part)
    product = steps.multiply(wide, _look_up(steps, RECIPROCALS, part))
    r = steps.subtract(product, steps.constant(1.0, f64))
    return r, steps.step(arith.SIToFPOp(k, f64)), part


def _logarithms(base: int | None) -> list[float]:
    """The logarithms of one over the reciprocals, rounded to nearest; to the base e, or
    2."""
    context = Context(prec=50)
    unit = context.ln(Decimal(base)) if base else Decimal(1)
    return [
        float(context.divide(-context.ln(Decimal(number)), unit))
        for number in RECIPROCALS
    ]


def _look_up(steps: Scalars, numbers: Sequence[float], part: SSAValue) -> SSAValue:
    table = steps.nest.emitter.constant(np.array(numbers), f64)
    return extract(steps.nest, table, [part])


def _line(steps: Scalars, a: SSAValue, x: SSAValue, b: SSAValue) -> SSAValue:
    """a x + b, rounded twice."""
    return steps.add(steps.multiply(a, x), b)
