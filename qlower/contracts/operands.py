"""Operands in the text of contracts: values, numbers, steps by name, and formulas."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.arith import CmpiOp, ConstantOp, ExtFOp, ExtSIOp, SIToFPOp
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.mlir_lexer import MLIRTokenKind

from qlower.contracts.formulas import (
    ARGUMENTS,
    COMPARISONS,
    CONDITION,
    CONVERSIONS,
    PRECEDENCE,
    ROUNDINGS,
    Formula,
    make_operation,
    result_type,
    turned_around,
)
from qlower.contracts.rules import RULES
from qlower.diagnostics import make_file_location
from qlower.text.floats import float_from_bits
from qlower.text.hints import set_hint
from qlower.text.parsing import LocatingParser, TypeT

_LAYER_CONSTANTS = {
    name: type for rule in RULES.values() for name, type in rule.constants.items()
}
_WIDENINGS: Mapping[tuple[Attribute, Attribute], Callable[[SSAValue], Operation]] = {
    (f32, f64): lambda value: ExtFOp(value, f64),
    (i32, i64): lambda value: ExtSIOp(value, i64),
    (i32, f64): lambda value: SIToFPOp(value, f64),
}
"""The operation by which a value of one type becomes the same number of another."""

_NUMBERS = frozenset(
    {MLIRTokenKind.INTEGER_LIT, MLIRTokenKind.FLOAT_LIT, MLIRTokenKind.MINUS}
)
_SIGNS = {
    MLIRTokenKind.PLUS: "+",
    MLIRTokenKind.MINUS: "-",
    MLIRTokenKind.STAR: "*",
    MLIRTokenKind.SLASH: "/",
    MLIRTokenKind.EQUAL: "=",
    MLIRTokenKind.LESS: "<",
    MLIRTokenKind.GREATER: ">",
}
_DIGITS = re.compile(r"-\s*[0-9]")
_FORMULA = re.compile(
    rf"%[\w$.-]+\s*=\s*(?=[%@(0-9-]|(?:not|true|false|{'|'.join(ARGUMENTS)})\b)"
)
"""An operation that is a formula, up to that."""


@dataclass
class _Literal(UnresolvedOperand):
    """A number in the place of an operand."""

    value: float
    is_hexadecimal: bool

    def constant(self, type: Attribute) -> IntegerAttr | FloatAttr:
        """The number as a constant of `type`; ValueError where it is none."""
        value = self.value
        if isa(type, IntegerType) and isinstance(value, int):
            if type == i1 or not isinstance(value, bool):
                return IntegerAttr(int(value), type)
        elif isinstance(type, AnyFloat) and isinstance(value, float):
            return FloatAttr(value, type)
        elif isinstance(type, AnyFloat) and self.is_hexadecimal:
            return FloatAttr(float_from_bits(int(value), type), type)
        raise ValueError(f"{value} is no {type}")


@dataclass
class _NamedStep(UnresolvedOperand):
    """A function in the place of an operand, by its name, and the arguments that are
    written; it is given the others by name."""

    name: str
    arguments: Sequence[UnresolvedOperand]


class OperandParser(LocatingParser):
    """A parser that writes out the operations which a contract has in operands."""

    def __init__(
        self, context: Context, text: str, filename: str, line_offset: int = 0
    ) -> None:
        super().__init__(context, text, filename, line_offset)
        # The one whose operations are parsed; of a module itself there may be none.
        self._block = Block()
        # Of the functions above.
        self._signatures: dict[str, FunctionType] = {}

    # ------------------------------------------------------------ parsing

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        chosen = self._parse_formula(0)
        start = self._current_token.span
        if chosen is None or not self.parse_optional_keyword("if"):
            return chosen
        condition = self._parse_operand_that_binds(0)
        self.parse_keyword("else")
        other = self.parse_unresolved_operand()
        return Formula(start, 0, CONDITION, (condition, chosen, other))

    def _parse_formula(self, weakest: int) -> UnresolvedOperand | None:
        """An operand, and what follows it by signs that bind more than `weakest`."""
        left = self._parse_factor()
        while left is not None:
            token = self._current_token
            sign = _SIGNS.get(token.kind, token.text)
            sign = "==" if sign == "=" else sign
            if sign == "not" or PRECEDENCE.get(sign, 0) <= weakest:
                break
            self._consume_token()
            if sign == "==":
                self.parse_punctuation("=")
            elif sign in ("<", ">") and self.parse_optional_punctuation("="):
                sign += "="
            right = self._parse_operand_that_binds(PRECEDENCE[sign])
            left = Formula(token.span, 0, sign, (left, right))
        return left

    def _parse_operand_that_binds(self, weakest: int) -> UnresolvedOperand:
        return self.expect(lambda: self._parse_formula(weakest), "operand expected")

    def _parse_factor(self) -> UnresolvedOperand | None:
        token = self._current_token
        if token.kind == MLIRTokenKind.PERCENT_IDENT:
            return super().parse_optional_unresolved_operand()
        if self.parse_optional_punctuation("("):
            inner = self.parse_unresolved_operand()
            self.parse_punctuation(")")
            return inner
        if token.kind == MLIRTokenKind.AT_IDENT:
            name = self.parse_symbol_name().data
            arguments = self.parse_optional_comma_separated_list(
                self.Delimiter.PAREN, self.parse_unresolved_operand
            )
            return _NamedStep(token.span, 0, name, arguments or ())
        text = self.lexer.input.content
        is_negated = token.kind == MLIRTokenKind.MINUS and not _DIGITS.match(
            text, token.span.start
        )
        sign = "negated" if is_negated else token.text
        if sign in ("negated", "not"):
            self._consume_token()
            operand = self._parse_operand_that_binds(PRECEDENCE[sign] - 1)
            return Formula(token.span, 0, sign, (operand,))
        if token.text in ARGUMENTS:
            self._consume_token()
            arguments = self.parse_comma_separated_list(
                self.Delimiter.PAREN, self.parse_unresolved_operand
            )
            if len(arguments) != ARGUMENTS[token.text]:
                fault = f"{ARGUMENTS[token.text]} operands, not {len(arguments)}"
                self.raise_error(f"{token.text} takes {fault}", token.span)
            return Formula(token.span, 0, token.text, arguments)
        if token.kind in _NUMBERS:
            value = self.parse_number()
        else:
            value = self.parse_optional_boolean()
        if value is None:
            return None
        return _Literal(token.span, 0, value, token.text[:2] in ("0x", "0X"))

    def parse_operation(self) -> Operation:
        name = self._current_token
        is_formula = name.kind == MLIRTokenKind.PERCENT_IDENT and _FORMULA.match(
            self.lexer.input.content, name.span.start
        )
        if not is_formula:
            return super().parse_operation()
        self._consume_token()
        self.parse_punctuation("=")
        formula = self.parse_unresolved_operand()
        has_type = self.parse_optional_punctuation(":")
        type = self.parse_type() if has_type else self._known_type(formula)
        op = self._operation(formula, type)
        if op is None:
            self.raise_error("this is a value already", formula.span)
        self._register_ssa_definition(name.text[1:], op.results, name.span)
        return op

    # ------------------------------------------------------------ resolving

    def resolve_operand(
        self, operand: UnresolvedOperand, type: TypeT
    ) -> SSAValue[TypeT]:
        op = self._operation(operand, type)
        if op is not None:
            self._block.add_op(op)
            return cast(SSAValue[TypeT], op.results[0])
        name = operand.operand_name
        if name in _LAYER_CONSTANTS and name not in self.ssa_values:
            argument = self._block.insert_arg(
                _LAYER_CONSTANTS[name], len(self._block.args)
            )
            set_hint(argument, name)
            self.ssa_values[name] = (argument,)
        values = self.ssa_values.get(name, ())
        if operand.index < len(values):
            value = values[operand.index]
            widening = _WIDENINGS.get((value.type, type))
            if widening is not None:
                widened = self._located(widening(value), operand)
                self._block.add_op(widened)
                return cast(SSAValue[TypeT], widened.results[0])
        return super().resolve_operand(operand, type)

    def _operation(
        self, operand: UnresolvedOperand, type: Attribute
    ) -> Operation | None:
        """The operation that gives an operand, behind those of its own operands, which
        are added to the block; None of a value."""
        try:
            if isinstance(operand, _Literal):
                op = ConstantOp(operand.constant(type))
            elif isinstance(operand, _NamedStep):
                arguments = self._arguments(operand)
                op = CallOp(operand.name, arguments, [type])
                set_hint(op.results[0], operand.name)
            elif isinstance(operand, Formula):
                op = self._operation_of_formula(operand, type)
            else:
                return None
        except (ValueError, OverflowError, VerifyException) as error:
            self.raise_error(str(error), operand.span)
        return self._located(op, operand)

    def _operation_of_formula(self, formula: Formula, type: Attribute) -> Operation:
        name, operands = formula.operation, formula.operands
        types = [type] * len(operands)
        if name in COMPARISONS or name in ROUNDINGS or name in CONVERSIONS:
            types = [self._known_type(formula, *operands)] * len(operands)
        elif name == CONDITION:
            types[0] = i1
        values = [
            self.resolve_operand(one, own)
            for one, own in zip(operands, types, strict=True)
        ]
        result = result_type(formula)
        if result is not None and result != type:
            raise ValueError(f"`{name}` gives {result}, not {type}")
        if name != "not":
            return make_operation(name, values, type)
        inner, owner = operands[0], values[0].owner
        if isinstance(inner, Formula) and inner.operation in COMPARISONS:
            assert isinstance(owner, Operation)
            if (opposite := turned_around(owner)) is not None:
                owner.detach()
                owner.erase()
                return opposite
        false = self._located(ConstantOp(IntegerAttr(0, i1)), formula)
        self._block.add_op(false)
        return CmpiOp(values[0], false, "eq")

    def _arguments(self, step: _NamedStep) -> list[SSAValue]:
        """The arguments that are written, of the types of the function if that is
        above, else of their own."""
        signature = self._signatures.get(step.name)
        known = () if signature is None else signature.inputs.data
        return [
            self.resolve_operand(
                one, known[i] if i < len(known) else self._known_type(one)
            )
            for i, one in enumerate(step.arguments)
        ]

    def _known_type(
        self, operand: UnresolvedOperand, *parts: UnresolvedOperand
    ) -> Attribute:
        """The type of an operand, or of one of its parts, by what is in it."""
        for one in parts or (operand,):
            found = self._type(one)
            if found is not None:
                return found
        self.raise_error("the type of this operand isn't known here", operand.span)

    def _type(self, operand: UnresolvedOperand) -> Attribute | None:
        match operand:
            case _Literal():
                return None
            case _NamedStep():
                signature = self._signatures.get(operand.name)
                return signature and signature.outputs.data[0]
            case Formula():
                of_result = result_type(operand)
                if of_result is not None:
                    return of_result
                is_choice = operand.operation == CONDITION
                types = map(self._type, operand.operands[is_choice:])
                return next((one for one in types if one is not None), None)
            case _:
                name = operand.operand_name
                values = self.ssa_values.get(name, ())
                if operand.index < len(values):
                    return values[operand.index].type
                return _LAYER_CONSTANTS.get(name)

    def _located(self, op: Operation, operand: UnresolvedOperand) -> Operation:
        line, column = self.line_and_column(operand.span.start)
        op.location = make_file_location(self._filename, line, column)
        return op

    def _parse_block_body(self, block: Block) -> None:
        outer, self._block = self._block, block
        super()._parse_block_body(block)
        self._block = outer
