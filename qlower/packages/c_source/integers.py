"""Operations on integers as expressions of C; what may wrap is computed without a
sign."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.codegen.values.bounds import constant_value
from qlower.dialects.fixed import ShiftRightOp

from .c_types import (
    bits_of,
    c_type,
    signed,
    stored_bits,
    unsigned,
)
from .literals import integer
from .region_state import SIGNS, Expression, RegionState, type_of, without_c

_LOGICAL = {"+": "!=", "-": "!=", "*": "&&", "&": "&&", "|": "||", "^": "!="}
"""Operators on single bits."""


def _binary(operator: str) -> Expression:
    """+, - and *, as plain C where nothing can wrap."""

    def write(step: RegionState, op: Operation, v: list[str]) -> str:
        type = type_of(op)
        if bits_of(type) == 1:
            return f"{v[0]} {_LOGICAL[operator]} {v[1]}"
        a, b = map(step.magnitude, op.operands)
        largest = a * b if operator == "*" else a + b
        are_numbers = all(isinstance(x.owner, arith.ConstantOp) for x in op.operands)
        held = stored_bits(type)
        if largest < 1 << (bits_of(type) - 1) and held >= 32 and not are_numbers:
            return f"{v[0]} {operator} {v[1]}"
        return _without_sign(operator, type, v)

    return write


def _without_sign(operator: str, type: Attribute, v: list[str]) -> str:
    """The bits that the operator makes of operands without a sign."""
    a, b = (unsigned(type, text) for text in v)
    return signed(type, f"{a} {operator} {b}")


def _unless_bit(
    wide: Callable[[Attribute, list[str]], str], bit: Callable[[list[str]], str]
) -> Expression:
    """An expression for i1, and another for wider types."""

    def write(step: RegionState, op: Operation, v: list[str]) -> str:
        type = type_of(op)
        return bit(v) if bits_of(type) == 1 else wide(type, v)

    return write


def _bitwise(operator: str) -> Expression:
    return _unless_bit(
        partial(_without_sign, operator),
        lambda v: f"{v[0]} {_LOGICAL[operator]} {v[1]}",
    )


def _divide(operator: str, *, is_signed: bool) -> Expression:
    """Divisions, which an earlier pass has shown to be defined."""

    def write(step: RegionState, op: Operation, v: list[str]) -> str:
        type = type_of(op)
        if bits_of(type) == 1:
            raise without_c(op, f"{op.name} of i1")
        if is_signed:
            return f"({c_type(type)})({v[0]} {operator} {v[1]})"
        return _without_sign(operator, type, v)

    return write


def _shift_unsigned(operator: str) -> Expression:
    return _unless_bit(
        lambda type, v: signed(type, f"{unsigned(type, v[0])} {operator} {v[1]}"),
        lambda v: v[0],
    )


def _shift_right_signed(type: Attribute, v: list[str]) -> str:
    return f"({c_type(type)})({v[0]} >> {v[1]})"


def _extreme_integer(comparison: str, *, is_signed: bool) -> Expression:
    def write(step: RegionState, op: Operation, v: list[str]) -> str:
        type = type_of(op)
        if bits_of(type) == 1:  # true is -1 with a sign, and 1 without
            return f"{v[0]} {'||' if (comparison == '<') == is_signed else '&&'} {v[1]}"
        a, b = v if is_signed else (unsigned(type, text) for text in v)
        return f"({a} {comparison} {b}) ? {v[0]} : {v[1]}"

    return write


def _extend(step: RegionState, op: Operation, v: list[str]) -> str:
    """Sign extension: the number stays."""
    if bits_of(op.operands[0].type) == 1:
        return f"({c_type(type_of(op))})({v[0]} ? -1 : 0)"
    return f"({c_type(type_of(op))}){v[0]}"


def extend_unsigned(step: RegionState, op: Operation, v: list[str]) -> str:
    return f"({c_type(type_of(op))}){unsigned(op.operands[0].type, v[0])}"


def _truncate(step: RegionState, op: Operation, v: list[str]) -> str:
    return signed(type_of(op), unsigned(op.operands[0].type, v[0]))


def _cast_index(step: RegionState, op: Operation, v: list[str]) -> str:
    narrows = bits_of(type_of(op)) < bits_of(op.operands[0].type)
    return (_truncate if narrows else _extend)(step, op, v)


def _compare(step: RegionState, op: Operation, v: list[str]) -> str:
    assert isinstance(op, arith.CmpiOp)
    type = op.operands[0].type
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    sign = SIGNS[predicate[-2:]]
    if predicate[0] == "u" or bits_of(type) == 1:
        v = [unsigned(type, text) for text in v]
        if predicate[0] == "s":  # of bits: true is -1
            v = v[::-1]
    return f"{v[0]} {sign} {v[1]}"


def _absolute(step: RegionState, op: Operation, v: list[str]) -> str:
    type = type_of(op)
    if bits_of(type) == 1:
        return v[0]
    return f"({v[0]} < 0) ? {signed(type, f'0u - {unsigned(type, v[0])}')} : {v[0]}"


def _leading_zeros(step: RegionState, op: Operation, v: list[str]) -> str:
    type = type_of(op)
    word = max(32, stored_bits(type))
    name = step.helpers.leading_zeros(word)
    spare = word - bits_of(type)
    return signed(type, f"(uint{word}_t)({name}({unsigned(type, v[0])}) - {spare})")


def _shift_and_round(step: RegionState, op: Operation, v: list[str]) -> str:
    assert isinstance(op, ShiftRightOp)
    type, mode = type_of(op), op.rounding.data.value
    if bits_of(type) == 1:  # the only amount is 0
        return v[0]
    word = max(32, stored_bits(type))
    if mode == "floor":
        return f"({c_type(type)})({v[0]} >> {v[1]})"
    amount = op.operands[1]
    if mode == "half_up" and isinstance(amount.owner, arith.ConstantOp):
        half = 1 << constant_value(amount) >> 1
        if step.magnitude(op.operands[0]) + half < 1 << (word - 1):
            text = f"({v[0]} + {integer(half)}) >> {v[1]}"
            return text if word == stored_bits(type) else f"({c_type(type)})({text})"
    call = f"{step.helpers.shift_right(mode, word)}({v[0]}, {_as_int32(type, v[1])})"
    return call if word == stored_bits(type) else f"({c_type(type)}){call}"


def _as_int32(type: Attribute, text: str) -> str:
    return f"(int32_t){text}" if stored_bits(type) > 32 and not text.isdigit() else text


def _saturate(step: RegionState, op: Operation, v: list[str]) -> str:
    """Saturation, before which clamps that are no narrower needn't be done."""
    is_unsigned = isinstance(op.properties.get("unsigned"), UnitAttr)
    type, bits = type_of(op), bits_of(type_of(op))
    low = 0 if is_unsigned else -(1 << (bits - 1))
    high = low + (1 << bits) - 1
    value, text = op.operands[0], v[0]
    if bits == 1:
        return f"{text} > 0" if is_unsigned else f"{text} < 0"
    if not is_unsigned and step.magnitude(value) <= high:
        return f"({c_type(type)}){text}"
    while (clamped := _clamped_beyond(value, low, high)) is not None:
        value, text = clamped, step.values[clamped]
    word = max(32, stored_bits(value.type))
    if not is_unsigned:
        name = step.helpers.saturate(word, low, high, c_type(type), f"i{bits}")
        return f"{name}({text})"
    wide = f"int{word}_t"
    name = step.helpers.saturate(word, low, high, wide, f"u{bits}")
    return signed(type, f"(u{wide}){name}({text})")


def _clamped_beyond(value: SSAValue, low: int, high: int) -> SSAValue | None:
    """The operand of a clamp that a saturation makes superfluous."""
    owner = value.owner
    if not isinstance(owner, arith.MinSIOp | arith.MaxSIOp):
        return None
    if not isinstance(owner.rhs.owner, arith.ConstantOp):
        return None
    limit = constant_value(owner.rhs)
    is_beyond = limit >= high if isinstance(owner, arith.MinSIOp) else limit <= low
    return owner.lhs if is_beyond else None


def _pair_dot(step: RegionState, op: Operation, v: list[str]) -> str:
    """Two products of an unsigned and a signed byte, summed and saturated."""
    a, b, c, d = v
    name = step.helpers.saturate(32, -(1 << 15), (1 << 15) - 1, "int16_t", "i16")
    return (
        f"{name}((int32_t)(uint8_t){a} * (int32_t){b}"
        f" + (int32_t)(uint8_t){c} * (int32_t){d})"
    )


INTEGERS: dict[str, Expression] = {
    "arith.addi": _binary("+"),
    "arith.subi": _binary("-"),
    "arith.muli": _binary("*"),
    "arith.divsi": _divide("/", is_signed=True),
    "arith.divui": _divide("/", is_signed=False),
    "arith.remsi": _divide("%", is_signed=True),
    "arith.remui": _divide("%", is_signed=False),
    "arith.andi": _bitwise("&"),
    "arith.ori": _bitwise("|"),
    "arith.xori": _bitwise("^"),
    "arith.shli": _shift_unsigned("<<"),
    "arith.shrsi": _unless_bit(_shift_right_signed, lambda v: v[0]),
    "arith.shrui": _shift_unsigned(">>"),
    "arith.minsi": _extreme_integer("<", is_signed=True),
    "arith.maxsi": _extreme_integer(">", is_signed=True),
    "arith.minui": _extreme_integer("<", is_signed=False),
    "arith.maxui": _extreme_integer(">", is_signed=False),
    "arith.extsi": _extend,
    "arith.extui": extend_unsigned,
    "arith.trunci": _truncate,
    "arith.index_cast": _cast_index,
    "arith.cmpi": _compare,
    "math.absi": _absolute,
    "math.ctlz": _leading_zeros,
    "fixed.shift_right": _shift_and_round,
    "fixed.saturate": _saturate,
    "fixed.pair_dot": _pair_dot,
}
"""C's expressions for operations on integers."""
