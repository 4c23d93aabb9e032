"""atan2f of the GNU C library (up to 2.40), which LiteRT calls, in float32.

It is the arc tangent of |y / x|, moved to the quadrant of x and y. Near one of four
angles a that of t is a plus the arc tangent of (t - tan a) / (1 + t tan a), which is a
polynomial.
"""

from __future__ import annotations

import math

from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from .eigen import polynomial
from .scalars import Scalars

PI = float.fromhex("0x1.921fb6p+1")
PI_REST = float.fromhex("-0x1.777a5cp-24")
"""What PI is too large by, as it is added."""

ANGLES = (
    (float.fromhex("0x1.dac670p-2"), float.fromhex("0x1.586ed2p-28")),
    (float.fromhex("0x1.921fb4p-1"), float.fromhex("0x1.4442d0p-25")),
    (float.fromhex("0x1.f730bcp-1"), float.fromhex("0x1.281f68p-25")),
    (float.fromhex("0x1.921fb4p+0"), float.fromhex("0x1.4442d0p-24")),
)
"""The arc tangents of 1/2, 1, 3/2 and an infinity, and what they are too small by."""

ENDS = (0.4375, 0.6875, 1.1875, 2.4375)
"""From where on an angle is taken off."""

ODD = (
    *(1.6285819933e-02, 4.9768779427e-02, 6.6610731184e-02),
    *(9.0908870101e-02, 1.4285714924e-01, 3.3333334327e-01),
)
EVEN = (
    *(-3.6531571299e-02, -5.8335702866e-02, -7.6918758452e-02),
    *(-1.1111110449e-01, -2.0000000298e-01),
)
"""Coefficients of polynomials in x^4, the highest first: times x^3, and x^5."""

LARGE, TINY = 2.0**25, 2.0**-29
"""From here on the arc tangent is a right angle; below, it is its argument."""

FARTHEST = 60
"""By how much exponents of x and y may differ: beyond, one is nothing beside the
other."""


def arc_tangent(steps: Scalars, y: SSAValue, x: SSAValue) -> SSAValue:
    """atan2f(y, x), with what C says of zeros, infinities and NaN."""
    subtract, select = steps.subtract, steps.select
    pi, rest, zero = (steps.constant(value, f32) for value in (PI, PI_REST, 0.0))
    right, infinity = (steps.constant(value, f32) for value in (PI / 2, math.inf))
    size, width = steps.absolute(y), steps.absolute(x)
    places = steps.constant(23, i32)
    bits = (steps.step(arith.BitcastOp(value, i32)) for value in (size, width))
    distance = steps.step(arith.ShRSIOp(subtract(*bits), places))
    sign = steps.step(arith.BitcastOp(x, i32))
    is_left = steps.compare("lt", sign, steps.constant(0, i32))
    is_steep = steps.compare("gt", distance, steps.constant(FARTHEST, i32))
    is_flat = steps.compare("lt", distance, steps.constant(-FARTHEST, i32))
    is_flat = steps.logical("and", is_flat, is_left)
    angle = _arc_of_positive(steps, steps.absolute(steps.divide(y, x)))
    angle = select(is_flat, zero, select(is_steep, right, angle))
    angle = select(is_left, subtract(pi, subtract(angle, rest)), angle)
    angle = select(steps.compare("eq", width, zero), right, angle)
    along = select(is_left, pi, zero)
    angle = select(steps.compare("eq", size, zero), along, angle)
    angle = select(steps.compare("eq", width, infinity), along, angle)
    eighth, three = (steps.constant(v, f32) for v in (PI / 4, 3.0))
    diagonal = select(is_left, steps.multiply(three, eighth), eighth)
    diagonal = select(steps.compare("eq", width, infinity), diagonal, right)
    angle = select(steps.compare("eq", size, infinity), diagonal, angle)
    angle = steps.step(math_dialect.CopySignOp(angle, y))
    both = steps.add(x, y)
    is_nan = [steps.compare("ne", value, value) for value in (x, y)]
    return select(steps.logical("or", *is_nan), both, angle)


def _arc_of_positive(steps: Scalars, x: SSAValue) -> SSAValue:
    """atanf(x) of a number that isn't negative."""
    add, subtract, multiply = steps.add, steps.subtract, steps.multiply
    one, two, middle = (steps.constant(value, f32) for value in (1.0, 2.0, 1.5))
    rest, high, low = x, steps.constant(0.0, f32), steps.constant(0.0, f32)
    parts = (
        (subtract(multiply(two, x), one), add(two, x)),
        (subtract(x, one), add(x, one)),
        (subtract(x, middle), add(one, multiply(middle, x))),
        (steps.negate(one), x),
    )
    for end, (above, below), angle in zip(ENDS, parts, ANGLES, strict=True):
        is_beyond = steps.compare("ge", x, steps.constant(end, f32))
        rest = steps.select(is_beyond, steps.divide(above, below), rest)
        high, low = (
            steps.select(is_beyond, steps.constant(part, f32), before)
            for part, before in zip(angle, (high, low), strict=True)
        )
    square = multiply(rest, rest)
    fourth = multiply(square, square)
    odd = multiply(square, polynomial(steps, fourth, ODD))
    even = multiply(fourth, polynomial(steps, fourth, EVEN))
    product = multiply(rest, add(odd, even))
    far = subtract(high, subtract(subtract(product, low), rest))
    is_near = steps.compare("lt", x, steps.constant(ENDS[0], f32))
    result = steps.select(is_near, subtract(x, product), far)
    is_tiny = steps.compare("lt", x, steps.constant(TINY, f32))
    result = steps.select(is_tiny, x, result)
    is_large = steps.compare("ge", x, steps.constant(LARGE, f32))
    return steps.select(is_large, steps.constant(PI / 2, f32), result)
