"""Operations on one element at a time, whose operands broadcast."""

from __future__ import annotations

from abc import ABC
from itertools import pairwise
from typing import ClassVar

from xdsl.dialects.builtin import (
    BoolAttr,
    FloatAttr,
    IntegerAttr,
    TensorType,
)
from xdsl.dialects.tosa import NanMode, NanModeAttr, RoundingMode, RoundingModeAttr
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from ..types import element_type, shape_of
from .base import (
    Shape,
    TosaOp,
    broadcast,
    check_count,
    check_zero_point,
    constant_integers,
    known_integers,
)

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
        return broadcast(*(shape_of(operand) for operand in self.operands))


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
class ClampOp(TosaOp):
    """Elements brought into `[min_val, max_val]`."""

    name = "tosa.clamp"

    SIGNATURES: ClassVar = _on(("i8", "i16", "f32"), 1)

    input = operand_def(TensorType)

    min_val = prop_def(IntegerAttr | FloatAttr)
    max_val = prop_def(IntegerAttr | FloatAttr)
    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))

    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        return shape_of(self.input)

    def check(self) -> None:
        for bound in (self.min_val, self.max_val):
            if bound.type != element_type(self.input.type):
                raise VerifyException(
                    f"bound {bound} is of another type than {self.input.type}"
                )
        if not self.min_val.value.data <= self.max_val.value.data:
            raise VerifyException(
                f"min_val {self.min_val.value.data} exceeds max_val "
                f"{self.max_val.value.data}"
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


@irdl_op_definition
class TableOp(ElementwiseOp):
    """
    What a table has for each element: of i8 an entry; of i16 a point between two of 513
    entries, with 7 bits more.
    """

    name = "tosa.table"

    SIGNATURES: ClassVar = ("i8 i8 -> i8", "i16 i16 -> i32")

    input1 = operand_def(TensorType)
    table = operand_def(TensorType)

    def result_shape(self) -> Shape:
        entries = 256 if str(element_type(self.input1.type)) == "i8" else 513
        if shape_of(self.table) != (entries,):
            raise VerifyException(
                f"table has shape {list(shape_of(self.table))}, expected [{entries}]"
            )
        return shape_of(self.input1)

    def check(self) -> None:
        entries = known_integers("table", self.table)
        if len(entries) == 513:
            for below, above in pairwise(entries):
                if not -(1 << 15) <= above - below < 1 << 15:
                    raise VerifyException(
                        f"table entries {below} and {above} are too far apart, which "
                        "TOSA calls unpredictable"
                    )


@irdl_op_definition
class RescaleOp(TosaOp):
    """
    Multiplies by `multiplier / 2^shift` and rounds, between zero points; saturates. The
    numbers are one for all elements or, with `per_channel`, one along the last axis.
    """

    name = "tosa.rescale"

    SIGNATURES: ClassVar = tuple(
        f"{source} {multiplier} i8 {source.lstrip('u')} {target.lstrip('u')}"
        f" -> {target}"
        for source in ("i8", "ui8", "i16", "ui16", "i32", "i48")
        for target in ("i8", "ui8", "i16", "ui16", "i32")
        for multiplier in ("i16", "i32")
    )

    input = operand_def(TensorType)
    multiplier = operand_def(TensorType)
    shift = operand_def(TensorType)
    input_zp = operand_def(TensorType)
    output_zp = operand_def(TensorType)

    scale32 = prop_def(BoolAttr)
    rounding_mode = prop_def(RoundingModeAttr)
    per_channel = prop_def(BoolAttr)
    input_unsigned = prop_def(BoolAttr)
    output_unsigned = prop_def(BoolAttr)

    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        return shape_of(self.input)

    def check(self) -> None:
        source = str(element_type(self.input.type))
        target = str(element_type(self.output.type))
        wide, mode = bool(self.scale32), self.rounding_mode.data
        width = "i32" if wide else "i16"
        if str(element_type(self.multiplier.type)) != width:
            raise VerifyException(
                f"scale32 = {str(wide).lower()} needs {width} multipliers"
            )
        if wide and source == "i48":
            raise VerifyException("scale32 = true is not defined on i48")
        if mode == RoundingMode.DOUBLE_ROUND and not wide:
            raise VerifyException("DOUBLE_ROUND needs scale32 = true")
        if mode == RoundingMode.INEXACT_ROUND:
            raise VerifyException("INEXACT_ROUND leaves open which result is right")
        if bool(self.input_unsigned) and bool(self.output_unsigned):
            raise VerifyException("input and output can't both be unsigned")
        if bool(self.input_unsigned) and target == "i32":
            raise VerifyException("an unsigned input can't be rescaled to i32")
        if bool(self.output_unsigned) and source in ("i32", "i48"):
            raise VerifyException(f"{source} can't be rescaled to an unsigned output")
        for name, unsigned, value, type in (
            ("input_zp", self.input_unsigned, self.input_zp, source),
            ("output_zp", self.output_unsigned, self.output_zp, target),
        ):
            self._check_zero_point(
                name,
                bool(unsigned) or type.startswith("u"),
                known_integers(name, value),
                type.lstrip("u"),
            )
        shape = shape_of(self.input)
        count = shape[-1] if bool(self.per_channel) and shape else 1
        multipliers = known_integers("multiplier", self.multiplier)
        shifts = known_integers("shift", self.shift)
        check_count("multiplier", multipliers, count)
        check_count("shift", shifts, count)
        for multiplier, shift in zip(multipliers, shifts, strict=True):
            if multiplier < 0:
                raise VerifyException(f"multiplier {multiplier} is less than 0")
            if not 2 <= shift <= 62:
                raise VerifyException(f"shift {shift} is outside [2, 62]")

    def _check_zero_point(
        self, name: str, unsigned: bool, numbers: tuple[int, ...], type: str
    ) -> None:
        check_count(name, numbers, 1)
        if unsigned and type not in ("i8", "i16"):
            raise VerifyException(f"{type} of {name} can't be unsigned")
        zero_point = numbers[0]
        if type == "i8" or zero_point == 0:
            return
        # As a signless constant, 32768 is written -32768.
        if not (unsigned and type == "i16" and zero_point in (32768, -32768)):
            legal = "0 or 32768" if unsigned and type == "i16" else "0"
            raise VerifyException(f"{name} {zero_point} of {type} is not {legal}")
