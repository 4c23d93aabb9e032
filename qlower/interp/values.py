"""SSA values in the interpreter: numpy numbers and arrays.

A value of scalar type is a numpy scalar or an array of *lanes*: many values of that
type, computed in one step by numpy's broadcasting. A value of tensor type is an array
of the tensor's shape. The element type is

    i1 -> bool    iN -> the narrowest intM with M >= N    index -> int64
    f32 -> float32    f64 -> float64

Integers have no sign in the IR; here they are held sign-extended from their width, so
i4 holds -8..7. An i1 is held as a bool, and counts as -1 where its sign matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    ShapedType,
)
from xdsl.ir import Attribute

from qlower.diagnostics import QlowerError
from qlower.dialects.types import element_type
from qlower.files.arrays import Array


class InterpretationError(QlowerError):
    """The program did something without a defined result, at the op's location."""


class Poison(Exception):
    """Raised by an op's implementation; the interpreter adds the op and its location.

    The message reads on from the op's name: `'arith.divsi' divides 7 by zero`.
    """


FLOAT_DTYPES: dict[type[Attribute], np.dtype[Any]] = {
    Float16Type: np.dtype(np.float16),
    Float32Type: np.dtype(np.float32),
    Float64Type: np.dtype(np.float64),
}

WIDEST_INTEGER = 64

_INTEGER_DTYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.bool_),
    **{
        width: np.dtype(f"i{max(1, (1 << (width - 1).bit_length()) // 8)}")
        for width in range(2, WIDEST_INTEGER + 1)
    },
}
"""By the width in bits."""


def integer_width(value_type: Attribute) -> int:
    """The width in bits of an integer or index element; `Poison` for other types."""
    scalar = element_type(value_type)
    match scalar:
        case IntegerType():
            width = scalar.width.data
            if not 1 <= width <= WIDEST_INTEGER:
                raise Poison(f"has type {scalar}, but the widest integer is i64")
            return width
        case IndexType():
            return 64
        case _:
            raise Poison(f"can't compute with type {scalar}")


def dtype_of(value_type: Attribute) -> np.dtype[Any]:
    """The numpy element type that holds values of an integer, float or tensor type."""
    scalar = element_type(value_type)
    if type(scalar) in FLOAT_DTYPES:
        return FLOAT_DTYPES[type(scalar)]
    return _INTEGER_DTYPES[integer_width(scalar)]


def static_shape(tensor_type: Attribute) -> tuple[int, ...]:
    """The static shape of a tensor type."""
    if not isinstance(tensor_type, ShapedType):
        raise Poison(f"needs a tensor, not {tensor_type}")
    shape = tensor_type.get_shape()
    if -1 in shape:
        raise Poison(f"needs a static shape, not {tensor_type}")
    return shape


def as_signed(value: Array, value_type: Attribute) -> Array:
    """`value` as signed numbers: an i1 becomes 0 or -1 in int8."""
    if integer_width(value_type) == 1:
        return np.negative(value, dtype=np.int8)
    return value


def as_unsigned(value: Array, value_type: Attribute) -> Array:
    """`value` as the unsigned numbers of the same bits."""
    width = integer_width(value_type)
    if width == 1:
        return value.astype(np.uint8)
    bits = value.view(f"u{value.dtype.itemsize}")
    if width == 8 * value.dtype.itemsize:
        return bits
    return np.bitwise_and(bits, bits.dtype.type((1 << width) - 1))


def wrap(value: Array, value_type: Attribute) -> Array:
    """The low bits of integer `value`, sign-extended from the type's width."""
    width = integer_width(value_type)
    if width == 1:
        return np.bitwise_and(value, 1).astype(np.bool_)
    held = value.astype(_INTEGER_DTYPES[width], copy=False)
    spare = 8 * held.dtype.itemsize - width
    if spare == 0:
        return held
    shift = held.dtype.type(spare)
    return np.right_shift(np.left_shift(held, shift), shift)


def require(valid: Array, message: str, *values: Array) -> None:
    """Raise `Poison` unless all lanes are valid.

    The message's `{}` are filled with the lanes of `values` at the first invalid place.
    """
    if valid.all():
        return
    valid, *lanes = np.broadcast_arrays(valid, *values)
    place = np.unravel_index(int(np.argmin(valid)), valid.shape)
    raise Poison(message.format(*(lane[place].item() for lane in lanes)))


def as_value(value: object, value_type: Attribute) -> Array:
    """A caller's number or array, as a value of the type.

    Unsigned arrays of the right width are taken as their bits. A wrong element type,
    a number out of the type's range or a wrong shape is `Poison`.
    """
    dtype = dtype_of(value_type)
    if isinstance(value, bool | int | float):
        return _from_number(value, dtype, value_type)
    array: Array = np.asarray(value)
    if array.dtype != dtype:
        if array.dtype.kind != "u" or array.dtype.itemsize != dtype.itemsize:
            raise Poison(f"has type {value_type}, got an array of {array.dtype}")
        array = array.view(dtype)
    if isinstance(value_type, ShapedType) and array.shape != value_type.get_shape():
        raise Poison(f"has type {value_type}, got an array of shape {array.shape}")
    if dtype.kind == "i" and np.any(wrap(array, value_type) != array):
        raise Poison(f"has type {value_type}, got a number out of its range")
    return array[()]


def _from_number(number: float, dtype: np.dtype[Any], value_type: Attribute) -> Array:
    """A Python number as a numpy scalar; integers may be given signed or unsigned."""
    if dtype.kind == "f":
        return dtype.type(number)
    width = integer_width(value_type)
    if number != int(number) or not -(1 << width - 1) <= number < 1 << width:
        raise Poison(f"has type {value_type}, got {number}, which is out of its range")
    past_signed = number >= 1 << width - 1
    return dtype.type(int(number) - (1 << width if past_signed else 0))


@dataclass(frozen=True)
class PartialTensor:
    """A tensor some of whose elements were never written, such as `tensor.empty`.

    Reading one by numpy raises `Poison`; ops that only move or overwrite elements
    handle `data` and `written` (bool, same shape) themselves.
    """

    data: Array
    written: Array

    @staticmethod
    def empty(tensor_type: Attribute) -> PartialTensor:
        """A tensor without any written element."""
        shape = static_shape(tensor_type)
        data = np.empty(shape, dtype_of(tensor_type))
        return PartialTensor(data, np.zeros(shape, np.bool_))

    def settle(self) -> Array | PartialTensor:
        """The plain array, when every element has been written."""
        return self.data if self.written.all() else self

    def refuse(self, *_: object, **__: object) -> NoReturn:
        """Raise `Poison`: what numpy, too, calls when it is given this."""
        raise Poison("reads an element of a tensor that was never written")

    __array__ = refuse
    __array_ufunc__ = refuse
    __array_function__ = refuse
    astype = refuse
    view = refuse


Tensor: TypeAlias = Array | PartialTensor


def rearrange(tensor: Tensor, movement: Callable[[Array], Array]) -> Tensor:
    """Apply a pure data movement, which may drop elements but computes nothing."""
    if isinstance(tensor, PartialTensor):
        return PartialTensor(movement(tensor.data), movement(tensor.written)).settle()
    return movement(tensor)
