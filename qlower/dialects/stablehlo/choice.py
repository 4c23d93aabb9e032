"""Comparisons of `stablehlo`, and what is chosen by them."""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType, TensorType, f32, i1
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape

from ..types import element_type, shape_of
from .attributes import Comparison, ComparisonAttr, Direction, DirectionAttr
from .base import StablehloOp, plain_integer


class CompareOp(StablehloOp, name="stablehlo.compare"):
    """
    Whether the first number is equal, less or greater at each place. NaN is unequal to
    all; signless integers have a sign, and `i1` has none.

    ```mlir
    %y = stablehlo.compare LT, %a, %b, SIGNED
      : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    ```
    """

    lhs = operand_def(TensorType[Attribute])
    rhs = operand_def(TensorType[Attribute])
    output = result_def(TensorType[Attribute])
    comparison_direction = prop_def(DirectionAttr)
    compare_type = opt_prop_def(ComparisonAttr)

    @property
    def direction(self) -> Direction:
        return self.comparison_direction.data

    def result_shape(self) -> Shape:
        if self.lhs.type != self.rhs.type:
            raise VerifyException(f"{self.lhs.type} and {self.rhs.type} differ")
        return shape_of(self.lhs)

    def check(self) -> None:
        element = element_type(self.lhs.type)
        if element_type(self.output.type) != i1:
            raise VerifyException(f"a result of {element_type(self.output.type)}")
        own: dict[Attribute, Comparison] = {
            f32: Comparison.FLOAT,
            i1: Comparison.UNSIGNED,
        }
        expected = own.get(element, Comparison.SIGNED)
        if element != f32 and plain_integer(self.lhs.type) is None:
            raise VerifyException(
                f"elements of {element}; f32 and signless integers are compared"
            )
        given = self.compare_type and self.compare_type.data
        if given not in (None, Comparison.NOTYPE, expected):
            raise VerifyException(f"elements of {element} are compared as {expected}")

    @classmethod
    def parse(cls, parser: Parser) -> CompareOp:
        start = parser.pos
        direction = parser.parse_str_enum(Direction)
        properties: dict[str, Attribute] = {
            "comparison_direction": DirectionAttr(direction)
        }
        parser.parse_punctuation(",")
        operands = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
        if parser.parse_optional_punctuation(",") is not None:
            kind = parser.parse_str_enum(Comparison)
            properties["compare_type"] = ComparisonAttr(kind)
        return cls.parse_end(parser, operands, properties, start)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.direction}, ")
        printer.print_list(self.operands, printer.print_ssa_value)
        if self.compare_type is not None:
            printer.print_string(f", {self.compare_type.data}")
        self.print_end(printer)


class SelectOp(StablehloOp, name="stablehlo.select"):
    """
    An element of the second operand where the first is true, else of the third. The
    first may be one for all.

    ```mlir
    %y = stablehlo.select %p, %a, %b
      : (tensor<4xi1>, tensor<4x!q>, tensor<4x!q>) -> tensor<4x!q>
    ```
    """

    pred = operand_def(TensorType[Attribute])
    on_true = operand_def(TensorType[Attribute])
    on_false = operand_def(TensorType[Attribute])
    output = result_def(TensorType[Attribute])

    def result_shape(self) -> Shape:
        if shape_of(self.pred) not in ((), shape_of(self.on_true)):
            raise VerifyException("the condition has another shape")
        return shape_of(self.on_true)

    def check(self) -> None:
        if element_type(self.pred.type) != i1:
            raise VerifyException(f"a condition of {element_type(self.pred.type)}")
        if not self.on_true.type == self.on_false.type == self.output.type:
            raise VerifyException("what is chosen has several types")

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        start = parser.pos
        operands = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            operands.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        signature = parser.parse_type()
        if not isinstance(signature, FunctionType):
            # The condition's and that of all others.
            parser.parse_punctuation(",")
            value = parser.parse_type()
            signature = FunctionType.from_lists([signature, value, value], [value])
        return cls.create(
            operands=parser.resolve_operands(operands, signature.inputs.data, start),
            result_types=signature.outputs.data,
            attributes=attributes,
        )
