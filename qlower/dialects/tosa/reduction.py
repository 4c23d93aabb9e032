"""One element of all those along an axis, which keeps one place."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, TensorType
from xdsl.dialects.tosa import NanMode, NanModeAttr
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from qlower.operators.shapes import Shape, reduced

from ..types import shape_of
from .base import TosaOp


class ReductionOp(TosaOp, ABC):
    """Combines what lies along `axis`."""

    input = operand_def(TensorType)
    axis = prop_def(IntegerAttr[I32])
    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        return reduced(shape_of(self.input), [self.axis.value.data], keep=True)


class ReduceSumOp(ReductionOp, name="tosa.reduce_sum"):
    """Sums."""

    SIGNATURES: ClassVar = ("i32 -> i32",)


class ReduceMaxOp(ReductionOp, name="tosa.reduce_max"):
    """The largest elements."""

    SIGNATURES: ClassVar = ("i8 -> i8", "i16 -> i16", "i32 -> i32")

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))


class ReduceMinOp(ReductionOp, name="tosa.reduce_min"):
    """The smallest elements."""

    SIGNATURES: ClassVar = ("i8 -> i8", "i16 -> i16", "i32 -> i32")

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))


class ReduceAllOp(ReductionOp, name="tosa.reduce_all"):
    """Whether all hold."""

    SIGNATURES: ClassVar = ("i1 -> i1",)


class ReduceAnyOp(ReductionOp, name="tosa.reduce_any"):
    """Whether any holds."""

    SIGNATURES: ClassVar = ("i1 -> i1",)


class ArgMaxOp(ReductionOp, name="tosa.argmax"):
    """The first place along `axis` that holds the largest element; the axis goes."""

    SIGNATURES: ClassVar = ("i8 -> i32", "i16 -> i32")

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))

    def result_shape(self) -> Shape:
        return reduced(shape_of(self.input), [self.axis.value.data])
