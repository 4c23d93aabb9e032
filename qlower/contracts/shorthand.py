"""The text of contracts: MLIR, in which a function may be written shorter.

- An operand may be a number, of the type that the operation gives it: an
  `arith.constant` is put before the operation.
- It may be the name of a step, `@step`: what that gives, all of whose arguments are
  values (`calls.py`). Arguments that aren't follow in brackets, `@step(%x)`.
- It may be a formula, `%x * %scale + 0.5` (`formulas.py`), and an operation may be no
  more than an operand, `%y = %x * %scale`.
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
      %centred = %input - %input_zero_point
      %scaled = func.call @multiply(%centred, @ratio) : (i32, f64) -> i32
      %result = min(%scaled, 127)
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

from collections.abc import Iterable

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import IsTerminator

from qlower.contracts.operands import OperandParser
from qlower.contracts.reading import REPLACES, SERVED
from qlower.diagnostics import QlowerError
from qlower.text.parsing import parse_module

RESULT = "result"
"""The value that a function without `return` returns."""


class _ShorthandParser(OperandParser):
    """A parser that writes out what a contract's text leaves out."""

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

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        if isinstance(op, FuncOp) and len(op.body.blocks) == 1:
            _complete(op)
            self._signatures[op.sym_name.data] = op.function_type
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
