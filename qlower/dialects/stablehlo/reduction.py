"""Sums and the like of integers along dimensions and in windows; and positions."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntElementsAttr,
    Float32Type,
    IntegerAttr,
    IntegerType,
    TensorType,
    i1,
    i64,
)
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from qlower.operators.movement import Pad
from qlower.operators.shapes import Shape, check_least, check_one_each
from qlower.operators.windows import WindowAxis

from ..types import element_type, shape_of
from .attributes import parse_integers
from .base import StablehloOp, integers, paddings, parse_types, plain_integer
from .elementwise import FUNCTIONS

_COMBINING = frozenset(
    f"stablehlo.{name}" for name in ("add", "maximum", "minimum", "multiply")
)


class CombiningOp(StablehloOp, ABC):
    """Signless integers combined in any order, from `init` on, by a body of one
    operation."""

    STEPS: ClassVar = {step.name: step for step in FUNCTIONS if step.name in _COMBINING}

    input = operand_def(TensorType[Attribute])
    init = operand_def(TensorType[Attribute])
    output = result_def(TensorType[Attribute])
    body = region_def("single_block")

    @property
    def step(self) -> str:
        """The name of the operation that combines two elements."""
        first, *_ = self.body.block.ops
        return first.name

    def check(self) -> None:
        element = plain_integer(self.input.type)
        if element is None or element == i1:
            raise VerifyException(
                f"elements of {element_type(self.input.type)}; signless integers of"
                " several bits are reduced, whose order doesn't matter"
            )
        scalar = TensorType(element, [])
        if self.init.type != scalar:
            raise VerifyException(f"an init of {self.init.type}, expected {scalar}")
        if element_type(self.output.type) != element:
            raise VerifyException(f"a result of {element_type(self.output.type)}")
        block = self.body.block
        ops = list(block.ops)
        if (
            tuple(block.arg_types) != (scalar, scalar)
            or len(ops) != 2
            or ops[0].name not in self.STEPS
            or set(ops[0].operands) != set(block.args)
            or tuple(ops[1].operands) != tuple(ops[0].results)
        ):
            raise VerifyException(
                "the body must be one operation on its two arguments, of "
                + ", ".join(self.STEPS)
            )


class ReduceOp(CombiningOp, name="stablehlo.reduce"):
    """
    Signless integers combined along dimensions, which go: sums and products modulo 2^N,
    the largest, the smallest. Each result starts from `init`. The order doesn't matter.

    ```mlir
    %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<4x8xi32>, tensor<i32>) -> tensor<4xi32>
    ```
    """

    dimensions = prop_def(DenseArrayBase.constr(i64))

    @property
    def axes(self) -> tuple[int, ...]:
        """The dimensions that are removed."""
        return integers(self.dimensions)

    def result_shape(self) -> Shape:
        shape = shape_of(self.input)
        if not self.axes or len(set(self.axes)) != len(self.axes):
            raise VerifyException(f"dimensions {list(self.axes)}: each one once")
        for axis in self.axes:
            if not 0 <= axis < len(shape):
                raise VerifyException(
                    f"dimension {axis} is out of range [0, {len(shape) - 1}]"
                )
        return tuple(size for at, size in enumerate(shape) if at not in self.axes)

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        start = parser.pos
        parser.parse_punctuation("(")
        operands = [parser.parse_unresolved_operand()]
        parser.parse_keyword("init")
        parser.parse_punctuation(":")
        operands.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(")")
        if parser.parse_optional_keyword("applies") is None:
            parser.raise_error("one tensor is reduced, by one operation: `applies`")
        place = parser.pos
        name = parser.parse_identifier()
        if name not in cls.STEPS:
            parser.raise_error(
                f"{name} isn't supported; expected {', '.join(cls.STEPS)}",
                place,
                parser.pos,
            )
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        dimensions = DenseArrayBase.from_list(i64, parse_integers(parser))
        inputs, outputs = parse_types(parser, 2)
        scalar = inputs[1]
        block = Block(arg_types=[scalar, scalar])
        step = cls.STEPS[name].create(operands=block.args, result_types=[scalar])
        block.add_ops((step, ReturnOp(*step.results)))
        return cls.create(
            operands=parser.resolve_operands(operands, inputs, start),
            result_types=outputs,
            properties={"dimensions": dimensions},
            regions=[Region(block)],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_ssa_value(self.input)
        printer.print_string(" init: ")
        printer.print_ssa_value(self.init)
        axes = list(self.axes)
        printer.print_string(f") applies {self.step} across dimensions = {axes}")
        self.print_end(printer)


class ReduceWindowOp(CombiningOp, name="stablehlo.reduce_window"):
    """
    Signless integers combined within windows that slide along every dimension, as pools
    do. `init` is around the operand, in the gaps that `base_dilations` make, and where
    each result starts from.

    ```mlir
    %y = "stablehlo.reduce_window"(%x, %least) <{
      window_dimensions = array<i64: 1, 2, 2, 1>,
      window_strides = array<i64: 1, 2, 2, 1>
    }> ({
    ^bb0(%a: tensor<i8>, %b: tensor<i8>):
      %m = stablehlo.maximum %a, %b : tensor<i8>
      stablehlo.return %m : tensor<i8>
    }) : (tensor<1x4x4x3xi8>, tensor<i8>) -> tensor<1x2x2x3xi8>
    ```
    """

    window_dimensions = prop_def(DenseArrayBase.constr(i64))
    window_strides = opt_prop_def(DenseArrayBase.constr(i64))
    base_dilations = opt_prop_def(DenseArrayBase.constr(i64))
    window_dilations = opt_prop_def(DenseArrayBase.constr(i64))
    padding = opt_prop_def(DenseIntElementsAttr)

    # It has upstream's generic form only.
    print = Operation.print

    @property
    def movement(self) -> Pad:
        """The operand with `init` around and between its elements."""
        rank = len(shape_of(self.input))
        low, high = zip(*paddings(self.padding, rank), strict=True)
        gaps = [step - 1 for step in self._steps("base_dilations")]
        return Pad(low, high, gaps, names=("padding", "padding", "base_dilations - 1"))

    @property
    def filler(self) -> SSAValue:
        """The value around and between the elements."""
        return self.init

    @property
    def windows(self) -> list[WindowAxis]:
        """The window along each dimension of the operand that `movement` gives."""
        taps = integers(self.window_dimensions)
        lists = zip(
            self.movement.result_shape(shape_of(self.input)),
            taps,
            self._steps("window_strides"),
            self._steps("window_dilations"),
            strict=True,
        )
        return [
            WindowAxis(size, count, stride, dilation=dilation)
            for size, count, stride, dilation in lists
        ]

    def _steps(self, name: str) -> tuple[int, ...]:
        """A list with a number for each dimension, 1 where there is none."""
        shape, given = shape_of(self.input), self.properties.get(name)
        steps = (1,) * len(shape)
        if isa(given, DenseArrayBase[IntegerType]):
            steps = integers(given)
        check_one_each(name, steps, shape)
        check_least(name, steps, 1)
        return steps

    def result_shape(self) -> Shape:
        if not shape_of(self.input):
            raise VerifyException("one number has no windows")
        self._steps("window_dimensions")
        for axis, window in enumerate(self.windows):
            if window.room < 0:
                raise VerifyException(
                    f"the window spans {window.extent} elements along dimension {axis},"
                    f" which has {window.size}"
                )
        return tuple(window.results for window in self.windows)


@irdl_op_definition
class ReturnOp(AbstractYieldOperation[Attribute]):
    """Ends the body of an operation with what it gives."""

    name = "stablehlo.return"
    traits = traits_def(IsTerminator())


class IotaOp(StablehloOp, name="stablehlo.iota"):
    """
    The position of each element along a dimension, of signless integers or f32.

    ```mlir
    %p = stablehlo.iota dim = 1 : tensor<2x4xi32>
    ```
    """

    output = result_def(TensorType[Attribute])
    iota_dimension = prop_def(IntegerAttr.constr(i64))

    @property
    def axis(self) -> int:
        return self.iota_dimension.value.data

    def result_shape(self) -> Shape:
        shape = shape_of(self.output)
        if not 0 <= self.axis < len(shape):
            raise VerifyException(
                f"dimension {self.axis} is out of range [0, {len(shape) - 1}]"
            )
        return shape

    def check(self) -> None:
        element = element_type(self.output.type)
        integer = plain_integer(self.output.type)
        if integer is None and not isinstance(element, Float32Type):
            raise VerifyException(
                f"elements of {element}; signless integers and f32 are counted"
            )
        last = shape_of(self.output)[self.axis] - 1
        if integer is not None and last >= 1 << (integer.width.data - 1):
            raise VerifyException(f"position {last} is none of {element}")

    @classmethod
    def parse(cls, parser: Parser) -> IotaOp:
        parser.parse_keyword("dim")
        parser.parse_punctuation("=")
        axis = IntegerAttr(parser.parse_integer(allow_boolean=False), i64)
        parser.parse_punctuation(":")
        return cls.create(
            result_types=[parser.parse_type()], properties={"iota_dimension": axis}
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" dim = {self.axis} : ")
        printer.print_attribute(self.output.type)
