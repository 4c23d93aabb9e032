"""Constants of TOSA: tensors and lists of sizes."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation
from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape

from .base import ShapeType, TosaOp


class ConstOp(TosaOp, name="tosa.const"):
    """A constant tensor."""

    SIGNATURES: ClassVar = tuple(
        f"-> {element}" for element in ("i1", "i4", "i8", "i16", "i32", "i48", "f32")
    )

    values = prop_def(DenseIntOrFPElementsAttr)
    output = result_def(TensorType)

    traits = traits_def(Pure(), ConstantLike())

    # LLVM 22 has no other form for it.
    print = Operation.print

    @property
    def value(self) -> DenseIntOrFPElementsAttr:
        """The elements, under the name that other dialects have for them."""
        return self.values

    def result_shape(self) -> Shape:
        return self.values.get_shape()

    def check(self) -> None:
        if self.values.get_type() != self.output.type:
            raise VerifyException(
                f"values of {self.values.get_type()} differ from {self.output.type}"
            )


class ConstShapeOp(TosaOp, name="tosa.const_shape"):
    """A constant list of sizes; in that of a reshape -1 is what makes the sizes fit."""

    SIGNATURES: ClassVar = ("-> shape",)

    values = prop_def(DenseIntOrFPElementsAttr)
    output = result_def(ShapeType)

    traits = traits_def(Pure(), ConstantLike())

    def verify_(self) -> None:
        rank = self.output.type.rank.data
        if len(self.values.get_values()) != rank:
            raise VerifyException(
                f"{len(self.values.get_values())} sizes for {self.output.type}"
            )


class IdentityOp(TosaOp, name="tosa.identity"):
    """The operand itself."""

    SIGNATURES: ClassVar = tuple(
        f"{element} -> {element}" for element in ("i1", "i8", "i16", "i32", "f32")
    )

    input1 = operand_def(TensorType)
    output = result_def(TensorType)
