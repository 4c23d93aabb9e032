"""Divisions of integers, none of which can trap."""

from __future__ import annotations

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I32, Value, constant, zero

_EXACT_IN_FLOAT = 1 << 24
"""Integers up to it are float32 numbers."""


def divide(
    f: Function,
    opcode: str,
    dividend: Value,
    divisor: Value,
    largest_dividend: float,
    largest_divisor: float,
) -> Value:
    """`opcode` ("sdiv", "srem", "udiv" or "urem") of numbers up to these magnitudes.

    What MLIR leaves undefined gives some value: lanes beyond the end of a buffer run
    through here with made-up operands.
    """
    if divisor.constant is not None:
        return f.binary(opcode, dividend, divisor)
    bad = f.compare("eq", divisor, zero(divisor.type))
    by_floats = _divides_by_floats(opcode, dividend, largest_dividend, largest_divisor)
    if opcode in ("sdiv", "srem") and not by_floats:
        least = constant(dividend.type, -1 << (dividend.type.bits - 1))
        overflow = f.binary(
            "and",
            f.compare("eq", dividend, least),
            f.compare("eq", divisor, constant(divisor.type, -1)),
        )
        bad = f.binary("or", bad, overflow)
    divisor = f.select(bad, constant(divisor.type, 1), divisor)
    if not by_floats:
        return f.binary(opcode, dividend, divisor)
    a, b = (f.cast("sitofp", number, "float") for number in (dividend, divisor))
    return f.cast("fptosi", f.binary("fdiv", a, b), dividend.type.scalar)


def _divides_by_floats(
    opcode: str, dividend: Value, largest_dividend: float, largest_divisor: float
) -> bool:
    """Whether to divide in float32: in vectors, which processors divide no integers in,
    and where the quotient less its fraction is the same.

    It is if |a| < 2^24 and |b| <= 2^24. Rounding is monotone, so it could only reach
    the next integer k. With 2^e <= |a/b| < k <= 2^(e+1) numbers below k are 2^(e-23)
    apart, and k is farther than half of that: |k - a/b| >= 1/|b| > 2^(e-24), since
    2^e |b| <= |a| < 2^24. (With |a/b| < 1 it is 1/|b| > 2^-25.)
    """
    return (
        opcode == "sdiv"
        and dividend.type.scalar == I32.scalar
        and dividend.type.lanes > 1
        and largest_dividend < _EXACT_IN_FLOAT
        and largest_divisor <= _EXACT_IN_FLOAT
    )
