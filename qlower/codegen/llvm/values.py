"""Types and values of LLVM IR, as text."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_BITS = {"float": 32, "double": 64, "ptr": 64, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
"""Bits of a lane, of the scalar types that most values have."""


@dataclass(frozen=True, slots=True)
class Type:
    """`scalar` ("i8", "float", "ptr" ...) times `lanes`; one lane is the scalar."""

    scalar: str
    lanes: int = 1

    def __str__(self) -> str:
        return self.scalar if self.lanes == 1 else f"<{self.lanes} x {self.scalar}>"

    @property
    def is_float(self) -> bool:
        return self.scalar in ("float", "double")

    @property
    def bits(self) -> int:
        """Bits of one lane."""
        return _BITS.get(self.scalar) or int(self.scalar[1:])

    @property
    def mangled(self) -> str:
        """The type's part in the name of an overloaded intrinsic."""
        scalar = {"float": "f32", "double": "f64"}.get(self.scalar, self.scalar)
        return scalar if self.lanes == 1 else f"v{self.lanes}{scalar}"

    def of(self, scalar: str) -> Type:
        """The type with as many lanes of the scalar type `scalar`."""
        return Type(scalar, self.lanes)


I1, I8, I16, I32, I64 = (Type(f"i{bits}") for bits in (1, 8, 16, 32, 64))
FLOAT = Type("float")
POINTER = Type("ptr")
VOID = Type("void")


_INTEGER = re.compile(r"(?:splat \(i\d+ )?(-?\d+)\)?")


@dataclass(frozen=True, slots=True)
class Value:
    """An SSA name or a constant of a type."""

    type: Type
    text: str

    def __str__(self) -> str:
        type = self.type  # written out: a call for each operand is a part of the time
        if type.lanes == 1:
            return f"{type.scalar} {self.text}"
        return f"<{type.lanes} x {type.scalar}> {self.text}"

    @property
    def constant(self) -> int | None:
        """The value of an integer constant (the same in all lanes), else None."""
        if self.text[:1] == "%":
            return None
        if self.text.isdecimal():
            return int(self.text)
        match = _INTEGER.fullmatch(self.text)
        return int(match[1]) if match else None


def constant(type: Type, value: float) -> Value:
    """`value` in every lane; an integer is reduced to the type's signed range."""
    if type is I64:
        return _index(int(value))
    if type.is_float:
        single = struct.unpack("f", struct.pack("f", value))[0]
        exact = single if type.scalar == "float" else float(value)
        text = f"0x{struct.pack('>d', exact).hex().upper()}"
    elif type.scalar == "i1":
        text = str(int(value) & 1)
    else:
        half = 1 << (type.bits - 1)
        text = str((int(value) + half) % (2 * half) - half)
    return Value(type, text if type.lanes == 1 else f"splat ({type.scalar} {text})")


@lru_cache(maxsize=1 << 12)
def _index(value: int) -> Value:
    """An i64: most constants are offsets and counters."""
    return Value(I64, str((value + (1 << 63)) % (1 << 64) - (1 << 63)))


def vector_constant(scalar: str, values: Sequence[int]) -> Value:
    """One integer a lane."""
    return _vector_constant(
        scalar, values if isinstance(values, range) else tuple(values)
    )


@lru_cache(maxsize=1 << 10)
def _vector_constant(scalar: str, values: range | tuple[int, ...]) -> Value:
    if len(values) == 1:
        return constant(Type(scalar), values[0])
    elements = ", ".join(f"{scalar} {value}" for value in values)
    return Value(Type(scalar, len(values)), f"<{elements}>")


NULL = Value(POINTER, "null")


def zero(type: Type) -> Value:
    return Value(type, "zeroinitializer") if type.lanes > 1 else constant(type, 0)


def symbol(name: str) -> Value:
    """The address of a global of the module."""
    return Value(POINTER, f"@{name}")


def argument(type: Type, index: int) -> Value:
    """An argument of the function that it is used in."""
    return Value(type, f"%a{index}")


def joined(values: Iterable[Value]) -> str:
    """Operands with their types, as arguments of a call."""
    return ", ".join(map(str, values))
