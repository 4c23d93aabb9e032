"""RESCALE, and what brings elements into a range or looks them up."""

from __future__ import annotations

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
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape, check_count

from ..types import element_type, shape_of
from .base import TosaOp, known_integers


class RescaleOp(TosaOp, name="tosa.rescale"):
    """
    Multiplies by `multiplier / 2^shift` and rounds, between zero points; saturates. The
    numbers are one for all elements or, with `per_channel`, one along the last axis.
    """

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


class ClampOp(TosaOp, name="tosa.clamp"):
    """Elements brought into `[min_val, max_val]`."""

    SIGNATURES: ClassVar = ("i8 -> i8", "i16 -> i16", "f32 -> f32")

    input = operand_def(TensorType)

    min_val = prop_def(IntegerAttr | FloatAttr)
    max_val = prop_def(IntegerAttr | FloatAttr)
    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))

    output = result_def(TensorType)

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


class TableOp(TosaOp, name="tosa.table"):
    """The table's value for each element: an entry for i8; for i16 a point between two
    of 513 entries, with 7 more bits."""

    SIGNATURES: ClassVar = ("i8 i8 -> i8", "i16 i16 -> i32")

    input1 = operand_def(TensorType)
    table = operand_def(TensorType)
    output = result_def(TensorType)

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
