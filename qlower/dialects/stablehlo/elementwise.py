"""Operations of `stablehlo` on one element of each operand, and between types."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32
from xdsl.ir import Attribute
from xdsl.irdl import (
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from qlower.operators.shapes import Shape

from ..operations import define
from ..types import element_type, shape_of
from .base import StablehloOp, parse_types, plain_integer, quantization


class ConstantOp(StablehloOp, name="stablehlo.constant"):
    """
    A tensor of numbers, or of the stored integers of quantized ones.

    ```mlir
    %c = stablehlo.constant dense<[1.5, 2.0]> : tensor<2xf32>
    ```
    """

    value = prop_def(DenseIntOrFPElementsAttr)
    output = result_def(TensorType[Attribute])

    traits = traits_def(Pure(), ConstantLike())

    def result_shape(self) -> Shape:
        return tuple(self.value.get_shape())

    def check(self) -> None:
        quantized = quantization(self.output.type)
        element = element_type(self.output.type)
        stored = element if quantized is None else quantized.storage_type
        if self.value.get_element_type() != stored:
            raise VerifyException(
                f"elements of {self.value.get_element_type()} are stored as {stored}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        if parser.parse_optional_punctuation("(") is not None:
            # Upstream's text of one that is quantized.
            parser.parse_punctuation(")")
            properties = parser.parse_optional_properties_dict()
            attributes = parser.parse_optional_attr_dict()
            _, outputs = parse_types(parser, 0)
            return cls.create(
                properties=properties, attributes=attributes, result_types=outputs
            )
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        if not isa(value, DenseIntOrFPElementsAttr):
            parser.raise_error("a constant is dense elements")
        return cls.create(
            properties={"value": value},
            attributes=attributes,
            result_types=[value.type],
        )

    def print(self, printer: Printer) -> None:
        if self.value.type != self.output.type:
            printer.print_string("() <{value = ")
            printer.print_attribute(self.value)
            printer.print_string("}>")
            self.print_end(printer)
            return
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)


class ElementwiseOp(StablehloOp, ABC):
    """
    A function of real numbers at each place. Quantized operands are dequantized, a
    quantized result is quantized. Those of `INTEGRAL` are on signless integers as well,
    where sums, differences and products wrap.

    ```mlir
    %y = stablehlo.subtract %a, %b : (tensor<4x!a>, tensor<4x!b>) -> tensor<4x!y>
    ```
    """

    input = var_operand_def(TensorType[Attribute])
    output = result_def(TensorType[Attribute])

    ARITY: ClassVar[int]

    def result_shape(self) -> Shape:
        if len(self.input) != self.ARITY:
            raise VerifyException(f"{len(self.input)} operands, there are {self.ARITY}")
        shapes = {shape_of(operand) for operand in self.input}
        if len(shapes) != 1:
            raise VerifyException("the shapes of the operands differ")
        return next(iter(shapes))

    @property
    def is_integral(self) -> bool:
        """Whether it is on plain integers of one type."""
        types = {plain_integer(value.type) for value in (*self.operands, *self.results)}
        return self.kind in INTEGRAL and len(types) == 1 and None not in types

    def check(self) -> None:
        if self.is_integral:
            return
        for value in (*self.operands, *self.results):
            quantized = quantization(value.type)
            if quantized is None and element_type(value.type) != f32:
                raise VerifyException(
                    f"elements of {element_type(value.type)}; f32 and quantized ones"
                    " are supported"
                )


class ClampOp(ElementwiseOp, name="stablehlo.clamp"):
    """
    The number, or the bound that it is beyond; a bound has its shape or none.

    ```mlir
    %y = stablehlo.clamp %least, %x, %most : tensor<4xf32>
    ```
    """

    ARITY: ClassVar[int] = 3

    def result_shape(self) -> Shape:
        if len(self.input) != self.ARITY:
            raise VerifyException(f"{len(self.input)} operands, there are {self.ARITY}")
        least, x, most = map(shape_of, self.input)
        if {least, most} - {x, ()}:
            raise VerifyException("the bounds have another shape")
        return x


class UnaryOp(ElementwiseOp, ABC):
    """A function of one number, of those in `UNARY`."""

    ARITY: ClassVar[int] = 1


class BinaryOp(ElementwiseOp, ABC):
    """A function of two numbers, of those in `BINARY`."""

    ARITY: ClassVar[int] = 2


UNARY = (
    "abs",
    "cbrt",
    "ceil",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "floor",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tanh",
)
"""Functions of one number; afz is away from zero."""

BINARY = ("add", "divide", "maximum", "minimum", "multiply", "subtract")

SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")
"""Shifts of integers; one by all of their bits or more leaves the sign alone."""

INTEGRAL = frozenset(
    {"add", "clamp", "maximum", "minimum", "multiply", "subtract", *SHIFTS}
)
"""Operations on plain integers."""


class ShiftOp(ElementwiseOp, ABC):
    """A shift of plain integers, of those in `SHIFTS`."""

    ARITY: ClassVar[int] = 2

    def check(self) -> None:
        if not self.is_integral:
            types = ", ".join(str(element_type(type)) for type in self.operand_types)
            raise VerifyException(f"elements of {types}; one signless type is shifted")


FUNCTIONS = [
    define(f"stablehlo.{name}", base)
    for base, names in ((UnaryOp, UNARY), (BinaryOp, BINARY), (ShiftOp, SHIFTS))
    for name in names
]
"""The classes of these operations."""


class _Conversion(StablehloOp):
    input = operand_def(TensorType[Attribute])
    output = result_def(TensorType[Attribute])


class ConvertOp(_Conversion, name="stablehlo.convert"):
    """
    Numbers of another plain type: real ones cut toward 0 and kept in an integer's
    range, NaN as 0; integers rounded to the nearest real one, half to even;
    and integers whose higher bits go, or copy the sign. An `i1` is 0 or 1, and whether
    a number isn't 0.

    ```mlir
    %y = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xf32>
    ```
    """

    def result_shape(self) -> Shape:
        return shape_of(self.input)

    def check(self) -> None:
        for type in (self.input.type, self.output.type):
            if element_type(type) != f32 and plain_integer(type) is None:
                raise VerifyException(
                    f"elements of {element_type(type)}; f32 and signless integers are"
                    " converted"
                )


class UniformQuantizeOp(_Conversion, name="stablehlo.uniform_quantize"):
    """
    Real to quantized, or quantized to quantized by other parameters.

    ```mlir
    %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!q>
    ```
    """

    def check(self) -> None:
        if quantization(self.output.type) is None:
            raise VerifyException(f"{self.output.type} is not quantized")
        if quantization(self.input.type) is None:
            _require_real(self.input.type)


class UniformDequantizeOp(_Conversion, name="stablehlo.uniform_dequantize"):
    """
    Quantized to real.

    ```mlir
    %x = stablehlo.uniform_dequantize %q : (tensor<4x!q>) -> tensor<4xf32>
    ```
    """

    def check(self) -> None:
        if quantization(self.input.type) is None:
            raise VerifyException(f"{self.input.type} is not quantized")
        _require_real(self.output.type)


def _require_real(type: Attribute) -> None:
    if element_type(type) != f32:
        raise VerifyException(f"elements of {element_type(type)}, not f32")
