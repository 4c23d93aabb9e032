"""Convolutions and products of matrices: exact sums, in the type that TOSA names, and
those of f32 one product after the other from 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects import tosa
from qlower.dialects.types import element_type, shape_of
from qlower.emit.movement import folded, moved
from qlower.emit.sums import Factor, from_zero, sum_products
from qlower.emit.tensors import reshape
from qlower.model.nests import Nest
from qlower.operators.movement import Reshape, Reverse, Tile
from qlower.operators.sums import CONV_2D, Slide, Sums
from qlower.operators.transposed import image_movements, phase_movements
from qlower.transforms.lower_tosa.lowering import Lowering, integer_type, known_number


def lower_convolution(lowering: Lowering, op: tosa.ConvolutionOp) -> SSAValue:
    """`bias + sum((x - input_zp) * (w - weight_zp))`."""
    weight, bias = lowering.value(op.weight), lowering.value(op.bias)
    if not isinstance(element_type(op.output.type), AnyFloat):
        return _convolve(lowering, op, weight, bias)
    factors = Factor(lowering.value(op.input)), Factor(weight)
    zero = from_zero(lowering.emit, element_type(op.output.type))
    sums = sum_products(lowering.emit, op.sums, factors, zero)
    return _with_bias(lowering, sums, bias)


def _with_bias(lowering: Lowering, sums: SSAValue, bias: SSAValue) -> SSAValue:
    """Real sums with a bias for all or for each channel, which comes last."""
    nest = Nest(lowering.emit, shape_of(sums))
    loop = AffineConstantExpr(0) if shape_of(bias) == (1,) else nest.parallel - 1
    element = nest.input(sums, range(nest.parallel))
    return nest.build_one(
        nest.add(arith.AddfOp(element, nest.input(bias, [loop]))).result
    )


def lower_transpose_conv2d(lowering: Lowering, op: tosa.TransposeConv2DOp) -> SSAValue:
    """A convolution that gives a block of the result at each position; then the blocks
    become an image, which is cut to size."""
    emit, (rows, columns) = lowering.emit, op.phases
    depth = shape_of(op.input)[3]
    outputs, phases = shape_of(op.weight)[0], rows.stride * columns.stride
    is_real = isinstance(element_type(op.output.type), AnyFloat)
    missing = 0 if is_real else known_number("weight_zp", op.weight_zp)
    movements = phase_movements(shape_of(op.weight), missing, rows, columns)
    weight = lowering.value(op.weight)
    filters = Reshape((phases * outputs, rows.taps, columns.taps, depth))
    for movement in (*movements, filters):
        if not (is_real and isinstance(movement, Reverse)):
            weight = folded(emit, movement, weight)
    bias = lowering.value(op.bias)
    if shape_of(op.bias) != (1,):
        bias = folded(emit, Tile((phases,)), bias)
    if is_real:
        result = _with_bias(lowering, _real_phases(lowering, op, weight), bias)
    else:
        result = _convolve(lowering, op, weight, bias)
    for movement in image_movements(shape_of(result), rows, columns):
        result = moved(emit, movement, result)
    return result


def _real_phases(
    lowering: Lowering, op: tosa.TransposeConv2DOp, weight: SSAValue
) -> SSAValue:
    """The sums of each phase in the order of the kernel, whose first tap meets the last
    pixel: those of the image turned round, turned back."""
    slides = [Slide(before=axis.after, after=axis.before) for axis in op.phases]
    image, turns = lowering.value(op.input), (Reverse(1), Reverse(2))
    for turn in turns:
        image = moved(lowering.emit, turn, image)
    zero = from_zero(lowering.emit, element_type(op.output.type))
    factors = Factor(image), Factor(weight)
    sums = sum_products(lowering.emit, Sums(CONV_2D, slides), factors, zero)
    for turn in turns:
        sums = moved(lowering.emit, turn, sums)
    return sums


def _convolve(
    lowering: Lowering, op: tosa.ConvolutionOp, weight: SSAValue, bias: SSAValue
) -> SSAValue:
    """The sums of a convolution with weights and a bias of its own."""

    def start(shape: Sequence[int], channels: Sequence[int]) -> SSAValue:
        nest = Nest(lowering.emit, shape)
        if shape_of(bias) == (1,):
            one = lowering.read(nest, op.bias, [AffineConstantExpr(0)])
            return nest.build_one(one)
        by_loop = reshape(lowering.emit, bias, [shape[loop] for loop in channels])
        return nest.build_one(nest.input(by_loop, channels))

    factors = (
        _factor(lowering.value(op.input), "input_zp", op.input_zp),
        _factor(weight, "weight_zp", op.weight_zp),
    )
    return sum_products(
        lowering.emit, op.sums, factors, start, integer_type(op.acc_type)
    )


def lower_matmul(lowering: Lowering, op: tosa.MatMulOp) -> SSAValue:
    """`sum((a - a_zp) * (b - b_zp))`."""
    type = element_type(op.output.type)
    if isinstance(type, AnyFloat):
        zero, pair = from_zero(lowering.emit, type), (op.a, op.b)
        first, second = (Factor(lowering.value(one)) for one in pair)
        return sum_products(lowering.emit, op.sums, (first, second), zero)
    factors = (
        _factor(lowering.value(op.a), "a_zp", op.a_zp),
        _factor(lowering.value(op.b), "b_zp", op.b_zp),
    )
    width = integer_type(type)
    zero = from_zero(lowering.emit, width)
    return sum_products(lowering.emit, op.sums, factors, zero, width)


def _factor(tensor: SSAValue, name: str, zero_point: SSAValue) -> Factor:
    return Factor(tensor, np.array(known_number(name, zero_point)))
