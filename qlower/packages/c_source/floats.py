"""Operations on floats as expressions of C."""

from __future__ import annotations

import math as numbers
from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation

from qlower.dialects.fixed import ConvertOp

from .c_types import (
    bits_of,
    c_type,
    real_of,
    stored_bits,
)
from .helpers import Helpers
from .integers import extend_unsigned
from .literals import real_number
from .region_state import SIGNS, Expression, RegionState, type_of, without_c


def _compare_floats(step: RegionState, op: Operation, v: list[str]) -> str:
    assert isinstance(op, arith.CmpfOp)
    a, b = v
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    ordered = f"(({a} <= {b}) || ({a} >= {b}))"
    match predicate:
        case "false" | "true":
            return predicate
        case "ord":
            return ordered
        case "uno":
            return f"!{ordered}"
        case "one":
            return f"({a} < {b}) || ({a} > {b})"
        case "ueq":
            return f"!(({a} < {b}) || ({a} > {b}))"
        case "oeq":
            return f"{a} == {b}"
        case "une":
            return f"{a} != {b}"
        case _ if predicate[0] == "o":
            return f"{a} {SIGNS[predicate[1:]]} {b}"
        case _:
            opposite = {"ult": ">=", "ule": ">", "ugt": "<=", "uge": "<"}[predicate]
            return f"!({a} {opposite} {b})"


def real_constant(helpers: Helpers, value: float, real: str) -> str:
    """A float's expression; infinities and NaN by their bits."""
    if numbers.isfinite(value):
        text = real_number(value, real)
        return f"({text})" if text.startswith("-") else text
    sign = numbers.copysign(1, value) < 0
    exponent, digits, width = {"f32": (0xFF, 23, 32), "f64": (0x7FF, 52, 64)}[real]
    bits = (sign << (width - 1)) | (exponent << digits)
    bits |= (1 << (digits - 1)) if numbers.isnan(value) else 0
    return f"{helpers.of_bits(real)}(UINT{width}_C({bits:#x}))"


def _of_floats(operator: str) -> Expression:
    return lambda step, op, v: f"{v[0]} {operator} {v[1]}"


def _helper(method: Callable[[Helpers, str], str]) -> Expression:
    """A helper for the type of float."""
    return lambda step, op, v: (
        f"{method(step.helpers, real_of(type_of(op)))}({', '.join(v)})"
    )


def _extreme(name: str) -> Expression:
    return _helper(lambda helpers, real: helpers.extreme(name, real))


def _round(mode: str) -> Expression:
    return _helper(lambda helpers, real: helpers.round_float(mode, real))


def _from_integer(step: RegionState, op: Operation, v: list[str]) -> str:
    if bits_of(op.operands[0].type) == 1:
        return f"{v[0]} ? -1.0f : 0.0f"
    return f"({c_type(type_of(op))}){v[0]}"


def _between_floats(step: RegionState, op: Operation, v: list[str]) -> str:
    return f"({c_type(type_of(op))}){v[0]}"


def _bitcast(step: RegionState, op: Operation, v: list[str]) -> str:
    source, result = op.operands[0].type, type_of(op)
    if isinstance(source, AnyFloat) == isinstance(result, AnyFloat):
        return v[0]
    if isinstance(result, AnyFloat):
        bits = stored_bits(source)
        return f"{step.helpers.of_bits(real_of(result))}((uint{bits}_t){v[0]})"
    return f"({c_type(result)}){step.helpers.bits_of(real_of(source))}({v[0]})"


def _fused(step: RegionState, op: Operation, v: list[str]) -> str:
    if real_of(type_of(op)) != "f32":
        raise without_c(op, "math.fma on f64")
    return f"{step.helpers.fused_multiply_add()}({', '.join(v)})"


def _convert(step: RegionState, op: Operation, v: list[str]) -> str:
    assert isinstance(op, ConvertOp)
    type, real = type_of(op), real_of(op.operands[0].type)
    if bits_of(type) == 1:
        raise without_c(op, "fixed.convert to i1")
    mode = op.rounding.data.value
    return f"{step.helpers.convert(mode, real, bits_of(type), c_type(type))}({v[0]})"


FLOATS: dict[str, Expression] = {
    "arith.cmpf": _compare_floats,
    "arith.addf": _of_floats("+"),
    "arith.subf": _of_floats("-"),
    "arith.mulf": _of_floats("*"),
    "arith.divf": _of_floats("/"),
    "arith.negf": _helper(Helpers.negated),
    "arith.minimumf": _extreme("minimum"),
    "arith.maximumf": _extreme("maximum"),
    "arith.sitofp": _from_integer,
    "arith.uitofp": extend_unsigned,
    "arith.extf": _between_floats,
    "arith.truncf": _between_floats,
    "arith.bitcast": _bitcast,
    "math.fma": _fused,
    "math.floor": _round("floor"),
    "math.ceil": _round("ceil"),
    "math.trunc": _round("toward_zero"),
    "math.round": _round("half_away"),
    "math.roundeven": _round("half_even"),
    "math.sqrt": _helper(Helpers.root),
    "math.absf": _helper(Helpers.absolute),
    "math.copysign": _helper(Helpers.copy_sign),
    "fixed.convert": _convert,
}
"""C's expressions for operations on floats, and between these and integers."""
