"""Ops that pick values by position: resizing, and the position of the largest."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    BoolAttr,
    IntegerAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import reduced

from .base import MovingOp, QnnOp, check_same_quantization, check_shape
from .constraints import (
    Boolean,
    Integer,
    Integral,
    Keyword,
    Quantized,
    Value,
    operand_of,
)


@irdl_op_definition
class ResizeOp(QnnOp):
    """
    An NHWC image resampled to the result's size. The source coordinate of result row
    y is `y * H / OH`, `(y + 1/2) * H / OH - 1/2` with `half_pixel_centers`, or
    `y * (H - 1) / (OH - 1)` with `align_corners`; columns likewise.

    ```mlir
    %y = qnn.resize %x {mode = "bilinear", half_pixel_centers = true}
        : (tensor<1x2x2x3x!in>) -> tensor<1x4x4x3x!in>
    ```
    """

    name = "qnn.resize"

    @property
    def rules(self) -> tuple[str, ...]:
        position = f"resize_{self.mode}_position"
        return (
            (position,) if self.mode == "nearest" else (f"resize_{self.mode}", position)
        )

    input = operand_of(Quantized(rank=4))
    result = result_def(Quantized(rank=4))

    mode_attr = prop_def(Keyword("mode", ("nearest", "bilinear")), prop_name="mode")
    align_corners_attr = prop_def(
        Boolean("align_corners"), BoolAttr.from_bool(False), prop_name="align_corners"
    )
    half_pixel_centers_attr = prop_def(
        Boolean("half_pixel_centers"),
        BoolAttr.from_bool(False),
        prop_name="half_pixel_centers",
    )

    def __init__(
        self,
        input: Value,
        result_type: Attribute,
        *,
        mode: str,
        align_corners: bool = False,
        half_pixel_centers: bool = False,
        contract: str | None = None,
    ):
        super().__init__(
            input,
            result=result_type,
            contract=contract,
            mode=StringAttr(mode),
            align_corners=BoolAttr.from_bool(align_corners),
            half_pixel_centers=BoolAttr.from_bool(half_pixel_centers),
        )

    @property
    def mode(self) -> str:
        return self.mode_attr.data

    @property
    def align_corners(self) -> bool:
        return bool(self.align_corners_attr)

    @property
    def half_pixel_centers(self) -> bool:
        return bool(self.half_pixel_centers_attr)

    def verify_(self) -> None:
        check_same_quantization("result", self.result.type, self.input.type)
        batch, _, _, channels = self.input.type.get_shape()
        result = self.result.type.get_shape()
        check_shape("result", result, (batch, result[1], result[2], channels))
        if self.align_corners and self.half_pixel_centers:
            raise VerifyException(
                "align_corners and half_pixel_centers exclude each other"
            )


@irdl_op_definition
class ArgMaxOp(MovingOp):
    """
    Index of the largest stored value along `axis`, the first one of equals; that
    dimension goes.

    ```mlir
    %y = qnn.arg_max %x {axis = 1} : (tensor<1x10x!in>) -> tensor<1xi32>
    ```
    """

    name = "qnn.arg_max"

    input = operand_of(Quantized())
    result = result_def(Integral((32, 64)))

    axis_attr = prop_def(Integer("axis"), prop_name="axis")

    def __init__(
        self,
        input: Value,
        result_type: Attribute,
        *,
        axis: int,
        contract: str | None = None,
    ):
        super().__init__(
            input, result=result_type, contract=contract, axis=IntegerAttr(axis, i64)
        )

    @property
    def axis(self) -> int:
        return self.axis_attr.value.data

    def verify_(self) -> None:
        expected = reduced(self.input.type.get_shape(), [self.axis])
        check_shape("result", self.result.type.get_shape(), expected)
