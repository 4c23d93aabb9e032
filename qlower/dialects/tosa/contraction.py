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

from qlower.operators.windows import WindowAxis

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
    Sums of products over a window of an image, whose channels come last, from the bias
    on: `sum((x - input_zp) * (w - weight_zp))`. What lies around the image is
    `input_zp`.
    """

    SIGNATURES: ClassVar = CONVOLUTIONS
    AXES: ClassVar = 2
    """Rows and columns, and before them planes where there are any."""

    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = operand_def(TensorType)
    input_zp = operand_def(TensorType)
    weight_zp = operand_def(TensorType)

    acc_type = prop_def(TypeAttribute)
    stride = prop_def(DenseArrayBase)
    local_bound = opt_prop_def(BoolAttr)

    output = result_def(TensorType)

    @property
    def kernel(self) -> Shape:
        """The extents of the window along these axes."""
        return shape_of(self.weight)[1:-1]

    def channels(self) -> int:
        """Channels of the result, after a check of the weights' shape."""
        outputs, *_, depth = shape_of(self.weight)
        check_depth(depth, shape_of(self.input)[-1])
        return outputs

    def window(self, image: Shape) -> Shape:
        """The extents of the result for those of an image."""
        raise NotImplementedError

    def result_shape(self) -> Shape:
        rank = self.AXES + 2
        batch, *image, _ = check_rank("input", self.input, rank)
        check_rank("weight", self.weight, rank)
        window, channels = self.window(tuple(image)), self.channels()
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


class PaddedConvolutionOp(ConvolutionOp, ABC):
    """A convolution of a padded image, whose window has elements `dilation` apart."""

    pad = prop_def(DenseArrayBase)
    dilation = prop_def(DenseArrayBase)

    def window(self, image: Shape) -> Shape:
        pad, dilation = sizes(self.pad), sizes(self.dilation)
        return window_shape(image, self.kernel, sizes(self.stride), pad, dilation)


@irdl_op_definition
class Conv2DOp(PaddedConvolutionOp):
    """A convolution; weights are `[outputs, rows, columns, channels]`."""

    name = "tosa.conv2d"


@irdl_op_definition
class Conv3DOp(PaddedConvolutionOp):
    """A convolution of an image of several planes; weights are `[outputs, planes, rows,
    columns, channels]`."""

    name = "tosa.conv3d"

    AXES: ClassVar = 3


@irdl_op_definition
class DepthwiseConv2DOp(PaddedConvolutionOp):
    """
    A convolution of each channel alone; weights are `[rows, columns, channels,
    multiplier]`, and result channel `c * multiplier + m` is of channel c.
    """

    name = "tosa.depthwise_conv2d"

    @property
    def kernel(self) -> Shape:
        return shape_of(self.weight)[:-2]

    def channels(self) -> int:
        *_, channels, multiplier = shape_of(self.weight)
        check_depth(channels, shape_of(self.input)[-1])
        return channels * multiplier


@irdl_op_definition
class TransposeConv2DOp(ConvolutionOp):
    """
    A transposed convolution: pixel `[y, x]` adds to `[y * stride + out_pad + ky, ...]`,
    for all `[ky, kx]` of weights `[outputs, rows, columns, channels]`.
    """

    name = "tosa.transpose_conv2d"

    out_pad = prop_def(DenseArrayBase)

    def window(self, image: Shape) -> Shape:
        kernel, stride, pad = self.kernel, sizes(self.stride), sizes(self.out_pad)
        check_count("stride", stride, 2)
        check_count("out_pad", pad, 4)
        check_least("kernel", kernel, 1)
        check_least("stride", stride, 1)
        result: list[int] = []
        for axis, extent in enumerate(image):
            ends = pad[2 * axis : 2 * axis + 2]
            check_least("out_pad", ends, 1 - kernel[axis])
            size = (extent - 1) * stride[axis] + sum(ends) + kernel[axis]
            check_least("size", [size], 1)
            result.append(size)
        return tuple(result)


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
    image: Shape, kernel: Shape, stride: Shape, pad: Shape, dilation: Shape
) -> Shape:
    """The extents of what windows over an image give; strides must come out even, as
    TOSA wants it."""
    axes = len(image)
    check_count("kernel", kernel, axes)
    check_count("stride", stride, axes)
    check_count("pad", pad, 2 * axes)
    check_count("dilation", dilation, axes)
    check_least("kernel", kernel, 1)
    check_least("stride", stride, 1)
    check_least("pad", pad, 0)
    check_least("dilation", dilation, 1)
    counts: list[int] = []
    for axis, name in enumerate(("planes", "rows", "columns")[-axes:]):
        before, after = pad[2 * axis : 2 * axis + 2]
        window = WindowAxis(
            image[axis], kernel[axis], stride[axis], before, after, dilation[axis]
        )
        if window.room < 0 or window.room % stride[axis]:
            raise VerifyException(
                f"{image[axis]} + {before} + {after} {name} aren't a whole number of "
                f"strides of {stride[axis]} for a window of {kernel[axis]} with "
                f"dilation {dilation[axis]}"
            )
        counts.append(window.results)
    return tuple(counts)
