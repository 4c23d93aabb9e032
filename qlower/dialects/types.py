"""Questions that operations of every dialect ask about the types of their values."""

from __future__ import annotations

from typing import TypeAlias, TypeGuard, cast

from typing_extensions import TypeIs
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue

AnyTensor: TypeAlias = TensorType[Attribute]


def tensor_type(value: SSAValue) -> AnyTensor:
    """The type of a value that is known to be a tensor, for the type checker."""
    return cast(AnyTensor, value.type)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a value that is known to be a tensor; -1 where it is dynamic."""
    return tensor_type(value).get_shape()


def is_tensor_type(type: Attribute) -> TypeIs[AnyTensor]:
    """Whether a type is that of a ranked tensor."""
    # `isa` makes a constraint at each call, and `isinstance` asks abstract classes
    return type.__class__ is TensorType


def element_type(type: Attribute) -> Attribute:
    """The element type of a tensor, or the scalar type itself."""
    if type.__class__ is TensorType:
        return cast(AnyTensor, type).element_type
    return type


def integer_range(width: int, signed: bool = True) -> tuple[int, int]:
    """The smallest and the largest integer of `width` bits."""
    if signed:
        return -(1 << (width - 1)), (1 << (width - 1)) - 1
    return 0, (1 << width) - 1


def has_spare_bits(element: Attribute) -> TypeGuard[IntegerType]:
    """Whether elements of a constant leave bits of their bytes, as i4 and i48 do."""
    return isinstance(element, IntegerType) and (
        element.bitwidth not in (1, 8, 16, 32, 64)
    )
