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

from ..operations import define
from ..types import shape_of
from .base import TosaOp


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


class ArgMaxOp(ExtremeReductionOp, name="tosa.argmax"):
    """The first place along `axis` that holds the largest element; the axis goes."""

    SIGNATURES: ClassVar = ("i8 -> i32", "i16 -> i32")

    def result_shape(self) -> Shape:
        return reduced(shape_of(self.input), [self.axis.value.data])


_ORDERED = ("i8 -> i8", "i16 -> i16", "i32 -> i32")

REDUCTIONS = [
    define(f"tosa.{name}", base, meaning, SIGNATURES=signatures)
    for name, base, signatures, meaning in (
        ("reduce_all", ReductionOp, ("i1 -> i1",), "Whether all hold."),
        ("reduce_any", ReductionOp, ("i1 -> i1",), "Whether any holds."),
        ("reduce_max", ExtremeReductionOp, _ORDERED, "The largest elements."),
        ("reduce_min", ExtremeReductionOp, _ORDERED, "The smallest elements."),
        ("reduce_sum", ReductionOp, ("i32 -> i32",), "Sums."),
    )
]
"""The operations that have nothing but a name, a meaning and element types."""
