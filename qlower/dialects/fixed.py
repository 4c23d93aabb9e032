"""
The `fixed` dialect: the steps of fixed-point arithmetic that `arith` has no op for.

Each op is a function of mathematical integers or reals followed by one rounding or one
saturation, so that no intermediate can overflow. Integers are signless and read as
two's complement. Operands may be scalars, or vectors and tensors element by element.
"""

from __future__ import annotations

from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    IntegerType,
    ShapedType,
    SignlessIntegerConstraint,
    UnitAttr,
    VectorType,
    container_of,
    i8,
    i16,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    EqAttrConstraint,
    IRDLOperation,
    MessageConstraint,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from .types import element_type, integer_range
from .words import InBrackets


class RoundingMode(StrEnum):
    """The integer that a real number becomes. The `half_` modes take the nearest one
    and differ only in ties: up, down, away from zero, toward zero, to the even one."""

    HALF_UP = "half_up"
    HALF_DOWN = "half_down"
    HALF_AWAY = "half_away"
    HALF_TOWARD_ZERO = "half_toward_zero"
    HALF_EVEN = "half_even"
    FLOOR = "floor"
    CEIL = "ceil"
    TOWARD_ZERO = "toward_zero"


@irdl_attr_definition
class RoundingModeAttr(InBrackets[RoundingMode], EnumAttribute[RoundingMode]):
    """A rounding mode; the ops write it bare: `{rounding = half_up}`."""

    name = "fixed.rounding"


IntegersConstraint = MessageConstraint(
    container_of(SignlessIntegerConstraint), "expected signless integers"
)
BytesConstraint = MessageConstraint(container_of(EqAttrConstraint(i8)), "expected i8")
WordsConstraint = MessageConstraint(container_of(EqAttrConstraint(i16)), "expected i16")
FloatsConstraint = MessageConstraint(container_of(AnyFloatConstr), "expected floats")


def _parse_rounding(parser: Parser) -> RoundingModeAttr:
    with parser.in_braces():
        parser.parse_keyword("rounding")
        parser.parse_punctuation("=")
        return RoundingModeAttr(parser.parse_str_enum(RoundingMode))


def _print_rounding(rounding: RoundingModeAttr, printer: Printer) -> None:
    printer.print_string(f" {{rounding = {rounding.data}}}")


def _scalar(type: Attribute) -> Attribute:
    """The element type of a container, or the scalar type itself."""
    if isinstance(type, VectorType):
        return cast(VectorType[Attribute], type).element_type
    return element_type(type)


def _width(type: Attribute) -> int:
    """Bits of an integer type or of the elements of a container of integers."""
    scalar = _scalar(type)
    assert isinstance(scalar, IntegerType)
    return scalar.bitwidth


def _check_same_shape(operand: Attribute, result: Attribute) -> None:
    """Refuses a conversion between a scalar and a container or different shapes."""
    shapes = [
        (type.name, type.get_shape()) if isinstance(type, ShapedType) else None
        for type in (operand, result)
    ]
    if shapes[0] != shapes[1]:
        raise VerifyException(f"shape of {operand} differs from that of {result}")


@irdl_op_definition
class ShiftRightOp(IRDLOperation):
    """
    Rounding division by a power of two: `round(x / 2^n)`.

    The division is that of real numbers, so nothing overflows: the result always fits
    the type of x. `n` has the type of x; it is poison unless `0 <= n < width`: an error
    in the interpreter, and refused by the pass check-defined where it isn't proved.

    ```mlir
    %y = fixed.shift_right %x, %n {rounding = half_up} : i64
    ```
    """

    name = "fixed.shift_right"

    _T: ClassVar = VarConstraint("T", IntegersConstraint)

    operand = operand_def(_T)
    amount = operand_def(_T)
    result = result_def(_T)

    rounding = prop_def(RoundingModeAttr)

    traits = traits_def(Pure())

    def __init__(
        self,
        operand: SSAValue | Operation,
        amount: SSAValue | Operation,
        rounding: RoundingMode,
    ):
        super().__init__(
            operands=[operand, amount],
            result_types=[SSAValue.get(operand).type],
            properties={"rounding": RoundingModeAttr(rounding)},
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        amount = parser.parse_unresolved_operand()
        rounding = _parse_rounding(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls.create(
            operands=[
                parser.resolve_operand(value, type) for value in (operand, amount)
            ],
            result_types=[type],
            properties={"rounding": rounding},
            attributes={} if attributes is None else attributes.data,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        _print_rounding(self.rounding, printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class ConvertOp(IRDLOperation):
    """Convert a float to the nearest representable integer:
    `min(max(round(x), -2^(width-1)), 2^(width-1) - 1)`.

    `width` is that of the result. Infinities saturate; NaN becomes 0.

    ```mlir
    %y = fixed.convert %x {rounding = half_away} : f64 to i32
    ```
    """

    name = "fixed.convert"

    operand = operand_def(FloatsConstraint)
    result = result_def(IntegersConstraint)

    rounding = prop_def(RoundingModeAttr)

    traits = traits_def(Pure())

    def __init__(
        self,
        operand: SSAValue | Operation,
        result_type: Attribute,
        rounding: RoundingMode,
    ):
        super().__init__(
            operands=[operand],
            result_types=[result_type],
            properties={"rounding": RoundingModeAttr(rounding)},
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        rounding = _parse_rounding(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        operand_type = parser.parse_type()
        parser.parse_keyword("to")
        return cls.create(
            operands=[parser.resolve_operand(operand, operand_type)],
            result_types=[parser.parse_type()],
            properties={"rounding": rounding},
            attributes={} if attributes is None else attributes.data,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        _print_rounding(self.rounding, printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)
        printer.print_string(" to ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        _check_same_shape(self.operand.type, self.result.type)


@irdl_op_definition
class SaturateOp(IRDLOperation):
    """
    Saturating narrowing: `min(max(x, low), high)` in the low bits of a narrower type.

    x is signed; [low, high] is [-2^(width-1), 2^(width-1) - 1] of the result's width,
    or [0, 2^width - 1] with `unsigned`.

    ```mlir
    %y = fixed.saturate %x : i64 to i32
    %z = fixed.saturate %y {unsigned} : i32 to i8
    ```
    """

    name = "fixed.saturate"

    operand = operand_def(IntegersConstraint)
    result = result_def(IntegersConstraint)

    unsigned_attr = opt_prop_def(UnitAttr, prop_name="unsigned")

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($operand) `to` type($result)"
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(
        self,
        operand: SSAValue | Operation,
        result_type: Attribute,
        *,
        unsigned: bool = False,
    ):
        super().__init__(
            operands=[operand],
            result_types=[result_type],
            properties={"unsigned": UnitAttr() if unsigned else None},
        )

    @property
    def unsigned(self) -> bool:
        """Whether the result is in the unsigned range of its type."""
        return self.unsigned_attr is not None

    @property
    def bounds(self) -> tuple[int, int]:
        """The range that x is clamped to."""
        return integer_range(_width(self.result.type), signed=not self.unsigned)

    def verify_(self) -> None:
        _check_same_shape(self.operand.type, self.result.type)
        operand, result = _width(self.operand.type), _width(self.result.type)
        if result >= operand:
            raise VerifyException(
                f"result width {result} is not below the operand's {operand}"
            )


@irdl_op_definition
class PairDotOp(IRDLOperation):
    """
    Sum of two products, saturated to 16 bits (x86's `vpmaddubsw`, one lane):
    `min(max(a0 * b0 + a1 * b1, -2^15), 2^15 - 1)`.

    a0 and a1 are unsigned, [0, 255]; b0 and b1 are signed, [-128, 127].

    ```mlir
    %y = fixed.pair_dot %a0, %b0, %a1, %b1 : i8 -> i16
    ```
    """

    name = "fixed.pair_dot"

    _T: ClassVar = VarConstraint("T", BytesConstraint)

    a0 = operand_def(_T)
    b0 = operand_def(_T)
    a1 = operand_def(_T)
    b1 = operand_def(_T)
    result = result_def(WordsConstraint)

    traits = traits_def(Pure())

    assembly_format = (
        "$a0 `,` $b0 `,` $a1 `,` $b1 attr-dict `:` type($a0) `->` type($result)"
    )

    def __init__(
        self,
        a0: SSAValue | Operation,
        b0: SSAValue | Operation,
        a1: SSAValue | Operation,
        b1: SSAValue | Operation,
        result_type: Attribute = i16,
    ):
        super().__init__(operands=[a0, b0, a1, b1], result_types=[result_type])

    def verify_(self) -> None:
        _check_same_shape(self.a0.type, self.result.type)


FIXED = Dialect(
    "fixed",
    [ShiftRightOp, ConvertOp, SaturateOp, PairDotOp],
    [RoundingModeAttr],
)
