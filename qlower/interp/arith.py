"""Meaning of the `arith` ops: wrap-around integers and strict IEEE floats, on lanes.

Wherever MLIR says poison or undefined behaviour, the op raises. Float ops round to
nearest even at their own width; fast-math flags permit more and change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.interpreter import InterpreterFunctions, PythonValues
from xdsl.ir import Attribute, Operation

from .conversions import CONVERSIONS, run_conversion
from .engine import implement, implement_table, register_implementations
from .values import (
    Array,
    Poison,
    as_signed,
    as_unsigned,
    as_value,
    dtype_of,
    integer_width,
    require,
    static_shape,
    wrap,
)

Binary: TypeAlias = Callable[[Array, Array], Array]
SizedBinary: TypeAlias = Callable[[Array, Array, int], Array]


# Integers. The functions see numbers of one signedness; their result is wrapped.


def divide_truncating(lhs: Array, rhs: Array, width: int) -> Array:
    """lhs / rhs rounded toward zero, signed. Poison: rhs = 0 and -2^(width-1) / -1."""
    _require_quotient(lhs, rhs, width)
    quotient = np.floor_divide(lhs, rhs)
    inexact = np.not_equal(np.multiply(quotient, rhs), lhs)
    return np.add(quotient, np.logical_and(inexact, np.less(quotient, 0)))


def divide_flooring(lhs: Array, rhs: Array, width: int) -> Array:
    """floor(lhs / rhs), signed. Poison as `divide_truncating`."""
    _require_quotient(lhs, rhs, width)
    return np.floor_divide(lhs, rhs)


def divide_ceiling(lhs: Array, rhs: Array, width: int) -> Array:
    """ceil(lhs / rhs), signed. Poison as `divide_truncating`."""
    _require_quotient(lhs, rhs, width)
    quotient = np.floor_divide(lhs, rhs)
    return np.add(quotient, np.not_equal(np.multiply(quotient, rhs), lhs))


def remainder_signed(lhs: Array, rhs: Array, width: int) -> Array:
    """lhs - rhs * trunc(lhs / rhs), with lhs's sign. Poison as `divide_truncating`."""
    _require_quotient(lhs, rhs, width)
    return np.fmod(lhs, rhs)


def divide_unsigned(lhs: Array, rhs: Array, width: int) -> Array:
    """floor(lhs / rhs), unsigned. Poison: rhs = 0."""
    require(np.not_equal(rhs, 0), "divides {} by zero", lhs)
    return np.floor_divide(lhs, rhs)


def remainder_unsigned(lhs: Array, rhs: Array, width: int) -> Array:
    """lhs mod rhs, unsigned. Poison: rhs = 0."""
    require(np.not_equal(rhs, 0), "divides {} by zero", lhs)
    return np.fmod(lhs, rhs)


def shift_left(lhs: Array, rhs: Array, width: int) -> Array:
    """lhs * 2^rhs. Poison: rhs outside [0, width)."""
    return np.left_shift(lhs, _shift_amount(lhs, rhs, width))


def shift_right(lhs: Array, rhs: Array, width: int) -> Array:
    """floor(lhs / 2^rhs). Poison: rhs outside [0, width)."""
    return np.right_shift(lhs, _shift_amount(lhs, rhs, width))


def _require_quotient(lhs: Array, rhs: Array, width: int) -> None:
    require(np.not_equal(rhs, 0), "divides {} by zero", lhs)
    overflows = np.logical_and(np.equal(lhs, -(1 << width - 1)), np.equal(rhs, -1))
    require(np.logical_not(overflows), "divides {} by -1, which overflows", lhs)


def _shift_amount(value: Array, amount: Array, width: int) -> Array:
    valid = np.logical_and(np.greater_equal(amount, 0), np.less(amount, width))
    require(valid, f"shifts {{}} by {{}}, which is outside [0, {width})", value, amount)
    return amount


def _ignore_width(function: Binary) -> SizedBinary:
    return lambda lhs, rhs, _width: function(lhs, rhs)


SIGNED_BINARY: dict[type[Operation], SizedBinary] = {
    arith.AddiOp: _ignore_width(np.add),
    arith.SubiOp: _ignore_width(np.subtract),
    arith.MuliOp: _ignore_width(np.multiply),
    arith.AndIOp: _ignore_width(np.bitwise_and),
    arith.OrIOp: _ignore_width(np.bitwise_or),
    arith.XOrIOp: _ignore_width(np.bitwise_xor),
    arith.MinSIOp: _ignore_width(np.minimum),
    arith.MaxSIOp: _ignore_width(np.maximum),
    arith.DivSIOp: divide_truncating,
    arith.FloorDivSIOp: divide_flooring,
    arith.CeilDivSIOp: divide_ceiling,
    arith.RemSIOp: remainder_signed,
    arith.ShLIOp: shift_left,
    arith.ShRSIOp: shift_right,
}

UNSIGNED_BINARY: dict[type[Operation], SizedBinary] = {
    arith.MinUIOp: _ignore_width(np.minimum),
    arith.MaxUIOp: _ignore_width(np.maximum),
    arith.DivUIOp: divide_unsigned,
    arith.RemUIOp: remainder_unsigned,
    arith.ShRUIOp: shift_right,
}


def run_signed(
    function: SizedBinary, op: Operation, args: PythonValues
) -> PythonValues:
    """A binary op on signed numbers, wrapped at the type's width."""
    value_type = op.results[0].type
    width = integer_width(value_type)
    lhs, rhs = (as_signed(arg, value_type) for arg in args) if width == 1 else args
    result = wrap(function(lhs, rhs, width), value_type)
    if isinstance(op, arith.SignlessIntegerBinaryOperationWithOverflow):
        for flag in op.overflow_flags.data:
            _require_no_overflow(flag, op, args, result)
    return (result,)


def run_unsigned(
    function: SizedBinary, op: Operation, args: PythonValues
) -> PythonValues:
    """A binary op on unsigned numbers."""
    value_type = op.results[0].type
    lhs, rhs = (as_unsigned(arg, value_type) for arg in args)
    return (wrap(function(lhs, rhs, integer_width(value_type)), value_type),)


def _require_no_overflow(
    flag: arith.IntegerOverflowFlag, op: Operation, args: PythonValues, result: Array
) -> None:
    """Poison unless `result` is exact in the signedness that nsw or nuw is about."""
    value_type = op.results[0].type
    is_signed = flag is arith.IntegerOverflowFlag.NSW
    numbers = as_signed if is_signed else as_unsigned
    # 64 bits hold every result of 32-bit operands; above that, Python's integers.
    wide = (
        (np.int64 if is_signed else np.uint64)
        if integer_width(value_type) <= 32
        else object
    )
    lhs, rhs = (np.asarray(numbers(arg, value_type)).astype(wide) for arg in args)
    exact = SIGNED_BINARY[type(op)](lhs, rhs, 64)
    require(
        np.equal(exact, numbers(result, value_type)).astype(np.bool_),
        f"has {flag.value}, but overflows {value_type} for operands {{}} and {{}}",
        *args,
    )


# Floats.


def minimum(lhs: Array, rhs: Array) -> Array:
    """The lesser number; NaN if either is NaN; -0 is less than +0."""
    # Equal numbers have equal bits, except for zeros, where "or" keeps the sign.
    either = _on_bits(np.bitwise_or, lhs, rhs)
    return np.where(np.equal(lhs, rhs), either, np.minimum(lhs, rhs))[()]


def maximum(lhs: Array, rhs: Array) -> Array:
    """The greater number; NaN if either is NaN; +0 is greater than -0."""
    both = _on_bits(np.bitwise_and, lhs, rhs)
    return np.where(np.equal(lhs, rhs), both, np.maximum(lhs, rhs))[()]


def _on_bits(function: Binary, lhs: Array, rhs: Array) -> Array:
    bits = f"i{lhs.dtype.itemsize}"
    return function(lhs.view(bits), rhs.view(bits)).view(lhs.dtype)


def _or_number(function: Binary) -> Binary:
    """A version of `function` that returns the number if one operand is NaN."""

    def run(lhs: Array, rhs: Array) -> Array:
        present = np.where(np.isnan(rhs), lhs, function(lhs, rhs))
        return np.where(np.isnan(lhs), rhs, present)[()]

    return run


FLOAT_BINARY: dict[type[Operation], Binary] = {
    arith.AddfOp: np.add,
    arith.SubfOp: np.subtract,
    arith.MulfOp: np.multiply,
    arith.DivfOp: np.divide,
    arith.MinimumfOp: minimum,
    arith.MaximumfOp: maximum,
    arith.MinnumfOp: _or_number(minimum),
    arith.MaxnumfOp: _or_number(maximum),
}


def choose(condition: Array, if_true: Array, if_false: Array) -> Array:
    """One of two values in each lane."""
    return np.where(condition, if_true, if_false)[()]


# Comparisons, in the order of the predicate attribute.

CMPI: tuple[tuple[Callable[[Array, Attribute], Array], Binary], ...] = (
    (as_signed, np.equal),
    (as_signed, np.not_equal),
    (as_signed, np.less),
    (as_signed, np.less_equal),
    (as_signed, np.greater),
    (as_signed, np.greater_equal),
    (as_unsigned, np.less),
    (as_unsigned, np.less_equal),
    (as_unsigned, np.greater),
    (as_unsigned, np.greater_equal),
)


def unordered(lhs: Array, rhs: Array) -> Array:
    """Whether either is NaN."""
    return np.logical_or(np.isnan(lhs), np.isnan(rhs))


def _negation(function: Binary) -> Binary:
    return lambda lhs, rhs: np.logical_not(function(lhs, rhs))


def _unequal_ordered(lhs: Array, rhs: Array) -> Array:
    return np.logical_or(np.less(lhs, rhs), np.greater(lhs, rhs))


def _never(lhs: Array, rhs: Array) -> Array:
    return np.logical_and(np.less(lhs, rhs), False)


# An unordered comparison is the negation of the opposite ordered one.
CMPF: tuple[Binary, ...] = (
    _never,
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    _unequal_ordered,
    _negation(unordered),
    _negation(_unequal_ordered),
    _negation(np.less_equal),
    _negation(np.less),
    _negation(np.greater_equal),
    _negation(np.greater),
    np.not_equal,
    unordered,
    _negation(_never),
)


# Conversions: (operand, operand type, result type) -> result.


def dense_array(value: DenseIntOrFPElementsAttr) -> Array:
    """The elements of a dense attribute, read-only and not copied where possible."""
    shape = static_shape(value.type)
    dtype = dtype_of(value.type)
    # xDSL stores an i1 in a byte of its own.
    stored = np.dtype(np.int8) if dtype == np.bool_ else dtype
    elements: Array = np.frombuffer(value.data.data, stored)
    if dtype.kind != "f":
        elements = wrap(elements, value.type)
    if elements.size == 1:
        return np.broadcast_to(elements.reshape(()), shape)
    return elements.reshape(shape)


@register_implementations
@implement_table(SIGNED_BINARY, run_signed)
@implement_table(UNSIGNED_BINARY, run_unsigned)
@implement_table(FLOAT_BINARY, lambda function, _op, args: (function(*args),))
@implement_table(CONVERSIONS, run_conversion)
class ArithFunctions(InterpreterFunctions):
    """The ops that are not in a table above."""

    @implement(arith.ConstantOp)
    def run_constant(self, op: arith.ConstantOp, args: PythonValues) -> PythonValues:
        match op.value:
            case IntegerAttr():
                number: float = op.value.value.data
                return (as_value(number, op.result.type),)
            case FloatAttr():
                return (as_value(op.value.value.data, op.result.type),)
            case DenseIntOrFPElementsAttr():
                return (dense_array(op.value),)
            case _:
                raise Poison(f"holds {op.value.name}, whose elements are not known")

    @implement(arith.CmpiOp)
    def run_cmpi(self, op: arith.CmpiOp, args: PythonValues) -> PythonValues:
        numbers, compare = CMPI[op.predicate.value.data]
        lhs, rhs = (numbers(arg, op.lhs.type) for arg in args)
        return (compare(lhs, rhs),)

    @implement(arith.CmpfOp)
    def run_cmpf(self, op: arith.CmpfOp, args: PythonValues) -> PythonValues:
        return (CMPF[op.predicate.value.data](*args),)

    @implement(arith.SelectOp)
    def run_select(self, op: arith.SelectOp, args: PythonValues) -> PythonValues:
        return (choose(*args),)

    @implement(arith.NegfOp)
    def run_negf(self, op: arith.NegfOp, args: PythonValues) -> PythonValues:
        return (np.negative(*args),)
