"""expf of the GNU C library, which LiteRT calls, step by step in float64.

x = (k + r) ln(2) / 32 with k whole and |r| at most 1/2: exp(x) is 2^(k / 32), from
a table and an exponent, times a cubic polynomial of r.
"""

from __future__ import annotations

from math import isqrt, ldexp
from struct import pack, unpack

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, IndexType, f32, f64, i64
from xdsl.ir import SSAValue

from qlower.files.arrays import Array
from qlower.model.nests import Nest, extract, scalar_constant

STEPS = 32
"""Powers of 2 between 1 and 2 in the table."""

POLYNOMIAL = (
    float.fromhex("0x1.c6af84b912394p-5") / STEPS**3,
    float.fromhex("0x1.ebfce50fac4f3p-3") / STEPS**2,
    float.fromhex("0x1.62e42ff0c52d6p-1") / STEPS,
)
SCALE = float.fromhex("0x1.71547652b82fep+0") * STEPS
TO_WHOLE = float.fromhex("0x1.8p+52")
"""Added and taken away again, it rounds to whole numbers; its low bits are those."""

LOWEST, HIGHEST = -104.0, 89.0
"""Arguments beyond which e^x is 0 or infinite in float32, as it is for these two."""


def _power(numerator: int) -> float:
    """2^(numerator / 32), rounded to nearest: five square roots, exact to 200 bits."""
    root = 1 << numerator + 200 * STEPS
    for _ in range(5):
        root = isqrt(root)
    return ldexp(root, -200)


def table() -> Array:
    """The bits of the powers, each less what its position adds to the exponent."""
    bits = [unpack("<q", pack("<d", _power(n)))[0] for n in range(STEPS)]
    return np.array([n - (i << 52) // STEPS for i, n in enumerate(bits)], np.int64)


def exponential(nest: Nest, x: SSAValue) -> SSAValue:
    """expf(x) of an f32; NaN stays."""
    for bound, predicate in ((LOWEST, "olt"), (HIGHEST, "ogt")):
        limit = nest.add(scalar_constant(bound, f32)).result
        beyond = nest.add(arith.CmpfOp(x, limit, predicate)).result
        x = nest.add(arith.SelectOp(beyond, limit, x)).result
    scale = nest.add(scalar_constant(SCALE, f64)).result
    wide = nest.add(arith.ExtFOp(x, Float64Type())).result
    return power_of_two(nest, nest.add(arith.MulfOp(scale, wide)).result)


def power_of_two(nest: Nest, z: SSAValue) -> SSAValue:
    """2^(z / 32) of an f64, as an f32; what is beyond that type must not be far."""

    def real(value: float) -> SSAValue:
        return nest.add(scalar_constant(value, f64)).result

    def whole(value: int) -> SSAValue:
        return nest.add(scalar_constant(value, i64)).result

    def multiply(a: SSAValue, b: SSAValue) -> SSAValue:
        return nest.add(arith.MulfOp(a, b)).result

    def add(a: SSAValue, b: SSAValue) -> SSAValue:
        return nest.add(arith.AddfOp(a, b)).result

    def subtract(a: SSAValue, b: SSAValue) -> SSAValue:
        return nest.add(arith.SubfOp(a, b)).result

    shifted = add(z, real(TO_WHOLE))
    k = nest.add(arith.BitcastOp(shifted, i64)).result
    r = subtract(z, subtract(shifted, real(TO_WHOLE)))
    place = nest.add(arith.AndIOp(k, whole(STEPS - 1))).result
    index = nest.add(arith.IndexCastOp(place, IndexType())).result
    entry = extract(nest, nest.emitter.constant(table(), i64), [index])
    exponent = nest.add(arith.ShLIOp(k, whole(52 - STEPS.bit_length() + 1))).result
    bits = nest.add(arith.AddiOp(entry, exponent)).result
    power = nest.add(arith.BitcastOp(bits, f64)).result
    cubic = add(multiply(real(POLYNOMIAL[0]), r), real(POLYNOMIAL[1]))
    line = add(multiply(real(POLYNOMIAL[2]), r), real(1.0))
    y = add(multiply(cubic, multiply(r, r)), line)
    return nest.add(arith.TruncFOp(multiply(y, power), f32)).result
