"""Operations on one element at a time: functions between conversions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Operation, SSAValue

from qlower.diagnostics import QlowerError
from qlower.dialects import stablehlo
from qlower.dialects.fixed import ConvertOp, RoundingMode
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.stablehlo.base import plain_integer, quantization
from qlower.dialects.types import element_type, shape_of
from qlower.emit.tables import looked_up, stored_values
from qlower.emit.tensors import storage_type
from qlower.interp.values import Array
from qlower.model.nests import Nest, scalar_constant
from qlower.transforms.lower_stablehlo.lowering import (
    Lowering,
    parameters,
    result_parameters,
)

BINARY: Mapping[str, type[Operation]] = {
    "add": arith.AddfOp,
    "divide": arith.DivfOp,
    "maximum": arith.MaximumfOp,
    "minimum": arith.MinimumfOp,
    "multiply": arith.MulfOp,
    "subtract": arith.SubfOp,
}

INTEGRAL: Mapping[str, type[Operation]] = {
    "add": arith.AddiOp,
    "maximum": arith.MaxSIOp,
    "minimum": arith.MinSIOp,
    "multiply": arith.MuliOp,
    "subtract": arith.SubiOp,
}
"""On plain integers."""

EXACT = frozenset(
    {
        *("abs", "ceil", "floor", "negate"),
        *("round_nearest_afz", "round_nearest_even", "sign", "sqrt"),
    }
)
"""Functions that have native code; the others are tabulated."""

WIDEST_TABULATED = 8
"""Bits of the widest elements whose functions become tables."""


def lower_binary(lowering: Lowering, op: stablehlo.ElementwiseOp) -> SSAValue:
    """A function of two; the sum of quantized ones is one of stored integers."""
    kind = op.kind
    if op.is_integral:
        nest = Nest(lowering.emit, shape_of(op.output))
        integers = [
            nest.input(lowering.value(operand), range(nest.parallel))
            for operand in op.input
        ]
        return nest.build_one(nest.add(INTEGRAL[kind](*integers)).results[0])
    types = [quantization(value.type) for value in (*op.input, op.output)]
    nest = Nest(lowering.emit, shape_of(op.output))
    loops = range(nest.parallel)
    if kind == "add" and None not in types:
        lhs, rhs = (lowering.stored(nest, operand, loops) for operand in op.input)
        constants = {
            **parameters("lhs", op.input[0].type),
            **parameters("rhs", op.input[1].type),
            **result_parameters(op.output.type),
        }
        total = lowering.inline(
            nest, "sum_of_merged", {"lhs": lhs, "rhs": rhs}, constants
        )
        return nest.build_one(lowering.narrow(nest, total, op.output.type))
    operands = [lowering.real(nest, operand, loops) for operand in op.input]
    real = nest.add(BINARY[kind](*operands)).results[0]
    return nest.build_one(lowering.quantized(nest, real, op.output.type))


def lower_unary(lowering: Lowering, op: stablehlo.ElementwiseOp) -> SSAValue:
    """A function of one: a table of all stored values where there are few."""
    kind, (source,) = op.kind, op.input
    nest = Nest(lowering.emit, shape_of(op.output))
    loops = range(nest.parallel)
    type = element_type(source.type)
    is_narrow = (
        isinstance(type, QuantizedType)
        and type.is_per_tensor
        and type.storage_width <= WIDEST_TABULATED
    )
    result = quantization(op.output.type)
    if is_narrow and (result is None or result.is_per_tensor):
        element = storage_type(element_type(op.output.type))
        table = lowering.emit.constant(_table(kind, op), element)
        return looked_up(lowering.emit, lowering.value(source), table)
    if kind not in EXACT:
        raise QlowerError(
            f"{op.name} of {type} isn't supported: elements of {WIDEST_TABULATED} bits"
            " with one scale are, whose functions become tables",
            op.location,
        )
    real = lowering.real(nest, source, loops)
    value = lowering.inline(nest, f"real_{kind}", {"x": real}, {})
    return nest.build_one(lowering.quantized(nest, value, op.output.type))


def _table(kind: str, op: stablehlo.ElementwiseOp) -> Array:
    """The result of each stored value, in the order of their bits."""
    type = op.input[0].type
    stored = stored_values(quantized_element(type))
    values = {"input": stored, **parameters("input", type)}
    (real,) = Lowering.step("dequantize").evaluate(values)
    (result,) = Lowering.step(f"real_{kind}").evaluate({"x": real})
    if quantization(op.output.type) is None:
        return result
    values = {"input": result, **result_parameters(op.output.type)}
    return Lowering.step("quantized").evaluate(values)[0]


def lower_clamp(lowering: Lowering, op: stablehlo.ClampOp) -> SSAValue:
    """The larger of the least and the number, then the smaller of that and the most."""
    nest = Nest(lowering.emit, shape_of(op.output))
    least, x, most = (
        lowering.real(nest, operand, range(len(shape_of(operand))))
        for operand in op.input
    )
    if op.is_integral:
        above = nest.add(arith.MaxSIOp(x, least)).result
        return nest.build_one(nest.add(arith.MinSIOp(above, most)).result)
    above = nest.add(arith.MaximumfOp(x, least)).result
    inside = nest.add(arith.MinimumfOp(above, most)).result
    return nest.build_one(lowering.quantized(nest, inside, op.output.type))


def lower_shift(lowering: Lowering, op: stablehlo.ShiftOp) -> SSAValue:
    """A shift by what is taken as unsigned: by all bits or more, 0 or the sign stay."""
    nest = Nest(lowering.emit, shape_of(op.output))
    value, places = (
        nest.input(lowering.value(operand), range(nest.parallel))
        for operand in op.input
    )
    type = plain_integer(op.output.type)
    assert type is not None
    last = nest.add(scalar_constant(type.width.data - 1, type)).result
    zero = nest.add(scalar_constant(0, type)).result
    is_negative = nest.add(arith.CmpiOp(places, zero, "slt")).result
    least = nest.add(arith.MaxSIOp(places, zero)).result
    bounded = nest.add(arith.MinSIOp(least, last)).result
    within = nest.add(arith.SelectOp(is_negative, last, bounded)).result
    shifted = nest.add(SHIFTS[op.kind](value, within)).results[0]
    if op.kind != "shift_right_arithmetic":
        is_within = nest.add(arith.CmpiOp(places, last, "ule")).result
        shifted = nest.add(arith.SelectOp(is_within, shifted, zero)).result
    return nest.build_one(shifted)


SHIFTS: Mapping[str, Callable[[SSAValue, SSAValue], Operation]] = {
    "shift_left": arith.ShLIOp,
    "shift_right_arithmetic": arith.ShRSIOp,
    "shift_right_logical": arith.ShRUIOp,
}


def lower_convert(lowering: Lowering, op: stablehlo.ConvertOp) -> SSAValue:
    """Another plain type, by the one operation that arith or fixed has for it."""
    if op.input.type == op.output.type:
        return lowering.value(op.input)
    nest = Nest(lowering.emit, shape_of(op.output))
    value = nest.input(lowering.value(op.input), range(nest.parallel))
    source, target = plain_integer(op.input.type), plain_integer(op.output.type)
    if target == i1:
        compare = arith.CmpfOp if source is None else arith.CmpiOp
        zero = nest.add(scalar_constant(0, source or f32)).result
        made = compare(value, zero, "une" if source is None else "ne")
    elif source is None:
        assert target is not None
        made = ConvertOp(value, target, RoundingMode.TOWARD_ZERO)
    elif target is None:
        made = (arith.UIToFPOp if source == i1 else arith.SIToFPOp)(value, f32)
    elif target.width.data < source.width.data:
        made = arith.TruncIOp(value, target)
    else:
        made = (arith.ExtUIOp if source == i1 else arith.ExtSIOp)(value, target)
    return nest.build_one(nest.add(made).results[0])


def lower_quantize(lowering: Lowering, op: stablehlo.UniformQuantizeOp) -> SSAValue:
    """Lower real to quantized; or one quantization to another, in one step."""
    source, target = quantization(op.input.type), quantization(op.output.type)
    if source == target:
        return lowering.value(op.input)
    nest = Nest(lowering.emit, shape_of(op.output))
    loops = range(nest.parallel)
    if source is None:
        real = lowering.real(nest, op.input, loops)
        return nest.build_one(lowering.quantized(nest, real, op.output.type))
    stored = lowering.stored(nest, op.input, loops)
    constants = {
        **parameters("input", op.input.type),
        **result_parameters(op.output.type),
    }
    code = lowering.inline(nest, "merged_and_clamped", {"stored": stored}, constants)
    return nest.build_one(lowering.narrow(nest, code, op.output.type))


def lower_dequantize(lowering: Lowering, op: stablehlo.UniformDequantizeOp) -> SSAValue:
    """Quantized to real."""
    nest = Nest(lowering.emit, shape_of(op.output))
    return nest.build_one(lowering.real(nest, op.input, range(nest.parallel)))
