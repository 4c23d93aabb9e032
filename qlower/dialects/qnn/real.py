"""
Contractions on real numbers: convolutions, linear layers and products of f32.

What such a sum is depends on the order in which it is made. That is the contract's, as
each rounding is: the attribute `contract.product` of its rule names the order, and the
rule says what becomes of the sum. Systems differ in this, and so do the kernels of one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from qlower.operators.products import Products
from qlower.operators.structured import Structured
from qlower.operators.sums import (
    FLAT_DEPTHWISE_CONV_2D,
    FREE,
    Sums,
    matrix_product,
)

from ..types import shape_of
from .base import ActivatedOp, check_broadcast
from .constraints import (
    Real,
    operand_of,
    optional_operand_of,
)
from .contraction import (
    ConvolutionOp,
    GroupedConvolutionOp,
    RowsOp,
    check_operands,
)
from .fields import contract_field, flag_field


class FallbackOp(ActivatedOp, ABC):
    """
    An op whose operands are f32. `fallback` names the contract that gives it its
    arithmetic where the contract of the module has no rule for it: that of the system
    that the model was made for.
    """

    fallback = contract_field(allow_file=False)

    @property
    def rules(self) -> tuple[str, ...]:
        return (self.kind,)


class SummingOp(FallbackOp, ABC):
    """An op on f32 that sums products."""

    @property
    @abstractmethod
    def sums(self) -> Sums:
        """The products and sums."""

    def verify_(self) -> None:
        check_operands(self, self.sums, self.operands[2:])


class RealOp(SummingOp, ABC):
    """
    An op that sums products of f32.

    A bias has one number for each output channel; the contract says whether sums start
    from it. Of more dimensions it broadcasts to the result, and sums do start from it.
    `computed_weights` says that the model computes the second operand, which contracts
    then don't take for a constant; `scaled` that a factor of all sums follows, which
    kernels of single rows don't take; `narrow_weights` that the second operand was
    dequantized from few bits, for which systems have kernels of their own.
    """

    computed_weights = flag_field()
    """Whether the model computes the second operand, if only once."""
    scaled = flag_field()
    """Whether the sums are multiplied by a factor."""
    narrow_weights = flag_field()
    """Whether the second operand was dequantized from few bits."""

    @property
    def products(self) -> Products:
        """The products that each element of the result is the sum of."""
        return Products.of(self.sums, *map(shape_of, self.operands[:2]))

    @property
    def is_bias_of_channels(self) -> bool:
        """Whether there is a bias, of one number for each output channel."""
        return len(self.operands) > 2 and len(shape_of(self.operands[2])) == 1

    def verify_(self) -> None:
        if len(self.operands) == 2 or self.is_bias_of_channels:
            check_operands(self, self.sums, self.operands[2:])
            return
        first, second, bias = map(shape_of, self.operands)
        result = shape_of(self.results[0])
        self.sums.check_result(first, second, result)
        check_broadcast("bias", bias, result)


class RealConv2DOp(GroupedConvolutionOp, RealOp, name="qnn.real_conv2d"):
    """
    Convolution of an NHWC image of f32 with weights [O, KH, KW, C / groups], as
    `qnn.conv2d`: of the products of each element the contract's rule `real_conv2d`
    makes the sum. Padding is 0.

    ```mlir
    %y = qnn.real_conv2d %x, %w, %b
        {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
        : (tensor<1x4x16x1xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>)
        -> tensor<1x4x16x2xf32>
    ```
    """

    input = operand_of(Real(rank=4))
    weight = operand_of(Real(rank=4))
    bias = optional_operand_of(Real())
    result = result_def(Real(rank=4))


class RealDepthwiseConv2DOp(ConvolutionOp, RealOp, name="qnn.real_depthwise_conv2d"):
    """
    Convolution of each channel of an NHWC image of f32 on its own, with weights
    [1, KH, KW, C * M], as `qnn.depthwise_conv2d`, by the contract's rule
    `real_depthwise_conv2d`. Padding is 0.

    ```mlir
    %y = qnn.real_depthwise_conv2d %x, %w, %b
        {stride = [2, 2], pad = [0, 1, 0, 1], dilation = [1, 1]}
        : (tensor<1x8x8x4xf32>, tensor<1x3x3x4xf32>, tensor<4xf32>)
        -> tensor<1x4x4x4xf32>
    ```
    """

    input = operand_of(Real(rank=4))
    weight = operand_of(Real(rank=4))
    bias = optional_operand_of(Real())
    result = result_def(Real(rank=4))

    @property
    def sums(self) -> Sums:
        return Sums(FLAT_DEPTHWISE_CONV_2D, self.slides)


class RealLinearOp(RowsOp, RealOp, name="qnn.real_linear"):
    """
    Every row of f32 times weights [O, K], as `qnn.linear`, by the contract's rule
    `real_linear`.

    ```mlir
    %y = qnn.real_linear %x, %w, %b {activation = "relu"}
        : (tensor<1x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<1x4xf32>
    ```
    """

    input = operand_of(Real())
    weight = operand_of(Real(rank=2))
    bias = optional_operand_of(Real())
    result = result_def(Real())


class RealMatMulOp(RealOp, name="qnn.real_matmul"):
    """
    Product of two matrices of f32, batched over leading dimensions that broadcast, and
    a bias, by the contract's rule `real_matmul`:
    `sum(k) of lhs[..., m, k] * rhs[..., k, n]`.

    ```mlir
    %y = qnn.real_matmul %a, %b
        : (tensor<2x3x4xf32>, tensor<1x4x5xf32>) -> tensor<2x3x5xf32>
    ```
    """

    lhs = operand_of(Real())
    rhs = operand_of(Real())
    bias = optional_operand_of(Real())
    result = result_def(Real())

    @property
    def products(self) -> Products:
        """The rows of all matrices that meet the same one follow each other."""
        lhs, rhs = map(shape_of, self.operands[:2])
        if math.prod(rhs[:-2]) > 1:
            return super().products
        return Products.of(
            Sums(matrix_product(2)), (math.prod(lhs[:-1]), lhs[-1]), rhs[-2:]
        )

    @property
    def sums(self) -> Sums:
        """Matrices that there is one of meet all of the other operand."""
        lhs, rhs = (value.type.get_shape() for value in (self.lhs, self.rhs))
        if min(len(lhs), len(rhs)) < 2:
            raise VerifyException(
                f"ranks {len(lhs)} and {len(rhs)} of lhs and rhs must be at least 2"
            )
        rank = max(len(lhs), len(rhs)) - 2
        outer = [(1,) * (rank + 2 - len(shape)) + shape[:-2] for shape in (lhs, rhs)]
        words = ["", ""]
        for loop, sizes in zip(FREE[:rank], zip(*outer, strict=True), strict=True):
            for side, size in enumerate(sizes):
                words[side] += loop if size == max(sizes) or size > 1 else "1"
        left, right = (
            word[len(word) + 2 - len(shape) :]
            for word, shape in zip(words, (lhs, rhs), strict=True)
        )
        batch = FREE[:rank]
        structure = Structured.of(f"{batch}mf|s {left}ms {right}sf {batch}mf")
        return Sums(structure, names=("lhs", "rhs"))
