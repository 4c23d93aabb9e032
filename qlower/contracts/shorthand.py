"""The text of contracts: MLIR, in which a function may be written shorter.

- An operand may be a number, of the type that the operation gives it: an
  `arith.constant` is put before the operation.
- It may be the name of a step, `@step`: what that gives, all of whose arguments are
  values (`calls.py`). Arguments that aren't follow in brackets, `@step(%x)`.
- It may be of a narrower type where that changes no number: i32 is extended to i64 and
  converted to f64, f32 to f64.
- The constants that a layer has (`rules.py`) may be used without being listed: they
  become arguments, after those that are.
- A function whose last operation defines `%result`, or which returns nothing, may do
  without `return`.
- `serves conv2d, linear` before a function's body is its attribute `contract.rules`,
  `replaces` in front of that `contract.replaces`.

So these are the same, and what is printed is always the second:

    func.func @rescale(%input: i32) -> i32 serves requantize, clamp {
      %centred = arith.subi %input, %input_zero_point : i32
      %scaled = func.call @multiply(%centred, @ratio) : (i32, f64) -> i32
      %result = arith.minsi %scaled, 127 : i32
    }

    func.func @rescale(%input: i32, %input_zero_point: i32) -> i32
        attributes {contract.rules = ["requantize", "clamp"]} {
      %centred = arith.subi %input, %input_zero_point : i32
      %ratio = func.call @ratio() : () -> f64
      %scaled = func.call @multiply(%centred, %ratio) : (i32, f64) -> i32
      %0 = arith.constant 127 : i32
      %result = arith.minsi %scaled, %0 : i32
      return %result : i32
    }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp, ExtFOp, ExtSIOp, SIToFPOp
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.mlir_lexer import MLIRTokenKind

from qlower.contracts.reading import REPLACES, SERVED
from qlower.contracts.rules import RULES
from qlower.diagnostics import QlowerError, make_file_location
from qlower.text.floats import float_from_bits
from qlower.text.hints import set_hint
from qlower.text.parsing import LocatingParser, TypeT, parse_module

RESULT = "result"
"""The value that a function without `return` returns."""

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


class _ShorthandParser(LocatingParser):
    """A parser that writes out what a contract's text leaves out."""

    def __init__(
        self, context: Context, text: str, filename: str, line_offset: int = 0
    ) -> None:
        super().__init__(context, text, filename, line_offset)
        # The one whose operations are parsed; of a module itself there may be none.
        self._block = Block()

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        token = self._current_token
        if token.kind == MLIRTokenKind.AT_IDENT:
            name = self.parse_symbol_name().data
            arguments = self.parse_optional_comma_separated_list(
                self.Delimiter.PAREN, self.parse_unresolved_operand
            )
            return _NamedStep(token.span, 0, name, arguments or ())
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
            try:
                constant = ConstantOp(operand.constant(type))
            except (ValueError, OverflowError, VerifyException) as error:
                self.raise_error(str(error), operand.span)
            return self._result(constant, operand, type)
        if isinstance(operand, _NamedStep):
            arguments = [self._resolve_argument(one) for one in operand.arguments]
            call = CallOp(operand.name, arguments, [type])
            set_hint(call.results[0], operand.name)
            return self._result(call, operand, type)
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
                return self._result(widening(value), operand, type)
        return super().resolve_operand(operand, type)

    def _resolve_argument(self, operand: UnresolvedOperand) -> SSAValue:
        """An argument of a step that is an operand, whose type isn't written: it is
        that of the value."""
        name = operand.operand_name
        is_name = not isinstance(operand, _Literal | _NamedStep)
        values = self.ssa_values.get(name, ())
        if is_name and operand.index < len(values):
            return values[operand.index]
        if not is_name or name not in _LAYER_CONSTANTS:
            self.raise_error("the type of this argument isn't known here", operand.span)
        return self.resolve_operand(operand, _LAYER_CONSTANTS[name])

    def _result(
        self, op: Operation, operand: UnresolvedOperand, type: TypeT
    ) -> SSAValue[TypeT]:
        """The result of an operation inserted before the one that is parsed."""
        line, column = self.line_and_column(operand.span.start)
        op.location = make_file_location(self._filename, line, column)
        self._block.add_op(op)
        return cast(SSAValue[TypeT], op.results[0])

    def parse_optional_attr_dict_with_keyword(
        self, reserved_attr_names: Iterable[str] = ()
    ) -> DictionaryAttr | None:
        found: dict[str, Attribute] = {}
        if self.parse_optional_keyword("replaces"):
            found[REPLACES] = UnitAttr()
        if self.parse_optional_keyword("serves"):
            rules = self.parse_comma_separated_list(
                self.Delimiter.NONE, lambda: StringAttr(self.parse_identifier())
            )
            found[SERVED] = ArrayAttr(rules)
        others = super().parse_optional_attr_dict_with_keyword(
            (*reserved_attr_names, *found)
        )
        if others is not None:
            found = {**others.data, **found}
        return DictionaryAttr(found) if found else None

    def _parse_block_body(self, block: Block) -> None:
        outer, self._block = self._block, block
        super()._parse_block_body(block)
        self._block = outer

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        if isinstance(op, FuncOp) and len(op.body.blocks) == 1:
            _complete(op)
        return op


def _complete(function: FuncOp) -> None:
    """Enter the added arguments in the function's type, and return the value it defines
    last."""
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
    """The module of a contract's text, which has one block and isn't verified yet;
    errors point into `filename`."""
    module = parse_module(text, filename, parser=_ShorthandParser)
    blocks = len(module.body.blocks)
    if blocks != 1:
        raise QlowerError(
            f"a contract's functions are in one block, not {blocks}", module.location
        )
    return module
