"""Operations on one element at a time, each a few of `arith`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, i1, i32, i64
from xdsl.ir import Operation, SSAValue

from qlower.dialects import fixed, tosa
from qlower.dialects.fixed import RoundingMode
from qlower.dialects.tosa.base import constant_integers
from qlower.dialects.types import element_type, shape_of
from qlower.model.nests import (
    Nest,
    broadcast_indices,
    narrow,
    scalar_constant,
    widen,
)
from qlower.transforms.lower_tosa.lowering import Lowering, integer_type, known_number

Compute: TypeAlias = Callable[[Nest, Any, list[SSAValue]], SSAValue]
"""Appends to a nest what an operation makes of the elements of its operands."""


def lower_elementwise(lowering: Lowering, op: tosa.ElementwiseOp) -> SSAValue:
    """Loops over the result; axes of one element repeat it."""
    result = shape_of(op.output)
    nest = Nest(lowering.emit, result)
    elements = [
        lowering.read(nest, operand, broadcast_indices(shape_of(operand), result))
        for operand in op.operands
    ]
    return nest.build([COMPUTE[op.kind](nest, op, elements)])[0]


def _by(
    of_integers: type[Operation], of_floats: type[Operation] | None = None
) -> Compute:
    """One operation, of integers or of floats."""

    def compute(nest: Nest, op: Operation, elements: list[SSAValue]) -> SSAValue:
        is_real = isinstance(elements[0].type, AnyFloat)
        kind = of_floats if is_real and of_floats is not None else of_integers
        return nest.add(kind(*elements)).results[0]

    return compute


def _compare(predicate: str) -> Compute:
    def compute(nest: Nest, op: Operation, elements: list[SSAValue]) -> SSAValue:
        return nest.add(arith.CmpiOp(elements[0], elements[1], predicate)).result

    return compute


def _invert(nest: Nest, op: Operation, elements: list[SSAValue]) -> SSAValue:
    """All bits the other way round."""
    (x,) = elements
    ones = nest.add(scalar_constant(-1, x.type)).result
    return nest.add(arith.XOrIOp(x, ones)).result


def _count_leading_zeros(
    nest: Nest, op: Operation, elements: list[SSAValue]
) -> SSAValue:
    return nest.add(math.CountLeadingZerosOp(elements[0])).result


def _absolute(nest: Nest, op: Operation, elements: list[SSAValue]) -> SSAValue:
    (x,) = elements
    if isinstance(x.type, AnyFloat):
        return nest.add(math.AbsFOp(x)).result
    zero = nest.add(scalar_constant(0, x.type)).result
    negative = nest.add(arith.SubiOp(zero, x)).result
    return nest.add(arith.MaxSIOp(x, negative)).result


def _negate(nest: Nest, op: tosa.NegateOp, elements: list[SSAValue]) -> SSAValue:
    """`output_zp - (x - input_zp)`, in 32 bits where that can't overflow."""
    x, *_ = elements
    before = known_number("input1_zp", op.input1_zp)
    after = known_number("output_zp", op.output_zp)
    wide = widen(nest, x, i64 if x.type == i32 else i32)
    sum = nest.add(scalar_constant(before + after, wide.type)).result
    return narrow(nest, nest.add(arith.SubiOp(sum, wide)).result, x.type)


def _multiply(nest: Nest, op: tosa.MulOp, elements: list[SSAValue]) -> SSAValue:
    """The product in 32 bits; one that is shifted is exact before."""
    a, b, _ = elements
    if isinstance(a.type, AnyFloat):
        return nest.add(arith.MulfOp(a, b)).result
    places = known_number("shift", op.shift)
    wide = i64 if places else i32
    product = nest.add(arith.MuliOp(widen(nest, a, wide), widen(nest, b, wide))).result
    if not places:
        return product
    amount = nest.add(scalar_constant(places, i64)).result
    rounded = fixed.ShiftRightOp(product, amount, RoundingMode.HALF_UP)
    return nest.add(arith.TruncIOp(nest.add(rounded).result, i32)).result


def _shift(nest: Nest, op: tosa.ShiftOp, elements: list[SSAValue]) -> SSAValue:
    """A shift by a number of places that there are; others, which TOSA calls
    unpredictable, are brought into the range."""
    x, places = elements
    type = integer_type(x.type)
    if constant_integers(op.input2) is None:
        none = nest.add(scalar_constant(0, type)).result
        most = nest.add(scalar_constant(type.bitwidth - 1, type)).result
        places = nest.add(arith.MaxSIOp(places, none)).result
        places = nest.add(arith.MinSIOp(places, most)).result
    if isinstance(op, tosa.ArithmeticRightShiftOp):
        mode = RoundingMode.HALF_UP if bool(op.round) else RoundingMode.FLOOR
        return nest.add(fixed.ShiftRightOp(x, places, mode)).result
    shift = arith.ShLIOp if op.kind == "logical_left_shift" else arith.ShRUIOp
    return nest.add(shift(x, places)).result


def _divide(nest: Nest, op: tosa.IntDivOp, elements: list[SSAValue]) -> SSAValue:
    """The quotient cut toward zero, by the divisor's magnitude. What TOSA calls
    unpredictable is a division by 1 in place of 0, and wraps around."""
    x, y = (widen(nest, element, i64) for element in elements)
    zero, one = (nest.add(scalar_constant(number, i64)).result for number in (0, 1))
    opposite = nest.add(arith.SubiOp(zero, y)).result
    magnitude = nest.add(arith.MaxSIOp(y, opposite)).result
    divisor = nest.add(arith.MaxSIOp(magnitude, one)).result
    quotient = nest.add(arith.DivSIOp(x, divisor)).result
    negated = nest.add(arith.SubiOp(zero, quotient)).result
    is_negative = nest.add(arith.CmpiOp(y, zero, "slt")).result
    signed = nest.add(arith.SelectOp(is_negative, negated, quotient)).result
    return nest.add(arith.TruncIOp(signed, i32)).result


def _cast(nest: Nest, op: tosa.ElementwiseOp, elements: list[SSAValue]) -> SSAValue:
    """Low bits, or the sign repeated; floats half to even, saturated."""
    (x,) = elements
    result = element_type(op.output.type)
    if isinstance(x.type, AnyFloat):
        return nest.add(fixed.ConvertOp(x, result, RoundingMode.HALF_EVEN)).result
    if isinstance(result, AnyFloat):
        return nest.add(arith.SIToFPOp(x, result)).result
    source, target = integer_type(x.type), integer_type(result)
    if target == i1:
        zero = nest.add(scalar_constant(0, source)).result
        return nest.add(arith.CmpiOp(x, zero, "ne")).result
    if target.bitwidth < source.bitwidth:
        return nest.add(arith.TruncIOp(x, target)).result
    return widen(nest, x, target, unsigned=source == i1)


COMPUTE: Mapping[str, Compute] = {
    "abs": _absolute,
    "add": _by(arith.AddiOp, arith.AddfOp),
    "arithmetic_right_shift": _shift,
    "bitwise_and": _by(arith.AndIOp),
    "bitwise_not": _invert,
    "bitwise_or": _by(arith.OrIOp),
    "bitwise_xor": _by(arith.XOrIOp),
    "cast": _cast,
    "clz": _count_leading_zeros,
    "equal": _compare("eq"),
    "greater_equal": _compare("sge"),
    "greater": _compare("sgt"),
    "intdiv": _divide,
    "logical_and": _by(arith.AndIOp),
    "logical_left_shift": _shift,
    "logical_not": _invert,
    "logical_or": _by(arith.OrIOp),
    "logical_right_shift": _shift,
    "logical_xor": _by(arith.XOrIOp),
    "maximum": _by(arith.MaxSIOp),
    "minimum": _by(arith.MinSIOp),
    "mul": _multiply,
    "negate": _negate,
    "select": _by(arith.SelectOp),
    "sub": _by(arith.SubiOp, arith.SubfOp),
}
"""What an operation computes, by its name after the dialect's."""
