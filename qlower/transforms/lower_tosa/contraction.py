"""Convolutions and products of matrices: exact sums, in the type that TOSA names."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects import tosa
from qlower.dialects.tosa.checks import sizes
from qlower.dialects.types import shape_of
from qlower.model.nests import Index, Nest, scalar_constant
from qlower.transforms.lower_qnn.contraction import multiply_accumulate
from qlower.transforms.lower_qnn.window import tap_indices
from qlower.transforms.lower_tosa.lowering import Lowering, integer_type, known_number
from qlower.transforms.tensors import pad


def lower_conv2d(lowering: Lowering, op: tosa.Conv2DOp) -> SSAValue:
    """Loops (n, y, x, o | kh, kw, c)."""
    weight = lowering.value(op.weight)
    nest = Nest(
        lowering.emit,
        (*shape_of(op.output), *op.kernel, shape_of(op.weight)[3]),
        reductions=3,
    )
    return _convolve(lowering, op, nest, (4, 5, 6), 6, weight, (3, 4, 5, 6), (3,))


def lower_depthwise_conv2d(lowering: Lowering, op: tosa.DepthwiseConv2DOp) -> SSAValue:
    """Loops (n, y, x, c, [multiplier] | kh, kw)."""
    *_, channels, multiplier = shape_of(op.weight)
    outputs = (channels,) if multiplier == 1 else (channels, multiplier)
    weight = lowering.reshape(lowering.value(op.weight), (*op.kernel, *outputs))
    nest = Nest(
        lowering.emit, (*shape_of(op.output)[:3], *outputs, *op.kernel), reductions=2
    )
    kh, kw = nest.parallel, nest.parallel + 1
    o = range(3, nest.parallel)
    result = _convolve(lowering, op, nest, (kh, kw), 3, weight, (kh, kw, *o), o)
    return lowering.reshape(result, shape_of(op.output))


def _convolve(
    lowering: Lowering,
    op: tosa.ConvolutionOp,
    nest: Nest,
    taps: Sequence[int],
    channel: int,
    weight: SSAValue,
    weight_indices: Sequence[Index],
    channel_loops: Sequence[int],
) -> SSAValue:
    """`bias + sum((x - input_zp) * (w - weight_zp))`; `taps` are the window's loops."""
    zero_point = known_number("input_zp", op.input_zp)
    top, bottom, left, right = sizes(op.pad)
    image = pad(
        lowering.emit,
        lowering.value(op.input),
        (0, top, left, 0),
        (0, bottom, right, 0),
        zero_point,
    )
    row, column = tap_indices(sizes(op.stride), sizes(op.dilation), taps[0], taps[1])
    sums = integer_type(op.acc_type)
    x = _centred(nest, image, (0, row, column, channel), zero_point, sums)
    weight_zero_point = known_number("weight_zp", op.weight_zp)
    w = _centred(nest, weight, weight_indices, weight_zero_point, sums)
    start = Nest(lowering.emit, nest.output_shape)
    if shape_of(op.bias) == (1,):
        bias = lowering.read(start, op.bias, [AffineConstantExpr(0)])
    else:
        counts = [nest.bounds[loop] for loop in channel_loops]
        bias = start.input(
            lowering.reshape(lowering.value(op.bias), counts), channel_loops
        )
    (init,) = start.build([bias])
    (result,) = nest.reduce([init], multiply_accumulate(nest, x, w))
    return result


def lower_matmul(lowering: Lowering, op: tosa.MatMulOp) -> SSAValue:
    """Loops (batch, m, n | k)."""
    depth = shape_of(op.a)[2]
    nest = Nest(lowering.emit, (*shape_of(op.output), depth), reductions=1)
    sums = integer_type(op.output.type)
    a_zp, b_zp = known_number("a_zp", op.a_zp), known_number("b_zp", op.b_zp)
    a = _centred(nest, lowering.value(op.a), (0, 1, 3), a_zp, sums)
    b = _centred(nest, lowering.value(op.b), (0, 3, 2), b_zp, sums)
    init = lowering.emit.filled(shape_of(op.output), sums, 0)
    (result,) = nest.reduce([init], multiply_accumulate(nest, a, b))
    return result


def _centred(
    nest: Nest,
    tensor: SSAValue,
    indices: Sequence[Index],
    zero_point: int,
    type: IntegerType,
) -> SSAValue:
    """An element as a number of the sums' type, less its zero point."""
    wide = nest.add(arith.ExtSIOp(nest.input(tensor, indices), type)).result
    if zero_point == 0:
        return wide
    offset = nest.add(scalar_constant(zero_point, type)).result
    return nest.add(arith.SubiOp(wide, offset)).result
