"""Convolutions, linear layers and matrix products: exact sums, then the rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from qlower.contracts.values import (
    Contraction,
    contraction_rule,
    contraction_values,
    integer_bias,
    matmul_values,
    operand_values,
    takes_bias,
)
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.transforms.lower_qnn.emit import Combine, Index, Nest
from qlower.transforms.lower_qnn.lowering import (
    Lowering,
    constant_of,
    lowered_element,
    quantization,
    shape_of,
)

Window: TypeAlias = (
    qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.AvgPool2DOp | qnn.MaxPool2DOp
)


def lower_conv2d(lowering: Lowering, op: qnn.Conv2DOp) -> Sequence[SSAValue]:
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
    accumulator = lowering.reshape(accumulator, (batch, height, width, outputs))
    return [_requantize(lowering, op, accumulator)]


def lower_depthwise_conv2d(
    lowering: Lowering, op: qnn.DepthwiseConv2DOp
) -> Sequence[SSAValue]:
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
    accumulator = lowering.reshape(accumulator, (batch, height, width, outputs))
    return [_requantize(lowering, op, accumulator)]


def lower_linear(lowering: Lowering, op: qnn.LinearOp) -> Sequence[SSAValue]:
    """Loops (rows..., o | k)."""
    result = shape_of(op.result)
    depth = shape_of(op.weight)[1]
    nest = Nest(lowering.emit, (*result, depth), reductions=1)
    o, k = nest.parallel - 1, nest.parallel
    accumulator = _accumulate(
        lowering,
        nest,
        op,
        image=lowering.value(op.input),
        image_indices=(*range(o), k),
        weight=lowering.value(op.weight),
        weight_indices=(o, k),
        channel_loops=(o,),
    )
    return [_requantize(lowering, op, accumulator)]


def lower_matmul(lowering: Lowering, op: qnn.MatMulOp) -> Sequence[SSAValue]:
    """Loops (batch..., m, n | k)."""
    result = shape_of(op.result)
    nest = Nest(lowering.emit, (*result, shape_of(op.lhs)[-1]), reductions=1)
    *batch, m, n, k = range(nest.parallel + 1)
    lhs = lowering.read(nest, op.lhs, (*batch, m, k))
    rhs = lowering.read(nest, op.rhs, (*batch, k, n))
    values = matmul_values(lowering.contract, op)
    lhs = _centre(nest, lhs, values["lhs_zero_point"], ())
    rhs = _centre(nest, rhs, values["rhs_zero_point"], ())
    init = lowering.emit.filled(result, i32, 0)
    (accumulator,) = nest.reduce([init], _multiply_accumulate(nest, lhs, rhs))
    nest = Nest(lowering.emit, result)
    scalar = nest.input(accumulator, range(len(result)))
    type = quantization(op.result)
    rule = "matmul"
    return [
        lowering.finish_with_rule(nest, rule, {"accumulator": scalar}, values, type)
    ]


def window_indices(
    op: Window,
    kh: int,
    kw: int,
) -> tuple[AffineExpr, AffineExpr]:
    """Row and column of the padded image that loops y = 1, x = 2 and taps read."""
    dilation = (1, 1)
    if isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp):
        dilation = op.dilation
    row, column = (
        AffineDimExpr(loop) * stride + AffineDimExpr(tap) * step
        for loop, stride, tap, step in zip(
            (1, 2), op.stride, (kh, kw), dilation, strict=True
        )
    )
    return row, column


def pad_image(
    lowering: Lowering,
    op: Window,
    stored: int,
) -> SSAValue:
    """The op's input image, surrounded by a stored integer as its `pad` says."""
    top, bottom, left, right = op.pad
    return lowering.pad(
        lowering.value(op.input), (0, top, left, 0), (0, bottom, right, 0), stored
    )


def _pad_with_zero_point(
    lowering: Lowering, op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp
) -> SSAValue:
    return pad_image(lowering, op, quantization(op.input).zero_point)


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
    """`bias + sum((x - x_zero_point) * (w - w_zero_point))`, exact modulo 2^32."""
    x = lowering.widen(nest, nest.input(image, image_indices), quantization(op.input))
    w = lowering.widen(
        nest, nest.input(weight, weight_indices), quantization(op.weight)
    )
    input_values = operand_values("input", op.input.type)
    weight_values = operand_values("weight", op.weight.type)
    channels = [nest.bounds[loop] for loop in channel_loops]
    zero_points = weight_values["weight_zero_point"]
    if zero_points.ndim > 0:
        zero_points = zero_points.reshape(channels)
    x = _centre(nest, x, input_values["input_zero_point"], ())
    w = _centre(nest, w, zero_points, channel_loops)
    init = _initial_accumulator(lowering, op, nest.output_shape, channel_loops)
    (accumulator,) = nest.reduce([init], _multiply_accumulate(nest, x, w))
    return accumulator


def _centre(
    nest: Nest, stored: SSAValue, zero_point: Array, loops: Sequence[int]
) -> SSAValue:
    """A stored integer less its zero point, which may vary along `loops`."""
    if not zero_point.any():
        return stored
    if zero_point.ndim == 0:
        loops = ()
    offset = nest.constant(zero_point, i32, loops)
    return nest.add(arith.SubiOp(stored, offset)).result


def _multiply_accumulate(nest: Nest, a: SSAValue, b: SSAValue) -> Combine:
    def combine(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        product = nest.add(arith.MuliOp(a, b)).result
        return [nest.add(arith.AddiOp(accumulators[0], product)).result]

    return combine


def _initial_accumulator(
    lowering: Lowering,
    op: Contraction,
    shape: Sequence[int],
    channel_loops: Sequence[int],
) -> SSAValue:
    """The bias of each channel, or zero where there is none or the rule adds it."""
    if op.bias is None or takes_bias(lowering.contract, op):
        return lowering.emit.filled(shape, i32, 0)
    if lowered_element(op.bias) == i32:
        bias = lowering.value(op.bias)
    else:
        quantized = integer_bias(lowering.contract, op, _constant_bias(op))
        bias = lowering.emit.constant(quantized, i32)
    channels = [shape[loop] for loop in channel_loops]
    nest = Nest(lowering.emit, shape)
    bias = lowering.reshape(bias, channels)
    return nest.build([nest.input(bias, channel_loops)])[0]


def _requantize(
    lowering: Lowering,
    op: Contraction,
    accumulator: SSAValue,
) -> SSAValue:
    constants = contraction_values(lowering.contract, op, lambda: _constant_bias(op))
    nest = Nest(lowering.emit, shape_of(op.result))
    scalar = nest.input(accumulator, range(nest.parallel))
    return lowering.finish_with_rule(
        nest,
        contraction_rule(op),
        {"accumulator": scalar},
        constants,
        quantization(op.result),
    )


def _constant_bias(op: Contraction) -> Array:
    """The bias where it must be known now: zero where there is none."""
    if op.bias is None:
        return np.array(0, np.int32)
    bias = constant_of(op.bias)
    if bias is None:
        raise QlowerError(
            "this contract needs a constant bias, it is computed here", op.location
        )
    return bias
