"""Convolutions and products of matrices: exact sums, in the type that TOSA names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from qlower.transforms.lower_tosa.movement import (
    padded,
    reversed_along,
    slice_of,
    tiled,
    transposed,
)


@dataclass(frozen=True)
class _Read:
    """A tensor, and the loops that index it."""

    tensor: SSAValue
    indices: Sequence[Index]


def lower_convolution(
    lowering: Lowering, op: tosa.Conv2DOp | tosa.Conv3DOp
) -> SSAValue:
    """Loops (n, [z], y, x, o | [kz], ky, kx, c)."""
    shape = (*shape_of(op.output), *op.kernel, shape_of(op.weight)[-1])
    nest = Nest(lowering.emit, shape, reductions=op.AXES + 1)
    *taps, channel = range(nest.parallel, len(shape))
    output = nest.parallel - 1
    weight = _Read(lowering.value(op.weight), (output, *taps, channel))
    image = _window(lowering, op, taps, channel)
    bias = _Read(lowering.value(op.bias), (output,))
    return _convolve(lowering, op, nest, image, weight, bias)


def lower_depthwise_conv2d(lowering: Lowering, op: tosa.DepthwiseConv2DOp) -> SSAValue:
    """Loops (n, y, x, c, [multiplier] | ky, kx)."""
    *_, channels, multiplier = shape_of(op.weight)
    outputs = (channels,) if multiplier == 1 else (channels, multiplier)
    shape = (*shape_of(op.output)[:3], *outputs, *op.kernel)
    nest = Nest(lowering.emit, shape, reductions=2)
    taps, output = range(nest.parallel, len(shape)), range(3, nest.parallel)
    by_channel = lowering.reshape(lowering.value(op.weight), (*op.kernel, *outputs))
    weight = _Read(by_channel, (*taps, *output))
    bias = lowering.value(op.bias)
    if shape_of(op.bias) != (1,):
        bias = lowering.reshape(bias, outputs)
    image = _window(lowering, op, taps, 3)
    result = _convolve(lowering, op, nest, image, weight, _Read(bias, output))
    return lowering.reshape(result, shape_of(op.output))


def lower_transpose_conv2d(lowering: Lowering, op: tosa.TransposeConv2DOp) -> SSAValue:
    """Loops (n, q, r, [phases] o | t, u, c) of a convolution that gives a block of the
    result at each position; then the blocks become an image, which is cut to size."""
    (batch, *image, depth), (_, *size, outputs) = map(shape_of, (op.input, op.output))
    strides, pads = sizes(op.stride), sizes(op.out_pad)[::2]
    axes = [
        _Phases(*numbers)
        for numbers in zip(image, op.kernel, strides, pads, size, strict=True)
    ]
    rows, columns = axes
    before, after = (
        (0, rows.before, columns.before, 0),
        (0, rows.after, columns.after, 0),
    )
    zero_point = known_number("input_zp", op.input_zp)
    around = padded(lowering, lowering.value(op.input), before, after, zero_point)
    channels = rows.stride * columns.stride * outputs
    positions, taps = [a.positions for a in axes], [a.taps for a in axes]
    bounds = (batch, *positions, channels, *taps, depth)
    nest = Nest(lowering.emit, bounds, reductions=3)
    weight = _Read(_weights_by_phase(lowering, op, axes), (3, 4, 5, 6))
    bias = lowering.value(op.bias)
    if shape_of(op.bias) != (1,):
        bias = tiled(lowering, bias, (channels,))
    window = _Read(around, (0, *tap_indices((1, 1), (1, 1), 4, 5), 6))
    blocks = _convolve(lowering, op, nest, window, weight, _Read(bias, (3,)))
    apart = lowering.reshape(blocks, (batch, *positions, *strides, outputs))
    beside = transposed(lowering, apart, (0, 1, 3, 2, 4, 5))
    whole = (batch, *(a.positions * a.stride for a in axes), outputs)
    joined = lowering.reshape(beside, whole)
    start = (0, rows.offset, columns.offset, 0)
    return slice_of(lowering, joined, start, shape_of(op.output))


class _Phases:
    """Rows or columns of a transposed convolution.

    Element Y of the result takes input y times weight k where `Y = stride * y + pad +
    k`. With `Y - pad = stride * q + phase` these are the weights `phase + stride * t`
    of the inputs `q - t`: a convolution for each phase, with `taps` of them, from `q` =
    `first` on. Its first element lies `offset` into the first block.
    """

    def __init__(self, image: int, kernel: int, stride: int, pad: int, size: int):
        self.stride = stride
        self.taps = -(-kernel // stride)
        first, self.offset = divmod(-pad, stride)
        self.positions = (size - 1 - pad) // stride - first + 1
        self.before = self.taps - 1 - first
        self.after = self.positions + first - image


def _weights_by_phase(
    lowering: Lowering, op: tosa.TransposeConv2DOp, axes: Sequence[_Phases]
) -> SSAValue:
    """Weights [phases and outputs, taps, taps, channels]; what a phase lacks is 0."""
    outputs, *kernel, depth = shape_of(op.weight)
    rows, columns = axes
    missing = [
        axis.taps * axis.stride - size for axis, size in zip(axes, kernel, strict=True)
    ]
    zero_point = known_number("weight_zp", op.weight_zp)
    whole = padded(
        lowering, lowering.value(op.weight), [0] * 4, [0, *missing, 0], zero_point
    )
    shape = (outputs, rows.taps, rows.stride, columns.taps, columns.stride, depth)
    apart = lowering.reshape(whole, shape)
    for axis in (1, 3):
        apart = reversed_along(lowering, apart, axis)
    by_phase = transposed(lowering, apart, (2, 4, 0, 1, 3, 5))
    channels = rows.stride * columns.stride * outputs
    return lowering.reshape(by_phase, (channels, rows.taps, columns.taps, depth))


def _window(
    lowering: Lowering, op: tosa.PaddedConvolutionOp, taps: Sequence[int], channel: int
) -> _Read:
    """The padded image, where loops 1, 2, ... and `taps` read it."""
    ends = sizes(op.pad)
    before, after = (0, *ends[::2], 0), (0, *ends[1::2], 0)
    zero_point = known_number("input_zp", op.input_zp)
    image = padded(lowering, lowering.value(op.input), before, after, zero_point)
    places = tap_indices(sizes(op.stride), sizes(op.dilation), *taps)
    return _Read(image, (0, *places, channel))


def _convolve(
    lowering: Lowering,
    op: tosa.ConvolutionOp,
    nest: Nest,
    image: _Read,
    weight: _Read,
    bias: _Read,
) -> SSAValue:
    """`bias + sum((x - input_zp) * (w - weight_zp))`."""
    sums = integer_type(op.acc_type)
    x, w = (
        _centred(nest, read.tensor, read.indices, known_number(name, zero_point), sums)
        for read, name, zero_point in (
            (image, "input_zp", op.input_zp),
            (weight, "weight_zp", op.weight_zp),
        )
    )
    start = Nest(lowering.emit, nest.output_shape)
    if shape_of(bias.tensor) == (1,):
        initial = lowering.read(start, op.bias, [AffineConstantExpr(0)])
    else:
        initial = start.input(bias.tensor, bias.indices)
    (init,) = start.build([initial])
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
