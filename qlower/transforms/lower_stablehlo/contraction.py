"""Convolutions and products of tensors: exact sums of integers, then one product."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from qlower.dialects import stablehlo
from qlower.dialects.quant import quantized_element
from qlower.dialects.stablehlo.base import plain_integer, quantization
from qlower.dialects.types import shape_of
from qlower.emit.movement import moved
from qlower.emit.sums import Factor, from_zero, sum_products
from qlower.model.nests import Nest
from qlower.operators.sums import Sums
from qlower.transforms.lower_stablehlo.lowering import Lowering, parameters

Contraction = stablehlo.ConvolutionOp | stablehlo.DotGeneralOp


def lower_dot_general(lowering: Lowering, op: stablehlo.DotGeneralOp) -> SSAValue:
    """Sums over the contracted dimensions."""
    return _contract(lowering, op, op.sums, lowering.value(op.lhs))


def lower_convolution(lowering: Lowering, op: stablehlo.ConvolutionOp) -> SSAValue:
    """Sums over a window of the image, whose pixels may first be put apart."""
    sums, image, spread = op.sums, lowering.value(op.lhs), op.spread
    if spread.spreads:
        type = quantization(op.lhs.type)
        zero = 0 if type is None else type.zero_points[0]
        low, high = sums.padding()
        whole = replace(spread, low=low, high=high, value=zero)
        image = moved(lowering.emit, whole, image)
        slides = [replace(slide, before=0, after=0) for slide in sums.slides]
        sums = replace(sums, slides=slides)
    return _contract(lowering, op, sums, image)


def _contract(
    lowering: Lowering, op: Contraction, sums: Sums, first: SSAValue
) -> SSAValue:
    """The sums as real numbers, quantized where the result is; the scales of the second
    operand lie along one of the result's axes."""
    emit, second = lowering.emit, lowering.value(op.rhs)
    if quantization(op.lhs.type) is None:
        plain = (Factor(first), Factor(second))
        start = from_zero(emit, f32 if plain_integer(op.lhs.type) is None else i32)
        number = sum_products(emit, sums, plain, start)
        if quantization(op.output.type) is None:
            return number
        nest = Nest(emit, shape_of(op.output))
        value = nest.input(number, range(nest.parallel))
        return nest.build_one(lowering.quantized(nest, value, op.output.type))
    factors = (Factor.quantized(first, op.lhs), Factor.quantized(second, op.rhs))
    total = sum_products(emit, sums, factors, from_zero(emit, i32))
    nest = Nest(emit, shape_of(op.output))
    axis = quantized_element(op.rhs.type).axis
    scales = parameters("weight", op.rhs.type)["weight_scale"].reshape(-1)
    shape: tuple[int, ...] = ()
    if axis is not None:
        _, weights, result = sums.structure.axes
        shape = (-1, *[1] * (nest.parallel - result.index(weights[axis]) - 1))
    constants = {
        **parameters("input", op.lhs.type),
        "weight_scale": scales.reshape(shape),
    }
    accumulator = nest.input(total, range(nest.parallel))
    value = lowering.inline(
        nest, "exact_product", {"accumulator": accumulator}, constants
    )
    return nest.build_one(lowering.quantized(nest, value, op.output.type))
