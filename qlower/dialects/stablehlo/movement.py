"""Operations of `stablehlo` that move elements."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..types import element_type, shape_of
from .base import Shape, StablehloOp, integers, parse_types

Integers = DenseArrayBase.constr(i64)


class MovementOp(StablehloOp, ABC):
    """An operation that computes nothing: elements keep their type."""

    output = result_def(TensorType[Attribute])

    def check(self) -> None:
        types = [element_type(value.type) for value in (*self.operands, self.output)]
        if len(set(types)) != 1:
            raise VerifyException(
                f"element types {', '.join(map(str, types))} differ;"
                " elements that move keep theirs"
            )
        if getattr(types[0], "is_per_tensor", True) is False:
            raise VerifyException(
                f"{types[0]} has more than one scale, which isn't supported here"
            )


@irdl_op_definition
class ReshapeOp(MovementOp):
    """
    The elements in the same order, in another shape.

    ```mlir
    %y = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
    ```
    """

    name = "stablehlo.reshape"

    input = operand_def(TensorType[Attribute])

    def result_shape(self) -> Shape:
        target = shape_of(self.output)
        if math.prod(target) != math.prod(shape_of(self.input)):
            raise VerifyException(f"{self.input.type} can't become {self.output.type}")
        return target


@irdl_op_definition
class TransposeOp(MovementOp):
    """
    Result dimension i is operand dimension `permutation[i]`.

    ```mlir
    %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```
    """

    name = "stablehlo.transpose"
    CLAUSES: ClassVar[Mapping[str, str]] = {"dims": "permutation"}

    input = operand_def(TensorType[Attribute])
    permutation = prop_def(Integers)

    def result_shape(self) -> Shape:
        shape, permutation = shape_of(self.input), integers(self.permutation)
        if sorted(permutation) != list(range(len(shape))):
            raise VerifyException(
                f"{list(permutation)} is no order of {len(shape)} dimensions"
            )
        return tuple(shape[axis] for axis in permutation)


@irdl_op_definition
class BroadcastInDimOp(MovementOp):
    """
    Operand dimension i becomes result dimension `broadcast_dimensions[i]`; sizes of 1
    are repeated, and so is everything along the other dimensions.

    ```mlir
    %y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "stablehlo.broadcast_in_dim"
    CLAUSES: ClassVar[Mapping[str, str]] = {"dims": "broadcast_dimensions"}

    input = operand_def(TensorType[Attribute])
    broadcast_dimensions = prop_def(Integers)

    def result_shape(self) -> Shape:
        shape, target = shape_of(self.input), shape_of(self.output)
        dimensions = integers(self.broadcast_dimensions)
        fits = len(dimensions) == len(shape) == len(set(dimensions)) and all(
            0 <= axis < len(target) and size in (1, target[axis])
            for axis, size in zip(dimensions, shape, strict=True)
        )
        if not fits:
            raise VerifyException(
                f"dimensions {list(dimensions)} don't bring {list(shape)} to "
                f"{list(target)}"
            )
        return target


@irdl_op_definition
class ConcatenateOp(MovementOp):
    """
    The operands side by side.

    ```mlir
    %y = stablehlo.concatenate %a, %b, dim = 0
      : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
    ```
    """

    name = "stablehlo.concatenate"
    CLAUSES: ClassVar[Mapping[str, str]] = {"dim": "dimension"}
    NUMBERS: ClassVar[frozenset[str]] = frozenset({"dim"})

    inputs = var_operand_def(TensorType[Attribute])
    dimension = prop_def(IntegerAttr.constr(i64))

    def result_shape(self) -> Shape:
        if not self.inputs:
            raise VerifyException("there are no operands")
        axis = self.dimension.value.data
        shapes = [list(shape_of(operand)) for operand in self.inputs]
        if not 0 <= axis < len(shapes[0]):
            raise VerifyException(f"dimension {axis} of {len(shapes[0])}")
        joined = [*shapes[0]]
        joined[axis] = 0
        for shape in shapes:
            if len(shape) != len(joined):
                raise VerifyException("the operands have different ranks")
            joined[axis] += shape[axis]
            shape[axis] = shapes[0][axis]
            if shape != shapes[0]:
                raise VerifyException("the operands differ in other dimensions")
        return tuple(joined)


@irdl_op_definition
class SliceOp(MovementOp):
    """
    Every `stride`th element of a box.

    ```mlir
    %y = stablehlo.slice %x [1:3, 0:4:2] : (tensor<3x4xf32>) -> tensor<2x2xf32>
    ```
    """

    name = "stablehlo.slice"

    input = operand_def(TensorType[Attribute])
    start_indices = prop_def(Integers)
    limit_indices = prop_def(Integers)
    strides = prop_def(Integers)

    @property
    def box(self) -> list[tuple[int, int, int]]:
        """Start, limit and stride of each dimension."""
        lists = (self.start_indices, self.limit_indices, self.strides)
        return list(zip(*map(integers, lists), strict=True))

    def result_shape(self) -> Shape:
        shape = shape_of(self.input)
        lists = (self.start_indices, self.limit_indices, self.strides)
        if {len(values) for values in lists} != {len(shape)}:
            raise VerifyException(f"the box doesn't have {len(shape)} dimensions")
        for (start, limit, stride), size in zip(self.box, shape, strict=True):
            if not 0 <= start <= limit <= size or stride < 1:
                raise VerifyException(
                    f"[{start}:{limit}:{stride}] is no box of {size} elements"
                )
        return tuple(-(-(limit - start) // stride) for start, limit, stride in self.box)

    @classmethod
    def parse(cls, parser: Parser) -> SliceOp:
        def parse_range() -> tuple[int, int, int]:
            numbers = [parser.parse_integer(allow_boolean=False)]
            parser.parse_punctuation(":")
            numbers.append(parser.parse_integer(allow_boolean=False))
            stride = 1
            if parser.parse_optional_punctuation(":") is not None:
                stride = parser.parse_integer(allow_boolean=False)
            return numbers[0], numbers[1], stride

        start = parser.pos
        operand = parser.parse_unresolved_operand()
        box = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_range)
        attributes = parser.parse_optional_attr_dict()
        inputs, outputs = parse_types(parser, 1)
        names = ("start_indices", "limit_indices", "strides")
        return cls.create(
            operands=parser.resolve_operands([operand], inputs, start),
            result_types=outputs,
            properties={
                name: DenseArrayBase.from_list(i64, [part[n] for part in box])
                for n, name in enumerate(names)
            },
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.input)
        ranges = [
            f"{start}:{limit}" if stride == 1 else f"{start}:{limit}:{stride}"
            for start, limit, stride in self.box
        ]
        printer.print_string(f" [{', '.join(ranges)}]")
        self.print_end(printer)


@irdl_op_definition
class PadOp(MovementOp):
    """
    Elements before, after and between those of the operand.

    ```mlir
    %y = stablehlo.pad %x, %zero, low = [1], high = [0], interior = [0]
      : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.pad"
    CLAUSES: ClassVar[Mapping[str, str]] = {
        "low": "edge_padding_low",
        "high": "edge_padding_high",
        "interior": "interior_padding",
    }

    input = operand_def(TensorType[Attribute])
    padding_value = operand_def(TensorType[Attribute])
    edge_padding_low = prop_def(Integers)
    edge_padding_high = prop_def(Integers)
    interior_padding = prop_def(Integers)

    def result_shape(self) -> Shape:
        shape = shape_of(self.input)
        lists = [
            integers(values)
            for values in (
                self.edge_padding_low,
                self.edge_padding_high,
                self.interior_padding,
            )
        ]
        if {len(values) for values in lists} != {len(shape)}:
            raise VerifyException(f"the padding doesn't have {len(shape)} dimensions")
        if shape_of(self.padding_value):
            raise VerifyException(f"{self.padding_value.type} is not one number")
        low, high, between = lists
        if min((*low, *high, *between), default=0) < 0:
            raise VerifyException("negative padding isn't supported: slice instead")
        return tuple(
            before + size + max(size - 1, 0) * apart + after
            for before, after, apart, size in zip(
                low, high, between, shape, strict=True
            )
        )
