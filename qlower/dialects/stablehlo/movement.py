"""Operations of `stablehlo` that move elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qlower.operators.movement import (
    Broadcast,
    Concatenate,
    Movement,
    Pad,
    Reshape,
    Slice,
    Transpose,
)
from qlower.operators.shapes import Shape

from ..types import element_type, shape_of
from .base import StablehloOp, integers, parse_types

Integers = DenseArrayBase.constr(i64)


class MovingOp(StablehloOp, ABC):
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


class MovementOp(MovingOp, ABC):
    """An operation whose result has the elements of its operands at other places."""

    @property
    @abstractmethod
    def movement(self) -> Movement:
        """The movement of elements."""

    def result_shape(self) -> Shape:
        return self.movement.result_shape(*map(shape_of, self.operands))


class ReshapeOp(MovementOp, name="stablehlo.reshape"):
    """
    The elements in the same order, in another shape.

    ```mlir
    %y = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
    ```
    """

    input = operand_def(TensorType[Attribute])

    @property
    def movement(self) -> Reshape:
        return Reshape(shape_of(self.output))


class TransposeOp(MovementOp, name="stablehlo.transpose"):
    """
    Result dimension i is operand dimension `permutation[i]`.

    ```mlir
    %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```
    """

    CLAUSES: ClassVar[Mapping[str, str]] = {"dims": "permutation"}

    input = operand_def(TensorType[Attribute])
    permutation = prop_def(Integers)

    @property
    def movement(self) -> Transpose:
        return Transpose(integers(self.permutation))


class BroadcastInDimOp(MovementOp, name="stablehlo.broadcast_in_dim"):
    """
    Operand dimension i becomes result dimension `broadcast_dimensions[i]`; sizes of 1
    are repeated, and so is everything along the other dimensions.

    ```mlir
    %y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    ```
    """

    CLAUSES: ClassVar[Mapping[str, str]] = {"dims": "broadcast_dimensions"}

    input = operand_def(TensorType[Attribute])
    broadcast_dimensions = prop_def(Integers)

    @property
    def movement(self) -> Broadcast:
        return Broadcast(integers(self.broadcast_dimensions), shape_of(self.output))


class ConcatenateOp(MovementOp, name="stablehlo.concatenate"):
    """
    The operands side by side.

    ```mlir
    %y = stablehlo.concatenate %a, %b, dim = 0
      : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
    ```
    """

    CLAUSES: ClassVar[Mapping[str, str]] = {"dim": "dimension"}
    NUMBERS: ClassVar[frozenset[str]] = frozenset({"dim"})

    inputs = var_operand_def(TensorType[Attribute])
    dimension = prop_def(IntegerAttr.constr(i64))

    @property
    def movement(self) -> Concatenate:
        return Concatenate(self.dimension.value.data)


class SliceOp(MovementOp, name="stablehlo.slice"):
    """
    Every `stride`th element of a box.

    ```mlir
    %y = stablehlo.slice %x [1:3, 0:4:2] : (tensor<3x4xf32>) -> tensor<2x2xf32>
    ```
    """

    input = operand_def(TensorType[Attribute])
    start_indices = prop_def(Integers)
    limit_indices = prop_def(Integers)
    strides = prop_def(Integers)

    @property
    def box(self) -> list[tuple[int, int, int]]:
        """Start, limit and stride of each dimension."""
        lists = (self.start_indices, self.limit_indices, self.strides)
        return list(zip(*map(integers, lists), strict=True))

    @property
    def movement(self) -> Slice:
        starts, limits, strides = zip(*self.box, strict=True) if self.box else ((),) * 3
        sizes = [
            -(-(limit - start) // stride)
            for start, limit, stride in zip(starts, limits, strides, strict=True)
        ]
        return Slice(starts, sizes, strides)

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
        return super().result_shape()

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


class PadOp(MovementOp, name="stablehlo.pad"):
    """
    Elements before, after and between those of the operand.

    ```mlir
    %y = stablehlo.pad %x, %zero, low = [1], high = [0], interior = [0]
      : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
    ```
    """

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

    @property
    def movement(self) -> Pad:
        return Pad(
            integers(self.edge_padding_low),
            integers(self.edge_padding_high),
            integers(self.interior_padding),
            names=("low", "high", "interior"),
        )

    @property
    def filler(self) -> SSAValue:
        """The value around and between the elements."""
        return self.padding_value

    def result_shape(self) -> Shape:
        if shape_of(self.padding_value):
            raise VerifyException(f"{self.padding_value.type} is not one number")
        return super().result_shape()
