"""Elements of tensors: their types, and how they lie in memory."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import Type, Value
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import integer_byte_size


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


@cache
def storage_type(scalar: str) -> str:
    """The type that an element has in memory, whose spare bits repeat its sign.

    Those of a bit are zero.
    """
    if Type(scalar).is_float:
        return scalar
    return f"i{8 * integer_byte_size(Type(scalar).bits)}"


@cache
def storage_bytes(scalar: str) -> int:
    """Bytes of an element in memory."""
    return Type(storage_type(scalar)).bits // 8


def load_scalars(f: Function, pointer: Value, scalar: str, lanes: int) -> Value:
    """`lanes` consecutive elements."""
    stored = Type(storage_type(scalar), lanes)
    return f.cast("trunc", f.load(stored, pointer, storage_bytes(scalar)), scalar)


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
    scalar = value.type.scalar
    extend = "zext" if scalar == "i1" else "sext"
    stored = f.cast(extend, value, storage_type(scalar))
    f.store(stored, pointer, storage_bytes(scalar))
