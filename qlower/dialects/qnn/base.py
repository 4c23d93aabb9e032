"""
What all `qnn` ops share: their text, and the constraints on their types and properties.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Sequence
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ShapedType,
    StringAttr,
    TensorType,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    MessageConstraint,
    opt_prop_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..integers import integers
from .constraints import Keyword, Value, keyword


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

    def __init__(
        self,
        *operands: Value | Sequence[Value] | None,
        result: Attribute | Sequence[Attribute],
        contract: str | None,
        **properties: Attribute | None,
    ) -> None:
        """`result` is the result's type, or those of several; a property that is None
        is left out."""
        super().__init__(
            operands=operands,
            result_types=[result],
            properties={**properties, "contract": keyword(contract)},
        )

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


class PairOp(ActivatedOp, ABC):
    """An op on two operands of equal standing."""

    def __init__(
        self,
        lhs: Value,
        rhs: Value,
        result_type: Attribute,
        *,
        activation: str | None = None,
        contract: str | None = None,
    ):
        super().__init__(
            lhs,
            rhs,
            result=result_type,
            contract=contract,
            activation=keyword(activation),
        )


def check_shape(name: str, actual: Sequence[int], expected: Sequence[int]) -> None:
    """Refuses a value whose shape is not what the other operands make it."""
    if tuple(actual) != tuple(expected):
        raise VerifyException(
            f"shape {list(actual)} of {name} does not match the expected "
            f"{list(expected)}"
        )


def check_same_shape(input: ShapedType, result: ShapedType) -> None:
    """Refuses a result of another shape than the input has."""
    check_shape("result", result.get_shape(), input.get_shape())


def check_same_quantization(
    name: str, type: TensorType[Attribute], expected: TensorType[Attribute]
) -> None:
    """Refuses a value of an op that only moves stored values if they change meaning."""
    if type.element_type != expected.element_type:
        raise VerifyException(
            f"quantization {type.element_type} of {name} differs from the "
            f"{expected.element_type} of input"
        )
