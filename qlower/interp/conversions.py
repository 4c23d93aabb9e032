"""Conversions between scalar types (`arith.extsi`, `sitofp` ...), on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.interpreter import (
    PythonValues,
)
from xdsl.ir import Attribute, Operation

from .values import (
    Array,
    as_signed,
    as_unsigned,
    dtype_of,
    integer_width,
    require,
    wrap,
)

Conversion: TypeAlias = Callable[[Array, Attribute, Attribute], Array]


def extend_signed(value: Array, source: Attribute, target: Attribute) -> Array:
    """Each signed number of type `source` as one of the wider type `target`."""
    return as_signed(value, source).astype(dtype_of(target))


def extend_unsigned(value: Array, source: Attribute, target: Attribute) -> Array:
    """Each unsigned number of type `source` as one of the wider type `target`."""
    return as_unsigned(value, source).astype(dtype_of(target))


def truncate(value: Array, source: Attribute, target: Attribute) -> Array:
    """The low bits."""
    return wrap(value, target)


def index_cast(value: Array, source: Attribute, target: Attribute) -> Array:
    """Sign-extended or truncated; index has 64 bits."""
    return wrap(as_signed(value, source), target)


def signed_to_float(value: Array, source: Attribute, target: Attribute) -> Array:
    """The nearest float to the signed number, ties to even."""
    return as_signed(value, source).astype(dtype_of(target))


def unsigned_to_float(value: Array, source: Attribute, target: Attribute) -> Array:
    """The nearest float to the unsigned number, ties to even."""
    return as_unsigned(value, source).astype(dtype_of(target))


def float_to_signed(value: Array, source: Attribute, target: Attribute) -> Array:
    """The number toward zero. Poison: NaN, or trunc(value) out of the range."""
    bound = 2.0 ** (integer_width(target) - 1)
    return _float_to_integer(value, -bound, bound, "signed", target).astype(
        dtype_of(target)
    )


def float_to_unsigned(value: Array, source: Attribute, target: Attribute) -> Array:
    """The number toward zero. Poison: NaN, or trunc(value) out of the range."""
    bound = 2.0 ** integer_width(target)
    number = _float_to_integer(value, 0.0, bound, "unsigned", target)
    return wrap(number.astype(np.uint64), target)


def _float_to_integer(
    value: Array, low: float, end: float, sign: str, target: Attribute
) -> Array:
    """trunc(value), which must lie in [low, end): powers of two, exact in any float."""
    whole = np.trunc(value)
    valid = np.logical_and(np.greater_equal(whole, low), np.less(whole, end))
    require(valid, f"converts {{}}, out of the {sign} range of {target}", value)
    return whole


def convert_float(value: Array, source: Attribute, target: Attribute) -> Array:
    """The nearest float of the target type, ties to even."""
    return value.astype(dtype_of(target))


def bitcast(value: Array, source: Attribute, target: Attribute) -> Array:
    """The bits of each number as those of a number of type `target`."""
    return value.view(dtype_of(target))


CONVERSIONS: dict[type[Operation], Conversion] = {
    arith.ExtSIOp: extend_signed,
    arith.ExtUIOp: extend_unsigned,
    arith.TruncIOp: truncate,
    arith.IndexCastOp: index_cast,
    arith.SIToFPOp: signed_to_float,
    arith.UIToFPOp: unsigned_to_float,
    arith.FPToSIOp: float_to_signed,
    arith.FPToUIOp: float_to_unsigned,
    arith.ExtFOp: convert_float,
    arith.TruncFOp: convert_float,
    arith.BitcastOp: bitcast,
}


def run_conversion(
    function: Conversion, op: Operation, args: PythonValues
) -> PythonValues:
    """A conversion between the op's operand and result types."""
    return (function(*args, *op.operand_types, *op.result_types),)
