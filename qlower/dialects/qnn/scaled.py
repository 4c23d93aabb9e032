"""
Conversions whose scales and zero points are operands: numbers that a model takes or
computes. Each value is passed to the contract's rule under the operand's name, for each
element; operands broadcast to the result.
"""

from __future__ import annotations

from abc import ABC

from xdsl.ir import Attribute
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from ..operations import named_operands
from ..quant import quantized_element
from ..types import shape_of
from .base import QnnOp, check_broadcast
from .constraints import Integral, Quantized, Real, operand_of
from .fields import flag_field, word_field


class ScaledOp(QnnOp, ABC):
    """
    An op whose scales are operands. `half_scales` says that they are numbers of
    float16, which some systems combine in that type.
    """

    half_scales = flag_field()
    """Whether scales are numbers of float16."""

    def verify_(self) -> None:
        (result,) = self.results
        for name, operand in named_operands(self):
            check_broadcast(name, shape_of(operand), shape_of(result))


def _check_codes(type: Attribute) -> None:
    """Refuse a result that states a scale or zero point of its own."""
    element = quantized_element(type)
    if (element.scale, element.zero_point) != (1.0, 0):
        raise VerifyException(
            f"result has the scale {element.scale} and the zero point"
            f" {element.zero_point}, expected 1 and 0: operands give them"
        )


class QuantizeWithOp(ScaledOp, name="qnn.quantize_with"):
    """
    From real numbers to codes: `input / output_scale + output_zero_point`, by the rule
    `quantize_with`. The result's type says how codes are stored.

    ```mlir
    %q = qnn.quantize_with %x, %scale, %zero
        : (tensor<2x4xf32>, tensor<f32>, tensor<4xi32>) -> tensor<2x4x!codes>
    ```
    """

    input = operand_of(Real())
    output_scale = operand_of(Real())
    output_zero_point = operand_of(Integral((32,)))
    result = result_def(Quantized())

    def verify_(self) -> None:
        super().verify_()
        _check_codes(self.result.type)


class DequantizeWithOp(ScaledOp, name="qnn.dequantize_with"):
    """
    From codes to real numbers: `input_scale * (input - input_zero_point)`, by the rule
    `dequantize_with`.

    ```mlir
    %x = qnn.dequantize_with %q, %scale, %zero
        : (tensor<2x4xi32>, tensor<f32>, tensor<4xi32>) -> tensor<2x4xf32>
    ```
    """

    input = operand_of(Integral((32,)))
    input_scale = operand_of(Real())
    input_zero_point = operand_of(Integral((32,)))
    result = result_def(Real())


class RequantizeWithOp(ScaledOp, name="qnn.requantize_with"):
    """
    From exact sums of products to codes, as the operator `layer` stores them: by the
    rule `conv2d_with` or `matmul_with`.

    ```mlir
    %q = qnn.requantize_with %sums, %a, %b, %c, %zero {layer = "matmul"}
        : (tensor<2x4xi32>, tensor<f32>, tensor<4xf32>, tensor<f32>, tensor<i32>)
        -> tensor<2x4x!codes>
    ```
    """

    layer = word_field("conv2d", "matmul")

    accumulator = operand_of(Integral((32,)))
    input_scale = operand_of(Real())
    weight_scale = operand_of(Real())
    output_scale = operand_of(Real())
    output_zero_point = operand_of(Integral((32,)))
    result = result_def(Quantized(widths=(8,)))

    @property
    def rules(self) -> tuple[str, ...]:
        return (f"{self.layer}_with",)

    def verify_(self) -> None:
        super().verify_()
        _check_codes(self.result.type)
