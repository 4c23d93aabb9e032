"""
What all `qnn` ops share: their text, and the constraints on their types and properties.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias, cast

from typing_extensions import TypeVar
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    IntConstraint,
    IRDLOperation,
    MessageConstraint,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.constraints import VerificationContext
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..quant import QuantizedType
from ..types import integer_range

MAX_ELEMENTS = 2**31 - 1
"""The largest tensor: an element is reached by a signed 32-bit index."""

QuantizedTensor: TypeAlias = TensorType[QuantizedType]

Value: TypeAlias = SSAValue | Operation
"""What constructors take for an operand."""

_Attr = TypeVar("_Attr", bound=Attribute, covariant=True)


@dataclass(frozen=True)
class LeafConstraint(AttrConstraint[_Attr]):
    """A constraint without type variables."""

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> AttrConstraint[_Attr]:
        return self


def operand_of(constraint: AttrConstraint[_Attr]) -> SSAValue[_Attr]:
    """An operand that Python knows to have the constraint's type."""
    return cast(SSAValue[_Attr], operand_def(constraint))


def optional_operand_of(constraint: AttrConstraint[_Attr]) -> SSAValue[_Attr] | None:
    return cast(SSAValue[_Attr] | None, opt_operand_def(constraint))


def operands_of(constraint: AttrConstraint[_Attr]) -> tuple[SSAValue[_Attr], ...]:
    return cast(tuple[SSAValue[_Attr], ...], var_operand_def(constraint))


def check_static_tensor(type: Attribute, rank: int | None) -> Attribute:
    """The element type of a ranked, static tensor of a size that can be addressed."""
    if not isa(type, TensorType[Attribute]):
        raise VerifyException(f"{type} is not a ranked tensor")
    shape = type.get_shape()
    if rank is not None and len(shape) != rank:
        raise VerifyException(f"{type} has rank {len(shape)}, expected {rank}")
    for index, size in enumerate(shape):
        if size < 1:
            raise VerifyException(
                f"dimension {index} of {type} is not a fixed size of at least 1"
            )
    if (count := math.prod(shape)) > MAX_ELEMENTS:
        raise VerifyException(
            f"{type} has {count} elements, more than the {MAX_ELEMENTS} supported"
        )
    return type.element_type


def check_quantization(element: Attribute, allow_axis: bool) -> QuantizedType:
    """The quantization of 8-bit activations or, with `allow_axis`, weights."""
    if not isinstance(element, QuantizedType):
        raise VerifyException(f"element type {element} is not !quant.uniform")
    if element.is_sub_channel:
        raise VerifyException(
            "sub-channel quantization is not supported: use per tensor or per axis"
        )
    if not allow_axis and not element.is_per_tensor:
        raise VerifyException(
            "per-axis quantization is only supported for weights: use per tensor"
        )
    storage = element.data.storage
    if storage.width != 8:
        raise VerifyException(f"storage {storage.name} is not supported yet: i8 or u8")
    if not isinstance(element.expressed_type, Float32Type):
        raise VerifyException(
            f"expressed type {element.expressed_type} is not supported yet: f32"
        )
    low, high = integer_range(storage.width, storage.signed)
    for zero_point in element.zero_points:
        if not low <= zero_point <= high:
            raise VerifyException(
                f"zero point {zero_point} is outside [{low}, {high}] "
                f"of its storage type {storage.name}"
            )
    return element


@dataclass(frozen=True)
class Quantized(LeafConstraint[QuantizedTensor]):
    """A static tensor of 8-bit quantized values with one scale and zero point."""

    rank: int | None = None

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        check_quantization(check_static_tensor(attr, self.rank), allow_axis=False)


@dataclass(frozen=True)
class Weight(LeafConstraint[QuantizedTensor]):
    """
    A static tensor of 8-bit quantized values with one scale and zero point, or, where
    it has `axis`, one for each index of that dimension. Without `axis`, any dimension.
    """

    rank: int | None = None
    axis: int | None = None

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        element = check_static_tensor(attr, self.rank)
        quantization = check_quantization(element, allow_axis=True)
        axis = quantization.axis
        if axis is None:
            return
        assert isa(attr, QuantizedTensor)
        shape = attr.get_shape()
        if self.axis is not None and axis != self.axis:
            raise VerifyException(
                f"weights are quantized along dimension {axis}, expected {self.axis}"
            )
        if axis >= len(shape):
            raise VerifyException(
                f"quantized dimension {axis} is outside the rank {len(shape)}"
            )
        if (count := len(quantization.scales)) != shape[axis]:
            raise VerifyException(
                f"{count} scales do not match the size {shape[axis]} "
                f"of quantized dimension {axis}"
            )


@dataclass(frozen=True)
class QuantizedOrReal(LeafConstraint[TensorType[QuantizedType | Float32Type]]):
    """A static tensor of f32 or of per-tensor quantized values."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        element = check_static_tensor(attr, None)
        if not isinstance(element, Float32Type):
            check_quantization(element, allow_axis=False)


@dataclass(frozen=True)
class Real(LeafConstraint[TensorType[Float32Type]]):
    """A static tensor of f32."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if (element := check_static_tensor(attr, None)) != f32:
            raise VerifyException(f"element type {element} is not f32")


@dataclass(frozen=True)
class Integral(LeafConstraint[TensorType[IntegerType]]):
    """A static tensor of signless integers of one of the `widths`."""

    widths: tuple[int, ...]
    rank: int | None = None

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        element = check_static_tensor(attr, self.rank)
        if element not in (legal := [IntegerType(width) for width in self.widths]):
            raise VerifyException(
                f"element type {element} is not {' or '.join(map(str, legal))}"
            )


@dataclass(frozen=True)
class Bias(LeafConstraint[TensorType[IntegerType | Float32Type]]):
    """One i32 or f32 for each output channel."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if (element := check_static_tensor(attr, 1)) not in (i32, f32):
            raise VerifyException(f"element type {element} is not i32 or f32")


@dataclass(frozen=True)
class Integers(LeafConstraint[DenseArrayBase[IntegerType]]):
    """A list-of-i64 property; `length` None leaves its length free."""

    name: str
    minimum: int
    length: int | None = None

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isa(attr, DenseArrayBase[IntegerType]) or attr.elt_type != i64:
            raise VerifyException(f"{self.name} {attr} is not a list of integers")
        values = attr.get_values()
        if self.length is not None and len(values) != self.length:
            raise VerifyException(
                f"{self.name} {list(values)} has {len(values)} entries, "
                f"expected {self.length}"
            )
        for value in values:
            if not self.minimum <= value <= MAX_ELEMENTS:
                raise VerifyException(
                    f"{self.name} {list(values)}: {value} is outside "
                    f"[{self.minimum}, {MAX_ELEMENTS}]"
                )


@dataclass(frozen=True)
class Integer(LeafConstraint[IntegerAttr[IntegerType]]):
    """An i64 property."""

    name: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isa(attr, IntegerAttr[IntegerType]) or attr.type != i64:
            raise VerifyException(f"{self.name} {attr} is not an integer")


@dataclass(frozen=True)
class Number(LeafConstraint[FloatAttr[Float32Type]]):
    """An f32 property, which is not NaN."""

    name: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isa(attr, FloatAttr[Float32Type]):
            raise VerifyException(f"{self.name} {attr} is not an f32 number")
        if math.isnan(attr.value.data):
            raise VerifyException(f"{self.name} is not a number")


@dataclass(frozen=True)
class Boolean(LeafConstraint[BoolAttr]):
    """A property that is true or false."""

    name: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isa(attr, BoolAttr):
            raise VerifyException(f"{self.name} {attr} is not true or false")


@dataclass(frozen=True)
class Keyword(LeafConstraint[StringAttr]):
    """A string property with a fixed set of values."""

    name: str
    values: tuple[str, ...]

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isinstance(attr, StringAttr) or attr.data not in self.values:
            raise VerifyException(
                f"{self.name} {attr} is not one of {', '.join(self.values)}"
            )


def integers(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """The property of a list of integers."""
    return DenseArrayBase.from_list(i64, values)


def keyword(value: str | None) -> StringAttr | None:
    """The property of an optional string."""
    return None if value is None else StringAttr(value)


class QnnOp(IRDLOperation, ABC):
    """
    An op on quantized tensors. `contract` names the numerics contract that gives it its
    arithmetic, where that is not the module's.

    ```
    op ::= name operands (`{` (key `=` value),* `}`)? `:` `(` types `)` `->` types
    ```

    Lists of integers are written `[1, 1]` and read as `array<i64: 1, 1>` as well;
    properties that have their default value are not written.
    """

    contract_attr = opt_prop_def(
        MessageConstraint(StringAttr, "contract is not a string"), prop_name="contract"
    )

    traits = traits_def(Pure())

    @property
    def contract(self) -> str | None:
        return None if self.contract_attr is None else self.contract_attr.data

    @property
    def kind(self) -> str:
        """The op's name without the dialect's: `conv2d`."""
        return self.name.removeprefix("qnn.")

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that a contract needs for the op, that of its result first.

        What parameters decide is part of that, what the contract's own functions ask
        for (a bias in another form) is not. None for an op that moves stored values.
        """
        return (self.kind,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parse_attributes(cls, parser)
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        return cls.create(
            operands=parser.resolve_operands(operands or [], types.inputs.data, start),
            result_types=types.outputs.data,
            properties=attributes[0],
            attributes=attributes[1],
        )

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(self, printer)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)


def parse_attributes(
    op: type[QnnOp], parser: Parser
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """The properties and the other attributes of an op's `{...}`."""
    start = parser.pos
    definitions = op.get_irdl_definition().properties
    properties: dict[str, Attribute] = {}
    attributes: dict[str, Attribute] = {}
    for name, value in parser.parse_optional_attr_dict().items():
        if name not in definitions:
            attributes[name] = value
        elif isa(value, ArrayAttr[IntegerAttr]):
            properties[name] = integers([item.value.data for item in value])
        elif isinstance(value, ArrayAttr):
            parser.raise_error(f"{name} {value} is not a list of integers", start)
        elif isa(value, FloatAttr[Float64Type]):
            properties[name] = FloatAttr(value.value.data, f32)
        else:
            properties[name] = value
    return properties, attributes


def print_attributes(
    op: QnnOp, printer: Printer, *, elide: Collection[str] = ()
) -> None:
    """Prints the properties that differ from their defaults, and other attributes."""
    definitions = op.get_irdl_definition().properties
    entries = {
        name: value
        for name, value in op.properties.items()
        if name not in elide and value != definitions[name].default_value
    } | op.attributes

    def print_entry(entry: tuple[str, Attribute]) -> None:
        name, value = entry
        printer.print_identifier_or_string_literal(name)
        printer.print_string(" = ")
        if name not in definitions:
            printer.print_attribute(value)
        elif isa(value, DenseArrayBase[IntegerType]):
            printer.print_string(str(list(value.get_values())))
        elif isa(value, IntegerAttr[IntegerType]) and value.type in (i1, i64):
            printer.print_int(value.value.data, value.type)
        else:
            printer.print_attribute(value)

    if entries:
        printer.print_string(" ")
        with printer.in_braces():
            printer.print_list(entries.items(), print_entry)


class MovingOp(QnnOp, ABC):
    """An op that moves or selects stored values, in which nothing is rounded."""

    @property
    def rules(self) -> tuple[str, ...]:
        return ()


class ActivatedOp(QnnOp, ABC):
    """
    An op with an optional fused activation: its real result is clamped to [0, inf)
    (`relu`), [0, 6] (`relu6`) or [-1, 1] (`relu_n1_to_1`) before it is quantized.
    """

    activation_attr = opt_prop_def(
        Keyword("activation", ("relu", "relu6", "relu_n1_to_1")),
        prop_name="activation",
    )

    @property
    def activation(self) -> str | None:
        return None if self.activation_attr is None else self.activation_attr.data

    @property
    def rules(self) -> tuple[str, ...]:
        return (self.kind,) if self.activation is None else (self.kind, "bound")


def check_shape(name: str, actual: Sequence[int], expected: Sequence[int]) -> None:
    """Refuses a value whose shape is not what the other operands make it."""
    if tuple(actual) != tuple(expected):
        raise VerifyException(
            f"shape {list(actual)} of {name} does not match the expected "
            f"{list(expected)}"
        )


def check_same_quantization(
    name: str, type: TensorType[Attribute], expected: TensorType[Attribute]
) -> None:
    """Refuses a value of an op that only moves stored values if they change meaning."""
    if type.element_type != expected.element_type:
        raise VerifyException(
            f"quantization {type.element_type} of {name} differs from the "
            f"{expected.element_type} of input"
        )


def check_axis(axis: int, rank: int) -> None:
    if not 0 <= axis < rank:
        raise VerifyException(f"axis {axis} is outside [0, {rank})")
