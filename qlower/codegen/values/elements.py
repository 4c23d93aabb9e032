"""Elements of tensors: their types, and how they lie in memory."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue

from qlower.codegen.llvm.text import Function, Type, Value
from qlower.diagnostics import QlowerError


def scalar_type(type: Attribute) -> str:
    """LLVM's name of a scalar type; raises QlowerError for one we have no code for."""
    match type:
        case IntegerType() if type.width.data <= 64:
            return f"i{type.width.data}"
        case IndexType():
            return "i64"
        case Float32Type():
            return "float"
        case Float64Type():
            return "double"
        case _:
            raise QlowerError(f"no native code for values of type {type}")


def tensor_type(value: SSAValue) -> TensorType[Attribute]:
    """The type of a tensor value."""
    type = cast("TensorType[Attribute]", value.type)
    assert isinstance(type, TensorType)
    return type


def storage_bytes(scalar: str) -> int:
    """Bytes of an element in memory; a bit takes one."""
    return max(Type(scalar).bits, 8) // 8


def load_scalars(f: Function, pointer: Value, scalar: str, lanes: int) -> Value:
    """`lanes` consecutive elements."""
    size = storage_bytes(scalar)
    if scalar == "i1":
        return f.cast("trunc", f.load(Type("i8", lanes), pointer, 1), "i1")
    return f.load(Type(scalar, lanes), pointer, size)


def load_lanes(f: Function, base: Value, elements: Value, scalar: str) -> Value:
    """The numbers at the element offsets `elements` after `base`, one a lane."""
    size = storage_bytes(scalar)
    loaded: list[Value] = []
    for lane in range(elements.type.lanes):
        offset = f.scale(f.extract(elements, lane), size)
        loaded.append(load_scalars(f, f.at(base, offset), scalar, 1))
    return f.join(loaded)


def store_scalars(f: Function, value: Value, pointer: Value) -> None:
    """Consecutive elements."""
    if value.type.scalar == "i1":
        value = f.cast("zext", value, "i8")
    f.store(value, pointer, storage_bytes(value.type.scalar))
