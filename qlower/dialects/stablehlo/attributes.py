"""The attributes of `stablehlo` ops: which dimensions do what, and precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from ..words import InBrackets, Words

Lists: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Lists of dimensions by name, in the order of the text."""

Layout: TypeAlias = tuple[str | int, ...]
"""The meaning of each dimension of a tensor: a letter, or a spatial one's number."""


class _Bracketed(InBrackets[Words]):
    """One of some words, in brackets of its own or in those of the dialect."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Words:
        has_brackets = parser.parse_optional_punctuation("<") is not None
        word = cast(Words, parser.parse_str_enum(cls.enum_type))
        if has_brackets:
            parser.parse_punctuation(">")
        return word


class Precision(StrEnum):
    """The least precision of a product; all are exact here."""

    DEFAULT = "DEFAULT"
    HIGH = "HIGH"
    HIGHEST = "HIGHEST"


@irdl_attr_definition
class PrecisionAttr(_Bracketed[Precision], EnumAttribute[Precision]):
    """The wish of one operand."""

    name = "stablehlo.precision"


class Direction(StrEnum):
    """The order of two numbers: larger, smaller or equal."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


@irdl_attr_definition
class DirectionAttr(_Bracketed[Direction], EnumAttribute[Direction]):
    """The relation that a comparison tests."""

    name = "stablehlo.comparison_direction"


class Comparison(StrEnum):
    """A way to compare numbers; each type's own is supported."""

    NOTYPE = "NOTYPE"
    FLOAT = "FLOAT"
    TOTALORDER = "TOTALORDER"
    SIGNED = "SIGNED"
    UNSIGNED = "UNSIGNED"


@irdl_attr_definition
class ComparisonAttr(_Bracketed[Comparison], EnumAttribute[Comparison]):
    """The way in which a comparison takes its operands."""

    name = "stablehlo.comparison_type"


class _ListsAttr(Data[Lists]):
    """Lists of dimensions; those that the text leaves out are empty."""

    def dimensions(self, name: str) -> tuple[int, ...]:
        """The list with this name."""
        return dict(self.data).get(name, ())

    def print_parameter(self, printer: Printer) -> None:
        def print_entry(entry: tuple[str, tuple[int, ...]]) -> None:
            name, numbers = entry
            value = numbers[0] if name == INDEX_VECTOR else list(numbers)
            printer.print_string(f"{name} = {value}")

        with printer.in_angle_brackets():
            printer.print_list(self.data, print_entry)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Lists:
        entries: list[tuple[str, tuple[int, ...]]] = []
        with parser.in_angle_brackets():
            # Upstream takes a comma after the last list, too.
            while (name := parser.parse_optional_identifier()) is not None:
                parser.parse_punctuation("=")
                if name == INDEX_VECTOR:
                    numbers = (parser.parse_integer(allow_boolean=False),)
                else:
                    numbers = parse_integers(parser)
                entries.append((name, numbers))
                if parser.parse_optional_punctuation(",") is None:
                    break
        if len(dict(entries)) != len(entries):
            parser.raise_error("a list of dimensions is given twice")
        return tuple(entries)


INDEX_VECTOR = "index_vector_dim"
"""The entry of a gather that is one number."""


@irdl_attr_definition
class DotAttr(_ListsAttr):
    """The dimensions of a product's operands that are batches, and those that are
    summed."""

    name = "stablehlo.dot"


@irdl_attr_definition
class GatherAttr(_ListsAttr):
    """The dimensions of a gather's operands and result that belong together."""

    name = "stablehlo.gather"


@irdl_attr_definition
class ConvAttr(Data[tuple[Layout, Layout, Layout]]):
    """The dimensions of a convolution's operands and result:
    `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""

    name = "stablehlo.conv"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.text()}>")

    def text(self) -> str:
        image, weight, result = (
            f"[{', '.join(map(str, layout))}]" for layout in self.data
        )
        return f"{image}x{weight}->{result}"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Layout, Layout, Layout]:
        with parser.in_angle_brackets():
            return parse_layouts(parser)


def parse_layouts(parser: AttrParser) -> tuple[Layout, Layout, Layout]:
    """The layouts of a convolution, as `ConvAttr` has them."""

    def parse_dimension() -> str | int:
        return parser.parse_optional_identifier() or parser.parse_integer()

    def parse_layout() -> Layout:
        return tuple(
            parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_dimension)
        )

    image = parse_layout()
    parser.parse_keyword("x")
    weight = parse_layout()
    parser.parse_punctuation("->")
    return image, weight, parse_layout()


def parse_integers(
    parser: AttrParser, *, allow_boolean: bool = False
) -> tuple[int, ...]:
    """`[1, 2]`, or `[true, false]` where that is allowed."""

    def parse_integer() -> int:
        return parser.parse_integer(allow_boolean=allow_boolean)

    square = parser.Delimiter.SQUARE
    return tuple(parser.parse_comma_separated_list(square, parse_integer))


def parse_pairs(parser: AttrParser) -> Sequence[tuple[int, ...]]:
    """`[[1, 2], [0, 0]]`"""
    square = parser.Delimiter.SQUARE
    return parser.parse_comma_separated_list(square, lambda: parse_integers(parser))
