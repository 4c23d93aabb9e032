"""Convolutions, linear layers and matrix products: exact sums, then the rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.utils.hints import isa

from qlower.contracts.contractions import (
    Contraction,
    contraction_rule,
    contraction_values,
    product_of,
)
from qlower.contracts.products import EXACT
from qlower.contracts.values import matmul_values, operand_values
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.interp.values import Array
from qlower.model.nests import Combine, Index, Nest, widen
from qlower.transforms.lower_qnn.bias import (
    accumulator_type,
    computed_bias,
    constant_bias,
    initial_accumulator,
)
from qlower.transforms.lower_qnn.lowering import Lowering
from qlower.transforms.lower_qnn.pairs import accumulate_pairs
from qlower.transforms.lower_qnn.window import pad_image, window_indices


def lower_contraction(lowering: Lowering, op: Contraction) -> Sequence[SSAValue]:
    """Sums of products, and the rule."""
    product = product_of(lowering.contract, op)
    if product == EXACT:
        accumulator = _accumulate_exactly(lowering, op)
    else:
        accumulator = accumulate_pairs(lowering, op, product)
    if qnn.gives_sums(op):
        return [accumulator]
    nest = Nest(lowering.emit, shape_of(op.result))
    bias = computed_bias(lowering, nest, op)
    known = (lambda: np.array(0, np.int32)) if bias else lambda: constant_bias(op)
    constants = contraction_values(lowering.contract, op, known)
    return [
        lowering.finish_with_rule(
            nest,
            contraction_rule(op),
            {"accumulator": nest.input(accumulator, range(nest.parallel)), **bias},
            {name: value for name, value in constants.items() if name not in bias},
            quantized_element(op.result.type),
        )
    ]


def _accumulate_exactly(lowering: Lowering, op: Contraction) -> SSAValue:
    match op:
        case qnn.Conv2DOp():
            return _accumulate_conv2d(lowering, op)
        case qnn.DepthwiseConv2DOp():
            return _accumulate_depthwise_conv2d(lowering, op)
        case qnn.LinearOp():
            return _accumulate_linear(lowering, op)


def _accumulate_conv2d(lowering: Lowering, op: qnn.Conv2DOp) -> SSAValue:
    """Loops (n, y, x, [group,] o | kh, kw, c)."""
    batch, height, width, outputs = shape_of(op.result)
    _, kernel_h, kernel_w, depth = shape_of(op.weight)
    groups = op.groups
    image = _pad_with_zero_point(lowering, op)
    weight = lowering.value(op.weight)
    if groups == 1:
        channels: tuple[int, ...] = (outputs,)
    else:
        channels = (groups, outputs // groups)
        weight = lowering.reshape(weight, (*channels, *shape_of(op.weight)[1:]))
    nest = Nest(
        lowering.emit,
        (batch, height, width, *channels, kernel_h, kernel_w, depth),
        reductions=3,
    )
    first = nest.parallel
    kh, kw, c = first, first + 1, first + 2
    input_channel: Index = c
    if groups > 1:
        input_channel = AffineDimExpr(3) * depth + AffineDimExpr(c)
    indices = (0, *window_indices(op, kh, kw), input_channel)
    o = range(3, first)
    accumulator = _accumulate(
        lowering,
        nest,
        op,
        image=image,
        image_indices=indices,
        weight=weight,
        weight_indices=(*o, kh, kw, c),
        channel_loops=o,
    )
    return lowering.reshape(accumulator, (batch, height, width, outputs))


def _accumulate_depthwise_conv2d(
    lowering: Lowering, op: qnn.DepthwiseConv2DOp
) -> SSAValue:
    """Loops (n, y, x, c, [multiplier] | kh, kw)."""
    batch, height, width, outputs = shape_of(op.result)
    _, kernel_h, kernel_w, _ = shape_of(op.weight)
    multiplier = op.multiplier
    channels = (outputs,) if multiplier == 1 else (outputs // multiplier, multiplier)
    nest = Nest(
        lowering.emit,
        (batch, height, width, *channels, kernel_h, kernel_w),
        reductions=2,
    )
    kh, kw = nest.parallel, nest.parallel + 1
    o = range(3, nest.parallel)
    accumulator = _accumulate(
        lowering,
        nest,
        op,
        image=_pad_with_zero_point(lowering, op),
        image_indices=(0, *window_indices(op, kh, kw), 3),
        weight=lowering.reshape(
            lowering.value(op.weight), (kernel_h, kernel_w, *channels)
        ),
        weight_indices=(kh, kw, *o),
        channel_loops=o,
    )
    return lowering.reshape(accumulator, (batch, height, width, outputs))


def _accumulate_linear(lowering: Lowering, op: qnn.LinearOp) -> SSAValue:
    """Loops (rows..., o | k)."""
    result = shape_of(op.result)
    depth = shape_of(op.weight)[1]
    nest = Nest(lowering.emit, (*result, depth), reductions=1)
    o, k = nest.parallel - 1, nest.parallel
    return _accumulate(
        lowering,
        nest,
        op,
        image=lowering.value(op.input),
        image_indices=(*range(o), k),
        weight=lowering.value(op.weight),
        weight_indices=(o, k),
        channel_loops=(o,),
    )


def lower_matmul(lowering: Lowering, op: qnn.MatMulOp) -> Sequence[SSAValue]:
    """Loops (batch..., m, n | k)."""
    result = shape_of(op.result)
    nest = Nest(lowering.emit, (*result, shape_of(op.lhs)[-1]), reductions=1)
    *batch, m, n, k = range(nest.parallel + 1)
    lhs = lowering.read(nest, op.lhs, (*batch, m, k))
    rhs = lowering.read(nest, op.rhs, (*batch, k, n))
    zero_points = [quantized_element(side.type).zero_point for side in (op.lhs, op.rhs)]
    lhs = centre(nest, lhs, np.array(zero_points[0], np.int32), ())
    rhs = centre(nest, rhs, np.array(zero_points[1], np.int32), ())
    product = nest.add(arith.MuliOp(lhs, rhs)).result
    if (wide := accumulator_type(op.lhs)) != i32:
        product = nest.add(arith.ExtSIOp(product, wide)).result
    init = lowering.emit.filled(result, wide, 0)
    (accumulator,) = nest.reduce([init], nest.adding(product))
    if qnn.gives_sums(op):
        return [accumulator]
    nest = Nest(lowering.emit, result)
    scalar = nest.input(accumulator, range(len(result)))
    type = quantized_element(op.result.type)
    values = matmul_values(lowering.contract, op)
    rule = "matmul"
    return [
        lowering.finish_with_rule(nest, rule, {"accumulator": scalar}, values, type)
    ]


def _pad_with_zero_point(
    lowering: Lowering, op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp
) -> SSAValue:
    image = lowering.value(op.input)
    return pad_image(lowering, op, image, quantized_element(op.input.type).zero_point)


def _accumulate(
    lowering: Lowering,
    nest: Nest,
    op: Contraction,
    *,
    image: SSAValue,
    image_indices: Sequence[Index],
    weight: SSAValue,
    weight_indices: Sequence[Index],
    channel_loops: Sequence[int],
) -> SSAValue:
    """`bias + sum((x - x_zero_point) * (w - w_zero_point))`, exact modulo 2^32, or 2^64
    for elements of 16 bits."""
    x = lowering.widen(
        nest, nest.input(image, image_indices), quantized_element(op.input.type)
    )
    w = lowering.widen(
        nest, nest.input(weight, weight_indices), quantized_element(op.weight.type)
    )
    input_values = operand_values("input", op.input.type)
    weight_values = operand_values("weight", op.weight.type)
    channels = [nest.bounds[loop] for loop in channel_loops]
    zero_points = weight_values["weight_zero_point"]
    if zero_points.ndim > 0:
        zero_points = zero_points.reshape(channels)
    x = centre(nest, x, input_values["input_zero_point"], ())
    w = centre(nest, w, zero_points, channel_loops)
    init = initial_accumulator(
        lowering, op, nest.output_shape, channel_loops, np.zeros((), np.int32)
    )
    product = nest.add(arith.MuliOp(x, w)).result
    if (wide := accumulator_type(op.input)) != i32:
        product = nest.add(arith.ExtSIOp(product, wide)).result
    (accumulator,) = nest.reduce([init], nest.adding(product))
    return accumulator


def centre(
    nest: Nest, stored: SSAValue, zero_point: Array, loops: Sequence[int]
) -> SSAValue:
    """A stored integer less its zero point, which may vary along `loops`."""
    if not zero_point.any():
        return stored
    if zero_point.ndim == 0:
        loops = ()
    offset = nest.constant(zero_point, i32, loops)
    return nest.add(arith.SubiOp(stored, offset)).result


def multiply_accumulate(nest: Nest, a: SSAValue, b: SSAValue) -> Combine:
    """The step that adds the product of two integers; in as many bits as the sum has,
    where they have less."""

    def combine(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        product = nest.add(arith.MuliOp(a, b)).result
        wide = accumulators[0].type
        assert isa(wide, IntegerType)
        product = widen(nest, product, wide)
        return [nest.add(arith.AddiOp(accumulators[0], product)).result]

    return combine
