"""GELU of float32 as Eigen computes it for LiteRT's kernels, step by step.

Its error function is a rational function of Eigen's SpecialFunctionsImpl.h
(generic_fast_erfc), accurate to some units in the last place only.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from .eigen import exponential_of_packet, hyperbolic_tangent, polynomial
from .scalars import Scalars

ROOT_OF_2_OVER_PI = 0.7978845834732056
ROOT_OF_HALF = 0.7071067690849304

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
"""Coefficients of polynomials in 1 / x^2, the highest first."""

HALF_OF_THE_BITS = 4097.0
"""2^12 + 1, by which a product splits a float32 into halves of 12 bits."""


def gelu(steps: Scalars, x: SSAValue, is_in_tail: SSAValue | None) -> SSAValue:
    """`x / 2 * erfc(-x / sqrt(2))`; `is_in_tail`: behind the last whole packet."""
    argument = steps.multiply(x, steps.constant(-ROOT_OF_HALF, f32))
    half = steps.multiply(steps.constant(0.5, f32), x)

    def exponential(value: SSAValue) -> SSAValue:
        of_packet = exponential_of_packet(steps, value)
        if is_in_tail is None:
            return of_packet
        return steps.select(is_in_tail, steps.exp(value), of_packet)

    return steps.multiply(half, _erfc(steps, argument, exponential))


def gelu_by_tanh(steps: Scalars, x: SSAValue) -> SSAValue:
    """`x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`"""
    cube = steps.multiply(steps.multiply(x, x), x)
    cubic = steps.add(x, steps.multiply(steps.constant(0.044715, f32), cube))
    argument = steps.multiply(steps.constant(ROOT_OF_2_OVER_PI, f32), cubic)
    factor = steps.add(steps.constant(1.0, f32), hyperbolic_tangent(steps, argument))
    return steps.multiply(steps.multiply(steps.constant(0.5, f32), x), factor)


def _erfc(
    steps: Scalars, x: SSAValue, exponential: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    """`1 + x S(x^2)` up to 1, from there on `exp(-x^2) / x * P(1 / x^2)`."""
    add, subtract, multiply = steps.add, steps.subtract, steps.multiply
    zero, one, two = (steps.constant(value, f32) for value in (0.0, 1.0, 2.0))
    x = steps.clamp(x, -ERFC_LIMIT, ERFC_LIMIT)
    square = multiply(x, x)
    near = add(multiply(x, polynomial(steps, square, ERFC_BELOW_1)), one)
    power = exponential(steps.negate(square))
    power = subtract(power, multiply(power, _lost_of_square(steps, x, square)))
    inverse = steps.divide(one, square)
    numerator = polynomial(steps, inverse, ERFC_NUMERATOR)
    denominator = multiply(x, polynomial(steps, inverse, ERFC_DENOMINATOR))
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
