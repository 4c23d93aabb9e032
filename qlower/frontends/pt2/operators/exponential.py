"""The exponential of ATen's vectors, `Sleef_expf8_u10` and `Sleef_expf16_u10`.

sleef/src/libm/sleefsimdsp.c: x = q ln(2) + s with q whole, a polynomial of s by FMAs,
and two powers of 2.
"""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from qlower.dialects.fixed import ConvertOp, RoundingMode
from qlower.model.nests import Nest

from ...onnx.operators.functions import polynomial, times_power_of_two
from ...onnx.operators.real import number

LOWEST, HIGHEST = -104.0, 100.0
"""Results are 0 or infinite beyond."""

LOG2_E = 1.442695040888963407
LN_2_HIGH, LN_2_LOW = -0.693145751953125, -1.428606765330187045e-06

FACTORS = (
    0.000198527617612853646278381,
    0.00139304355252534151077271,
    0.00833336077630519866943359,
    0.0416664853692054748535156,
    0.166666671633720397949219,
    0.5,
)
"""Coefficients of the polynomial after `1 + s`, highest power first."""


def exponential(nest: Nest, x: SSAValue) -> SSAValue:
    x = nest.add(arith.MaximumfOp(x, number(nest, LOWEST))).result
    x = nest.add(arith.MinimumfOp(x, number(nest, HIGHEST))).result
    ratio = nest.add(arith.MulfOp(x, number(nest, LOG2_E))).result
    exponent = nest.add(ConvertOp(ratio, i32, RoundingMode.HALF_EVEN)).result
    whole = nest.add(arith.SIToFPOp(exponent, f32)).result
    for part in (LN_2_HIGH, LN_2_LOW):
        x = nest.add(math.FmaOp(whole, number(nest, part), x)).result
    square = nest.add(arith.MulfOp(x, x)).result
    above = polynomial(nest, FACTORS, x)
    rest = nest.add(math.FmaOp(square, above, x)).result
    result = nest.add(arith.AddfOp(number(nest, 1.0), rest)).result
    return times_power_of_two(nest, result, exponent)
