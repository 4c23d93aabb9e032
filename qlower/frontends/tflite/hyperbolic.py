"""tanhf and expm1f of the GNU C library (up to 2.40), which LiteRT calls, in float32.

ELU is expm1 below 0. With t = expm1(-2|x|) tanh is -t / (t + 2) below 1, with
t = expm1(2|x|) from there on 1 - 2 / (t + 2). expm1 takes multiples of ln(2) off its
argument, and has a rational function for the rest.
"""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from qlower.dialects.fixed import ConvertOp, RoundingMode

from .scalars import Scalars

LN2_HIGH = float.fromhex("0x1.62e300p-1")
LN2_LOW = float.fromhex("0x1.2fefa2p-17")
INVERSE_LN2 = float.fromhex("0x1.715476p+0")
COEFFICIENTS = (
    -2.0109921195e-07,
    4.0082177293e-06,
    -7.9365076090e-05,
    1.5873016091e-03,
    -3.3333335072e-02,
    1.0,
)
"""Coefficients of the polynomial in x^2 / 2, the highest first."""

NEAR = float.fromhex("0x1.62e430p-2")
"""ln(2) / 2, up to which nothing is taken off."""

NEXT = float.fromhex("0x1.0a2b24p+0")
"""3 ln(2) / 2, below which it is ln(2)."""

TINY, LARGE = float.fromhex("0x1p-55"), 22.0
"""Below, tanh(x) is x (1 + x); from there on it is 1."""

LOWEST = -19.0
"""e^x - 1 is -1 from here down, where it is not much more."""

EXPONENT = 23
"""Where a float32's exponent begins."""


def hyperbolic_tangent(steps: Scalars, x: SSAValue) -> SSAValue:
    """tanhf(x); NaN stays."""
    if steps.of_bytes:
        return steps.tanh(x)
    one, two, large = (steps.constant(value, f32) for value in (1.0, 2.0, LARGE))
    size = steps.absolute(x)
    is_small = steps.compare("lt", size, one)
    is_inside = steps.compare("lt", size, large)
    doubled = steps.multiply(two, steps.select(is_inside, size, one))
    t = _expm1(steps, steps.select(is_small, steps.negate(doubled), doubled), is_small)
    total = steps.add(t, two)
    small = steps.divide(steps.negate(t), total)
    other = steps.subtract(one, steps.divide(two, total))
    magnitude = steps.select(is_inside, steps.select(is_small, small, other), one)
    signed = steps.step(math.CopySignOp(magnitude, x))
    is_tiny = steps.compare("lt", size, steps.constant(TINY, f32))
    linear = steps.multiply(x, steps.add(one, x))
    result = steps.select(is_tiny, linear, signed)
    return steps.select(steps.compare("eq", x, x), result, x)


def exponential_linear_unit(steps: Scalars, x: SSAValue) -> SSAValue:
    """expm1f(x) below 0, else x, which -0 and NaN are (activations.cc, EluEval)."""
    if steps.of_bytes:
        return steps.elu(x)
    zero, lowest = (steps.constant(value, f32) for value in (0.0, LOWEST))
    is_negative = steps.compare("lt", x, zero)
    bounded = steps.select(steps.compare("lt", x, lowest), lowest, x)
    below = steps.select(is_negative, bounded, zero)
    return steps.select(is_negative, _expm1(steps, below, is_negative), x)


def _expm1(steps: Scalars, x: SSAValue, is_negative: SSAValue) -> SSAValue:
    """e^x - 1, of x in [-19, 0] where it is negative, else in [2, 44)."""
    add, subtract, multiply = steps.add, steps.subtract, steps.multiply

    def real(value: float) -> SSAValue:
        return steps.constant(value, f32)

    def choose(k: SSAValue, limit: int, a: SSAValue, b: SSAValue) -> SSAValue:
        """The first where k is at most so much."""
        is_low = steps.compare("le", k, steps.constant(limit, i32))
        return steps.select(is_low, a, b)

    one, half = real(1.0), real(0.5)
    size = steps.absolute(x)
    is_near = steps.compare("le", size, real(NEAR))
    nudge = steps.select(is_negative, real(-0.5), half)
    rounded = add(multiply(real(INVERSE_LN2), x), nudge)
    far = steps.step(ConvertOp(rounded, i32, RoundingMode.TOWARD_ZERO))
    is_next = steps.compare("lt", size, real(NEXT))
    k = steps.select(is_next, steps.constant(-1, i32), far)
    k = steps.select(is_near, steps.constant(0, i32), k)
    multiples = steps.cast(k, f32)
    high = subtract(x, multiply(multiples, real(LN2_HIGH)))
    low = multiply(multiples, real(LN2_LOW))
    x = subtract(high, low)
    lost = subtract(subtract(high, x), low)

    half_x = multiply(half, x)
    square = multiply(x, half_x)
    r = real(COEFFICIENTS[0])
    for coefficient in COEFFICIENTS[1:]:
        r = add(real(coefficient), multiply(square, r))
    t = subtract(real(3.0), multiply(r, half_x))
    quotient = steps.divide(subtract(r, t), subtract(real(6.0), multiply(x, t)))
    error = multiply(square, quotient)

    near = subtract(x, subtract(multiply(x, error), square))
    error = subtract(multiply(x, subtract(error, lost)), lost)
    error = subtract(error, square)
    rest = subtract(error, x)
    next_one = subtract(multiply(half, subtract(x, error)), half)
    # where 1 is nothing beside e^x, or nearly all of it
    outer = subtract(_scaled(steps, subtract(one, rest), k), one)
    positive = choose(k, 0, steps.constant(1, i32), k)
    power = _scaled(steps, one, subtract(steps.constant(0, i32), positive))
    few = _scaled(steps, subtract(subtract(one, power), rest), k)
    many = _scaled(steps, add(subtract(x, add(error, power)), one), k)
    above = choose(k, 56, choose(k, 22, few, many), outer)
    below = choose(k, -2, outer, next_one)
    return steps.select(is_near, near, steps.select(is_negative, below, above))


def _scaled(steps: Scalars, x: SSAValue, k: SSAValue) -> SSAValue:
    """x times 2^k, by its exponent."""
    places = steps.step(arith.ShLIOp(k, steps.constant(EXPONENT, i32)))
    bits = steps.step(arith.BitcastOp(x, i32))
    return steps.step(arith.BitcastOp(steps.add(bits, places), f32))
