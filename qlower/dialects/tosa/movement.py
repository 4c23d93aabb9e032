"""Operations that move elements: shapes, slices, order, places by number."""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.dialects.builtin import I32, DenseArrayBase, IntegerAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ..types import shape_of
from .base import Shape, ShapeType, TosaOp, constant_integers
from .checks import (
    check_axis,
    check_count,
    check_least,
    check_rank,
    known_integers,
    sizes,
)
from .text import ResizeModeAttr

MOVED = ("i1", "i8", "i16", "i32", "f32")
"""Element types that are moved."""


@irdl_op_definition
class ConcatOp(TosaOp):
    """Tensors side by side along an axis."""

    name = "tosa.concat"

    SIGNATURES: ClassVar = tuple(f"{type}* -> {type}" for type in MOVED)

    input1 = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr[I32])
    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        shapes = [shape_of(value) for value in self.input1]
        axis = self.axis.value.data
        check_axis(axis, len(shapes[0]))
        rest = {shape[:axis] + shape[axis + 1 :] for shape in shapes}
        if len(rest) > 1 or len({len(shape) for shape in shapes}) > 1:
            raise VerifyException(f"shapes differ beside axis {axis}")
        total = sum(shape[axis] for shape in shapes)
        return (*shapes[0][:axis], total, *shapes[0][axis + 1 :])


@irdl_op_definition
class PadOp(TosaOp):
    """A tensor with elements around it: `[before, after]` of each axis in turn."""

    name = "tosa.pad"

    SIGNATURES: ClassVar = tuple(f"{type} shape {type} -> {type}" for type in MOVED)

    input1 = operand_def(TensorType)
    padding = operand_def(ShapeType)
    pad_const = operand_def(TensorType)
    output = result_def(TensorType)

    def amounts(self) -> tuple[Shape, Shape]:
        """How many elements there are before, and after, those of each axis."""
        given = known_integers("padding", self.padding)
        check_count("padding", given, 2 * len(shape_of(self.input1)))
        check_least("padding", given, 0)
        return given[::2], given[1::2]

    def result_shape(self) -> Shape:
        before, after = self.amounts()
        return tuple(map(sum, zip(before, shape_of(self.input1), after, strict=True)))


@irdl_op_definition
class ReshapeOp(TosaOp):
    """Another shape, with the elements in the same order."""

    name = "tosa.reshape"

    SIGNATURES: ClassVar = tuple(
        f"{type} shape -> {type}" for type in ("i4", "i48", *MOVED)
    )

    input1 = operand_def(TensorType)
    shape = operand_def(ShapeType)
    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        given = known_integers("shape", self.shape)
        check_least("shape", given, -1)
        count = math.prod(shape_of(self.input1))
        known = math.prod(size for size in given if size != -1)
        if given.count(-1) == 1 and known > 0 and count % known == 0:
            given = tuple(count // known if size == -1 else size for size in given)
        if -1 in given or math.prod(given) != count:
            raise VerifyException(
                f"{count} elements of {list(shape_of(self.input1))} don't have shape "
                f"{list(given)}"
            )
        return given


@irdl_op_definition
class ReverseOp(TosaOp):
    """The other order along an axis."""

    name = "tosa.reverse"

    SIGNATURES: ClassVar = tuple(f"{type} -> {type}" for type in MOVED)

    input1 = operand_def(TensorType)
    axis = prop_def(IntegerAttr[I32])
    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        check_axis(self.axis.value.data, len(shape_of(self.input1)))
        return shape_of(self.input1)


@irdl_op_definition
class SliceOp(TosaOp):
    """A box of `size` elements from `start` on."""

    name = "tosa.slice"

    SIGNATURES: ClassVar = tuple(f"{type} shape shape -> {type}" for type in MOVED)

    input1 = operand_def(TensorType)
    start = operand_def(ShapeType)
    size = operand_def(ShapeType)
    output = result_def(TensorType)

    def box(self) -> tuple[Shape, Shape]:
        """Where the box begins and how large it is; a size of -1 reaches the end."""
        shape = shape_of(self.input1)
        start, size = (
            known_integers("start", self.start),
            known_integers("size", self.size),
        )
        check_count("start", start, len(shape))
        check_count("size", size, len(shape))
        size = tuple(
            extent - first if count == -1 else count
            for extent, first, count in zip(shape, start, size, strict=True)
        )
        for axis, (extent, first, count) in enumerate(
            zip(shape, start, size, strict=True)
        ):
            if first < 0 or count < 1 or first + count > extent:
                raise VerifyException(
                    f"{count} elements from {first} on leave axis {axis} of {extent}"
                )
        return start, size

    def result_shape(self) -> Shape:
        return self.box()[1]


@irdl_op_definition
class TileOp(TosaOp):
    """A tensor repeated along each axis."""

    name = "tosa.tile"

    SIGNATURES: ClassVar = tuple(f"{type} shape -> {type}" for type in MOVED)

    input1 = operand_def(TensorType)
    multiples = operand_def(ShapeType)
    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        shape = shape_of(self.input1)
        multiples = known_integers("multiples", self.multiples)
        check_count("multiples", multiples, len(shape))
        check_least("multiples", multiples, 1)
        return tuple(map(math.prod, zip(shape, multiples, strict=True)))


@irdl_op_definition
class TransposeOp(TosaOp):
    """Other order of the axes: axis i of the result is axis `perms[i]`."""

    name = "tosa.transpose"

    SIGNATURES: ClassVar = tuple(f"{type} -> {type}" for type in MOVED)

    input1 = operand_def(TensorType)
    perms = prop_def(DenseArrayBase)
    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        shape, perms = shape_of(self.input1), sizes(self.perms)
        if sorted(perms) != list(range(len(shape))):
            raise VerifyException(
                f"perms {list(perms)} is not an order of the axes of {list(shape)}"
            )
        return tuple(shape[axis] for axis in perms)


@irdl_op_definition
class GatherOp(TosaOp):
    """Rows by their numbers, in `[0, rows)`; others are unpredictable."""

    name = "tosa.gather"

    SIGNATURES: ClassVar = tuple(f"{type} i32 -> {type}" for type in MOVED[1:])

    values = operand_def(TensorType)
    indices = operand_def(TensorType)
    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        batch, _, channels = check_rank("values", self.values, 3)
        other, count = check_rank("indices", self.indices, 2)
        if batch != other:
            raise VerifyException(f"batches {batch} and {other} differ")
        return batch, count, channels


@irdl_op_definition
class ScatterOp(TosaOp):
    """Rows put in the places that their numbers say, in `[0, rows)`; others, and a
    place that is named twice, are unpredictable."""

    name = "tosa.scatter"

    SIGNATURES: ClassVar = tuple(f"{type} i32 {type} -> {type}" for type in MOVED[1:])

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


@irdl_op_definition
class ResizeOp(TosaOp):
    """
    An image of another size: rows and columns lie at `(i * denominator + offset) /
    numerator` of `scale`, which is `[numerator, denominator]` of rows, then of columns.
    """

    name = "tosa.resize"

    SIGNATURES: ClassVar = (
        "i8 shape shape shape -> i8",
        "i16 shape shape shape -> i16",
        "i8 shape shape shape -> i32",
        "i16 shape shape shape -> i48",
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
