"""GELU of float32 as Eigen computes it for LiteRT's kernels, step by step.

Rational functions of Eigen's SpecialFunctionsImpl.h (generic_fast_erfc) and
GenericPacketMathFunctions.h (ptanh_float, pexp_float), with products and sums that are
rounded each. Both are accurate to some units in the last place only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from qlower.dialects.fixed import ConvertOp, RoundingMode

from .scalars import Scalars

PACKET = 4
"""Elements that Eigen computes together. Those behind the last whole packet have the C
library's expf for an exponential."""

ROOT_OF_2_OVER_PI = 0.7978845834732056
ROOT_OF_HALF = 0.7071067690849304

TANH_LIMIT = 7.90738964080810547
TANH_NUMERATOR = (1.394553628e-8, 2.102733560e-5, 3.520756727e-3, 1.340216100e-1)
TANH_DENOMINATOR = (
    8.015776984e-7,
    3.326951409e-4,
    2.597254514e-2,
    4.673548340e-1,
    1.0,
)
"""Coefficients of polynomials in x^2, the highest first, as all below."""

ERFC_LIMIT = 11.0
ERFC_BELOW_1 = (
    5.61802298761904239654541015625e-04,
    -4.91381669417023658752441406250e-03,
    2.67075151205062866210937500000e-02,
    -1.12800106406211853027343750000e-01,
    3.76122951507568359375000000000e-01,
    -1.12837910652160644531250000000e00,
)
ERFC_NUMERATOR = (
    1.0208116471767425537109375e-01,
    4.2920666933059692382812500e-01,
    3.2379078865051269531250000e-01,
    5.3971976041793823242187500e-02,
)
ERFC_DENOMINATOR = (
    1.7251677811145782470703125e-02,
    3.9137163758277893066406250e-01,
    1.0,
    6.2173241376876831054687500e-01,
    9.5662862062454223632812500e-02,
)
"""Coefficients of polynomials in 1 / x^2."""

EXP_LOWEST = -104.0
LOG2_OF_E = 1.44269504088896341
LN2_HIGH, LN2_LOW = -0.693359375, 2.12194440e-4
EXP_EVEN = (
    1.37449637986719608306884765625e-3,
    4.166965186595916748046875e-2,
    0.49999988079071044921875,
)
EXP_ODD = (8.36894474923610687255859375e-3, 0.16666518151760101318359375)

HALF_OF_THE_BITS = 4097.0
"""2^12 + 1, by which a product splits a float32 into halves of 12 bits."""

MANTISSA_BITS, EXPONENT_BIAS = 23, 127


def gelu(steps: Scalars, x: SSAValue, is_in_tail: SSAValue | None) -> SSAValue:
    """`x / 2 * erfc(-x / sqrt(2))`; `is_in_tail`: behind the last whole packet."""
    argument = steps.multiply(x, steps.constant(-ROOT_OF_HALF, f32))
    half = steps.multiply(steps.constant(0.5, f32), x)

    def exponential(value: SSAValue) -> SSAValue:
        of_packet = _exponential(steps, value)
        if is_in_tail is None:
            return of_packet
        return steps.select(is_in_tail, steps.exp(value), of_packet)

    return steps.multiply(half, _erfc(steps, argument, exponential))


def gelu_by_tanh(steps: Scalars, x: SSAValue) -> SSAValue:
    """`x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`"""
    cube = steps.multiply(steps.multiply(x, x), x)
    cubic = steps.add(x, steps.multiply(steps.constant(0.044715, f32), cube))
    argument = steps.multiply(steps.constant(ROOT_OF_2_OVER_PI, f32), cubic)
    factor = steps.add(steps.constant(1.0, f32), _tanh(steps, argument))
    return steps.multiply(steps.multiply(steps.constant(0.5, f32), x), factor)


def _polynomial(steps: Scalars, x: SSAValue, factors: Sequence[float]) -> SSAValue:
    """By Horner's scheme, the factor of the highest power first."""
    result = steps.constant(factors[0], f32)
    for factor in factors[1:]:
        product = steps.multiply(result, x)
        result = steps.add(product, steps.constant(factor, f32))
    return result


def _tanh(steps: Scalars, x: SSAValue) -> SSAValue:
    x = steps.clamp(x, -TANH_LIMIT, TANH_LIMIT)
    square = steps.multiply(x, x)
    cube = steps.multiply(square, x)
    numerator = _polynomial(steps, square, TANH_NUMERATOR)
    numerator = steps.add(steps.multiply(cube, numerator), x)
    return steps.divide(numerator, _polynomial(steps, square, TANH_DENOMINATOR))


def _erfc(
    steps: Scalars, x: SSAValue, exponential: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    """`1 + x S(x^2)` up to 1, from there on `exp(-x^2) / x * P(1 / x^2)`."""
    add, subtract, multiply = steps.add, steps.subtract, steps.multiply
    zero, one, two = (steps.constant(value, f32) for value in (0.0, 1.0, 2.0))
    x = steps.clamp(x, -ERFC_LIMIT, ERFC_LIMIT)
    square = multiply(x, x)
    near = add(multiply(x, _polynomial(steps, square, ERFC_BELOW_1)), one)
    power = exponential(steps.negate(square))
    power = subtract(power, multiply(power, _lost_of_square(steps, x, square)))
    inverse = steps.divide(one, square)
    numerator = _polynomial(steps, inverse, ERFC_NUMERATOR)
    denominator = multiply(x, _polynomial(steps, inverse, ERFC_DENOMINATOR))
    mirrored = steps.select(steps.compare("lt", x, zero), two, zero)
    far = add(multiply(power, steps.divide(numerator, denominator)), mirrored)
    return steps.select(steps.compare("lt", one, square), far, near)


def _lost_of_square(steps: Scalars, x: SSAValue, square: SSAValue) -> SSAValue:
    """What rounding took off the square of x: exact, of halves after Veltkamp."""
    add, subtract, multiply = steps.add, steps.subtract, steps.multiply
    product = multiply(steps.constant(HALF_OF_THE_BITS, f32), x)
    rest = subtract(x, product)
    high = add(rest, product)
    low = subtract(x, high)
    lost = subtract(multiply(high, high), square)
    lost = add(multiply(high, low), lost)
    lost = add(multiply(low, high), lost)
    return add(multiply(low, low), lost)


def _exponential(steps: Scalars, x: SSAValue) -> SSAValue:
    """e^x of x up to 0, by powers of 2 and a polynomial of the rest."""
    add, multiply = steps.add, steps.multiply

    def real(value: float) -> SSAValue:
        return steps.constant(value, f32)

    kept = steps.clamp(x, EXP_LOWEST - 1, None)
    power = steps.floor(add(multiply(kept, real(LOG2_OF_E)), real(0.5)))
    rest = add(multiply(power, real(LN2_HIGH)), kept)
    rest = add(multiply(power, real(LN2_LOW)), rest)
    square = multiply(rest, rest)
    even = _polynomial(steps, square, EXP_EVEN)
    odd = _polynomial(steps, square, EXP_ODD)
    y = add(multiply(rest, odd), even)
    y = add(multiply(square, y), add(rest, real(1.0)))
    whole = steps.step(ConvertOp(power, i32, RoundingMode.TOWARD_ZERO))
    # In two steps, of which the second alone can leave the normal numbers.
    part = steps.step(arith.ShRSIOp(whole, steps.constant(1, i32)))
    y = multiply(y, _power_of_2(steps, part))
    y = multiply(y, _power_of_2(steps, steps.subtract(whole, part)))
    return steps.select(steps.compare("lt", x, real(EXP_LOWEST)), real(0.0), y)


def _power_of_2(steps: Scalars, exponent: SSAValue) -> SSAValue:
    """2 to an exponent of a normal number."""
    biased = steps.add(exponent, steps.constant(EXPONENT_BIAS, i32))
    places = steps.constant(MANTISSA_BITS, i32)
    return steps.step(arith.BitcastOp(steps.step(arith.ShLIOp(biased, places)), f32))
