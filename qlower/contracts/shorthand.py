"""The text of contracts: MLIR, in which a function may be written shorter.

- An operand may be a literal, of the type that the operation gives it: an
  `arith.constant` is put before the operation.
- The constants that a layer has (`rules.py`) may be used without being listed: they
  become arguments, after those that are.
- A function whose last operation defines `%result`, or which returns nothing, may do
  without `return`.

So these are the same, and what is printed is always the second:

    func.func @add(%lhs: i32, %rhs: i32) -> i32 {
      %sum = arith.addi %lhs, %rhs : i32
      %offset = arith.addi %sum, %output_zero_point : i32
      %result = arith.minsi %offset, 127 : i32
    }

    func.func @add(%lhs: i32, %rhs: i32, %output_zero_point: i32) -> i32 {
      %sum = arith.addi %lhs, %rhs : i32
      %offset = arith.addi %sum, %output_zero_point : i32
      %0 = arith.constant 127 : i32
      %result = arith.minsi %offset, %0 : i32
      return %result : i32
    }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    i1,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.mlir_lexer import MLIRTokenKind

from qlower.contracts.rules import RULES
from qlower.diagnostics import make_file_location
from qlower.text.floats import float_from_bits
from qlower.text.parsing import LocatingParser, TypeT, parse_module

RESULT = "result"
"""What a function returns that ends without `return`."""

_LAYER_CONSTANTS = frozenset(name for rule in RULES.values() for name in rule.constants)
_NUMBERS = frozenset(
    {MLIRTokenKind.INTEGER_LIT, MLIRTokenKind.FLOAT_LIT, MLIRTokenKind.MINUS}
)


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


class _ShorthandParser(LocatingParser):
    """A parser that writes out what a contract's text leaves out."""

    _block: Block
    """The block whose operations are parsed."""

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        token = self._current_token
        if token.kind in _NUMBERS:
            value = self.parse_number()
        else:
            value = self.parse_optional_boolean()
        if value is None:
            return super().parse_optional_unresolved_operand()
        return _Literal(token.span, 0, value, token.text[:2] in ("0x", "0X"))

    def resolve_operand(
        self, operand: UnresolvedOperand, type: TypeT
    ) -> SSAValue[TypeT]:
        if isinstance(operand, _Literal):
            return cast(SSAValue[TypeT], self._constant(operand, type).result)
        name = operand.operand_name
        if name in _LAYER_CONSTANTS and name not in self.ssa_values:
            argument = self._block.insert_arg(type, len(self._block.args))
            argument.name_hint = name
            self.ssa_values[name] = (argument,)
        return super().resolve_operand(operand, type)

    def _constant(self, literal: _Literal, type: Attribute) -> ConstantOp:
        try:
            op = ConstantOp(literal.constant(type))
        except (ValueError, VerifyException) as error:
            self.raise_error(str(error), literal.span)
        line, column = self.line_and_column(literal.span.start)
        op.location = make_file_location(self._filename, line, column)
        self._block.add_op(op)
        return op

    def _parse_block_body(self, block: Block) -> None:
        outer = getattr(self, "_block", None)
        self._block = block
        super()._parse_block_body(block)
        if outer is not None:
            self._block = outer

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        if isinstance(op, FuncOp) and len(op.body.blocks) == 1:
            _complete(op)
        return op


def _complete(function: FuncOp) -> None:
    """Let the function's type tell the arguments that were added, and return what it
    defines last."""
    block = function.body.block
    added = len(block.args) - len(function.function_type.inputs)
    if added:
        if function.arg_attrs is not None:
            none = DictionaryAttr({})
            function.arg_attrs = ArrayAttr([*function.arg_attrs, *[none] * added])
        function.update_function_type()
    last = block.last_op
    if last is None or last.has_trait(IsTerminator):
        return
    returned = last.results if function.function_type.outputs else ()
    if all(result.name_hint == RESULT for result in returned):
        end = ReturnOp(*returned)
        end.location = last.location
        block.add_op(end)


def parse_contract_module(text: str, filename: str) -> ModuleOp:
    """The module that a contract's text stands for, not verified yet; errors point into
    `filename`."""
    return parse_module(text, filename, parser=_ShorthandParser)
