"""Ops that reduce each channel on its own: pools and means."""

from __future__ import annotations

from abc import ABC

from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import reduced
from qlower.operators.sums import POOL_2D, Sums, slides

from .base import QnnOp, WindowOp, check_same_quantization, check_shape
from .constraints import (
    Quantized,
    operand_of,
)
from .elementwise import UnaryOp
from .fields import flag_field, integers_field


class PoolOp(WindowOp, ABC):
    """A window without weights over the image of each channel."""

    input = operand_of(Quantized(rank=4))
    result = result_def(Quantized(rank=4))

    kernel = integers_field(1, length=2)
    """Size of the window, (height, width)."""

    @property
    def sums(self) -> Sums:
        """The windows, as of a sum with weights [height, width] that are all 1."""
        return Sums(POOL_2D, slides(self.stride, self.pad, (1, 1)))

    def verify_(self) -> None:
        input, result = self.input.type.get_shape(), self.result.type.get_shape()
        self.sums.check_result(input, self.kernel, result)
        for index, name in enumerate(("height", "width")):
            before = self.pad[2 * index]
            last = (result[1 + index] - 1) * self.stride[index] - before
            if before >= self.kernel[index] or last >= input[1 + index]:
                raise VerifyException(
                    f"pad {list(self.pad)} leaves a window that holds only padding "
                    f"in its {name}: kernel {self.kernel[index]}, "
                    f"input {input[1 + index]}"
                )


class AvgPool2DOp(PoolOp, name="qnn.avg_pool2d"):
    """
    Mean of each window of an NHWC image:
    `acc[n, y, x, c] = sum(kh, kw) of input[n, y*sh - top + kh, x*sw - left + kw, c]`
    over the count of taps inside of the image, or over KH * KW with
    `count_include_pad`. Every window holds at least one tap of the image.

    ```mlir
    %y = qnn.avg_pool2d %x {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]}
        : (tensor<1x4x4x3x!in>) -> tensor<1x2x2x3x!in>
    ```
    """

    count_include_pad = flag_field()
    """Whether padding counts as taps of real value 0."""


class AdaptiveAvgPool2DOp(UnaryOp, name="qnn.adaptive_avg_pool2d"):
    """
    Mean of windows that divide an NHWC image as evenly as the result's size allows:
    row i of OH reads the input's rows `floor(i * H / OH)` up to, and without,
    `ceil((i + 1) * H / OH)`, and columns likewise. Windows may overlap and differ.

    ```mlir
    %y = qnn.adaptive_avg_pool2d %x : (tensor<1x7x5x3x!in>) -> tensor<1x3x2x3x!out>
    ```
    """

    input = operand_of(Quantized(rank=4))
    result = result_def(Quantized(rank=4))

    @property
    def windows(self) -> tuple[list[range], list[range]]:
        """The rows that each row of the result reads, and the columns."""
        input, result = self.input.type.get_shape(), self.result.type.get_shape()
        rows, columns = (
            [
                range(i * size // count, -(-(i + 1) * size // count))
                for i in range(count)
            ]
            for size, count in zip(input[1:3], result[1:3], strict=True)
        )
        return rows, columns

    def verify_(self) -> None:
        input, result = self.input.type.get_shape(), self.result.type.get_shape()
        check_shape("result", result, (input[0], *result[1:3], input[3]))


class MaxPool2DOp(PoolOp, name="qnn.max_pool2d"):
    """
    Largest stored value of each window of an NHWC image, of the taps inside of it:
    `max(kh, kw) of input[n, y*sh - top + kh, x*sw - left + kw, c]`.

    ```mlir
    %y = qnn.max_pool2d %x {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]}
        : (tensor<1x4x4x3x!in>) -> tensor<1x2x2x3x!in>
    ```
    """

    @property
    def rules(self) -> tuple[str, ...]:
        return () if self.activation is None else ("bound",)

    def verify_(self) -> None:
        super().verify_()
        check_same_quantization("result", self.result.type, self.input.type)


class ReductionOp(QnnOp, ABC):
    """An op on all values along some dimensions."""

    input = operand_of(Quantized())
    result = result_def(Quantized())

    axes = integers_field(0)
    """The dimensions that are summed over."""
    keep_dims = flag_field()

    def verify_(self) -> None:
        kept = reduced(self.input.type.get_shape(), self.axes, self.keep_dims)
        check_shape("result", self.result.type.get_shape(), kept)


class MeanOp(ReductionOp, name="qnn.mean"):
    """
    Mean over the dimensions `axes`: the accumulator is the sum of the
    `stored input - zero point`, its count the product of their sizes. The dimensions
    go, or stay with size 1 with `keep_dims`. `in_sequence` is that of `qnn.linear`.

    ```mlir
    %y = qnn.mean %x {axes = [1, 2]} : (tensor<1x4x4x3x!in>) -> tensor<1x3x!out>
    ```
    """

    in_sequence = flag_field()
    """Whether a kernel of the linear layers that follow quantizes the result."""


class SumOp(ReductionOp, name="qnn.sum"):
    """
    The real sum over the dimensions `axes`, which go, or stay with `keep_dims`.

    ```mlir
    %y = qnn.sum %x {axes = [1, 2]} : (tensor<1x4x4x3x!in>) -> tensor<1x3x!out>
    ```
    """


class ProductOp(ReductionOp, name="qnn.product"):
    """
    The real product over the dimensions `axes`, which go, or stay with `keep_dims`. It
    begins as the first `stored input - zero point`; the rule `product` multiplies it by
    one more element, the last dimension fastest, and `product_output` stores it.

    ```mlir
    %y = qnn.product %x {axes = [1]} : (tensor<2x8x!in>) -> tensor<2x!out>
    ```
    """

    @property
    def rules(self) -> tuple[str, ...]:
        return ("product", "product_output")

    def verify_(self) -> None:
        super().verify_()
        if not self.axes:
            raise VerifyException("axes [] name no dimension; expected at least one")


class L2NormalizeOp(UnaryOp, name="qnn.l2_normalize"):
    """
    Rows of the last dimension, divided by the root of the sum of their squares.

    ```mlir
    %y = qnn.l2_normalize %x : (tensor<2x8x!in>) -> tensor<2x8x!out>
    ```
    """

    def verify_(self) -> None:
        if not self.input.type.get_shape():
            raise VerifyException("an input of rank 0 has no rows")
        super().verify_()
