"""Parts that operations of every dialect share, and the operations of a kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import new_class
from typing import Self, cast

from typing_extensions import TypeVar
from xdsl.dialects.builtin import DYNAMIC_INDEX, UnitAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape

from .types import is_tensor_type, shape_of

Kind = TypeVar("Kind", bound=Operation)


def operations_of(kind: type[Kind]) -> list[type[Kind]]:
    """The operations of a kind, in the order of their definitions: the class itself if
    it has a name, and those below it."""
    own = [kind] if hasattr(kind, "name") else []
    below = (op for base in kind.__subclasses__() for op in operations_of(base))
    return list(dict.fromkeys([*own, *below]))


def operations_in(region: Region) -> list[Operation]:
    """The operations of a region, in order, each before those inside it: xDSL's `walk`
    passes each through a generator for each level above it."""
    found: list[Operation] = []
    for block in region.blocks:
        op = block.first_op
        while op is not None:
            found.append(op)
            for inner in op.regions:
                found += operations_in(inner)
            op = op.next_op
    return found


def kind_of(op: Operation | type[Operation]) -> str:
    """An operation's name without the dialect's: `conv2d`."""
    return op.name.partition(".")[2]


def named_operands(op: Operation) -> Iterable[tuple[str, SSAValue]]:
    """The operands of an operation that has one of each, with their names."""
    assert isinstance(op, IRDLOperation)
    names = (name for name, _ in op.get_irdl_definition().operands)
    return zip(names, op.operands, strict=True)


def define(
    name: str, base: type[Kind], meaning: str | None = None, **constants: object
) -> type[Kind]:
    """An operation of a kind that only adds a name, a meaning and class constants.

    The caller keeps a reference: classes don't hold those below them.
    """
    title = "".join(word.capitalize() for word in name.partition(".")[2].split("_"))
    members = {"__module__": base.__module__, "__doc__": meaning}
    op = new_class(f"{title}Op", (base,), {"name": name}, lambda it: it.update(members))
    for constant, value in constants.items():
        setattr(op, constant, value)
    return cast(type[Kind], op)


class TensorOp(IRDLOperation, ABC):
    """An operation on tensors that does nothing but compute its results.

    A class with a `name`, `"qnn.conv2d"`, is an operation, others are what operations
    share.
    """

    traits = traits_def(Pure())

    def __init_subclass__(cls, *, name: str | None = None) -> None:
        super().__init_subclass__()
        if name is not None:
            cls.name = name
            irdl_op_definition(cls)

    @property
    def kind(self) -> str:
        """The op's name without the dialect's: `conv2d`."""
        return kind_of(self)


class ShapedOp(TensorOp, ABC):
    """An operation whose one result has the shape that its operands give it."""

    def result_shape(self) -> Shape:
        """The shape that operands of fixed shape give the result: the first one's.

        Raises VerifyException where they and the properties don't fit each other.
        """
        return shape_of(self.operands[0])

    @abstractmethod
    def check_types(self) -> None:
        """Checks types of values on their own; raises VerifyException."""

    def check(self) -> None:
        """Checks what is known beyond them; raises VerifyException."""

    def verify_(self) -> None:
        self.check_types()
        if any(map(is_dynamic, self.operands)):
            return
        expected, given = self.result_shape(), shape_of(self.results[0])
        if len(given) != len(expected) or any(
            size not in (DYNAMIC_INDEX, wanted)
            for size, wanted in zip(given, expected, strict=True)
        ):
            raise VerifyException(
                f"result has shape {list(given)}, the operands give {list(expected)}"
            )
        self.check()


def is_dynamic(value: SSAValue) -> bool:
    """Whether a value is a tensor some of whose sizes aren't fixed."""
    return is_tensor_type(value.type) and DYNAMIC_INDEX in shape_of(value)


class BracedOp(TensorOp, ABC):
    """
    An operation whose properties are written in braces, but for those that have their
    default value.

    ```
    op ::= name operands (`{` (key (`=` value)?),* `}`)? `:` `(` types `)` `->` types
    ```
    """

    @classmethod
    @abstractmethod
    def parse_entries(cls, parser: Parser) -> Mapping[str, Attribute]:
        """Parse the text between operands and types: properties and other
        attributes."""

    @classmethod
    def property_text(cls, value: Attribute) -> str | None:
        """A property where its text is shorter than an attribute's."""
        return None

    def entries(self) -> Mapping[str, Attribute]:
        """The text between operands and types."""
        definitions = self.get_irdl_definition().properties
        stated = (
            (name, value)
            for name, value in self.properties.items()
            if value != definitions[name].default_value
        )
        return {**dict(stated), **self.attributes}

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        properties, attributes = cls.parse_attributes(parser)
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        return cls.create(
            operands=parser.resolve_operands(operands or [], types.inputs.data, start),
            result_types=types.outputs.data,
            properties=properties,
            attributes=attributes,
        )

    @classmethod
    def parse_attributes(
        cls, parser: Parser
    ) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
        """The properties, and the other attributes."""
        given = cls.parse_entries(parser)
        known = cls.get_irdl_definition().properties
        return (
            {name: value for name, value in given.items() if name in known},
            {name: value for name, value in given.items() if name not in known},
        )

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        self.print_entries(printer, self.entries())
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    def print_entries(self, printer: Printer, entries: Mapping[str, Attribute]) -> None:
        """Print properties and other attributes in braces, if there are any."""

        def print_entry(entry: tuple[str, Attribute]) -> None:
            name, value = entry
            printer.print_identifier_or_string_literal(name)
            if isinstance(value, UnitAttr):
                return
            printer.print_string(" = ")
            text = self.property_text(value) if name in self.properties else None
            if text is None:
                printer.print_attribute(value)
            else:
                printer.print_string(text)

        if entries:
            printer.print_string(" ")
            with printer.in_braces():
                printer.print_list(entries.items(), print_entry)
