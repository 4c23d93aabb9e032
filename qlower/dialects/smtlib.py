"""Functions of SMT-LIB that xDSL's `smt` dialect doesn't have.

That dialect has booleans and most functions of bit vectors, but no comparison, slice or
extension of them, and no floating-point numbers. `smtlib` has the type of these, and
one operation that applies a function by its SMT-LIB name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

FUNCTIONS: Mapping[str, int] = {
    "ite": 3,
    **dict.fromkeys(("=", "bvslt", "bvsle", "bvult", "bvule"), 2),
    **dict.fromkeys(("extract", "sign_extend", "zero_extend"), 1),
    **dict.fromkeys(("to_fp", "to_fp_unsigned", "fp.to_sbv"), 1),
    **dict.fromkeys(("fp.isNaN", "fp.isNegative", "fp.abs", "fp.neg"), 1),
    **dict.fromkeys(("fp.sqrt", "fp.roundToIntegral"), 1),
    **dict.fromkeys(("fp.add", "fp.sub", "fp.mul", "fp.div"), 2),
    **dict.fromkeys(("fp.eq", "fp.lt", "fp.leq"), 2),
    "fp.fma": 3,
}
"""The operands of each function, rounding modes aside, which are part of its name."""


@irdl_attr_definition
class FloatType(ParametrizedAttribute, TypeAttribute):
    """SMT-LIB's sort `(_ FloatingPoint eb sb)`: bits of the exponent, and of the
    significand with its hidden one. f32 is `!smtlib.float<8, 24>`."""

    name = "smtlib.float"

    exponent: IntAttr
    significand: IntAttr

    def __init__(self, exponent: int, significand: int):
        super().__init__(IntAttr(exponent), IntAttr(significand))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            exponent = parser.parse_integer(allow_negative=False)
            parser.parse_punctuation(",")
            significand = parser.parse_integer(allow_negative=False)
        return (IntAttr(exponent), IntAttr(significand))

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.exponent.data}, {self.significand.data}>")

    def verify(self) -> None:
        if min(self.exponent.data, self.significand.data) < 2:
            raise VerifyException("exponent and significand have at least 2 bits each")


def head(function: str) -> str:
    """The name of a function without its indices and rounding mode."""
    return function.removeprefix("(_ ").split()[0]


@irdl_op_definition
class ApplyOp(IRDLOperation):
    """
    Application of a function, written as in SMT-LIB with its indices and rounding mode.

    ```mlir
    %y = smtlib.apply "(_ extract 7 0)"(%x) : (!smt.bv<32>) -> !smt.bv<8>
    %z = smtlib.apply "fp.mul RNE"(%a, %b)
      : (!smtlib.float<8, 24>, !smtlib.float<8, 24>) -> !smtlib.float<8, 24>
    ```
    """

    name = "smtlib.apply"

    function = prop_def(StringAttr)
    arguments = var_operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = (
        "$function `(` $arguments `)` attr-dict "
        "`:` functional-type($arguments, $result)"
    )

    def __init__(self, function: str, arguments: Sequence[SSAValue], result: Attribute):
        super().__init__(
            operands=[arguments],
            result_types=[result],
            properties={"function": StringAttr(function)},
        )

    def verify_(self) -> None:
        name = self.function.data
        count = FUNCTIONS.get(head(name))
        if count is None:
            known = ", ".join(FUNCTIONS)
            raise VerifyException(f"{name!r} is no function of these: {known}")
        if count != len(self.arguments):
            raise VerifyException(
                f"{name!r} has {count} operands, not {len(self.arguments)}"
            )


SMTLIB = Dialect("smtlib", [ApplyOp], [FloatType])
"""The dialect."""
