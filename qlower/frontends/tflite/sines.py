"""sinf and cosf of the GNU C library, which LiteRT calls, step by step in float64.

x = n pi/2 + r with n whole and |r| at most about pi/4: each function is a polynomial
of r for the sine or the cosine, as n is even or odd, with a sign by n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import SSAValue

from qlower.dialects.fixed import ConvertOp, RoundingMode
from qlower.model.nests import extract, to_index

from .scalars import Scalars

SINE = tuple(
    map(
        float.fromhex,
        ("-0x1.555545995a603p-3", "0x1.1107605230bc4p-7", "-0x1.994eb3774cf24p-13"),
    )
)
"""The factors of r^3, r^5 and r^7; that of r is 1."""

COSINE = tuple(
    map(
        float.fromhex,
        (
            *("-0x1.ffffffd0c621cp-2", "0x1.55553e1068f19p-5"),
            *("-0x1.6c087e89a359dp-10", "0x1.99343027bf8c3p-16"),
        ),
    )
)
"""The factors of r^2, r^4, r^6 and r^8; the first term is 1."""

FAR = 120.0
"""From here on the quotient by pi/2 takes more of its bits than a float64 has."""

TINY = 2.0**-12
"""Below, sin(x) is x."""

PLACES = 24
"""Bits behind the point of a quotient by pi/2 that is rounded."""

INVERSE = float.fromhex("0x1.45f306dc9c883p-1") * 2**PLACES
"""2^24 times 2/pi."""

HALF_PI = float.fromhex("0x1.921fb54442d18p+0")
HIGH = float.fromhex("0x1.921fb54440000p+0")
LOW = HALF_PI - HIGH
"""HALF_PI in parts, whose products by up to 76 are exact. Taken away one after the
other they round once, as the library's FMA does."""

TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041
"""Its first 192 bits."""

FRACTION = 62
"""Bits behind the point of a quotient by pi/2 that is taken from these."""


class _Reduced(NamedTuple):
    """r in f64, n in i32, the latter but for multiples of 4."""

    r: SSAValue
    n: SSAValue


def sine(steps: Scalars, x: SSAValue) -> SSAValue:
    """sinf(x): of an infinity and NaN it is NaN."""
    if steps.of_bytes:
        return steps.sin(x)
    result = _wave(steps, x, 0)
    is_tiny = steps.compare("lt", steps.absolute(x), steps.constant(TINY, f32))
    return steps.select(is_tiny, x, result)


def cosine(steps: Scalars, x: SSAValue) -> SSAValue:
    """cosf(x): of an infinity and NaN it is NaN."""
    if steps.of_bytes:
        return steps.cos(x)
    return _wave(steps, x, 1)


def _wave(steps: Scalars, x: SSAValue, quarters: int) -> SSAValue:
    """The sine, so many quarters of its period further on."""
    size = steps.absolute(x)
    is_far = steps.compare("ge", size, steps.constant(FAR, f32))
    near, far = _near(steps, x, is_far), _far(steps, x)
    r = steps.select(is_far, far.r, near.r)
    n = steps.select(is_far, far.n, near.n)
    n = steps.add(n, steps.constant(quarters, i32))
    is_odd, is_negative = _has(steps, n, 1), _has(steps, n, 2)
    square = steps.multiply(r, r)
    wide = steps.select(is_odd, _even(steps, square), _odd(steps, r, square))
    result = steps.step(arith.TruncFOp(wide, f32))
    result = steps.select(is_negative, steps.negate(result), result)
    infinity, nan = (steps.constant(value, f32) for value in (math.inf, math.nan))
    return steps.select(steps.compare("lt", size, infinity), result, nan)


def _has(steps: Scalars, n: SSAValue, bit: int) -> SSAValue:
    masked = steps.logical("and", n, steps.constant(bit, i32))
    return steps.compare("ne", masked, steps.constant(0, i32))


def _odd(steps: Scalars, r: SSAValue, square: SSAValue) -> SSAValue:
    """sin(r)"""
    add, multiply = steps.add, steps.multiply
    third, fifth, seventh = (steps.constant(factor, f64) for factor in SINE)
    cube = multiply(r, square)
    high = add(fifth, multiply(square, seventh))
    low = add(r, multiply(cube, third))
    return add(low, multiply(multiply(cube, square), high))


def _even(steps: Scalars, square: SSAValue) -> SSAValue:
    """cos(r)"""
    add, multiply = steps.add, steps.multiply
    second, fourth, sixth, eighth = (steps.constant(factor, f64) for factor in COSINE)
    fourth_power = multiply(square, square)
    high = add(sixth, multiply(square, eighth))
    low = add(steps.constant(1.0, f64), multiply(square, second))
    low = add(low, multiply(fourth_power, fourth))
    return add(low, multiply(multiply(fourth_power, square), high))


def _near(steps: Scalars, x: SSAValue, is_far: SSAValue) -> _Reduced:
    """r and n of numbers below FAR."""
    x = steps.select(is_far, steps.constant(0.0, f32), x)
    wide = steps.cast(x, f64)
    scaled = steps.multiply(wide, steps.constant(INVERSE, f64))
    whole = steps.step(ConvertOp(scaled, i32, RoundingMode.TOWARD_ZERO))
    half = steps.constant(1 << (PLACES - 1), i32)
    places = steps.constant(PLACES, i32)
    n = steps.step(arith.ShRSIOp(steps.add(whole, half), places))
    count = steps.step(arith.SIToFPOp(n, f64))
    for part in (HIGH, LOW):
        product = steps.multiply(count, steps.constant(part, f64))
        wide = steps.subtract(wide, product)
    return _Reduced(wide, n)


def _far(steps: Scalars, x: SSAValue) -> _Reduced:
    """r and n of numbers from FAR on: 24 bits times 96 of 2/pi, without what gives
    whole periods."""
    bits = steps.step(arith.BitcastOp(x, i32))

    def field(first: int, mask: int) -> SSAValue:
        moved = steps.step(arith.ShRSIOp(bits, steps.constant(first, i32)))
        return steps.logical("and", moved, steps.constant(mask, i32))

    begin = steps.constant(1 << 23, i32)
    fraction = steps.add(field(0, (1 << 23) - 1), begin)
    number = steps.cast(steps.step(arith.ShLIOp(fraction, field(23, 7))), i64)
    byte = to_index(steps.nest, field(26, 15))
    high, middle, low = (
        steps.multiply(number, _word(steps, first, byte)) for first in (0, 4, 8)
    )
    half_word = steps.constant(32, i64)
    quotient = steps.add(
        steps.add(
            steps.step(arith.ShLIOp(high, half_word)),
            steps.step(arith.ShRSIOp(low, half_word)),
        ),
        middle,
    )
    places = steps.constant(FRACTION, i64)
    half = steps.constant(1 << (FRACTION - 1), i64)
    n = steps.step(arith.ShRSIOp(steps.add(quotient, half), places))
    rest = steps.subtract(quotient, steps.step(arith.ShLIOp(n, places)))
    unit = steps.constant(HALF_PI / 2**FRACTION, f64)
    r = steps.multiply(steps.step(arith.SIToFPOp(rest, f64)), unit)
    n = steps.cast(n, i32)
    is_negative = steps.compare("lt", bits, steps.constant(0, i32))
    return _Reduced(
        steps.select(is_negative, steps.negate(r), r),
        steps.select(is_negative, steps.negate(n), n),
    )


def _word(steps: Scalars, first: int, byte: SSAValue) -> SSAValue:
    """32 bits of 2/pi, in i64, that end `first + byte` bytes behind its first one."""
    ends = range(first + 1, first + 17)
    length = TWO_OVER_PI.bit_length()
    words = [(TWO_OVER_PI >> (length - 8 * end)) & 0xFFFFFFFF for end in ends]
    table = steps.nest.emitter.constant(np.array(words, np.int64), i64)
    return extract(steps.nest, table, [byte])
