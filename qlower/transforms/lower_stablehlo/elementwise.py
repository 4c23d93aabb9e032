"""Operations on one element at a time: functions between conversions."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from qlower.diagnostics import QlowerError
from qlower.dialects import stablehlo
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.stablehlo.base import quantization
from qlower.dialects.types import element_type, shape_of
from qlower.emit.tables import looked_up, stored_values
from qlower.emit.tensors import storage_type
from qlower.interp.values import Array
from qlower.model.nests import Nest
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
        return nest.build([lowering.narrow(nest, total, op.output.type)])[0]
    operands = [lowering.real(nest, operand, loops) for operand in op.input]
    real = nest.add(BINARY[kind](*operands)).results[0]
    return nest.build([lowering.quantized(nest, real, op.output.type)])[0]


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
    return nest.build([lowering.quantized(nest, value, op.output.type)])[0]


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
    return Lowering.step("quantize").evaluate(values)[0]


def lower_clamp(lowering: Lowering, op: stablehlo.ClampOp) -> SSAValue:
    """The larger of the least and the number, then the smaller of that and the most."""
    nest = Nest(lowering.emit, shape_of(op.output))
    least, x, most = (
        lowering.real(nest, operand, range(len(shape_of(operand))))
        for operand in op.input
    )
    above = nest.add(arith.MaximumfOp(x, least)).result
    inside = nest.add(arith.MinimumfOp(above, most)).result
    return nest.build([lowering.quantized(nest, inside, op.output.type)])[0]


def lower_quantize(lowering: Lowering, op: stablehlo.UniformQuantizeOp) -> SSAValue:
    """Real to quantized; or by other parameters, at once."""
    source, target = quantization(op.input.type), quantization(op.output.type)
    if source == target:
        return lowering.value(op.input)
    nest = Nest(lowering.emit, shape_of(op.output))
    loops = range(nest.parallel)
    if source is None:
        real = lowering.real(nest, op.input, loops)
        return nest.build([lowering.quantized(nest, real, op.output.type)])[0]
    stored = lowering.stored(nest, op.input, loops)
    constants = {
        **parameters("input", op.input.type),
        **result_parameters(op.output.type),
    }
    code = lowering.inline(nest, "merged_and_clamped", {"stored": stored}, constants)
    return nest.build([lowering.narrow(nest, code, op.output.type)])[0]


def lower_dequantize(lowering: Lowering, op: stablehlo.UniformDequantizeOp) -> SSAValue:
    """Quantized to real."""
    nest = Nest(lowering.emit, shape_of(op.output))
    return nest.build([lowering.real(nest, op.input, range(nest.parallel))])[0]
