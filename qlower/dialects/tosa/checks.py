"""What operations of TOSA check of their operands and properties."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from qlower.operators.shapes import Shape

from ..types import element_type, shape_of
from .base import constant_integers


def known_integers(name: str, value: SSAValue) -> tuple[int, ...]:
    """The elements of an operand that has to be a constant."""
    integers = constant_integers(value)
    if integers is None:
        raise VerifyException(f"{name} is computed, it must be a constant")
    return integers


def check_zero_point(name: str, value: SSAValue) -> None:
    """Refuses a zero point that isn't one known number, and one other than 0 for types
    other than i8."""
    (zero_point, *others) = known_integers(name, value)
    if others:
        raise VerifyException(f"{name} has {len(others) + 1} elements, expected 1")
    element = element_type(value.type)
    if zero_point and str(element) != "i8":
        raise VerifyException(f"{name} {zero_point} of {element} is not 0")


def sizes(array: DenseArrayBase) -> tuple[int, ...]:
    """The integers of a property."""
    if not isa(array, DenseArrayBase[IntegerType]):
        raise VerifyException(f"{array} is not a list of integers")
    return array.get_values()


def check_rank(name: str, value: SSAValue, rank: int) -> Shape:
    """The shape of an operand of so many axes."""
    shape = shape_of(value)
    if len(shape) != rank:
        raise VerifyException(f"{name} has rank {len(shape)}, expected {rank}")
    return shape
