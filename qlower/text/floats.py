"""Floats in text, bit for bit, where xDSL's parser and printer would change them.

A hexadecimal number in place of a float is its bits, as in upstream MLIR.
"""

from __future__ import annotations

import math
from typing import cast

from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
)
from xdsl.ir import Attribute

_DIGITS: dict[type[AnyFloat], int] = {Float32Type: 9, Float64Type: 17}
"""Significant decimal digits that distinguish any two numbers of a type."""


def float_from_bits(bits: int, type: AnyFloat) -> float:
    """The number with these bits.

    ValueError for bits that are wider than the type, and for those of a signaling NaN
    that Python's float would make a quiet one.
    """
    if not 0 <= bits < 1 << type.bitwidth:
        raise ValueError(f"{bits:#x} is not {type.bitwidth} bits of {type}")
    raw = bits.to_bytes(type.compile_time_size, "little")
    (value,) = type.unpack(raw, 1)
    if type.pack([value]) != raw:
        raise ValueError(
            f'{bits:#x} is a signaling NaN of {type}, which only dense<"0x..."> holds'
        )
    return value


def decimal_text(value: float, type: AnyFloat) -> str | None:
    """`value` with a decimal point, where xDSL would print its bits; else None."""
    digits = _DIGITS.get(type.__class__)
    if digits is None or not math.isfinite(value):
        return None
    (short,) = type.unpack(type.pack([float(f"{value:.5e}")]), 1)
    if short == value or "." in f"{value:.{digits}g}":
        return None
    return f"{value:.{digits - 1}e}"


def only_as_bytes(
    attribute: Attribute,
) -> DenseIntOrFPElementsAttr[AnyDenseElement] | None:
    """The constant, if it has elements that a list in text can't represent.

    They are signaling NaNs, and zeros of both signs, which xDSL takes for one element.
    """
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        return None
    dense = cast("DenseIntOrFPElementsAttr[AnyDenseElement]", attribute)
    element, raw = dense.type.element_type, dense.data.data
    if not isinstance(element, Float32Type | Float64Type):
        return None
    values = element.unpack(raw, len(dense))
    is_uniform = raw == raw[: element.compile_time_size] * len(values)
    is_told = is_uniform or values.count(values[0]) < len(values)
    return None if is_told and element.pack(values) == raw else dense
