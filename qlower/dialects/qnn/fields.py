"""Properties of `qnn` ops as fields, which Python reads and sets as what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def
from xdsl.irdl.constraints import VerificationContext
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..integers import integers, values_of
from ..quant import QuantizedType
from .constraints import MAX_ELEMENTS, LeafConstraint, check_quantization

Setting: TypeAlias = bool | int | float | str | Sequence[int] | Attribute | None
"""A field, as constructors accept it; an attribute is stored as it is."""


@dataclass(frozen=True)
class Kind:
    """A kind of property: the attribute for a Python value and the value of an
    attribute, and `check`, which refuses attributes, given the property's name and the
    attribute."""

    make: Callable[[Any], Attribute]
    read: Callable[[Any], Any]
    check: Callable[[str, Attribute], None]


@dataclass(frozen=True)
class Checked(LeafConstraint[Attribute]):
    """A property of a kind."""

    name: str
    kind: Kind

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        self.kind.check(self.name, attr)


class Field(property):
    """A property of an op, with the name of the class's attribute.

    Text that leaves it out means `default`, or None where it is `optional`;
    constructors that leave it out mean `initial`, which text always has.
    """

    def __init__(
        self,
        kind: Kind,
        *,
        name: str | None = None,
        default: Setting = None,
        initial: Setting = None,
        optional: bool = False,
    ):
        super().__init__(self._value, self._set)
        self.name = name or ""
        self.initial = initial
        self._kind = kind
        self._default = None if default is None else kind.make(default)
        self.optional = optional

    def __set_name__(self, owner: type[IRDLOperation], name: str) -> None:
        self.name = self.name or name
        define = opt_prop_def if self.optional else prop_def
        constraint = Checked(self.name, self._kind)
        definition = define(constraint, self._default, prop_name=self.name)
        setattr(owner, f"{name}_attr", definition)

    def attribute(self, value: Setting) -> Attribute | None:
        """The property for a value; None for what is left out."""
        if value is None or isinstance(value, Attribute):
            return value
        return self._kind.make(value)

    def _value(self, op: IRDLOperation) -> object:
        attribute = op.properties.get(self.name)
        return None if attribute is None else self._kind.read(attribute)

    def _set(self, op: IRDLOperation, value: Setting) -> None:
        attribute = self.attribute(value)
        if attribute is None:
            op.properties.pop(self.name, None)
        else:
            op.properties[self.name] = attribute


@cache
def fields_of(op: type[IRDLOperation]) -> Mapping[str, Field]:
    """The fields of an op by name, as text has them: those of classes above it first,
    but optional ones, which all ops have, behind the others."""
    bases = [
        [value for value in vars(base).values() if isinstance(value, Field)]
        for base in op.__mro__
    ]
    needed = (field for fields in reversed(bases) for field in fields)
    optional = (field for fields in bases for field in fields)
    return {
        **{field.name: field for field in needed if not field.optional},
        **{field.name: field for field in optional if field.optional},
    }


def properties_of(
    op: type[IRDLOperation], given: Mapping[str, Setting]
) -> Mapping[str, Attribute | None]:
    """The properties of an op whose other fields are as they are initially.

    Raises TypeError for a field that it doesn't have.
    """
    fields = fields_of(op)
    if unknown := given.keys() - fields.keys():
        raise TypeError(f"{op.name} has no {', '.join(sorted(unknown))}")
    return {
        name: field.attribute(given.get(name, field.initial))
        for name, field in fields.items()
    }


def integers_field(
    minimum: int, *, length: int | None = None, initial: Sequence[int] | None = None
) -> tuple[int, ...]:
    """A list of integers of at least `minimum`, of any length where none is given."""

    def check(name: str, attr: Attribute) -> None:
        if not isa(attr, DenseArrayBase[IntegerType]) or attr.elt_type != i64:
            raise VerifyException(f"{name} {attr} is not a list of integers")
        values = values_of(attr)
        if length is not None and len(values) != length:
            raise VerifyException(
                f"{name} {list(values)} has {len(values)} entries, expected {length}"
            )
        for value in values:
            if not minimum <= value <= MAX_ELEMENTS:
                raise VerifyException(
                    f"{name} {list(values)}: {value} is outside "
                    f"[{minimum}, {MAX_ELEMENTS}]"
                )

    field = Field(Kind(integers, values_of, check), initial=initial)
    return cast(tuple[int, ...], field)


def _check_integer(name: str, attr: Attribute) -> None:
    if not isa(attr, IntegerAttr[IntegerType]) or attr.type != i64:
        raise VerifyException(f"{name} {attr} is not an integer")


_INTEGER = Kind(
    lambda value: IntegerAttr(value, i64), lambda attr: attr.value.data, _check_integer
)


def integer_field(*, name: str | None = None, default: int | None = None) -> int:
    """An integer."""
    return cast(int, Field(_INTEGER, name=name, default=default))


def optional_integer_field(*, name: str) -> int | None:
    """An integer, or nothing."""
    return cast(int | None, Field(_INTEGER, name=name, optional=True))


def _check_number(name: str, attr: Attribute) -> None:
    if not isa(attr, FloatAttr[Float32Type]):
        raise VerifyException(f"{name} {attr} is not an f32 number")
    if math.isnan(attr.value.data):
        raise VerifyException(f"{name} is not a number")


_NUMBER = Kind(
    lambda value: FloatAttr(value, f32), lambda attr: attr.value.data, _check_number
)


def number_field(*, default: float | None = None) -> float:
    """A number of f32, which is not NaN."""
    return cast(float, Field(_NUMBER, default=default))


def _check_flag(name: str, attr: Attribute) -> None:
    if not isa(attr, BoolAttr):
        raise VerifyException(f"{name} {attr} is not true or false")


_FLAG = Kind(BoolAttr.from_bool, bool, _check_flag)


def flag_field() -> bool:
    """True, or false where the text leaves it out."""
    return cast(bool, Field(_FLAG, default=False))


def _word(check: Callable[[str, Attribute], None]) -> Kind:
    return Kind(StringAttr, lambda attr: attr.data, check)


def _one_of(words: Sequence[str]) -> Kind:
    def check(name: str, attr: Attribute) -> None:
        if not isinstance(attr, StringAttr) or attr.data not in words:
            raise VerifyException(f"{name} {attr} is not one of {', '.join(words)}")

    return _word(check)


def word_field(*words: str) -> str:
    """One of some words."""
    return cast(str, Field(_one_of(words)))


def optional_word_field(*words: str) -> str | None:
    """One of some words, or nothing."""
    return cast(str | None, Field(_one_of(words), optional=True))


def contract_field(*, allow_file: bool) -> str | None:
    """The name of a contract, or of a file that has one where that is allowed."""

    def check(name: str, attr: Attribute) -> None:
        if not isinstance(attr, StringAttr):
            raise VerifyException(f"{name} is not a string")
        if not allow_file and attr.data.endswith(".mlir"):
            raise VerifyException(f"{name} {attr} is not the name of a contract")

    return cast(str | None, Field(_word(check), optional=True))


def _check_quantization(name: str, attr: Attribute) -> None:
    try:
        check_quantization(attr, allow_axis=False, widths=(8,))
    except VerifyException as error:
        raise VerifyException(f"{name}: {error}") from error


def quantization_field() -> QuantizedType:
    """The type of stored integers of 8 bits with one scale and zero point."""
    kind = Kind(_itself, _itself, _check_quantization)
    return cast(QuantizedType, Field(kind))


def _itself(value: Attribute) -> Attribute:
    return value
