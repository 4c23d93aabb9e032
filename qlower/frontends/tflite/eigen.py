"""Functions of float32 as Eigen computes them for LiteRT's kernels, step by step.

They are those of GenericPacketMathFunctions.h (ptanh_float, pexp_float) and
UnaryFunctors.h (scalar_logistic_op), with products and sums that are rounded each, and
accurate to some units in the last place only.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from qlower.dialects.fixed import ConvertOp, RoundingMode

from .scalars import Scalars

PACKET = 4
"""Elements that Eigen computes together. Those before the first packet, which begins at
a multiple of 16 bytes, and behind the last one have the C library's expf for an
exponential."""

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

EXP_LOWEST = -104.0
LOG2_OF_E = 1.44269504088896341
LN2_HIGH, LN2_LOW = -0.693359375, 2.12194440e-4
EXP_EVEN = (
    1.37449637986719608306884765625e-3,
    4.166965186595916748046875e-2,
    0.49999988079071044921875,
)
EXP_ODD = (8.36894474923610687255859375e-3, 0.16666518151760101318359375)

LOGISTIC_LOWEST, LOGISTIC_HIGHEST = -104.0, 16.6355324
"""Below, the function is 0 in float32; from there on it is 1."""

LOGISTIC_EVEN = (4.1898667812347412109375e-2, 0.49999141693115234375)
LOGISTIC_ODD = (8.33471305668354034423828125e-3, 0.16666877269744873046875)

MANTISSA_BITS, EXPONENT_BIAS = 23, 127


def polynomial(steps: Scalars, x: SSAValue, factors: Sequence[float]) -> SSAValue:
    """By Horner's scheme, the factor of the highest power first."""
    result = steps.constant(factors[0], f32)
    for factor in factors[1:]:
        product = steps.multiply(result, x)
        result = steps.add(product, steps.constant(factor, f32))
    return result


def hyperbolic_tangent(steps: Scalars, x: SSAValue) -> SSAValue:
    """A quotient of polynomials, the same in packets and out of them."""
    x = steps.clamp(x, -TANH_LIMIT, TANH_LIMIT)
    square = steps.multiply(x, x)
    cube = steps.multiply(square, x)
    numerator = polynomial(steps, square, TANH_NUMERATOR)
    numerator = steps.add(steps.multiply(cube, numerator), x)
    return steps.divide(numerator, polynomial(steps, square, TANH_DENOMINATOR))


def exponential_of_packet(steps: Scalars, x: SSAValue) -> SSAValue:
    """e^x of x up to 0, of elements that are in packets."""
    kept = steps.clamp(x, EXP_LOWEST - 1, None)
    y, whole = _mantissa(steps, kept, EXP_EVEN, EXP_ODD)
    # In two steps, of which the second alone can leave the normal numbers.
    part = steps.step(arith.ShRSIOp(whole, steps.constant(1, i32)))
    y = steps.multiply(y, _power_of_2(steps, part))
    y = steps.multiply(y, _power_of_2(steps, steps.subtract(whole, part)))
    return _zero_below(steps, x, EXP_LOWEST, y)


def logistic(steps: Scalars, x: SSAValue, is_alone: SSAValue | None) -> SSAValue:
    """`e^x / (1 + e^x)`; `is_alone`: in no packet, where e^x isn't squared `e^(x / 2)`.

    Without it all elements are in packets.
    """
    kept = steps.clamp(x, None, LOGISTIC_HIGHEST)
    half = steps.multiply(kept, steps.constant(0.5, f32))
    y, whole = _mantissa(steps, half, LOGISTIC_EVEN, LOGISTIC_ODD)
    root = steps.multiply(y, _power_of_2(steps, whole))
    in_packet = _zero_below(
        steps, x, LOGISTIC_LOWEST, _share(steps, steps.multiply(root, root))
    )
    if is_alone is None:
        return in_packet
    return steps.select(is_alone, _share(steps, steps.exp(kept)), in_packet)


def _share(steps: Scalars, x: SSAValue) -> SSAValue:
    return steps.divide(x, steps.add(steps.constant(1.0, f32), x))


def _zero_below(steps: Scalars, x: SSAValue, limit: float, value: SSAValue) -> SSAValue:
    is_below = steps.compare("lt", x, steps.constant(limit, f32))
    return steps.select(is_below, steps.constant(0.0, f32), value)


def _mantissa(
    steps: Scalars, x: SSAValue, even: Sequence[float], odd: Sequence[float]
) -> tuple[SSAValue, SSAValue]:
    """e^x as a number near 1, a polynomial, and a whole power of 2."""
    add, multiply = steps.add, steps.multiply

    def real(value: float) -> SSAValue:
        return steps.constant(value, f32)

    power = steps.floor(add(multiply(x, real(LOG2_OF_E)), real(0.5)))
    rest = add(multiply(power, real(LN2_HIGH)), x)
    rest = add(multiply(power, real(LN2_LOW)), rest)
    square = multiply(rest, rest)
    of_even, of_odd = (polynomial(steps, square, part) for part in (even, odd))
    y = add(multiply(rest, of_odd), of_even)
    y = add(multiply(square, y), add(rest, real(1.0)))
    return y, steps.step(ConvertOp(power, i32, RoundingMode.TOWARD_ZERO))


def _power_of_2(steps: Scalars, exponent: SSAValue) -> SSAValue:
    """2 to an exponent of a normal number."""
    biased = steps.add(exponent, steps.constant(EXPONENT_BIAS, i32))
    places = steps.constant(MANTISSA_BITS, i32)
    return steps.step(arith.BitcastOp(steps.step(arith.ShLIOp(biased, places)), f32))
