"""CONV_3D and CONV_3D_TRANSPOSE, in float32."""

from __future__ import annotations

from qlower.emit.movement import moved
from qlower.operators.movement import Pad
from qlower.operators.structured import Structured
from qlower.operators.sums import Slide, Sums, slides
from qlower.operators.windows import same_padding

from ..context import OperatorContext
from ..nests import emitter, sums_of, take
from ..window import MAX_DILATION, MAX_STRIDE, SAME, SIDES, VALID, read_window
from .real import finish_sums

FILTERS_LAST, CHANNELS_LAST = (
    Structured.of(f"ndhwf|kijc nDHWc {weights} ndhwf") for weights in ("kijcf", "kijfc")
)
"""Convolutions by the order of the weights' dimensions."""


def import_conv3d(op: OperatorContext) -> None:
    """Weights are [kz, ky, kx, channel, filter]."""
    _, *image, channels = op.shape(0)
    *kernel, depth, _ = op.shape(1)
    if depth != channels:
        raise op.error(f"{depth} channels of weights, expected {channels}")
    window = read_window(op, image, kernel)
    slid = slides(window.stride, window.pad, window.dilation, len(kernel))
    sums = sums_of(op, Sums(FILTERS_LAST, slid), op.value(0), op.value(1))
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
    strides = [op.option(f"stride_{side}", 1, MAX_STRIDE) for side in SIDES]
    dilations = [
        op.option(f"dilation_{side}_factor", 1, MAX_DILATION) for side in SIDES
    ]
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
    low = [
        extent - same_padding(size, extent + 1, stride)[0] * is_same
        for size, extent, stride in sizes
    ]
    high = [
        size + extent - before - (count - 1) * stride - 1
        for (size, extent, stride), count, before in zip(sizes, image, low, strict=True)
    ]
    between = [stride - 1 for stride in strides]
    around = Pad([0, *low, 0], [0, *high, 0], [0, *between, 0], 0.0)
    source = moved(emitter(op), around, op.value(2))
    turned = [range(taps)[::-1] for taps in kernel]
    weights = take(op, op.value(1), [*turned, range(filters), range(channels)])
    windows = Sums(CHANNELS_LAST, [Slide(dilation=each) for each in dilations])
    finish_sums(op, sums_of(op, windows, source, weights), 3)
