"""Text and checks of types and shapes that all `stablehlo` ops share."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntElementsAttr,
    Float32Type,
    FunctionType,
    IntegerAttr,
    IntegerType,
    Signedness,
    f32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from qlower.operators.shapes import check_count

from ..operations import ShapedOp
from ..quant import QuantizedType
from ..types import element_type, is_tensor_type
from .attributes import parse_integers


class StablehloOp(ShapedOp, ABC):
    """
    An operation of StableHLO on tensors of fixed shape, quantized or of f32.

    ```
    op ::= name operands (`,` key `=` integers)* attr-dict? `:` types
    types ::= type | `(` types `)` `->` type
    ```
    """

    CLAUSES: ClassVar[Mapping[str, str]] = {}
    """Properties that are lists of integers, by the keys of their clauses."""

    NUMBERS: ClassVar[frozenset[str]] = frozenset()
    """The keys of clauses whose value is one integer."""

    def check_types(self) -> None:
        for value in (*self.operands, *self.results):
            _check_type(value.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        properties: dict[str, Attribute] = {}
        operands = [parser.parse_unresolved_operand()]
        while parser.parse_optional_punctuation(",") is not None:
            operand = parser.parse_optional_unresolved_operand()
            if operand is not None:
                operands.append(operand)
                continue
            key = parser.parse_identifier()
            if cls.CLAUSES.get(key) is None or cls.CLAUSES[key] in properties:
                parser.raise_error(f"{cls.name} has no {key}, or it is given twice")
            parser.parse_punctuation("=")
            properties[cls.CLAUSES[key]] = (
                IntegerAttr(parser.parse_integer(allow_boolean=False), i64)
                if key in cls.NUMBERS
                else DenseArrayBase.from_list(i64, parse_integers(parser))
            )
        return cls.parse_end(parser, operands, properties, start)

    @classmethod
    def parse_end(
        cls,
        parser: Parser,
        operands: Sequence[UnresolvedOperand],
        properties: dict[str, Attribute],
        start: int,
    ) -> Self:
        """The op, whose attributes and types are left to be read."""
        attributes = parser.parse_optional_attr_dict()
        inputs, outputs = parse_types(parser, len(operands))
        return cls.create(
            operands=parser.resolve_operands(operands, inputs, start),
            result_types=outputs,
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        for key, name in self.CLAUSES.items():
            value = self.properties[name]
            printer.print_string(f", {key} = ")
            if isa(value, DenseArrayBase[IntegerType]):
                printer.print_string(str(list(integers(value))))
            elif isa(value, IntegerAttr):
                printer.print_string(str(value.value.data))
        self.print_end(printer)

    def print_end(self, printer: Printer) -> None:
        """Print the text after clauses: other attributes, and types."""
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)


def parse_types(
    parser: Parser, operands: int
) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    """The types of operands and results: a function's, or one for all of them."""
    parser.parse_punctuation(":")
    start = parser.pos
    signature = parser.parse_type()
    if not isinstance(signature, FunctionType):
        return [signature] * operands, [signature]
    if len(signature.inputs) != operands:
        parser.raise_error(
            f"{len(signature.inputs)} types for {operands} operands", start, parser.pos
        )
    return signature.inputs.data, signature.outputs.data


def integers(attribute: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The elements of a list of integers."""
    return tuple(attribute.get_values())


def paddings(given: DenseIntElementsAttr | None, axes: int) -> list[tuple[int, int]]:
    """The elements before and after each axis, 0 where the attribute is missing."""
    numbers = [0] if given is None else [int(number) for number in given.get_values()]
    if len(numbers) == 1:
        numbers *= 2 * axes
    check_count("padding", numbers, 2 * axes)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _check_type(type: Attribute) -> None:
    """Raises VerifyException for what isn't a tensor of fixed shape, of elements that
    are read, with a scale for every index."""
    if not is_tensor_type(type) or DYNAMIC_INDEX in type.get_shape():
        raise VerifyException(f"{type} is not a tensor of fixed shape")
    element, shape = type.element_type, type.get_shape()
    if not isinstance(element, QuantizedType):
        if not isinstance(element, Float32Type | IntegerType):
            raise VerifyException(f"elements of {element} aren't supported")
        return
    if element.storage_width not in (8, 16, 32) or element.expressed_type != f32:
        raise VerifyException(
            f"{element} isn't supported: storage has 8, 16 or 32 bits, values are f32"
        )
    if element.storage_width == 32 and not element.signed:
        raise VerifyException(f"{element}: storage of 32 bits is signed")
    low, high = element.storage_min, element.storage_max
    for zero_point in element.zero_points:
        if not low <= zero_point <= high:
            raise VerifyException(
                f"zero point {zero_point} is outside of [{low}, {high}]"
            )
    if element.is_per_tensor:
        return
    if element.axis is None:
        raise VerifyException(f"{element} has blocks, which aren't supported")
    if element.axis >= len(shape) or shape[element.axis] != len(element.scales):
        raise VerifyException(
            f"{len(element.scales)} scales along axis {element.axis} don't fit {type}"
        )


def plain_integer(type: Attribute) -> IntegerType | None:
    """A tensor's element type, if it is a signless integer that isn't quantized."""
    element = element_type(type)
    if not isa(element, IntegerType):
        return None
    return element if element.signedness.data == Signedness.SIGNLESS else None


def quantization(type: Attribute) -> QuantizedType | None:
    """A tensor's element type, if it is quantized."""
    element = element_type(type)
    return element if isinstance(element, QuantizedType) else None
