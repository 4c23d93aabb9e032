"""One element of all those along an axis, which keeps one place."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, TensorType
from xdsl.dialects.tosa import NanMode, NanModeAttr
from xdsl.irdl import (
    irdl_op_definition,
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


@irdl_op_definition
class ReduceSumOp(ReductionOp):
    """Sums."""

    name = "tosa.reduce_sum"

    SIGNATURES: ClassVar = ("i32 -> i32",)


@irdl_op_definition
class ReduceMaxOp(ReductionOp):
    """The largest elements."""

    name = "tosa.reduce_max"

    SIGNATURES: ClassVar = ("i8 -> i8", "i16 -> i16", "i32 -> i32")

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))


@irdl_op_definition
class ReduceMinOp(ReductionOp):
    """The smallest elements."""

    name = "tosa.reduce_min"

    SIGNATURES: ClassVar = ("i8 -> i8", "i16 -> i16", "i32 -> i32")

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))


@irdl_op_definition
class ReduceAllOp(ReductionOp):
    """Whether all hold."""

    name = "tosa.reduce_all"

    SIGNATURES: ClassVar = ("i1 -> i1",)


@irdl_op_definition
class ReduceAnyOp(ReductionOp):
    """Whether any holds."""

    name = "tosa.reduce_any"

    SIGNATURES: ClassVar = ("i1 -> i1",)


@irdl_op_definition
class ArgMaxOp(ReductionOp):
    """The first place along `axis` that holds the largest element; the axis goes."""

    name = "tosa.argmax"

    SIGNATURES: ClassVar = ("i8 -> i32", "i16 -> i32")

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))

    def result_shape(self) -> Shape:
        return reduced(shape_of(self.input), [self.axis.value.data])
