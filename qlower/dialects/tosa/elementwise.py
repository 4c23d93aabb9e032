"""Operations on one element at a time, whose operands broadcast."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import (
    BoolAttr,
    TensorType,
)
from xdsl.dialects.tosa import NanMode, NanModeAttr
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape, broadcast

from ..types import element_type, shape_of
from .base import TosaOp, constant_integers
from .checks import check_zero_point, known_integers

INTEGERS = ("i8", "i16", "i32")


def _on(
    types: tuple[str, ...], operands: int, result: str | None = None
) -> tuple[str, ...]:
    """Signatures of operands of one type, and a result of that one or another."""
    return tuple(f"{' '.join([type] * operands)} -> {result or type}" for type in types)


class ElementwiseOp(TosaOp, ABC):
    """Gives an element for each of its operands, which broadcast."""

    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        shapes = [shape_of(operand) for operand in self.operands]
        if len(set(map(len, shapes))) > 1:
            raise VerifyException(
                f"ranks {' and '.join(str(len(shape)) for shape in shapes)} differ"
            )
        return broadcast(*shapes)


class UnaryOp(ElementwiseOp, ABC):
    """An element of each element of one tensor."""

    input1 = operand_def(TensorType)


class BinaryOp(ElementwiseOp, ABC):
    """An element of each pair of elements."""

    input1 = operand_def(TensorType)
    input2 = operand_def(TensorType)


@irdl_op_definition
class AddOp(BinaryOp):
    """The sum."""

    name = "tosa.add"

    SIGNATURES: ClassVar = _on(("i32", "f32"), 2)


@irdl_op_definition
class SubOp(BinaryOp):
    """The difference."""

    name = "tosa.sub"

    SIGNATURES: ClassVar = _on(("i32", "f32"), 2)


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The larger one."""

    name = "tosa.maximum"

    SIGNATURES: ClassVar = _on(("i32",), 2)

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The smaller one."""

    name = "tosa.minimum"

    SIGNATURES: ClassVar = _on(("i32",), 2)

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))


@irdl_op_definition
class IntDivOp(BinaryOp):
    """The quotient, cut toward zero."""

    name = "tosa.intdiv"

    SIGNATURES: ClassVar = _on(("i32",), 2)

    def check(self) -> None:
        if 0 in (constant_integers(self.input2) or ()):
            raise VerifyException("a division by 0, which TOSA calls unpredictable")


@irdl_op_definition
class BitwiseAndOp(BinaryOp):
    """The bits that both have."""

    name = "tosa.bitwise_and"

    SIGNATURES: ClassVar = _on(INTEGERS, 2)


@irdl_op_definition
class BitwiseOrOp(BinaryOp):
    """The bits that either has."""

    name = "tosa.bitwise_or"

    SIGNATURES: ClassVar = _on(INTEGERS, 2)


@irdl_op_definition
class BitwiseXorOp(BinaryOp):
    """The bits that one of them has."""

    name = "tosa.bitwise_xor"

    SIGNATURES: ClassVar = _on(INTEGERS, 2)


@irdl_op_definition
class LogicalAndOp(BinaryOp):
    """Whether both hold."""

    name = "tosa.logical_and"

    SIGNATURES: ClassVar = _on(("i1",), 2)


@irdl_op_definition
class LogicalOrOp(BinaryOp):
    """Whether either holds."""

    name = "tosa.logical_or"

    SIGNATURES: ClassVar = _on(("i1",), 2)


@irdl_op_definition
class LogicalXorOp(BinaryOp):
    """Whether one of them holds."""

    name = "tosa.logical_xor"

    SIGNATURES: ClassVar = _on(("i1",), 2)


class ShiftOp(BinaryOp, ABC):
    """Bits moved by a number of places in `[0, width)`; others are unpredictable."""

    SIGNATURES: ClassVar = _on(INTEGERS, 2)

    def check(self) -> None:
        width = int(str(element_type(self.input1.type))[1:])
        for places in constant_integers(self.input2) or ():
            if not 0 <= places < width:
                raise VerifyException(f"shift {places} is outside [0, {width})")


@irdl_op_definition
class LogicalLeftShiftOp(ShiftOp):
    """`x * 2^n`, without the bits that leave the type."""

    name = "tosa.logical_left_shift"


@irdl_op_definition
class LogicalRightShiftOp(ShiftOp):
    """The bits of x as an unsigned number, over `2^n`."""

    name = "tosa.logical_right_shift"


@irdl_op_definition
class ArithmeticRightShiftOp(ShiftOp):
    """`x / 2^n`, rounded down or, with `round`, half up."""

    name = "tosa.arithmetic_right_shift"

    round = prop_def(BoolAttr)


class ComparisonOp(BinaryOp, ABC):
    """Whether one element compares to the other."""

    SIGNATURES: ClassVar = _on(("i32",), 2, "i1")


@irdl_op_definition
class EqualOp(ComparisonOp):
    """Whether elements are equal."""

    name = "tosa.equal"


@irdl_op_definition
class GreaterOp(ComparisonOp):
    """Whether the first is greater."""

    name = "tosa.greater"


@irdl_op_definition
class GreaterEqualOp(ComparisonOp):
    """Whether the first isn't smaller."""

    name = "tosa.greater_equal"


@irdl_op_definition
class MulOp(ElementwiseOp):
    """The product; of i32 it may be shifted right, rounded half up."""

    name = "tosa.mul"

    SIGNATURES: ClassVar = (
        *(f"{type} {type} i8 -> i32" for type in INTEGERS),
        "f32 f32 i8 -> f32",
    )

    input1 = operand_def(TensorType)
    input2 = operand_def(TensorType)
    shift = operand_def(TensorType)

    def result_shape(self) -> Shape:
        return broadcast(shape_of(self.input1), shape_of(self.input2))

    def check(self) -> None:
        (places, *_) = known_integers("shift", self.shift)
        largest = 63 if str(element_type(self.input1.type)) == "i32" else 0
        if not 0 <= places <= largest:
            raise VerifyException(f"shift {places} is outside [0, {largest}]")


@irdl_op_definition
class AbsOp(UnaryOp):
    """The absolute value."""

    name = "tosa.abs"

    SIGNATURES: ClassVar = _on(("i32", "f32"), 1)


@irdl_op_definition
class BitwiseNotOp(UnaryOp):
    """The other bits."""

    name = "tosa.bitwise_not"

    SIGNATURES: ClassVar = _on(INTEGERS, 1)


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """Whether it doesn't hold."""

    name = "tosa.logical_not"

    SIGNATURES: ClassVar = _on(("i1",), 1)


@irdl_op_definition
class ClzOp(UnaryOp):
    """The zeros before the first one bit; 32 of 0."""

    name = "tosa.clz"

    SIGNATURES: ClassVar = _on(("i32",), 1)


@irdl_op_definition
class NegateOp(ElementwiseOp):
    """`output_zp - (x - input1_zp)`, saturated."""

    name = "tosa.negate"

    SIGNATURES: ClassVar = _on(INTEGERS, 3)

    input1 = operand_def(TensorType)
    input1_zp = operand_def(TensorType)
    output_zp = operand_def(TensorType)

    def result_shape(self) -> Shape:
        return shape_of(self.input1)

    def check(self) -> None:
        check_zero_point("input1_zp", self.input1_zp)
        check_zero_point("output_zp", self.output_zp)


@irdl_op_definition
class CastOp(UnaryOp):
    """
    Another type: integers keep their low bits, floats round half to even and saturate.
    """

    name = "tosa.cast"

    SIGNATURES: ClassVar = tuple(
        f"{source} -> {target}"
        for source in ("i1", *INTEGERS, "f32")
        for target in ("i1", *INTEGERS, "f32")
        if source != target and {source, target} != {"i1", "f32"}
    )


@irdl_op_definition
class SelectOp(ElementwiseOp):
    """The second operand where the first holds, else the third."""

    name = "tosa.select"

    SIGNATURES: ClassVar = tuple(
        f"i1 {type} {type} -> {type}" for type in ("i1", *INTEGERS, "f32")
    )

    input1 = operand_def(TensorType)
    input2 = operand_def(TensorType)
    input3 = operand_def(TensorType)
