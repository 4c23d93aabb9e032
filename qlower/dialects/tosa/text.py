"""The properties of `tosa` ops as text: words without quotes, and clauses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.tosa import NanMode, NanModeAttr, RoundingMode, RoundingModeAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.hints import isa
from xdsl.utils.str_enum import StrEnum

from ..words import InBrackets


class ResizeMode(StrEnum):
    """The way in which `tosa.resize` makes an element of those around its position."""

    NEAREST_NEIGHBOR = "NEAREST_NEIGHBOR"
    BILINEAR = "BILINEAR"


@irdl_attr_definition
class ResizeModeAttr(InBrackets[ResizeMode], EnumAttribute[ResizeMode]):
    """The mode of `tosa.resize`."""

    name = "tosa.resize_mode"


@irdl_attr_definition
class TargetEnvAttr(Data[tuple[tuple[str, str], ...]]):
    """Converters' statements about the implementation that a module is for: limits and
    profiles, by name, as text. No result depends on it."""

    name = "tosa.target_env"

    def print_parameter(self, printer: Printer) -> None:
        entries = ", ".join(f"{name} = {value}" for name, value in self.data)
        printer.print_string(f"<{entries}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[str, str], ...]:
        def parse_entry() -> tuple[str, str]:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            text = parser.parse_optional_str_literal()
            if text is not None:
                return name, f'"{text}"'
            words = parser.parse_optional_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_identifier
            )
            if words is not None:
                return name, f"[{', '.join(words)}]"
            return name, parser.parse_identifier()

        entries = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_entry)
        return tuple(entries)


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


def parse_clauses(parser: Parser) -> dict[str, Attribute]:
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


def parse_dictionary(parser: Parser) -> dict[str, Attribute]:
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
