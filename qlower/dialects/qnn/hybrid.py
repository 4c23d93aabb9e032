"""
Layers on f32 whose weights are stored integers ("dynamic range"): the input is
quantized when the layer runs.

For each range of numbers, a row (an image) or the whole input, the contract's rule
`hybrid_range` or `hybrid_symmetric_range` makes a scale and a zero point of the lowest
and the highest number, 0 among them; `hybrid_code` stores a number with them, and the
layer's own rule makes the result of the exact sum
`sum((code - zero point) * stored weight)`.
"""

from __future__ import annotations

from abc import ABC

from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from ..quant import quantized_element
from .constraints import Real, Weight, operand_of, optional_operand_of
from .contraction import DepthwiseConvolutionOp, GroupedConvolutionOp, RowsOp
from .fields import flag_field
from .real import SummingOp


class HybridOp(SummingOp, ABC):
    """
    An op on f32 with stored weights. `symmetric` says that codes have no zero point,
    where the contract knows such ranges.
    """

    symmetric = flag_field()
    """Whether codes have no zero point."""

    @property
    def range_rule(self) -> str:
        """The rule that makes a scale and a zero point of a range."""
        return "hybrid_symmetric_range" if self.symmetric else "hybrid_range"

    @property
    def rules(self) -> tuple[str, ...]:
        return (self.kind, self.range_rule, "hybrid_code")

    def verify_(self) -> None:
        super().verify_()
        weight = quantized_element(self.operands[1].type)
        if any(weight.zero_points):
            raise VerifyException("weights have a zero point, expected 0")


class HybridConv2DOp(GroupedConvolutionOp, HybridOp, name="qnn.hybrid_conv2d"):
    """
    Convolution of an NHWC image of f32 with stored weights [O, KH, KW, C / groups], as
    `qnn.conv2d`, by the contract's rules `hybrid_range`, `hybrid_code` and
    `hybrid_conv2d`. Padding is 0.

    ```mlir
    %y = qnn.hybrid_conv2d %x, %w, %b
        {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
        : (tensor<1x4x16x1xf32>, tensor<2x1x1x1x!w>, tensor<2xf32>)
        -> tensor<1x4x16x2xf32>
    ```
    """

    input = operand_of(Real(rank=4))
    weight = operand_of(Weight(rank=4, axis=0))
    bias = optional_operand_of(Real(rank=1))
    result = result_def(Real(rank=4))


class HybridDepthwiseConv2DOp(
    DepthwiseConvolutionOp, HybridOp, name="qnn.hybrid_depthwise_conv2d"
):
    """
    Convolution of each channel of an NHWC image of f32 on its own, with stored weights
    [1, KH, KW, C * M], as `qnn.depthwise_conv2d`, by the contract's rules
    `hybrid_range`, `hybrid_code` and `hybrid_depthwise_conv2d`. Padding is 0.

    ```mlir
    %y = qnn.hybrid_depthwise_conv2d %x, %w, %b
        {stride = [2, 2], pad = [0, 1, 0, 1], dilation = [1, 1]}
        : (tensor<1x8x8x4xf32>, tensor<1x3x3x4x!w>, tensor<4xf32>)
        -> tensor<1x4x4x4xf32>
    ```
    """

    input = operand_of(Real(rank=4))
    weight = operand_of(Weight(rank=4, axis=3))
    bias = optional_operand_of(Real(rank=1))
    result = result_def(Real(rank=4))


class HybridLinearOp(RowsOp, HybridOp, name="qnn.hybrid_linear"):
    """
    Every row of f32 times stored weights [O, K], as `qnn.linear`, by the contract's
    rules `hybrid_range`, `hybrid_code` and `hybrid_linear`.

    ```mlir
    %y = qnn.hybrid_linear %x, %w, %b {activation = "relu", symmetric = true}
        : (tensor<1x8xf32>, tensor<4x8x!w>, tensor<4xf32>) -> tensor<1x4xf32>
    ```
    """

    input = operand_of(Real(rank=2))
    weight = operand_of(Weight(rank=2, axis=0))
    bias = optional_operand_of(Real(rank=1))
    result = result_def(Real(rank=2))
