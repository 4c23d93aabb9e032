"""Operations on one element at a time: arithmetic, rescaling, borders."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from qlower.contracts.values import (
    binary_values,
    element_values,
    operand_values,
    output_values,
    unary_values,
)
from qlower.dialects import qnn, quant
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.model.nests import Nest, broadcast_indices
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_binary(lowering: Lowering, op: qnn.BinaryOp) -> Sequence[SSAValue]:
    """add, sub and mul, with numpy's broadcasting."""
    result = shape_of(op.result)
    nest = Nest(lowering.emit, result)
    runtime = {
        name: lowering.read(nest, value, broadcast_indices(shape_of(value), result))
        for name, value in (("lhs", op.lhs), ("rhs", op.rhs))
    }
    constants = binary_values(lowering.contract, op)
    rule = op.rules[0]
    type = quantized_element(op.result.type)
    return [lowering.finish_with_rule(nest, rule, runtime, constants, type)]


def lower_compare(lowering: Lowering, op: qnn.CompareOp) -> Sequence[SSAValue]:
    """The rule of each operand, and which of the two numbers is larger."""
    result = shape_of(op.result)
    nest = Nest(lowering.emit, result)
    lhs, rhs = (
        lowering.apply_rule(
            nest,
            "compare",
            {
                "input": lowering.read(
                    nest, value, broadcast_indices(shape_of(value), result)
                )
            },
            operand_values("input", value.type),
        )
        for value in (op.lhs, op.rhs)
    )
    signed = "" if op.predicate in ("eq", "ne") else "s"
    comparison = arith.CmpiOp(lhs, rhs, f"{signed}{op.predicate}")
    return nest.build([nest.add(comparison).result])


def lower_rescaled(
    lowering: Lowering,
    op: qnn.RequantizeOp | qnn.BoundedOp,
) -> Sequence[SSAValue]:
    """From one scale, zero point and storage to another, perhaps within bounds."""
    nest = Nest(lowering.emit, shape_of(op.result))
    value = lowering.read(nest, op.input, range(nest.parallel))
    constants = unary_values(lowering.contract, op)
    type = quantized_element(op.result.type)
    rule = op.rules[0]
    return [lowering.finish_with_rule(nest, rule, {"input": value}, constants, type)]


def lower_quantize(
    lowering: Lowering, op: qnn.QuantizeOp | quant.QuantizeCastOp
) -> Sequence[SSAValue]:
    """From f32 to stored integers."""
    nest = Nest(lowering.emit, shape_of(op.result))
    value = nest.input(lowering.value(op.input), range(nest.parallel))
    constants = {
        **output_values(lowering.contract, op.result.type),
        **element_values("output", op.result.type),
    }
    type = quantized_element(op.result.type)
    rule = "quantize"
    return [lowering.finish_with_rule(nest, rule, {"input": value}, constants, type)]


def lower_dequantize(
    lowering: Lowering, op: qnn.DequantizeOp | quant.DequantizeCastOp
) -> Sequence[SSAValue]:
    """From stored integers to f32."""
    nest = Nest(lowering.emit, shape_of(op.result))
    value = lowering.read(nest, op.input, range(nest.parallel))
    constants = element_values("input", op.input.type)
    result = lowering.apply_rule(nest, "dequantize", {"input": value}, constants)
    return nest.build([result])
