"""What all `tosa` ops share: their text, and the checks of types and shapes.

xDSL has a part of the dialect, whose keywords (rounding modes and the like) are taken
from there. Its ops aren't: they hold `mul` and `matmul` to one element type, read no
keyword outside of `rescale`, and know no shapes.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.tosa import NanMode, NanModeAttr, RoundingMode, RoundingModeAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    Operation,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.str_enum import StrEnum

from ..types import element_type, shape_of

Shape: TypeAlias = tuple[int, ...]
"""The sizes of a tensor's axes."""


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """The type of a list of sizes, `!tosa.shape<rank>`."""

    name = "tosa.shape"

    rank: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer(allow_boolean=False))]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.rank.data}>")


class ResizeMode(StrEnum):
    """How `tosa.resize` makes an element of those around its position."""

    NEAREST_NEIGHBOR = "NEAREST_NEIGHBOR"
    BILINEAR = "BILINEAR"


@irdl_attr_definition
class ResizeModeAttr(EnumAttribute[ResizeMode]):
    """The mode of `tosa.resize`."""

    name = "tosa.resize_mode"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ResizeMode:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(ResizeMode)


Keyword: TypeAlias = RoundingModeAttr | NanModeAttr | ResizeModeAttr

KEYWORDS: Mapping[str, type[Keyword]] = {
    "rounding_mode": RoundingModeAttr,
    "nan_mode": NanModeAttr,
    "mode": ResizeModeAttr,
}
"""Properties that are written as a bare word, and what each is."""

WORDS: Mapping[type[Keyword], type[StrEnum]] = {
    RoundingModeAttr: RoundingMode,
    NanModeAttr: NanMode,
    ResizeModeAttr: ResizeMode,
}

UNSUPPORTED_TYPES = "16 and 8-bit floats and 64-bit integers aren't supported"


class TosaOp(IRDLOperation, ABC):
    """
    An operation of TOSA 1.0 on tensors of integers, or of f32 where results are exact.

    ```
    op ::= name operands clause* (`{` (key (`=` value)?),* `}`)? `:` types `->` types
    clause ::= key (`=` value | `(` value `)` | `<` value `>`)?
    ```

    LLVM 22 writes properties as a dictionary, with some values as bare words; LLVM 24
    may write them as clauses. Both are read, and the first is written.
    """

    SIGNATURES: ClassVar[tuple[str, ...]]
    """The legal element types, as in `i8 i8 i32 -> i32`; `*` repeats the one before."""

    traits = traits_def(Pure())

    @property
    def kind(self) -> str:
        """The op's name without the dialect's: `conv2d`."""
        return self.name.removeprefix("tosa.")

    def result_shape(self) -> Shape:
        """The shape that operands of fixed shape give the result.

        Raises VerifyException where they and the properties don't fit each other.
        """
        raise NotImplementedError

    def check(self) -> None:
        """Checks values that are known beyond types; raises VerifyException."""

    def verify_(self) -> None:
        self._check_types()
        if any(map(is_dynamic, self.operands)):
            return
        expected = self.result_shape()
        given = shape_of(self.results[0])
        if len(given) != len(expected) or any(
            size not in (DYNAMIC_INDEX, wanted)
            for size, wanted in zip(given, expected, strict=True)
        ):
            raise VerifyException(
                f"result has shape {list(given)}, the operands give {list(expected)}"
            )
        self.check()

    def _check_types(self) -> None:
        for value in (*self.operands, *self.results):
            if not is_tensor(value) and not isinstance(value.type, ShapeType):
                raise VerifyException(f"{value.type} is not a ranked tensor")
        given = _signature(self.operand_types, self.result_types)
        if not any(_fits(given, signature) for signature in self.SIGNATURES):
            raise VerifyException(
                f"element types {given} are none of {', '.join(self.SIGNATURES)}; "
                f"{UNSUPPORTED_TYPES}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        given = _parse_clauses(parser) | _parse_dictionary(parser)
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        properties = cls.get_irdl_definition().properties
        return cls.create(
            operands=parser.resolve_operands(operands or [], types.inputs.data, start),
            result_types=types.outputs.data,
            properties={
                key: value for key, value in given.items() if key in properties
            },
            attributes={
                key: value for key, value in given.items() if key not in properties
            },
        )

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        definitions = self.get_irdl_definition().properties
        entries = [
            (key, value)
            for key, value in sorted((self.properties | self.attributes).items())
            if key not in definitions or value != definitions[key].default_value
        ]

        def print_entry(entry: tuple[str, Attribute]) -> None:
            key, value = entry
            printer.print_identifier_or_string_literal(key)
            if isinstance(value, UnitAttr):
                return
            printer.print_string(" = ")
            if isinstance(value, RoundingModeAttr | NanModeAttr | ResizeModeAttr):
                printer.print_string(value.data)
            else:
                printer.print_attribute(value)

        if entries:
            printer.print_string(" ")
            with printer.in_braces():
                printer.print_list(entries, print_entry)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)


def _parse_clauses(parser: Parser) -> dict[str, Attribute]:
    """Properties between operands and types, as LLVM 24 writes them."""

    def parse_value(key: str) -> Attribute:
        # A number's type would begin like the operation's.
        if key == "axis":
            return IntegerAttr(parser.parse_integer(allow_boolean=False), i32)
        return _parse_value(parser, key)

    clauses: dict[str, Attribute] = {}
    while (key := parser.parse_optional_identifier()) is not None:
        if parser.parse_optional_punctuation("=") is not None:
            clauses[key] = parse_value(key)
        elif parser.parse_optional_punctuation("(") is not None:
            clauses[key] = parse_value(key)
            parser.parse_punctuation(")")
        elif parser.parse_optional_punctuation("<") is not None:
            clauses[key] = parse_value(key)
            parser.parse_punctuation(">")
        else:
            clauses[key] = BoolAttr.from_bool(True)
        parser.parse_optional_punctuation(",")
    return clauses


def _parse_dictionary(parser: Parser) -> dict[str, Attribute]:
    def parse_entry() -> tuple[str, Attribute]:
        start = parser.pos
        key = parser.parse_optional_str_literal() or parser.parse_identifier()
        if key in entries:
            parser.raise_error(f"{key} is given twice", start)
        entries[key] = UnitAttr()
        if parser.parse_optional_punctuation("=") is not None:
            entries[key] = _parse_value(parser, key)
        return key, entries[key]

    entries: dict[str, Attribute] = {}
    parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, parse_entry)
    return entries


def _parse_value(parser: Parser, key: str) -> Attribute:
    """One property; numbers and lists may come without their types."""
    keyword = KEYWORDS.get(key)
    start = parser.pos
    if keyword is not None:
        word = parser.parse_optional_identifier()
        if word is None:
            value = parser.parse_attribute()
            if not isinstance(value, StringAttr):
                return value
            word = value.data
        words = WORDS[keyword]
        if word not in list(words):
            parser.raise_error(f"{key} {word} is not one of {', '.join(words)}", start)
        return cast(type[EnumAttribute[StrEnum]], keyword)(words(word))
    value = parser.parse_attribute()
    if isa(value, ArrayAttr[IntegerAttr]):
        element = i32 if key == "perms" else i64
        return DenseArrayBase.from_list(element, [item.value.data for item in value])
    return value


def is_tensor(value: SSAValue) -> bool:
    """Whether a value is a ranked tensor."""
    return isinstance(value.type, TensorType)


def is_dynamic(value: SSAValue) -> bool:
    """Whether a value is a tensor some of whose sizes aren't fixed."""
    return is_tensor(value) and DYNAMIC_INDEX in shape_of(value)


def _signature(operands: Sequence[Attribute], results: Sequence[Attribute]) -> str:
    """The element types, with `shape` for a list of sizes."""

    def names(types: Sequence[Attribute]) -> str:
        return " ".join(
            "shape" if isinstance(type, ShapeType) else str(element_type(type))
            for type in types
        )

    return f"{names(operands)} -> {names(results)}".strip()


def _fits(given: str, signature: str) -> bool:
    """Whether element types are those of a signature."""
    if "*" not in signature:
        return given == signature
    operands, results = (side.split() for side in given.split("->"))
    wanted, wanted_results = signature.split("->")
    repeated = wanted.strip().removesuffix("*")
    return results == wanted_results.split() and set(operands) == {repeated}


def is_constant(owner: object) -> bool:
    """Whether an operation gives a tensor that is known."""
    return isinstance(owner, Operation) and owner.has_trait(ConstantLike)


def constant_integers(value: SSAValue) -> tuple[int, ...] | None:
    """The elements of a constant of integers or sizes, all of them; None if the value
    is computed."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp | TosaOp) or not is_constant(owner):
        return None
    dense = owner.properties.get("value", owner.properties.get("values"))
    if not isa(dense, DenseIntOrFPElementsAttr):
        return None
    return tuple(cast(Sequence[int], dense.get_values()))


def known_integers(name: str, value: SSAValue) -> tuple[int, ...]:
    """The elements of an operand that has to be a constant."""
    integers = constant_integers(value)
    if integers is None:
        raise VerifyException(f"{name} is computed, it must be a constant")
    return integers


def sizes(array: DenseArrayBase) -> tuple[int, ...]:
    """The integers of a property."""
    if not isa(array, DenseArrayBase[IntegerType]):
        raise VerifyException(f"{array} is not a list of integers")
    return array.get_values()


def check_rank(name: str, value: SSAValue, rank: int) -> Shape:
    """The shape of an operand of so many axes."""
    shape = shape_of(value)
    if len(shape) != rank:
        raise VerifyException(f"{name} has rank {len(shape)}, expected {rank}")
    return shape


def check_axis(axis: int, rank: int) -> None:
    if not 0 <= axis < rank:
        raise VerifyException(f"axis {axis} is outside [0, {rank})")


def check_count(name: str, given: Sequence[int], expected: int) -> None:
    if len(given) != expected:
        raise VerifyException(f"{name} has {len(given)} numbers, expected {expected}")


def check_least(name: str, given: Sequence[int], least: int) -> None:
    """Refuses a number below the least one that is legal."""
    for number in given:
        if number < least:
            raise VerifyException(f"{name} {number} is less than {least}")


def check_zero_point(name: str, value: SSAValue) -> None:
    """Refuses a zero point that isn't one known number, and one other than 0 for types
    other than i8."""
    (zero_point, *others) = known_integers(name, value)
    if others:
        raise VerifyException(f"{name} has {len(others) + 1} elements, expected 1")
    element = element_type(value.type)
    if zero_point and str(element) != "i8":
        raise VerifyException(f"{name} {zero_point} of {element} is not 0")


def broadcast(*shapes: Shape) -> Shape:
    """The shape of operands of one rank, whose axes of one element repeat it."""
    ranks = {len(shape) for shape in shapes}
    result = tuple(max(axis) for axis in zip(*shapes, strict=False))
    if len(ranks) > 1 or any(
        size not in (1, wanted)
        for shape in shapes
        for size, wanted in zip(shape, result, strict=True)
    ):
        given = " and ".join(str(list(shape)) for shape in shapes)
        raise VerifyException(f"shapes {given} don't broadcast")
    return result
