"""Text that the ops of the dialect have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer


def parse_integers(parser: Parser) -> list[int]:
    """`[1, 2, 3]`."""
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_integer
    )


def parse_operands(parser: Parser, keyword: str) -> Sequence[SSAValue]:
    """`keyword(%a, %b : type, type)`, or nothing."""
    if parser.parse_optional_keyword(keyword) is None:
        return ()
    position = parser.pos
    with parser.in_parens():
        values = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_type
        )
    return parser.resolve_operands(values, types, position)


def print_operands(
    printer: Printer, named: Iterable[tuple[str, Sequence[SSAValue]]]
) -> None:
    """Print ` keyword(%a, %b : type, type)` for each keyword that has values."""
    for keyword, values in named:
        if values:
            printer.print_string(f" {keyword}(")
            printer.print_list(values, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list(
                [value.type for value in values], printer.print_attribute
            )
            printer.print_string(")")


def print_result_types(printer: Printer, op: Operation) -> None:
    """Print ` -> type, type`."""
    printer.print_string(" -> ")
    printer.print_list(op.result_types, printer.print_attribute)


def parse_result_types(parser: Parser) -> Sequence[Attribute]:
    """`-> type, type`."""
    parser.parse_punctuation("->")
    return parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)


def print_tail(
    op: Operation,
    printer: Printer,
    buffers: ArrayAttr[Attribute] | None,
    scratch: Attribute | None = None,
) -> None:
    """` in [buffers]`, ` scratch #kernel.scratch<...>` and ` attributes {...}`, each if
    there is any."""
    if buffers is not None:
        printer.print_string(" in ")
        printer.print_attribute(buffers)
    if scratch is not None:
        printer.print_string(" scratch ")
        printer.print_attribute(scratch)
    printer.print_op_attributes(op.attributes, print_keyword=True)


def parse_tail(op: Operation, parser: Parser) -> None:
    """Parse the text of `print_tail`."""
    if parser.parse_optional_keyword("in"):
        op.properties["buffers"] = parser.parse_attribute()
    if parser.parse_optional_keyword("scratch"):
        op.properties["scratch"] = parser.parse_attribute()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    if attributes is not None:
        op.attributes = dict(attributes.data)
