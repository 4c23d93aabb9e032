"""One element of several: pools over windows of an NHWC image, and along an axis."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import I32, DenseArrayBase, IntegerAttr, TensorType
from xdsl.dialects.tosa import NanMode, NanModeAttr
from xdsl.ir import TypeAttribute
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape, check_count, check_least, reduced
from qlower.operators.sums import POOL_2D, Sums, slides

from ..operations import define
from ..types import element_type, shape_of
from .base import TosaOp, check_nan_mode, check_zero_point, of_types, sizes

POOLED = ("i8", "i16", "f32")
"""Element types of images that are pooled."""


class PoolOp(TosaOp, ABC):
    """A window of `kernel` moves over an image, padded by less than the window."""

    kernel = prop_def(DenseArrayBase)
    stride = prop_def(DenseArrayBase)
    pad = prop_def(DenseArrayBase)

    @property
    def sums(self) -> Sums:
        """The windows, as of a sum with weights [rows, columns] that are all 1."""
        windows = slides(sizes(self.stride), sizes(self.pad), (1, 1))
        return Sums(POOL_2D, windows, exact=True)

    def result_shape(self) -> Shape:
        kernel, pad = sizes(self.kernel), sizes(self.pad)
        check_count("kernel", kernel, 2)
        check_least("kernel", kernel, 1)
        result = self.sums.result_shape(shape_of(self.operands[0]), kernel)
        for around, size in zip(pad, (kernel[0],) * 2 + (kernel[1],) * 2, strict=True):
            if around >= size:
                raise VerifyException(
                    f"pad {around} is outside [0, {size}), the window's size"
                )
        return result


class AvgPool2DOp(PoolOp, name="tosa.avg_pool2d"):
    """
    Averages of what lies inside of the image, by RESCALE with a multiplier for `1 / n`;
    of f32 the sum over `n`.
    """

    SIGNATURES: ClassVar = of_types("T T T -> T", POOLED)

    input = operand_def(TensorType)
    input_zp = operand_def(TensorType)
    output_zp = operand_def(TensorType)

    acc_type = prop_def(TypeAttribute)

    output = result_def(TensorType)

    def check(self) -> None:
        sums = "f32" if str(element_type(self.output.type)) == "f32" else "i32"
        if str(self.acc_type) != sums:
            raise VerifyException(f"acc_type {self.acc_type} is not {sums}")
        check_zero_point("input_zp", self.input_zp)
        check_zero_point("output_zp", self.output_zp)


class MaxPool2DOp(PoolOp, name="tosa.max_pool2d"):
    """The largest elements that lie inside of the image."""

    SIGNATURES: ClassVar = of_types("T -> T", POOLED)

    input = operand_def(TensorType)

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))

    output = result_def(TensorType)

    def check(self) -> None:
        check_nan_mode(self.nan_mode, self.input)


class ReductionOp(TosaOp, ABC):
    """Combines what lies along `axis`."""

    input = operand_def(TensorType)
    axis = prop_def(IntegerAttr[I32])
    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        return reduced(shape_of(self.input), [self.axis.value.data], keep=True)


class ExtremeReductionOp(ReductionOp, ABC):
    """One of the elements, the largest or the smallest."""

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))

    def check(self) -> None:
        check_nan_mode(self.nan_mode, self.input)


class ArgMaxOp(ExtremeReductionOp, name="tosa.argmax"):
    """The first place along `axis` that holds the largest element; the axis goes."""

    SIGNATURES: ClassVar = of_types("T -> i32", POOLED)

    def result_shape(self) -> Shape:
        return reduced(shape_of(self.input), [self.axis.value.data])


_ORDERED = of_types("T -> T", ("i8", "i16", "i32", "f32"))

REDUCTIONS = [
    define(f"tosa.{name}", base, meaning, SIGNATURES=signatures)
    for name, base, signatures, meaning in (
        ("reduce_all", ReductionOp, ("i1 -> i1",), "Whether all hold."),
        ("reduce_any", ReductionOp, ("i1 -> i1",), "Whether any holds."),
        ("reduce_max", ExtremeReductionOp, _ORDERED, "The largest elements."),
        ("reduce_min", ExtremeReductionOp, _ORDERED, "The smallest elements."),
        ("reduce_product", ReductionOp, ("f32 -> f32",), "Products."),
        ("reduce_sum", ReductionOp, ("i32 -> i32", "f32 -> f32"), "Sums."),
    )
]
"""The operations that have nothing but a name, a meaning and element types."""
