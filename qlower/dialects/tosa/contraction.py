"""Convolutions and products of matrices: exact sums, in a type that TOSA names."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, TensorType
from xdsl.ir import TypeAttribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from ..types import element_type, shape_of
from .base import Shape, TosaOp
from .checks import check_count, check_least, check_rank, check_zero_point, sizes

CONVOLUTIONS = (
    "i8 i8 i32 i8 i8 -> i32",
    "i8 i4 i32 i8 i4 -> i32",
    "i16 i8 i48 i16 i8 -> i48",
)
"""Element types of image, weights, bias and zero points, and of the sums."""


class ConvolutionOp(TosaOp, ABC):
    """
    Sums of products over a window of an NHWC image, from the bias on:
    `sum((x - input_zp) * (w - weight_zp))`. What lies around the image is `input_zp`.
    """

    SIGNATURES: ClassVar = CONVOLUTIONS

    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = operand_def(TensorType)
    input_zp = operand_def(TensorType)
    weight_zp = operand_def(TensorType)

    acc_type = prop_def(TypeAttribute)
    pad = prop_def(DenseArrayBase)
    stride = prop_def(DenseArrayBase)
    dilation = prop_def(DenseArrayBase)
    local_bound = opt_prop_def(BoolAttr)

    output = result_def(TensorType)

    @property
    def kernel(self) -> tuple[int, int]:
        """Rows and columns of the window."""
        raise NotImplementedError

    def channels(self) -> int:
        """Channels of the result, after a check of the weights' shape."""
        raise NotImplementedError

    def result_shape(self) -> Shape:
        batch, *image, _ = check_rank("input", self.input, 4)
        check_rank("weight", self.weight, 4)
        window = window_shape(
            image, self.kernel, sizes(self.stride), sizes(self.pad), self._dilation()
        )
        channels = self.channels()
        if shape_of(self.bias) not in ((1,), (channels,)):
            raise VerifyException(
                f"bias has shape {list(shape_of(self.bias))}, expected [{channels}]"
            )
        return (batch, *window, channels)

    def check(self) -> None:
        if self.acc_type != element_type(self.output.type):
            raise VerifyException(
                f"acc_type {self.acc_type} differs from the sums' "
                f"{element_type(self.output.type)}"
            )
        check_zero_point("input_zp", self.input_zp)
        check_zero_point("weight_zp", self.weight_zp)

    def _dilation(self) -> tuple[int, ...]:
        return sizes(self.dilation)


@irdl_op_definition
class Conv2DOp(ConvolutionOp):
    """A convolution; weights are `[outputs, rows, columns, channels]`."""

    name = "tosa.conv2d"

    @property
    def kernel(self) -> tuple[int, int]:
        _, rows, columns, _ = shape_of(self.weight)
        return rows, columns

    def channels(self) -> int:
        outputs, _, _, depth = shape_of(self.weight)
        check_depth(depth, shape_of(self.input)[3])
        return outputs


@irdl_op_definition
class DepthwiseConv2DOp(ConvolutionOp):
    """
    A convolution of each channel alone; weights are `[rows, columns, channels,
    multiplier]`, and result channel `c * multiplier + m` is of channel c.
    """

    name = "tosa.depthwise_conv2d"

    @property
    def kernel(self) -> tuple[int, int]:
        rows, columns, _, _ = shape_of(self.weight)
        return rows, columns

    def channels(self) -> int:
        _, _, channels, multiplier = shape_of(self.weight)
        check_depth(channels, shape_of(self.input)[3])
        return channels * multiplier


@irdl_op_definition
class MatMulOp(TosaOp):
    """A batch of products of matrices: `sum((a - a_zp) * (b - b_zp))`."""

    name = "tosa.matmul"

    SIGNATURES: ClassVar = ("i8 i8 i8 i8 -> i32", "i16 i16 i16 i16 -> i48")

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    a_zp = operand_def(TensorType)
    b_zp = operand_def(TensorType)
    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        batch, rows, depth = check_rank("a", self.a, 3)
        other_batch, other_depth, columns = check_rank("b", self.b, 3)
        if batch != other_batch:
            raise VerifyException(f"batches {batch} and {other_batch} differ")
        if depth != other_depth:
            raise VerifyException(f"a has {depth} columns, b has {other_depth} rows")
        return batch, rows, columns

    def check(self) -> None:
        check_zero_point("a_zp", self.a_zp)
        check_zero_point("b_zp", self.b_zp)


def check_depth(weight: int, image: int) -> None:
    if weight != image:
        raise VerifyException(f"weights are for {weight} channels, there are {image}")


def window_shape(
    image: list[int],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    pad: tuple[int, ...],
    dilation: tuple[int, ...] = (1, 1),
) -> tuple[int, int]:
    """Rows and columns of what windows over an image give; strides must come out even,
    as TOSA wants it."""
    check_count("kernel", kernel, 2)
    check_count("stride", stride, 2)
    check_count("pad", pad, 4)
    check_count("dilation", dilation, 2)
    check_least("kernel", kernel, 1)
    check_least("stride", stride, 1)
    check_least("pad", pad, 0)
    check_least("dilation", dilation, 1)
    counts: list[int] = []
    for axis, name in enumerate(("rows", "columns")):
        before, after = pad[2 * axis : 2 * axis + 2]
        span = image[axis] + before + after - (kernel[axis] - 1) * dilation[axis] - 1
        if span < 0 or span % stride[axis]:
            raise VerifyException(
                f"{image[axis]} + {before} + {after} {name} aren't a whole number of "
                f"strides of {stride[axis]} for a window of {kernel[axis]} with "
                f"dilation {dilation[axis]}"
            )
        counts.append(span // stride[axis] + 1)
    return counts[0], counts[1]
