"""Operations on one element at a time: one of `arith`, or the contract's function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, i1
from xdsl.ir import Operation, SSAValue

from qlower.dialects import fixed, tosa
from qlower.dialects.fixed import RoundingMode
from qlower.dialects.tosa.base import constant_integers
from qlower.dialects.types import element_type, shape_of
from qlower.emit.inline_rule import inline_rule
from qlower.interp.values import dtype_of
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
    return nest.build_one(COMPUTE[op.kind](nest, op, elements))


def _by(kind: type[Operation]) -> Compute:
    """One operation of `arith` or `math`."""

    def compute(nest: Nest, op: Operation, elements: list[SSAValue]) -> SSAValue:
        return nest.add(kind(*elements)).results[0]

    return compute


def _numbers(of_integers: Compute, of_floats: Compute) -> Compute:
    """One of two, by the type of the first operand."""

    def compute(nest: Nest, op: Operation, elements: list[SSAValue]) -> SSAValue:
        is_real = isinstance(elements[0].type, AnyFloat)
        return (of_floats if is_real else of_integers)(nest, op, elements)

    return compute


KNOWN = frozenset({"input1_zp", "output_zp", "shift"})
"""Operands that are constants, by their names."""


def _stated(function: str, **of_types: str) -> Compute:
    """A function of the contract, or another one for elements of some types. It takes
    operands by their names, widened to its types, and is saturated to the result's."""

    def compute(nest: Nest, op: Operation, elements: list[SSAValue]) -> SSAValue:
        rule = Lowering.step(of_types.get(str(elements[0].type), function))
        types = map(integer_type, rule.function.function_type.inputs)
        arguments = list(zip(rule.values, types, elements, strict=False))
        runtime = {
            name: widen(nest, element, type)
            for name, type, element in arguments
            if name not in KNOWN
        }
        constants = {
            name: np.array(known_number(name, getattr(op, name)), dtype_of(type))
            for name, type, _ in arguments
            if name in KNOWN
        }
        (result,) = inline_rule(rule, runtime, constants, nest)
        return narrow(nest, result, element_type(op.results[0].type))

    return compute


def _compare(predicate: str) -> Compute:
    """A comparison; NaN is unequal to all."""
    of_reals = f"o{predicate.removeprefix('s')}"

    def compute(nest: Nest, op: Operation, elements: list[SSAValue]) -> SSAValue:
        x, y = elements
        if isinstance(x.type, AnyFloat):
            return nest.add(arith.CmpfOp(x, y, of_reals)).result
        return nest.add(arith.CmpiOp(x, y, predicate)).result

    return compute


def _negate(nest: Nest, op: Operation, elements: list[SSAValue]) -> SSAValue:
    return nest.add(arith.NegfOp(elements[0])).result


def _real(function: str) -> Compute:
    """A function of the contract on f32."""

    def compute(nest: Nest, op: Operation, elements: list[SSAValue]) -> SSAValue:
        rule = Lowering.step(function)
        runtime = dict(zip(rule.values, elements, strict=True))
        (result,) = inline_rule(rule, runtime, {}, nest)
        return result

    return compute


def _invert(nest: Nest, op: Operation, elements: list[SSAValue]) -> SSAValue:
    """All bits the other way round."""
    (x,) = elements
    ones = nest.add(scalar_constant(-1, x.type)).result
    return nest.add(arith.XOrIOp(x, ones)).result


def _multiply(nest: Nest, op: tosa.MulOp, elements: list[SSAValue]) -> SSAValue:
    if isinstance(elements[0].type, AnyFloat):
        return nest.add(arith.MulfOp(elements[0], elements[1])).result
    is_shifted = known_number("shift", op.shift) != 0
    function = "tosa_mul_shifted" if is_shifted else "tosa_mul"
    return _stated(function)(nest, op, elements)


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
    "abs": _numbers(_stated("tosa_abs"), _by(math.AbsFOp)),
    "add": _numbers(_by(arith.AddiOp), _by(arith.AddfOp)),
    "arithmetic_right_shift": _shift,
    "bitwise_and": _by(arith.AndIOp),
    "bitwise_not": _invert,
    "bitwise_or": _by(arith.OrIOp),
    "bitwise_xor": _by(arith.XOrIOp),
    "cast": _cast,
    "ceil": _by(math.CeilOp),
    "clz": _by(math.CountLeadingZerosOp),
    "cos": _real("cosf"),
    "equal": _compare("eq"),
    "erf": _real("erff"),
    "exp": _real("expf"),
    "floor": _by(math.FloorOp),
    "greater": _compare("sgt"),
    "greater_equal": _compare("sge"),
    "intdiv": _stated("tosa_intdiv"),
    "log": _real("logf"),
    "logical_and": _by(arith.AndIOp),
    "logical_left_shift": _shift,
    "logical_not": _invert,
    "logical_or": _by(arith.OrIOp),
    "logical_right_shift": _shift,
    "logical_xor": _by(arith.XOrIOp),
    "maximum": _numbers(_by(arith.MaxSIOp), _by(arith.MaximumfOp)),
    "minimum": _numbers(_by(arith.MinSIOp), _by(arith.MinimumfOp)),
    "mul": _multiply,
    "negate": _numbers(_stated("tosa_negate", i32="tosa_negate_i32"), _negate),
    "pow": _real("tosa_pow"),
    "reciprocal": _real("tosa_reciprocal"),
    "rsqrt": _real("tosa_rsqrt"),
    "select": _by(arith.SelectOp),
    "sigmoid": _real("tosa_sigmoid"),
    "sin": _real("sinf"),
    "sub": _numbers(_by(arith.SubiOp), _by(arith.SubfOp)),
    "tanh": _real("tosa_tanh"),
}
"""The arithmetic of an operation, by its name after the dialect's."""
