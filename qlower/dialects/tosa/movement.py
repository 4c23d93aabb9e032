"""Operations that move elements: shapes, slices, order, places by number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from xdsl.dialects.builtin import I32, DenseArrayBase, IntegerAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from qlower.operators.movement import (
    Concatenate,
    Movement,
    Pad,
    Reshape,
    Reverse,
    Slice,
    Tile,
    Transpose,
)
from qlower.operators.shapes import Shape, check_count, check_least, check_one_each

from ..types import shape_of
from .base import (
    ShapeType,
    TosaOp,
    check_rank,
    constant_integers,
    known_integers,
    of_types,
    sizes,
)
from .text import ResizeModeAttr

MOVED = ("i1", "i8", "i16", "i32", "f32")
"""Element types that are moved."""


class MovementOp(TosaOp, ABC):
    """A tensor whose elements are those of `input1`, at other places."""

    output = result_def(TensorType)

    @property
    @abstractmethod
    def movement(self) -> Movement:
        """The movement of elements; VerifyException if an operand that decides it is
        computed."""

    def result_shape(self) -> Shape:
        return self.movement.result_shape(shape_of(self.operands[0]))


class ConcatOp(MovementOp, name="tosa.concat"):
    """Tensors side by side along an axis."""

    SIGNATURES: ClassVar = of_types("T* -> T", MOVED)

    input1 = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr[I32])

    @property
    def movement(self) -> Concatenate:
        return Concatenate(self.axis.value.data)

    def result_shape(self) -> Shape:
        return self.movement.result_shape(*map(shape_of, self.input1))


class PadOp(MovementOp, name="tosa.pad"):
    """A tensor with elements around it: `[before, after]` of each axis in turn."""

    SIGNATURES: ClassVar = of_types("T shape T -> T", MOVED)

    input1 = operand_def(TensorType)
    padding = operand_def(ShapeType)
    pad_const = operand_def(TensorType)

    @property
    def movement(self) -> Pad:
        given = known_integers("padding", self.padding)
        check_count("padding", given, 2 * len(shape_of(self.input1)))
        return Pad(given[::2], given[1::2], names=("padding", "padding", ""))

    @property
    def filler(self) -> SSAValue:
        """The value around the elements."""
        return self.pad_const


class ReshapeOp(MovementOp, name="tosa.reshape"):
    """Another shape, with the elements in the same order."""

    SIGNATURES: ClassVar = of_types("T shape -> T", ("i4", "i48", *MOVED))

    input1 = operand_def(TensorType)
    shape = operand_def(ShapeType)

    @property
    def movement(self) -> Reshape:
        given = known_integers("shape", self.shape)
        check_least("shape", given, -1)
        return Reshape(given)


class ReverseOp(MovementOp, name="tosa.reverse"):
    """The other order along an axis."""

    SIGNATURES: ClassVar = of_types("T -> T", MOVED)

    input1 = operand_def(TensorType)
    axis = prop_def(IntegerAttr[I32])

    @property
    def movement(self) -> Reverse:
        return Reverse(self.axis.value.data)


class SliceOp(MovementOp, name="tosa.slice"):
    """A box of `size` elements from `start` on; a size of -1 reaches the end."""

    SIGNATURES: ClassVar = of_types("T shape shape -> T", MOVED)

    input1 = operand_def(TensorType)
    start = operand_def(ShapeType)
    size = operand_def(ShapeType)

    @property
    def movement(self) -> Slice:
        shape = shape_of(self.input1)
        start = known_integers("start", self.start)
        size = known_integers("size", self.size)
        check_one_each("start", start, shape)
        check_one_each("size", size, shape)
        ends = zip(shape, start, size, strict=True)
        size = [end - first if count == -1 else count for end, first, count in ends]
        check_least("size", size, 1)
        return Slice(start, size, [1] * len(size))


class TileOp(MovementOp, name="tosa.tile"):
    """A tensor repeated along each axis."""

    SIGNATURES: ClassVar = of_types("T shape -> T", MOVED)

    input1 = operand_def(TensorType)
    multiples = operand_def(ShapeType)

    @property
    def movement(self) -> Tile:
        return Tile(known_integers("multiples", self.multiples))


class TransposeOp(MovementOp, name="tosa.transpose"):
    """Other order of the axes: axis i of the result is axis `perms[i]`."""

    SIGNATURES: ClassVar = of_types("T -> T", MOVED)

    input1 = operand_def(TensorType)
    perms = prop_def(DenseArrayBase)

    @property
    def movement(self) -> Transpose:
        return Transpose(sizes(self.perms))


class GatherOp(TosaOp, name="tosa.gather"):
    """Rows by their numbers, in `[0, rows)`; others are unpredictable."""

    SIGNATURES: ClassVar = of_types("T i32 -> T", MOVED[1:])

    values = operand_def(TensorType)
    indices = operand_def(TensorType)
    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        batch, _, channels = check_rank("values", self.values, 3)
        other, count = check_rank("indices", self.indices, 2)
        if batch != other:
            raise VerifyException(f"batches {batch} and {other} differ")
        return batch, count, channels


class ScatterOp(TosaOp, name="tosa.scatter"):
    """Rows put in the places that their numbers say, in `[0, rows)`; others, and a
    place that is named twice, are unpredictable."""

    SIGNATURES: ClassVar = of_types("T i32 T -> T", MOVED[1:])

    values_in = operand_def(TensorType)
    indices = operand_def(TensorType)
    input = operand_def(TensorType)
    values_out = result_def(TensorType)

    def result_shape(self) -> Shape:
        batch, rows, channels = check_rank("values_in", self.values_in, 3)
        _, count = check_rank("indices", self.indices, 2)
        for name, value, expected in (
            ("indices", self.indices, (batch, count)),
            ("input", self.input, (batch, count, channels)),
        ):
            if shape_of(value) != expected:
                raise VerifyException(
                    f"{name} has shape {list(shape_of(value))}, expected "
                    f"{list(expected)}"
                )
        if rows < count:
            raise VerifyException(f"{count} places among {rows} rows")
        return batch, rows, channels

    def check(self) -> None:
        numbers = constant_integers(self.indices)
        if numbers is None:
            return
        _, rows, _ = shape_of(self.values_in)
        count = shape_of(self.indices)[1]
        for first in range(0, len(numbers), count):
            places = numbers[first : first + count]
            for place in places:
                if not 0 <= place < rows:
                    raise VerifyException(f"place {place} is outside [0, {rows})")
            if len(set(places)) < count:
                raise VerifyException(
                    "a place is named twice, which TOSA calls unpredictable"
                )


class ResizeOp(TosaOp, name="tosa.resize"):
    """
    An image of another size: rows and columns lie at `(i * denominator + offset) /
    numerator` of `scale`, which is `[numerator, denominator]` of rows, then of columns.
    """

    SIGNATURES: ClassVar = (
        "i8 shape shape shape -> i8",
        "i16 shape shape shape -> i16",
        "i8 shape shape shape -> i32",
        "i16 shape shape shape -> i48",
        "f32 shape shape shape -> f32",
    )

    input = operand_def(TensorType)
    scale = operand_def(ShapeType)
    offset = operand_def(ShapeType)
    border = operand_def(ShapeType)

    mode = prop_def(ResizeModeAttr)

    output = result_def(TensorType)

    def axis(self, axis: int) -> tuple[int, int, int, int]:
        """Numerator, denominator, offset and border of rows (0) or columns (1)."""
        scale = _numbers("scale", self.scale, 4)
        offset = _numbers("offset", self.offset, 2)
        border = _numbers("border", self.border, 2)
        numerator, denominator = scale[2 * axis : 2 * axis + 2]
        check_least("scale", scale, 1)
        for name, number, low, high in (
            ("numerator", numerator, 1, 2048),
            ("denominator", denominator, 1, 16 * numerator - 1),
            ("offset", offset[axis], -numerator, 16 * numerator - 1),
            ("border", border[axis], -16 * numerator, numerator - 1),
        ):
            if not low <= number <= high:
                raise VerifyException(f"{name} {number} is outside [{low}, {high}]")
        return numerator, denominator, offset[axis], border[axis]

    def result_shape(self) -> Shape:
        batch, *image, channels = check_rank("input", self.input, 4)
        result: list[int] = []
        for axis in (0, 1):
            numerator, denominator, offset, border = self.axis(axis)
            span = (image[axis] - 1) * numerator - offset + border
            if span < 0 or span % denominator:
                raise VerifyException(
                    f"a span of {span} is not a whole number of steps of {denominator}"
                )
            result.append(span // denominator + 1)
        return (batch, *result, channels)


def _numbers(name: str, value: SSAValue, count: int) -> tuple[int, ...]:
    numbers = known_integers(name, value)
    check_count(name, numbers, count)
    return numbers
