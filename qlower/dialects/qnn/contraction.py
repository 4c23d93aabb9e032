"""
Ops that multiply and sum: convolutions, linear layers, matrix products.

Their accumulators are exact integers, the sums of
`(stored input - input zero point) * (stored weight - weight zero point)` plus the
bias. An i32 bias is in steps of `input scale * weight scale` (of its output channel);
an f32 bias is a real number, and how that is added is the contract's choice. A result
of i32 is the accumulators themselves, modulo 2^32. Elements of 16 bits are summed in
64, with weights of 4, 8 or, where the contract has those, 16 bits.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    f16,
    f32,
    i32,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qlower.operators.sums import (
    CONV_2D,
    FLAT_DEPTHWISE_CONV_2D,
    GROUPED_CONV_2D,
    Slide,
    Sums,
    matrix_product,
    matrix_rows,
    slides,
)

from ..quant import QuantizedType, quantized_element
from ..types import element_type, shape_of
from .base import ActivatedOp, WindowOp, check_shape
from .constraints import (
    UP_TO_WORDS,
    Bias,
    Quantized,
    QuantizedOrSums,
    Weight,
    operand_of,
    optional_operand_of,
)
from .fields import flag_field, integer_field, integers_field, quantization_field


class ConvolutionOp(WindowOp, ABC):
    """A window of weights, whose taps may lie apart."""

    dilation = integers_field(1, length=2, initial=(1, 1))
    """Distance between the taps of a window, (height, width)."""

    @property
    def slides(self) -> list[Slide]:
        """The steps of the window, (height, width)."""
        return slides(self.stride, self.pad, self.dilation)


class GroupedConvolutionOp(ConvolutionOp, ABC):
    """A convolution whose channels may be split into groups."""

    groups = integer_field(default=1)
    """Parts that the channels of input and output are split into."""

    @property
    def sums(self) -> Sums:
        """The products and sums."""
        structure = CONV_2D if self.groups == 1 else GROUPED_CONV_2D
        return Sums(structure, self.slides, self.groups)


class Conv2DOp(GroupedConvolutionOp, name="qnn.conv2d"):
    """
    Convolution of an NHWC image with weights [O, KH, KW, C / groups]:
    `acc[n, y, x, o] = bias[o] + sum(kh, kw, i) of
    input[n, y*sh - top + kh*dh, x*sw - left + kw*dw, g*C/groups + i]
    * weight[o, kh, kw, i]`, where g is the group of output channel o.

    Padding counts as real 0. Weights are quantized per tensor or along dimension 0.
    `transposed` marks sums of a transposed convolution of the model, for contracts: a
    system's kernel for those may round otherwise.

    ```mlir
    %y = qnn.conv2d %x, %w, %b
        {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
        : (tensor<1x4x16x1x!in>, tensor<2x1x1x1x!w>, tensor<2xi32>)
        -> tensor<1x4x16x2x!out>
    ```
    """

    input = operand_of(Quantized(rank=4))
    weight = operand_of(Weight(rank=4, axis=0, widths=UP_TO_WORDS))
    bias = optional_operand_of(Bias())
    result = result_def(QuantizedOrSums(rank=4))

    transposed = flag_field()
    """Whether the model has a transposed convolution here."""

    def verify_(self) -> None:
        check_contraction(self)


class DepthwiseConvolutionOp(ConvolutionOp, ABC):
    """A convolution of each channel on its own."""

    @property
    def multiplier(self) -> int:
        """M: output channels for each input channel."""
        image, weights = map(shape_of, self.operands[:2])
        return weights[3] // image[3]

    @property
    def sums(self) -> Sums:
        """The products and sums."""
        structure = FLAT_DEPTHWISE_CONV_2D
        if self.multiplier == 1:
            structure = structure.without("m")
        return Sums(structure, self.slides)


class DepthwiseConv2DOp(DepthwiseConvolutionOp, name="qnn.depthwise_conv2d"):
    """
    Convolution of each channel of an NHWC image on its own, with weights
    [1, KH, KW, C * M]: `acc[n, y, x, o] = bias[o] + sum(kh, kw) of
    input[n, y*sh - top + kh*dh, x*sw - left + kw*dw, o // M] * weight[0, kh, kw, o]`.

    Padding counts as real 0. Weights are quantized per tensor or along dimension 3.

    ```mlir
    %y = qnn.depthwise_conv2d %x, %w, %b
        {stride = [2, 2], pad = [0, 1, 0, 1], dilation = [1, 1]}
        : (tensor<1x8x8x4x!in>, tensor<1x3x3x4x!w>, tensor<4xi32>)
        -> tensor<1x4x4x4x!out>
    ```
    """

    input = operand_of(Quantized(rank=4))
    weight = operand_of(Weight(rank=4, axis=3, widths=UP_TO_WORDS))
    bias = optional_operand_of(Bias())
    result = result_def(QuantizedOrSums(rank=4))

    def verify_(self) -> None:
        check_contraction(self)


class FusedAddOp(ConvolutionOp, ABC):
    """
    A convolution that a system computes together with an addition: the real result,
    clamped to the range of `summand`, plus the real numbers of `addend`, which has the
    result's shape. `summand` is the quantization that the model has between the two;
    whether its codes are made is up to the contract. An activation is the sum's.

    Those below are virtual subclasses of the plain convolutions: all that holds for
    the sums of these holds for them.
    """

    summand = quantization_field()

    def verify_(self) -> None:
        assert isinstance(self, Conv2DOp | DepthwiseConv2DOp)
        check_contraction(self)
        check_shape("addend", shape_of(self.operands[-1]), shape_of(self.results[0]))


@Conv2DOp.register
class Conv2DAddOp(FusedAddOp, GroupedConvolutionOp, name="qnn.conv2d_add"):
    """
    Convolution as `qnn.conv2d` and an addition in one step:
    `clamp(real convolution) + addend scale * (addend - addend zero point)`, where the
    clamp is to the real numbers from the first to the last code of `summand`. What a
    system rounds in between, the contract's rule `conv2d_add` says.

    ```mlir
    %y = qnn.conv2d_add %x, %w, %b, %a
        {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1],
         summand = !quant.uniform<i8:f32, 0.5:-3>, activation = "relu"}
        : (tensor<1x4x16x1x!in>, tensor<2x1x1x1x!w>, tensor<2xi32>,
           tensor<1x4x16x2x!other>) -> tensor<1x4x16x2x!out>
    ```
    """

    input = operand_of(Quantized(rank=4, widths=(8,)))
    weight = operand_of(Weight(rank=4, axis=0))
    bias = optional_operand_of(Bias())
    addend = operand_of(Quantized(rank=4, widths=(8,)))
    result = result_def(Quantized(rank=4, widths=(8,)))

    transposed = flag_field()
    """Whether the model has a transposed convolution here."""


@DepthwiseConv2DOp.register
class DepthwiseConv2DAddOp(
    FusedAddOp, DepthwiseConvolutionOp, name="qnn.depthwise_conv2d_add"
):
    """
    Convolution as `qnn.depthwise_conv2d` and an addition in one step, as in
    `qnn.conv2d_add`, by the contract's rule `depthwise_conv2d_add`.

    ```mlir
    %y = qnn.depthwise_conv2d_add %x, %w, %b, %a
        {stride = [2, 2], pad = [0, 1, 0, 1], dilation = [1, 1],
         summand = !quant.uniform<i8:f32, 0.5:-3>}
        : (tensor<1x8x8x4x!in>, tensor<1x3x3x4x!w>, tensor<4xi32>,
           tensor<1x4x4x4x!other>) -> tensor<1x4x4x4x!out>
    ```
    """

    input = operand_of(Quantized(rank=4, widths=(8,)))
    weight = operand_of(Weight(rank=4, axis=3))
    bias = optional_operand_of(Bias())
    addend = operand_of(Quantized(rank=4, widths=(8,)))
    result = result_def(Quantized(rank=4, widths=(8,)))


class RowsOp(ActivatedOp, ABC):
    """Rows of the last dimension that meet weights."""

    @property
    def sums(self) -> Sums:
        """The products and sums."""
        rank = len(shape_of(self.operands[0]))
        if not rank:
            raise VerifyException("input has rank 0, expected at least 1")
        return Sums(matrix_rows(rank))


class LinearOp(RowsOp, name="qnn.linear"):
    """
    Every row times weights [O, K]:
    `acc[..., o] = bias[o] + sum(k) of input[..., k] * weight[o, k]`.

    Weights are quantized per tensor or along dimension 0. `in_sequence` marks layers
    whose results a system quantizes in a kernel of several linear layers, for
    contracts: it may round otherwise.

    ```mlir
    %y = qnn.linear %x, %w, %b {activation = "relu"}
        : (tensor<1x8x!in>, tensor<4x8x!w>, tensor<4xi32>) -> tensor<1x4x!out>
    ```
    """

    input = operand_of(Quantized())
    weight = operand_of(Weight(rank=2, axis=0, widths=UP_TO_WORDS))
    bias = optional_operand_of(Bias())
    result = result_def(QuantizedOrSums())

    in_sequence = flag_field()
    """Whether a kernel of several linear layers quantizes the result."""

    def verify_(self) -> None:
        check_contraction(self)


class MatMulOp(ActivatedOp, name="qnn.matmul"):
    """
    Product of two computed matrices, batched over equal leading dimensions:
    `acc[..., m, n] = sum(k) of lhs[..., m, k] * rhs[..., k, n]`. All scales may be
    numbers of f16, where the contract knows how those combine.

    ```mlir
    %y = qnn.matmul %a, %b
        : (tensor<2x3x4x!in>, tensor<2x4x5x!in>) -> tensor<2x3x5x!out>
    ```
    """

    lhs = operand_of(Quantized(expressed=(f32, f16)))
    rhs = operand_of(Quantized(expressed=(f32, f16)))
    result = result_def(QuantizedOrSums(expressed=(f32, f16)))

    @property
    def sums(self) -> Sums:
        """The products and sums."""
        rank = len(self.lhs.type.get_shape())
        return Sums(matrix_product(rank), names=("lhs", "rhs"))

    def verify_(self) -> None:
        lhs, rhs = self.lhs.type.get_shape(), self.rhs.type.get_shape()
        if len(lhs) < 2:
            raise VerifyException(f"lhs has rank {len(lhs)}, expected at least 2")
        self.sums.check_result(lhs, rhs, self.result.type.get_shape())
        widths = [quantized_element(v.type).storage_width for v in (self.lhs, self.rhs)]
        if widths[0] != widths[1]:
            raise VerifyException(
                f"lhs of {widths[0]} bits does not go with rhs of {widths[1]}"
            )
        check_widths(self.lhs, None, self.result)
        check_sums(self, None)
        types = {
            quantized_element(value.type).expressed_type
            for value in (self.lhs, self.rhs, self.result)
            if element_type(value.type) != i32
        }
        if len(types) > 1:
            raise VerifyException("scales of f32 and of f16 are mixed")


def check_contraction(op: Conv2DOp | DepthwiseConv2DOp | LinearOp) -> None:
    """Checks the shapes of an op with weights, and that its types go together."""
    check_operands(op, op.sums, [] if op.bias is None else [op.bias])
    widths = [quantized_element(v.type).storage_width for v in (op.input, op.weight)]
    if widths[1] > widths[0]:
        raise VerifyException(
            f"weights of {widths[1]} bits do not go with an input of {widths[0]}"
        )
    check_widths(op.input, op.bias, op.result)
    check_sums(op, op.bias)


def check_operands(op: ActivatedOp, sums: Sums, biases: Sequence[SSAValue]) -> None:
    """Checks the shapes of the factors, of a bias if there is one, and of the
    result."""
    first, second = map(shape_of, op.operands[:2])
    result = shape_of(op.results[0])
    sums.check_result(first, second, result)
    for bias in biases:
        check_shape("bias", shape_of(bias), result[-1:])


def check_widths(input: SSAValue, bias: SSAValue | None, result: SSAValue) -> None:
    """Checks that input, bias and result go together: 8 bits are summed in 32, 16 bits
    in 64."""
    width = quantized_element(input.type).storage_width
    given = element_type(result.type)
    if isinstance(given, QuantizedType):
        if given.storage_width != width:
            raise VerifyException(
                f"a result of {given.storage_width} bits does not go with an input of "
                f"{width}"
            )
    elif width != 8:
        raise VerifyException(f"sums of {width}-bit elements are not a result")
    if bias is not None and width == 8 and element_type(bias.type) == i64:
        raise VerifyException(
            "a bias of i64 does not go with an input of 8 bits, whose accumulator is "
            "i32"
        )


def gives_sums(op: ActivatedOp) -> bool:
    """Whether the result is the accumulators themselves."""
    return element_type(op.results[0].type) == i32


def check_sums(op: ActivatedOp, bias: SSAValue | None) -> None:
    """Checks that nothing is asked of accumulators that only real values have."""
    if not gives_sums(op):
        return
    if op.activation is not None:
        raise VerifyException(
            f"activation {op.activation} bounds real values, and the result is i32"
        )
    if bias is not None and element_type(bias.type) != i32:
        raise VerifyException("a bias of f32 can't be added to a result of i32")
