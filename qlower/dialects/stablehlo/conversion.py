"""Between real numbers and quantized ones."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape

from ..types import element_type, shape_of
from .base import StablehloOp, quantization


class _Conversion(StablehloOp):
    input = operand_def(TensorType[Attribute])
    output = result_def(TensorType[Attribute])

    def result_shape(self) -> Shape:
        return shape_of(self.input)


@irdl_op_definition
class UniformQuantizeOp(_Conversion):
    """
    Real to quantized, or quantized to quantized by other parameters.

    ```mlir
    %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!q>
    ```
    """

    name = "stablehlo.uniform_quantize"

    def check(self) -> None:
        if quantization(self.output.type) is None:
            raise VerifyException(f"{self.output.type} is not quantized")
        if quantization(self.input.type) is None:
            _require_real(self.input.type)


@irdl_op_definition
class UniformDequantizeOp(_Conversion):
    """
    Quantized to real.

    ```mlir
    %x = stablehlo.uniform_dequantize %q : (tensor<4x!q>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.uniform_dequantize"

    def check(self) -> None:
        if quantization(self.input.type) is None:
            raise VerifyException(f"{self.input.type} is not quantized")
        _require_real(self.output.type)


def _require_real(type: Attribute) -> None:
    if element_type(type) != f32:
        raise VerifyException(f"elements of {element_type(type)}, not f32")
