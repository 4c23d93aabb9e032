"""Convolutions and products of matrices: exact sums, in a type that TOSA names, or sums
of f32 in the order of the specification's pseudocode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, TensorType
from xdsl.ir import TypeAttribute
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape, check_count, check_least
from qlower.operators.structured import Structured
from qlower.operators.sums import (
    CONV_2D,
    CONV_3D,
    DEPTHWISE_CONV_2D,
    Sums,
    matrix_product,
    slides,
)
from qlower.operators.transposed import Axis

from ..types import element_type, shape_of
from .base import TosaOp, check_rank, check_zero_point, sizes

CONVOLUTIONS = (
    "i8 i8 i32 i8 i8 -> i32",
    "i8 i4 i32 i8 i4 -> i32",
    "i16 i8 i48 i16 i8 -> i48",
    "f32 f32 f32 f32 f32 -> f32",
)
"""Element types of image, weights, bias and zero points, and of the sums."""


class ConvolutionOp(TosaOp, ABC):
    """
    Sums of products over a window of an image, whose channels come last, from the bias
    on: `sum((x - input_zp) * (w - weight_zp))`. What lies around the image is
    `input_zp`. The bias comes last in sums of f32.
    """

    SIGNATURES: ClassVar = CONVOLUTIONS

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
    @abstractmethod
    def sums(self) -> Sums:
        """The products and their sums."""

    def result_shape(self) -> Shape:
        result = self.sums.result_shape(shape_of(self.input), shape_of(self.weight))
        if shape_of(self.bias) not in ((1,), result[-1:]):
            raise VerifyException(
                f"bias has shape {list(shape_of(self.bias))}, expected [{result[-1]}]"
            )
        return result

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

    STRUCTURE: ClassVar[Structured]

    pad = prop_def(DenseArrayBase)
    dilation = prop_def(DenseArrayBase)

    @property
    def sums(self) -> Sums:
        stride, pad, dilation = map(sizes, (self.stride, self.pad, self.dilation))
        windows = slides(stride, pad, dilation, len(self.STRUCTURE.sliding))
        return Sums(self.STRUCTURE, windows, exact=True)


class Conv2DOp(PaddedConvolutionOp, name="tosa.conv2d"):
    """A convolution; weights are `[outputs, rows, columns, channels]`."""

    STRUCTURE: ClassVar = CONV_2D


class Conv3DOp(PaddedConvolutionOp, name="tosa.conv3d"):
    """A convolution of an image of several planes; weights are `[outputs, planes, rows,
    columns, channels]`."""

    STRUCTURE: ClassVar = CONV_3D


class DepthwiseConv2DOp(PaddedConvolutionOp, name="tosa.depthwise_conv2d"):
    """
    A convolution of each channel alone; weights are `[rows, columns, channels,
    multiplier]`, and result channel `c * multiplier + m` is of channel c.
    """

    STRUCTURE: ClassVar = DEPTHWISE_CONV_2D

    @property
    def sums(self) -> Sums:
        sums = super().sums
        if shape_of(self.weight)[-1:] != (1,):
            return sums
        return replace(sums, structure=sums.structure.without("m"))


class TransposeConv2DOp(ConvolutionOp, name="tosa.transpose_conv2d"):
    """
    A transposed convolution: pixel `[y, x]` adds to `[y * stride + out_pad + ky, ...]`,
    for all `[ky, kx]` of weights `[outputs, rows, columns, channels]`.
    """

    out_pad = prop_def(DenseArrayBase)

    @property
    def phases(self) -> tuple[Axis, Axis]:
        """The axes of rows and columns as those of a convolution."""
        stride, pad = sizes(self.stride), sizes(self.out_pad)
        check_count("stride", stride, 2)
        check_count("out_pad", pad, 4)
        check_least("stride", stride, 1)
        image = check_rank("input", self.input, 4)[1:3]
        kernel = check_rank("weight", self.weight, 4)[1:3]
        check_least("kernel", kernel, 1)
        axes: list[Axis] = []
        for axis, (extent, taps, step) in enumerate(
            zip(image, kernel, stride, strict=True)
        ):
            ends = pad[2 * axis : 2 * axis + 2]
            check_least("out_pad", ends, 1 - taps)
            size = (extent - 1) * step + sum(ends) + taps
            check_least("size", [size], 1)
            axes.append(Axis(extent, taps, step, -ends[0], size))
        rows, columns = axes
        return rows, columns

    @property
    def sums(self) -> Sums:
        """The convolution of each phase, whose taps are `stride` apart."""
        return Sums(CONV_2D, [axis.slide for axis in self.phases])

    def result_shape(self) -> Shape:
        rows, columns = self.phases
        batch, *_, channels = shape_of(self.input)
        outputs, *_, depth = shape_of(self.weight)
        if depth != channels:
            raise VerifyException(
                f"weight has {depth} channels along axis 3, input has {channels}"
            )
        if shape_of(self.bias) not in ((1,), (outputs,)):
            raise VerifyException(
                f"bias has shape {list(shape_of(self.bias))}, expected [{outputs}]"
            )
        return batch, rows.wanted, columns.wanted, outputs


class MatMulOp(TosaOp, name="tosa.matmul"):
    """A batch of products of matrices: `sum((a - a_zp) * (b - b_zp))`."""

    SIGNATURES: ClassVar = (
        "i8 i8 i8 i8 -> i32",
        "i16 i16 i16 i16 -> i48",
        "f32 f32 f32 f32 -> f32",
    )

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    a_zp = operand_def(TensorType)
    b_zp = operand_def(TensorType)
    output = result_def(TensorType)

    @property
    def sums(self) -> Sums:
        """The products and their sums."""
        return Sums(matrix_product(3), names=("a", "b"))

    def result_shape(self) -> Shape:
        return self.sums.result_shape(shape_of(self.a), shape_of(self.b))

    def check(self) -> None:
        check_zero_point("a_zp", self.a_zp)
        check_zero_point("b_zp", self.b_zp)
