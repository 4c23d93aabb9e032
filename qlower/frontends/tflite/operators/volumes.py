"""CONV_3D and CONV_3D_TRANSPOSE, in float32."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.operators.windows import WindowAxis, same_padding, window_extent

from ..context import OperatorContext
from ..nests import start, take
from ..window import MAX_DILATION, MAX_STRIDE, SAME, VALID
from .real import finish_sums, sum_products

SIDES = "dhw"


def import_conv3d(op: OperatorContext) -> None:
    """Weights are [kz, ky, kx, channel, filter]."""
    _, *image, channels = op.shape(0)
    *kernel, depth, _ = op.shape(1)
    if depth != channels:
        raise op.error(f"{depth} channels of weights, expected {channels}")
    strides, dilations = _strides(op), _dilations(op)
    pads = [(0, 0)] * 3
    if op.option("padding", SAME, VALID) == SAME:
        pads = [
            same_padding(size, window_extent(taps, dilation), stride)
            for size, taps, stride, dilation in zip(
                image, kernel, strides, dilations, strict=True
            )
        ]
    source = _padded(op, op.value(0), *zip(*pads, strict=True))
    sums = _convolve(op, source, op.value(1), strides, dilations, 4)
    finish_sums(op, sums)


def import_conv3d_transpose(op: OperatorContext) -> None:
    """A convolution of the image with zeros between its elements, by the kernel turned
    round; weights are [kz, ky, kx, filter, channel].

    An element of the kernel's result gets its terms in the order of the image, then of
    channels, and so it does here.
    """
    batch, *image, channels = op.shape(2)
    *kernel, filters, depth = op.shape(1)
    result = op.integers(0, "output_shape", count=5)
    strides, dilations = _strides(op), _dilations(op)
    is_same = op.option("padding", SAME, VALID) == SAME
    extents = [
        (taps - 1) * dilation for taps, dilation in zip(kernel, dilations, strict=True)
    ]
    sizes = list(zip(result[1:4], extents, strides, strict=True))
    expected = [
        -(-size // stride) if is_same else (size - extent - 1) // stride + 1
        for size, extent, stride in sizes
    ]
    if [batch, *expected, filters, depth] != [result[0], *image, result[4], channels]:
        raise op.error(
            f"{op.input(2)}: an image of {[batch, *image, channels]} by a kernel of"
            f" {[*kernel, filters, depth]} does not give {result}"
        )
    # one zero beyond each side of the image is what stands between
    source = _padded(op, op.value(2), (0, 0, 0), (1, 1, 1))
    places = [
        _places(
            count,
            stride,
            extent - same_padding(size, extent + 1, stride)[0] * is_same,
            size + extent,
        )
        for count, (size, extent, stride) in zip(image, sizes, strict=True)
    ]
    source = take(op, source, [range(batch), *places, range(channels)])
    turned = [range(taps)[::-1] for taps in kernel]
    weights = take(op, op.value(1), [*turned, range(filters), range(channels)])
    finish_sums(op, _convolve(op, source, weights, [1, 1, 1], dilations, 3), 3)


def _places(count: int, stride: int, before: int, size: int) -> list[int]:
    """Which of `count` elements stand `stride` apart from place `before` on; elsewhere
    the zero after them."""
    taken = [count] * size
    for number in range(count):
        if 0 <= (place := before + number * stride) < size:
            taken[place] = number
    return taken


def _convolve(
    op: OperatorContext,
    source: SSAValue,
    weights: SSAValue,
    strides: Sequence[int],
    dilations: Sequence[int],
    filter_axis: int,
) -> SSAValue:
    """Loops (n, z, y, x, f | kz, ky, kx, c); filters are that dimension of weights."""
    batch, *image, channels = shape_of(source)
    kernel, filters = shape_of(weights)[:3], shape_of(weights)[filter_axis]
    result = [
        WindowAxis(size, taps, stride, dilation=dilation).results
        for size, taps, stride, dilation in zip(
            image, kernel, strides, dilations, strict=True
        )
    ]
    if min(result) < 1:
        raise op.error(
            f"a window of {list(kernel)} does not fit into an image of {image}"
        )
    nest = start(op, (batch, *result, filters, *kernel, channels), reductions=4)
    taps = [
        AffineDimExpr(1 + side) * strides[side]
        + AffineDimExpr(5 + side) * dilations[side]
        for side in range(3)
    ]
    x = nest.input(source, [0, *taps, 8])
    last = [8, 4] if filter_axis == 4 else [4, 8]
    return sum_products(nest, x, nest.input(weights, [5, 6, 7, *last]))


def _padded(
    op: OperatorContext, source: SSAValue, low: Sequence[int], high: Sequence[int]
) -> SSAValue:
    if not any((*low, *high)):
        return source
    low, high = (0, *low, 0), (0, *high, 0)
    sizes = [sum(side) for side in zip(shape_of(source), low, high, strict=True)]
    padded = qnn.PadOp(source, TensorType(f32, sizes), low=low, high=high)
    return op.emit(padded, "pad")


def _strides(op: OperatorContext) -> list[int]:
    return [op.option(f"stride_{side}", 1, MAX_STRIDE) for side in SIDES]


def _dilations(op: OperatorContext) -> list[int]:
    return [op.option(f"dilation_{side}_factor", 1, MAX_DILATION) for side in SIDES]
