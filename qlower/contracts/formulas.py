"""Formulas in the text of contracts: several operations in one operand.

An operand may be a formula, `func.call @store(%x * %scale + %shift) : (f32) -> i32`,
and an operation a formula alone. Its type follows unless a value in it has that type:

    %clear = abs(%end - %nearest) >= 1.0e-6 or %in_qdq
    %result = %active if %is_open else max(%active, 0.0)

Each sign is one operation of MLIR, one rounding of real numbers: nothing is fused or
moved.
In the order in which they bind, from left to right, parentheses first:

- `f32(x)`, and so on: the integer as a real number, rounded half to even;
  `half_even(x)`, or another rounding of `fixed.convert`: the nearest integer;
  `min(a, b)`, `max(a, b)`, `fma(a, b, c)`, `abs(x)` and `roundeven(x)`, of real numbers
- `-x`, of real numbers
- `a * b`, `a / b`; integers are divided toward zero
- `a + b`, `a - b`
- `a == b`, `a < b`, `a <= b`, `a > b`, `a >= b`, of signed integers or of real numbers;
  with NaN they don't hold
- `not a`, of truth values: a comparison of integers is turned around
- `a and b`, `a or b`, of bits, too
- `a if c else b`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    Float32Type,
    Float64Type,
    IntegerType,
    f32,
    f64,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import UnresolvedOperand

from qlower.dialects.fixed import ConvertOp, RoundingMode

CONDITION = "if"

ROUNDINGS = {mode.value: mode for mode in RoundingMode}
CONVERSIONS: Mapping[str, Float32Type | Float64Type] = {"f32": f32, "f64": f64}

COMPARISONS = {"==": "eq", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_OPPOSITES = {"eq": "ne", "slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt"}

PRECEDENCE: Mapping[str, int] = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(COMPARISONS, 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/"), 6),
    "negated": 7,
}
"""How strongly signs bind."""

_BINARY: Mapping[str, tuple[Callable[..., Operation], Callable[..., Operation]]] = {
    "+": (arith.AddiOp, arith.AddfOp),
    "-": (arith.SubiOp, arith.SubfOp),
    "*": (arith.MuliOp, arith.MulfOp),
    "/": (arith.DivSIOp, arith.DivfOp),
    "min": (arith.MinSIOp, arith.MinimumfOp),
    "max": (arith.MaxSIOp, arith.MaximumfOp),
}
_LOGICAL: Mapping[str, Callable[..., Operation]] = {
    "and": arith.AndIOp,
    "or": arith.OrIOp,
}
_REAL: Mapping[str, Callable[..., Operation]] = {
    "abs": math.AbsFOp,
    "roundeven": math.RoundEvenOp,
    "negated": arith.NegfOp,
    "fma": math.FmaOp,
}
ARGUMENTS: Mapping[str, int] = {
    "min": 2,
    "max": 2,
    "fma": 3,
    "abs": 1,
    "roundeven": 1,
    **dict.fromkeys(ROUNDINGS, 1),
    **dict.fromkeys(CONVERSIONS, 1),
}
"""How many arguments each function takes."""


@dataclass
class Formula(UnresolvedOperand):
    """An operation, by its sign or name, and its operands."""

    operation: str
    operands: Sequence[UnresolvedOperand]


def result_type(formula: Formula) -> Attribute | None:
    """The type of a formula's result where its operation says it."""
    if formula.operation in COMPARISONS or formula.operation == "not":
        return i1
    if formula.operation in ROUNDINGS:
        return i32
    return CONVERSIONS.get(formula.operation)


def make_operation(
    name: str, operands: Sequence[SSAValue], type: Attribute
) -> Operation:
    """The operation of a formula whose result has `type`; ValueError where there is
    none of its operands' type."""
    given = operands[-1].type
    is_real = isinstance(given, AnyFloat)
    if name in ROUNDINGS and is_real:
        return ConvertOp(operands[0], type, ROUNDINGS[name])
    if name in CONVERSIONS and isinstance(given, IntegerType):
        return arith.SIToFPOp(operands[0], CONVERSIONS[name])
    if name in COMPARISONS:
        sign = COMPARISONS[name]
        if is_real:
            return arith.CmpfOp(operands[0], operands[1], f"o{sign}")
        sign = sign if sign == "eq" else f"s{sign}"
        return arith.CmpiOp(operands[0], operands[1], sign)
    if name == CONDITION:
        return arith.SelectOp(*operands)
    if name in _BINARY and isinstance(given, AnyFloat | IntegerType):
        return _BINARY[name][is_real](*operands)
    if name in _LOGICAL and not is_real:
        return _LOGICAL[name](*operands)
    if name in _REAL and is_real:
        return _REAL[name](*operands)
    raise ValueError(f"there is no `{name}` of {given}")


def turned_around(comparison: Operation) -> Operation | None:
    """The comparison of integers that holds where this one doesn't; None of others."""
    if not isinstance(comparison, arith.CmpiOp):
        return None
    sign = arith.CMPI_COMPARISON_OPERATIONS[comparison.predicate.value.data]
    return arith.CmpiOp(comparison.lhs, comparison.rhs, _OPPOSITES[sign])
