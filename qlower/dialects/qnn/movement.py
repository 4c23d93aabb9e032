"""Ops that move or select stored values: shapes, parts, positions, resizing."""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.irdl import (
    result_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from qlower.operators.movement import (
    Concatenate,
    Movement,
    Pad,
    Reshape,
    Slice,
    Transpose,
)
from qlower.operators.shapes import check_axis, reduced

from ..quant import QuantizedType
from ..types import integer_range
from .base import MovingOp, QnnOp, check_same_quantization, check_shape
from .constraints import (
    Integral,
    Quantized,
    QuantizedOrPlain,
    operand_of,
    operands_of,
)
from .fields import (
    flag_field,
    integer_field,
    integers_field,
    optional_integer_field,
    word_field,
)


class MovementOp(MovingOp, ABC):
    """An op whose result has stored values of its one operand at other places."""

    input = operand_of(QuantizedOrPlain())
    result = result_def(QuantizedOrPlain())

    @property
    @abstractmethod
    def movement(self) -> Movement:
        """The movement of elements."""

    def verify_(self) -> None:
        check_same_quantization("result", self.result.type, self.input.type)
        expected = self.movement.result_shape(self.input.type.get_shape())
        check_shape("result", self.result.type.get_shape(), expected)


class ReshapeOp(MovementOp, name="qnn.reshape"):
    """
    The same elements in the same row-major order, in another shape.

    ```mlir
    %y = qnn.reshape %x : (tensor<1x2x3x!in>) -> tensor<6x!in>
    ```
    """

    @property
    def movement(self) -> Reshape:
        return Reshape(self.result.type.get_shape())


class TransposeOp(MovementOp, name="qnn.transpose"):
    """
    Permuted dimensions: dimension d of the result is dimension `perm[d]` of the input.

    ```mlir
    %y = qnn.transpose %x {perm = [1, 0]} : (tensor<2x3x!in>) -> tensor<3x2x!in>
    ```
    """

    perm = integers_field(0)

    @property
    def movement(self) -> Transpose:
        return Transpose(self.perm)


class ConcatOp(QnnOp, name="qnn.concat"):
    """
    Operands one after the other along dimension `axis`; each is brought from its own
    quantization to that of the result. All are real, or integers, if the result is.

    ```mlir
    %y = qnn.concat %a, %b {axis = 1}
        : (tensor<1x2x!in>, tensor<1x3x!other>) -> tensor<1x5x!out>
    ```
    """

    @property
    def rules(self) -> tuple[str, ...]:
        result = self.result.type.element_type
        same = all(value.type.element_type == result for value in self.inputs)
        return () if same else (self.kind,)

    inputs = operands_of(QuantizedOrPlain())
    result = result_def(QuantizedOrPlain())

    axis = integer_field()

    @property
    def movement(self) -> Concatenate:
        """The movement of elements."""
        return Concatenate(self.axis)

    def verify_(self) -> None:
        result = self.result.type
        shapes = [value.type.get_shape() for value in self.inputs]
        expected = self.movement.result_shape(*shapes)
        for index, value in enumerate(self.inputs):
            elements = (value.type.element_type, result.element_type)
            if not all(isinstance(element, QuantizedType) for element in elements):
                check_same_quantization(f"input {index}", value.type, result)
        check_shape("result", result.get_shape(), expected)


class PadOp(MovementOp, name="qnn.pad"):
    """
    `low[d]` elements before and `high[d]` after each dimension d, filled with the
    stored integer `value`, by default the zero point (real 0). Plain tensors are filled
    with 0.

    ```mlir
    %y = qnn.pad %x {low = [0, 1], high = [0, 2]}
        : (tensor<2x3x!in>) -> tensor<2x6x!in>
    ```
    """

    low = integers_field(0)
    high = integers_field(0)
    stated_value = optional_integer_field(name="value")

    @property
    def value(self) -> int:
        """The stored integer that fills the padding."""
        if self.stated_value is not None:
            return self.stated_value
        element = self.input.type.element_type
        return element.zero_point if isinstance(element, QuantizedType) else 0

    @property
    def movement(self) -> Pad:
        return Pad(self.low, self.high, value=self.value)

    def verify_(self) -> None:
        super().verify_()
        element = self.input.type.element_type
        if not isinstance(element, QuantizedType):
            if self.stated_value is not None:
                raise VerifyException("value is for the padding of quantized tensors")
            return
        storage = element.data.storage
        low, high = integer_range(storage.width, storage.signed)
        if not low <= self.value <= high:
            raise VerifyException(
                f"value {self.value} is outside [{low}, {high}] "
                f"of its storage type {storage.name}"
            )


class SliceOp(MovementOp, name="qnn.slice"):
    """
    A strided box: `result[i] = input[offsets + i * strides]` for `0 <= i < sizes`.

    ```mlir
    %y = qnn.slice %x {offsets = [0, 1], sizes = [2, 2], strides = [1, 2]}
        : (tensor<2x4x!in>) -> tensor<2x2x!in>
    ```
    """

    offsets = integers_field(0)
    sizes = integers_field(1)
    strides = integers_field(1)

    @property
    def movement(self) -> Slice:
        names = ("offsets", "sizes", "strides")
        return Slice(self.offsets, self.sizes, self.strides, names)


class SplitOp(MovingOp, name="qnn.split"):
    """
    Split dimension `axis` into as many equal parts as there are results.

    ```mlir
    %a, %b = qnn.split %x {axis = 1}
        : (tensor<2x4x!in>) -> (tensor<2x2x!in>, tensor<2x2x!in>)
    ```
    """

    input = operand_of(QuantizedOrPlain())
    parts = var_result_def(QuantizedOrPlain())

    axis = integer_field()

    def movement(self, index: int) -> Slice:
        """The places in the input of the elements of a part."""
        sizes = list(self.input.type.get_shape())
        offsets, strides = [0] * len(sizes), [1] * len(sizes)
        sizes[self.axis] //= len(self.parts)
        offsets[self.axis] = index * sizes[self.axis]
        return Slice(offsets, sizes, strides)

    def verify_(self) -> None:
        input = self.input.type.get_shape()
        axis = self.axis
        check_axis(axis, len(input))
        if not self.parts or input[axis] % len(self.parts):
            raise VerifyException(
                f"dimension {axis} of size {input[axis]} does not split into "
                f"{len(self.parts)} equal parts"
            )
        for index, part in enumerate(self.parts):
            check_same_quantization(f"result {index}", part.type, self.input.type)
            expected = self.movement(index).result_shape(input)
            check_shape(f"result {index}", part.type.get_shape(), expected)


class ResizeOp(QnnOp, name="qnn.resize"):
    """
    An NHWC image resampled to the result's size. The source coordinate of result row
    y is `y * H / OH`, `(y + 1/2) * H / OH - 1/2` with `half_pixel_centers`, or
    `y * (H - 1) / (OH - 1)` with `align_corners`; columns likewise.

    ```mlir
    %y = qnn.resize %x {mode = "bilinear", half_pixel_centers = true}
        : (tensor<1x2x2x3x!in>) -> tensor<1x4x4x3x!in>
    ```
    """

    @property
    def rules(self) -> tuple[str, ...]:
        position = f"resize_{self.mode}_position"
        return (
            (position,) if self.mode == "nearest" else (f"resize_{self.mode}", position)
        )

    input = operand_of(Quantized(rank=4))
    result = result_def(Quantized(rank=4))

    mode = word_field("nearest", "bilinear")
    align_corners = flag_field()
    half_pixel_centers = flag_field()

    def verify_(self) -> None:
        check_same_quantization("result", self.result.type, self.input.type)
        batch, _, _, channels = self.input.type.get_shape()
        result = self.result.type.get_shape()
        check_shape("result", result, (batch, result[1], result[2], channels))
        if self.align_corners and self.half_pixel_centers:
            raise VerifyException(
                "align_corners and half_pixel_centers exclude each other"
            )


class ArgMaxOp(MovingOp, name="qnn.arg_max"):
    """
    Index of the largest stored value along `axis`, the first one of equals; that
    dimension goes.

    ```mlir
    %y = qnn.arg_max %x {axis = 1} : (tensor<1x10x!in>) -> tensor<1xi32>
    ```
    """

    input = operand_of(Quantized())
    result = result_def(Integral((32, 64)))

    axis = integer_field()

    def verify_(self) -> None:
        expected = reduced(self.input.type.get_shape(), [self.axis])
        check_shape("result", self.result.type.get_shape(), expected)
