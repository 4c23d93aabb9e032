"""Ops that pick values by position: resizing, and the position of the largest."""

from __future__ import annotations

from xdsl.irdl import (
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import reduced

from .base import MovingOp, QnnOp, check_same_quantization, check_shape
from .constraints import (
    Integral,
    Quantized,
    operand_of,
)
from .fields import flag_field, integer_field, word_field


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
