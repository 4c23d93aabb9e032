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
    return nest.build([COMPUTE[type(op)](nest, op, elements)])[0]


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
    match op:
        case tosa.LogicalLeftShiftOp():
            return nest.add(arith.ShLIOp(x, places)).result
        case tosa.LogicalRightShiftOp():
            return nest.add(arith.ShRUIOp(x, places)).result
        case _:
            half_up = isinstance(op, tosa.ArithmeticRightShiftOp) and bool(op.round)
            mode = RoundingMode.HALF_UP if half_up else RoundingMode.FLOOR
            return nest.add(fixed.ShiftRightOp(x, places, mode)).result


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


def _cast(nest: Nest, op: tosa.CastOp, elements: list[SSAValue]) -> SSAValue:
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


COMPUTE: Mapping[type[tosa.ElementwiseOp], Compute] = {
    tosa.AbsOp: _absolute,
    tosa.AddOp: _by(arith.AddiOp, arith.AddfOp),
    tosa.ArithmeticRightShiftOp: _shift,
    tosa.BitwiseAndOp: _by(arith.AndIOp),
    tosa.BitwiseNotOp: _invert,
    tosa.BitwiseOrOp: _by(arith.OrIOp),
    tosa.BitwiseXorOp: _by(arith.XOrIOp),
    tosa.CastOp: _cast,
    tosa.ClzOp: _count_leading_zeros,
    tosa.EqualOp: _compare("eq"),
    tosa.GreaterEqualOp: _compare("sge"),
    tosa.GreaterOp: _compare("sgt"),
    tosa.IntDivOp: _divide,
    tosa.LogicalAndOp: _by(arith.AndIOp),
    tosa.LogicalLeftShiftOp: _shift,
    tosa.LogicalNotOp: _invert,
    tosa.LogicalOrOp: _by(arith.OrIOp),
    tosa.LogicalRightShiftOp: _shift,
    tosa.LogicalXorOp: _by(arith.XOrIOp),
    tosa.MaximumOp: _by(arith.MaxSIOp),
    tosa.MinimumOp: _by(arith.MinSIOp),
    tosa.MulOp: _multiply,
    tosa.NegateOp: _negate,
    tosa.SelectOp: _by(arith.SelectOp),
    tosa.SubOp: _by(arith.SubiOp, arith.SubfOp),
}
