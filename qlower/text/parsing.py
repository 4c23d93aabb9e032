"""MLIR text to a verified module, with a place in the source for every operation.

xDSL's parser keeps no source positions and lets several kinds of raw exception through;
this one stamps a `FileLineColLoc` on every operation that carries no explicit location,
and turns whatever goes wrong into one `QlowerError` that points at the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.arith import IntegerOverflowAttr, TruncIOp
from xdsl.dialects.builtin import (
    LocationAttr,
    ModuleOp,
    UnknownLoc,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute
from xdsl.parser import Parser, ParserState, UnresolvedOperand
from xdsl.utils.exceptions import (
    ParseError,
)
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind, StringLiteral

from qlower.diagnostics import QlowerError, make_file_location
from qlower.dialects.scopes import own_names
from qlower.kept.journal import read_given
from qlower.text.aliases import Expansion
from qlower.text.constants import ConstantParser
from qlower.text.context import make_context, operation_on_demand
from qlower.text.hints import set_hint
from qlower.text.lexer import Lexer
from qlower.text.source_errors import decode, first_line, line_of, located
from qlower.text.verification import verify_module

LARGEST_SOURCE = 1 << 31
"""Bytes that one file of text may have."""

WIDEST_INTEGER = 1 << 16
"""Bits of the widest integer type; native code has far fewer."""

FLAGS = "overflowFlags"
NO_FLAGS = IntegerOverflowAttr("none")

_COMMON_TYPES = {str(type): type for type in (i1, i8, i16, i32, i64, f32, f64)}

_INTEGER_TYPE = re.compile(r"[su]?i([0-9]+)")

TypeT = TypeVar("TypeT", bound=Attribute)
ElementT = TypeVar("ElementT")

_LOCATION_ALIAS = re.compile(r"^#loc[0-9]* = loc\(", re.MULTILINE)


_SLIP = 0.81
"""The least likeness of an operation's name and another that is a slip for it, as
`difflib` measures it: "lineer", but not "sort" for "sqrt"."""


class LocatingParser(ConstantParser):
    """xDSL's parser, with source positions."""

    def parse_optional_str_literal(self) -> str | None:
        """A string; xDSL takes one that was printed with escapes above 7F for bytes."""
        string = super().parse_optional_str_literal()
        if string is None and self._current_token.kind == MLIRTokenKind.BYTES_LIT:
            token = self._current_token
            try:
                string = StringLiteral.from_span(token.span).bytes_contents.decode()
            except UnicodeDecodeError:
                return None
            self._consume_token()
        return string

    def __init__(
        self, context: Context, text: str, filename: str, line_offset: int = 0
    ) -> None:
        self._filename = filename
        self._line_offset = line_offset
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._operation_starts: list[int] = []
        self._early_aliases: set[str] = set()
        self._first_uses: dict[str, Span] = {}
        self._expansion = Expansion(text)
        # xDSL's lexer has nothing to read.
        super().__init__(context, "", filename)
        self._parser_state = ParserState(Lexer(Input(text, filename)))

    def _parse_generic_operation(self, op_type: type[Operation]) -> Operation:
        """An operation in generic form; a function inside of another doesn't see the
        names of that, as it doesn't in its own form."""
        if not issubclass(op_type, FuncOp):
            return super()._parse_generic_operation(op_type)
        with own_names(self):
            return super()._parse_generic_operation(op_type)

    def line_and_column(self, position: int) -> tuple[int, int]:
        """The line and column, counted from 1, of a position in the text."""
        line = bisect_right(self._line_starts, position)
        return line + self._line_offset, position - self._line_starts[line - 1] + 1

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        self._parse_locations()
        try:
            module = super().parse_module(allow_implicit_module)
        except ParseError:
            # A value without a definition is noticed at the end of the file only.
            for name in self.forward_ssa_references:
                if self.pos >= len(self.lexer.input) and name in self._first_uses:
                    raise ParseError(
                        self._first_uses[name],
                        f"value %{name} is used but never defined",
                    ) from None
            raise
        if isinstance(module.location, UnknownLoc):
            module.location = make_file_location(self._filename, 1, 1)
        return module

    def _parse_locations(self) -> None:
        """Read the aliases of locations, which upstream writes behind their use."""
        for match in _LOCATION_ALIAS.finditer(self.lexer.input.content):
            self._resume_from(match.start())
            self._early_aliases.add(self._current_token.text)
            self._measured_alias()
        self._resume_from(0)

    def _parse_alias_def(self) -> None:
        name = self._current_token.text
        if name in self._early_aliases:
            self._early_aliases.remove(name)
            del self.attribute_aliases[name]
        self._measured_alias()

    def _measured_alias(self) -> None:
        name, start = self._current_token.text, self._current_token.span.start
        size = self._expansion.start()
        super()._parse_alias_def()
        end = self._current_token.span.start
        self._expansion.define(name, size, start, end)

    def _measured(self, parse: Callable[[], ElementT], sigil: str) -> ElementT:
        """The result of `parse`, unless it stands for too much text.

        Aliases that it takes itself begin with `sigil`; others are taken within it.
        """
        token = self._current_token.text
        fault = self._expansion.enter(token if token[:1] == sigil else "")
        if fault is not None:
            self.raise_error(fault)
        try:
            return parse()
        finally:
            self._expansion.leave()

    def _parse_location(self) -> LocationAttr:
        if self._current_token.kind == MLIRTokenKind.HASH_IDENT:  # an attribute
            return super()._parse_location()
        return self._measured(super()._parse_location, "")

    def parse_optional_attribute(self) -> Attribute | None:
        """An attribute, within the limits of `Expansion`."""
        return self._measured(super().parse_optional_attribute, "#")

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        if isinstance(op, TruncIOp) and op.properties.get(FLAGS) == NO_FLAGS:
            # LLVM 22 prints them in the generic form, and xDSL doesn't know them here.
            del op.properties[FLAGS]
        start = self._operation_starts.pop()
        if isinstance(op.location, UnknownLoc):
            line, column = self.line_and_column(start)
            op.location = make_file_location(self._filename, line, column)
        return op

    def _parse_block(self) -> Block:
        token = self._current_token
        name = token.text[1:]
        if name in self.blocks and name not in self.forward_block_references:
            _, first = self.blocks[name]
            if first is None:  # xDSL forgets where a block is that was named before
                self.raise_error(f"re-declaration of block '{name}'", token.span)
        return super()._parse_block()

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        # The place of an operation is its name, after the results, as in upstream MLIR.
        results = super()._parse_op_result_list()
        self._operation_starts.append(self.pos)
        return results

    def _get_op_by_name(self, name: str) -> type[Operation]:
        stack = self._parser_state.dialect_stack
        if (op_type := self.ctx.get_optional_op(name, dialect_stack=stack)) is not None:
            return op_type
        if (op_type := operation_on_demand(name)) is not None:
            return op_type
        self.raise_error(
            f"operation {name} is not {self._missing(name)}", self._operation_starts[-1]
        )

    def _missing(self, name: str) -> str:
        """The message about an unknown operation: a guess if it looks like a slip, or a
        note that its dialect is read in part."""
        known = [op.name for op in self.ctx.loaded_ops]
        dialect, _, own = name.partition(".")
        siblings = [one for one in known if one.startswith(f"{dialect}.")]
        if not siblings:
            close = get_close_matches(name, known, n=1, cutoff=_SLIP)
            return "registered" + (f"; did you mean {close[0]}?" if close else "")
        names = [one.partition(".")[2] for one in siblings]
        close = get_close_matches(own, names, n=1, cutoff=_SLIP)
        if close:
            return f"registered; did you mean {dialect}.{close[0]}?"
        return f"supported; {len(siblings)} others of {dialect} are"

    def _register_ssa_definition(
        self, name: str, values: Sequence[SSAValue], span: Span
    ) -> None:
        super()._register_ssa_definition(name, values, span)
        for value in values:
            set_hint(value, value.name_hint)

    def parse_comma_separated_list(
        self,
        delimiter: Parser.Delimiter,
        parse: Callable[[], ElementT],
        context_msg: str = "",
    ) -> list[ElementT]:
        # xDSL prints several results of a linalg.generic as upstream MLIR does, in
        # parentheses, and reads them without only.
        if delimiter == self.Delimiter.NONE and self._opens_results():
            delimiter = self.Delimiter.PAREN
        return super().parse_comma_separated_list(delimiter, parse, context_msg)

    def _opens_results(self) -> bool:
        """Whether the next token is the parenthesis of `-> (`."""
        token = self._current_token
        before = self.lexer.input.slice(max(0, token.span.start - 8), token.span.start)
        is_open = token.kind == MLIRTokenKind.L_PAREN
        return is_open and before is not None and before.rstrip().endswith("->")

    def resolve_operand(
        self, operand: UnresolvedOperand, type: TypeT
    ) -> SSAValue[TypeT]:
        if operand.operand_name not in self.ssa_values:
            self._first_uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def parse_optional_type(self) -> TypeAttribute | None:
        # Python would compute the range of a type of any width, in gigabytes.
        token = self._current_token
        if token.kind == MLIRTokenKind.BARE_IDENT:
            integer = _INTEGER_TYPE.fullmatch(token.text)
            if integer is not None and int(integer[1]) > WIDEST_INTEGER:
                self.raise_error(
                    f"integer width {integer[1]} is larger than {WIDEST_INTEGER}"
                )
        return self._measured(super().parse_optional_type, "!")

    def _parse_optional_builtin_type(self) -> TypeAttribute | None:
        # xDSL tries function types, then makes and verifies an integer type anew.
        found = _COMMON_TYPES.get(self._current_token.text)
        if found is not None:
            self._consume_token()
            return found
        return super()._parse_optional_builtin_type()

    def _parse_file_metadata_dictionary(self) -> None:
        """Skip the data at the end of the file: it is read where it is used."""
        start = self._current_token.span.start
        end = self.lexer.input.content.find("#-}", start)
        if end < 0:
            self.raise_error("the end of the file's metadata, #-}, is missing", start)
        self._resume_from(end + len("#-}"))


def parse_module(
    text: str | bytes,
    filename: str = "<text>",
    *,
    context: Context | None = None,
    line_offset: int = 0,
    implicit_module: bool = True,
    parser: type[LocatingParser] = LocatingParser,
) -> ModuleOp:
    """Parse MLIR text; errors point into `filename`. The result isn't verified yet."""
    source = decode(text, filename)
    if not source.strip():
        raise QlowerError("there is no MLIR text", make_file_location(filename, 1, 1))
    reader: LocatingParser | None = None
    try:
        reader = parser(
            make_context() if context is None else context,
            source,
            filename,
            line_offset,
        )
        return reader.parse_module(implicit_module)
    except ParseError as error:
        raise located(error, source, line_offset) from error
    except RecursionError:
        place = (1, 1) if reader is None else reader.line_and_column(reader.pos)
        raise QlowerError(
            "the text is nested too deeply to be parsed",
            make_file_location(filename, *place),
        ) from None
    except QlowerError:
        raise
    except Exception as error:
        # xDSL raises plain Python exceptions for some malformed text; the parser sees
        # nothing but that text, so all of them are the text's fault.
        if reader is None:
            raise QlowerError(str(error), make_file_location(filename, 1, 1)) from error
        line, column = reader.line_and_column(reader.pos)
        raise QlowerError(
            first_line(error),
            make_file_location(filename, line, column),
            source_line=line_of(source, line - line_offset),
        ) from error


def parse_file(path: Path) -> ModuleOp:
    """Parse and verify the module in an `.mlir` file."""
    try:
        size = path.stat().st_size
        if size > LARGEST_SOURCE:
            raise QlowerError(f"{path}: {size} bytes of text are more than 2^31")
    except OSError as error:
        raise QlowerError(f"cannot read {path}: {error.strerror}") from error
    data = read_given(path)
    module = parse_module(data, str(path))
    verify_module(module)
    return module
