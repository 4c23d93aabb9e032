"""Operations on one element at a time, whose operands broadcast.

Those that have nothing but a name, a meaning and element types are rows of `ROWS`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import (
    BoolAttr,
    TensorType,
)
from xdsl.dialects.tosa import NanMode, NanModeAttr
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape, broadcast

from ..operations import define
from ..types import element_type, shape_of
from .base import (
    TosaOp,
    check_nan_mode,
    check_zero_point,
    constant_integers,
    known_integers,
    of_types,
)

INTEGERS = ("i8", "i16", "i32")


class ElementwiseOp(TosaOp, ABC):
    """Gives an element for each of its operands, which broadcast."""

    output = result_def(TensorType)

    def result_shape(self) -> Shape:
        return _broadcast(*map(shape_of, self.operands))


def _broadcast(*shapes: Shape) -> Shape:
    """The shape of operands that TOSA wants to be of one rank."""
    if len(set(map(len, shapes))) > 1:
        ranks = " and ".join(str(len(shape)) for shape in shapes)
        raise VerifyException(f"operands have ranks {ranks}, expected one rank")
    return broadcast(*shapes)


class UnaryOp(ElementwiseOp, ABC):
    """An element of each element of one tensor."""

    input1 = operand_def(TensorType)


class BinaryOp(ElementwiseOp, ABC):
    """An element of each pair of elements."""

    input1 = operand_def(TensorType)
    input2 = operand_def(TensorType)


class ExtremeOp(BinaryOp, ABC):
    """One of two elements."""

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))

    def check(self) -> None:
        check_nan_mode(self.nan_mode, self.output)


class ShiftOp(BinaryOp, ABC):
    """Bits moved by a number of places in `[0, width)`; others are unpredictable."""

    SIGNATURES: ClassVar = of_types("T T -> T", INTEGERS)

    def check(self) -> None:
        width = int(str(element_type(self.input1.type))[1:])
        for places in constant_integers(self.input2) or ():
            if not 0 <= places < width:
                raise VerifyException(f"shift {places} is outside [0, {width})")


class IntDivOp(BinaryOp, name="tosa.intdiv"):
    """The quotient, cut toward zero."""

    SIGNATURES: ClassVar = ("i32 i32 -> i32",)

    def check(self) -> None:
        if 0 in (constant_integers(self.input2) or ()):
            raise VerifyException("a division by 0, which TOSA calls unpredictable")


class ArithmeticRightShiftOp(ShiftOp, name="tosa.arithmetic_right_shift"):
    """`x / 2^n`, rounded down or, with `round`, half up."""

    round = prop_def(BoolAttr)


class MulOp(ElementwiseOp, name="tosa.mul"):
    """The product; of i32 it may be shifted right, rounded half up."""

    SIGNATURES: ClassVar = (
        *(f"{type} {type} i8 -> i32" for type in INTEGERS),
        "f32 f32 i8 -> f32",
    )

    input1 = operand_def(TensorType)
    input2 = operand_def(TensorType)
    shift = operand_def(TensorType)

    def result_shape(self) -> Shape:
        return _broadcast(shape_of(self.input1), shape_of(self.input2))

    def check(self) -> None:
        (places, *_) = known_integers("shift", self.shift)
        largest = 63 if str(element_type(self.input1.type)) == "i32" else 0
        if not 0 <= places <= largest:
            raise VerifyException(f"shift {places} is outside [0, {largest}]")


class NegateOp(ElementwiseOp, name="tosa.negate"):
    """`output_zp - (x - input1_zp)`, saturated."""

    SIGNATURES: ClassVar = of_types("T T T -> T", (*INTEGERS, "f32"))

    input1 = operand_def(TensorType)
    input1_zp = operand_def(TensorType)
    output_zp = operand_def(TensorType)

    def result_shape(self) -> Shape:
        return shape_of(self.input1)

    def check(self) -> None:
        check_zero_point("input1_zp", self.input1_zp)
        check_zero_point("output_zp", self.output_zp)


class SelectOp(ElementwiseOp, name="tosa.select"):
    """The second operand where the first holds, else the third."""

    SIGNATURES: ClassVar = of_types("i1 T T -> T", ("i1", *INTEGERS, "f32"))

    input1 = operand_def(TensorType)
    input2 = operand_def(TensorType)
    input3 = operand_def(TensorType)


_TRUTHS = ("i1 i1 -> i1",)
_BITS = of_types("T T -> T", INTEGERS)
_NUMBERS = of_types("T T -> T", ("i32", "f32"))
_COMPARED = of_types("T T -> i1", ("i32", "f32"))
_REAL = ("f32 -> f32",)
_CAST = tuple(
    f"{source} -> {target}"
    for source in ("i1", *INTEGERS, "f32")
    for target in ("i1", *INTEGERS, "f32")
    if source != target and {source, target} != {"i1", "f32"}
)

ROWS: Mapping[str, tuple[type[ElementwiseOp], tuple[str, ...], str]] = {
    "abs": (UnaryOp, of_types("T -> T", ("i32", "f32")), "The absolute value."),
    "add": (BinaryOp, _NUMBERS, "The sum."),
    "bitwise_and": (BinaryOp, _BITS, "The bits that both have."),
    "bitwise_not": (UnaryOp, of_types("T -> T", INTEGERS), "The other bits."),
    "bitwise_or": (BinaryOp, _BITS, "The bits that either has."),
    "bitwise_xor": (BinaryOp, _BITS, "The bits that one of them has."),
    "cast": (
        *(UnaryOp, _CAST),
        "Another type: integers keep their low bits, floats round half to even and"
        " saturate.",
    ),
    "ceil": (UnaryOp, _REAL, "The next whole number above."),
    "clz": (UnaryOp, ("i32 -> i32",), "The zeros before the first one bit; 32 of 0."),
    "cos": (UnaryOp, _REAL, "The cosine."),
    "equal": (BinaryOp, _COMPARED, "Whether elements are equal."),
    "erf": (UnaryOp, _REAL, "The error function."),
    "exp": (UnaryOp, _REAL, "The power of e."),
    "floor": (UnaryOp, _REAL, "The next whole number below."),
    "greater": (BinaryOp, _COMPARED, "Whether the first is greater."),
    "greater_equal": (BinaryOp, _COMPARED, "Whether the first isn't smaller."),
    "log": (UnaryOp, _REAL, "The natural logarithm."),
    "logical_and": (BinaryOp, _TRUTHS, "Whether both hold."),
    "logical_left_shift": (
        *(ShiftOp, _BITS),
        "`x * 2^n`, without the bits that leave the type.",
    ),
    "logical_not": (UnaryOp, ("i1 -> i1",), "Whether it doesn't hold."),
    "logical_or": (BinaryOp, _TRUTHS, "Whether either holds."),
    "logical_right_shift": (
        *(ShiftOp, _BITS),
        "The bits of x as an unsigned number, over `2^n`.",
    ),
    "logical_xor": (BinaryOp, _TRUTHS, "Whether one of them holds."),
    "maximum": (ExtremeOp, _NUMBERS, "The larger one."),
    "minimum": (ExtremeOp, _NUMBERS, "The smaller one."),
    "pow": (BinaryOp, ("f32 f32 -> f32",), "The first to the power of the second."),
    "reciprocal": (UnaryOp, _REAL, "`1 / x`."),
    "rsqrt": (UnaryOp, _REAL, "`1 / sqrt(x)`."),
    "sigmoid": (UnaryOp, _REAL, "`1 / (1 + e^-x)`."),
    "sin": (UnaryOp, _REAL, "The sine."),
    "sub": (BinaryOp, _NUMBERS, "The difference."),
    "tanh": (UnaryOp, _REAL, "The hyperbolic tangent."),
}
"""Operations by the name after the dialect's: base class, signatures, and meaning."""

ELEMENTWISE = [
    define(f"tosa.{name}", base, meaning, SIGNATURES=signatures)
    for name, (base, signatures, meaning) in ROWS.items()
]
"""The classes of these operations."""
