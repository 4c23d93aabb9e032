"""Exact rational numbers for the values that a computer holds.

`ideal` is the result of a contract's op without rounding, wrapping or saturating;
`exact_result` is the result of a whole operation in real numbers, by the operation's
definition alone, without a contract.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.ir import Operation

from qlower.dialects import fixed
from qlower.interp.values import Array

Ideal: TypeAlias = Callable[..., Fraction]


def fraction(value: Array | np.generic) -> Fraction | None:
    """The number itself; None for infinities and NaN."""
    number: float = value.item()
    return Fraction(number) if math.isfinite(number) else None


def _same(value: Fraction) -> Fraction:
    return value


def _negate(a: Fraction) -> Fraction:
    return -a


def _magnitude(a: Fraction) -> Fraction:
    return abs(a)


def _fuse(a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    return a * b + c


def _add(a: Fraction, b: Fraction) -> Fraction:
    return a + b


def _subtract(a: Fraction, b: Fraction) -> Fraction:
    return a - b


def _multiply(a: Fraction, b: Fraction) -> Fraction:
    return a * b


def _divide(a: Fraction, b: Fraction) -> Fraction:
    return a / b


def _shift_left(a: Fraction, places: Fraction) -> Fraction:
    return a * Fraction(2) ** int(places)


def _shift_right(a: Fraction, places: Fraction) -> Fraction:
    return a / Fraction(2) ** int(places)


IDEAL: Mapping[type[Operation], Ideal] = {
    **dict.fromkeys((arith.AddiOp, arith.AddfOp), _add),
    **dict.fromkeys((arith.SubiOp, arith.SubfOp), _subtract),
    **dict.fromkeys((arith.MuliOp, arith.MulfOp), _multiply),
    **dict.fromkeys(
        (arith.DivSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp, arith.DivfOp), _divide
    ),
    arith.ShLIOp: _shift_left,
    **dict.fromkeys((arith.ShRSIOp, fixed.ShiftRightOp), _shift_right),
    **dict.fromkeys(
        (
            arith.TruncIOp,
            arith.ExtFOp,
            arith.TruncFOp,
            arith.SIToFPOp,
            arith.FPToSIOp,
            fixed.ConvertOp,
            fixed.SaturateOp,
            math_dialect.FloorOp,
            math_dialect.CeilOp,
            math_dialect.TruncOp,
            math_dialect.RoundOp,
            math_dialect.RoundEvenOp,
        ),
        _same,
    ),
    arith.NegfOp: _negate,
    math_dialect.AbsFOp: _magnitude,
    math_dialect.FmaOp: _fuse,
}
"""Ops that stand for an exact one. Others, on bits for instance, are taken as they are:
what they give is what they mean."""

LEAST: Mapping[type[Operation], bool] = {
    **dict.fromkeys((arith.MinSIOp, arith.MinimumfOp, arith.MinnumfOp), True),
    **dict.fromkeys((arith.MaxSIOp, arith.MaximumfOp, arith.MaxnumfOp), False),
}
"""Ops that give one of two numbers: whether it is the lesser one."""


def ideal(
    op: Operation,
    operands: Sequence[Fraction | None],
    is_runtime: Sequence[bool],
    values: Sequence[Array],
) -> Fraction | None:
    """The op's result for exact operands, or None where there is no exact one.

    `values` are the operands as they are: they decide a selection. A bound on a number
    that is computed at run time doesn't bound the exact number: to cut it is a step of
    its own.
    """
    if isinstance(op, arith.SelectOp):
        return operands[1 if values[0] else 2]
    if any(operand is None for operand in operands):
        return None
    known = [operand for operand in operands if operand is not None]
    if isinstance(op, arith.ExtSIOp):
        return known[0] if values[0].dtype != np.bool_ else None
    if type(op) in LEAST:
        if is_runtime[0] != is_runtime[1]:
            return known[0] if is_runtime[0] else known[1]
        return min(known) if LEAST[type(op)] else max(known)
    function = IDEAL.get(type(op))
    try:
        return None if function is None else function(*known)
    except (ZeroDivisionError, OverflowError):
        return None


Numbers: TypeAlias = Mapping[str, Fraction]


def _rescaled(numbers: Numbers, prefix: str = "input") -> Fraction:
    """The real number that a stored one is."""
    stored, zero_point = numbers[prefix], numbers[f"{prefix}_zero_point"]
    return (stored - zero_point) * numbers[f"{prefix}_scale"]


def _contraction(numbers: Numbers) -> Fraction:
    total = numbers["accumulator"] + numbers.get("bias", 0)
    step = numbers["input_scale"] * numbers["weight_scale"]
    return total * step + numbers.get("real_bias", 0)


def _matmul(numbers: Numbers) -> Fraction:
    return numbers["accumulator"] * numbers["lhs_scale"] * numbers["rhs_scale"]


def _hybrid(numbers: Numbers) -> Fraction:
    product = numbers["accumulator"] * numbers["input_scale"] * numbers["weight_scale"]
    return _activated(numbers, product + numbers.get("real_bias", 0))


def _real_sum(numbers: Numbers) -> Fraction:
    return _activated(numbers, numbers["sum"] + numbers.get("real_bias", 0))


def _activated(numbers: Numbers, total: Fraction) -> Fraction:
    total = max(total, numbers.get("activation_min", total))
    return min(total, numbers.get("activation_max", total))


def _average(numbers: Numbers) -> Fraction:
    mean = numbers["accumulator"] / numbers["count"]
    return (mean - numbers["input_zero_point"]) * numbers["input_scale"]


def _leaky_relu(numbers: Numbers) -> Fraction:
    real = _rescaled(numbers)
    return real if real >= 0 else real * numbers["alpha"]


def _hard_swish(numbers: Numbers) -> Fraction:
    real = _rescaled(numbers)
    return real * min(max(real + 3, Fraction(0)), Fraction(6)) / 6


REAL: Mapping[str, Callable[[Numbers], Fraction]] = {
    **dict.fromkeys(("conv2d", "depthwise_conv2d", "linear"), _contraction),
    "matmul": _matmul,
    **dict.fromkeys(
        ("real_conv2d", "real_depthwise_conv2d", "real_linear", "real_matmul"),
        _real_sum,
    ),
    **dict.fromkeys(
        ("hybrid_conv2d", "hybrid_depthwise_conv2d", "hybrid_linear"), _hybrid
    ),
    **dict.fromkeys(("avg_pool2d", "adaptive_avg_pool2d", "mean"), _average),
    "add": lambda n: _rescaled(n, "lhs") + _rescaled(n, "rhs"),
    "sub": lambda n: _rescaled(n, "lhs") - _rescaled(n, "rhs"),
    "mul": lambda n: _rescaled(n, "lhs") * _rescaled(n, "rhs"),
    **dict.fromkeys(("requantize", "clamp", "concat", "dequantize"), _rescaled),
    "quantize": lambda n: n["input"],
    "leaky_relu": _leaky_relu,
    "hard_swish": _hard_swish,
}
"""The real number that each rule is to store, where that is rational."""


def exact_result(rule: str, values: Mapping[str, Array]) -> Fraction | None:
    """The number that a rule would store if storing rounded nothing and had no bounds;
    None where that isn't rational. `values` are those of one element."""
    real = REAL.get(rule)
    if real is None:
        return None
    numbers = {
        name: number
        for name, value in values.items()
        if (number := fraction(value)) is not None
    }
    try:
        result = real(numbers)
    except (KeyError, ZeroDivisionError):
        return None
    if "output_scale" not in numbers:
        return result
    return result / numbers["output_scale"] + numbers["output_zero_point"]
