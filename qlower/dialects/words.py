"""Attributes whose value is one of a few words: `#tosa.resize_mode<BILINEAR>`."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar, cast

from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

Words = TypeVar("Words", bound=StrEnum)


class InBrackets(Generic[Words]):
    """The text of an `EnumAttribute`, which this is mixed into: its word in angle
    brackets."""

    enum_type: ClassVar[type[StrEnum]]
    data: Words

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Words:
        with parser.in_angle_brackets():
            return cast(Words, parser.parse_str_enum(cls.enum_type))
