"""The sliding window of convolutions and pools, and the images that it slides over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from qlower.operators.windows import same_padding, window_extent

from .context import NodeContext
from .orders import channels_last, identity
from .values import Value

MAX_STRIDE = 1 << 16
MAX_DILATION = 1 << 12
MAX_PAD = 1 << 16

PADDINGS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Window:
    """`stride` and `dilation` are [h, w], `pad` is [top, bottom, left, right], and
    `sizes` are the result's rows and columns."""

    stride: Pair
    pad: tuple[int, int, int, int]
    dilation: Pair
    sizes: Pair


def as_image(
    node: NodeContext, value: Value, is_last: bool, *, is_whole: bool = False
) -> Value:
    """A value as [N, H, W, C], stored in that order.

    Its dimensions are [N, C, ...], or with `is_last` [N, ..., C]; a row becomes an
    image of height 1. If it is taken as a whole it may be a volume, of which the first
    two dimensions are the height.
    """
    rank = len(value.order)
    if rank not in (3, 4) and not (rank == 5 and is_whole):
        raise node.error(
            f"an input of rank {rank} is not supported; expected 4 (or 3, for a row)"
        )
    order = identity(rank) if is_last else channels_last(rank)
    value = node.in_order(value, order)
    sizes = value.type.get_shape()
    shape = sizes if rank == 4 else (sizes[0], 1, *sizes[1:])
    if rank == 5:
        shape = (sizes[0], sizes[1] * sizes[2], *sizes[3:])
    stored = Value(value.ssa, identity(rank), value.is_real)
    return node.reshaped(stored, shape)


def from_image(
    node: NodeContext, operation: Operation, image: Value, is_last: bool
) -> None:
    """Add the operation whose result, [N, H, W, C], is the node's."""
    ssa = node.emit(operation, image_step(node))
    define_image(node, ssa, image, is_last)


def image_step(node: NodeContext) -> str | None:
    """The name of an image on the way to the node's result; None if the image is the
    result."""
    return None if len(node.shape(0)) == 4 else "image"


def define_image(node: NodeContext, ssa: SSAValue, image: Value, is_last: bool) -> None:
    """Make the image `ssa` the node's result, as real as `image`."""
    rank = len(node.shape(0))
    result = Value(ssa, identity(4))
    order = identity(rank) if is_last else channels_last(rank)
    if rank == 3:
        batch, _, width, channels = result.shape
        row = (batch, width, channels)
        result = node.reshaped(result, row)
    if rank == 5:
        batch, *sizes = result.shape
        volume = (batch, 1, *sizes)
        result = node.reshaped(result, volume)
    node.define(Value(result.ssa, order, image.is_real))


def read_window(
    node: NodeContext,
    image: Pair,
    kernel: Pair,
    *,
    has_ceil_mode: bool = False,
) -> Window:
    """The window that the attributes give for `image` and `kernel` sizes.

    A row's attributes have one number for each two of an image. In `ceil_mode` a last
    window counts that starts inside of the image or of the padding before it, although
    it reaches beyond the padding behind: that is lengthened.
    """
    rank = len(node.shape(0)) - 2
    declared = node.integer_list("kernel_shape", list(kernel)[2 - rank :], 1)
    if tuple(declared) != kernel[2 - rank :]:
        raise node.error(f"kernel_shape {declared}, expected {list(kernel)}")
    ones = [1] * rank
    stride = _pair(node.integer_list("strides", ones, 1, MAX_STRIDE))
    dilation = _pair(node.integer_list("dilations", ones, 1, MAX_DILATION))
    given = node.integer_list("pads", [0] * (2 * rank), 0, MAX_PAD)
    if rank == 1:
        given = [0, given[0], 0, given[1]]
    is_ceil = has_ceil_mode and node.flag("ceil_mode", False)
    mode = node.text("auto_pad", "NOTSET", ("", *PADDINGS)) or "NOTSET"
    pads: list[int] = []
    sizes: list[int] = []
    for axis in range(2):
        before, after = given[axis], given[axis + 2]
        extent = window_extent(kernel[axis], dilation[axis])
        if mode != "NOTSET":
            before = after = 0
        if mode.startswith("SAME"):
            before, after = same_padding(image[axis], extent, stride[axis])
            if mode == "SAME_LOWER":
                before, after = after, before
        room = image[axis] + before + after - extent
        if room < 0:
            raise node.error(
                f"a window of {extent} is larger than the padded image of"
                f" {image[axis] + before + after}"
            )
        steps = room // stride[axis]
        if is_ceil:
            steps = -(-room // stride[axis])
            if steps * stride[axis] >= image[axis] + before:
                steps -= 1
            after = max(after, steps * stride[axis] + extent - image[axis] - before)
        pads += [before, after]
        sizes.append(steps + 1)
    top, bottom, left, right = pads
    return Window(stride, (top, bottom, left, right), dilation, (sizes[0], sizes[1]))


def _pair(values: Sequence[int]) -> Pair:
    return (1, values[0]) if len(values) == 1 else (values[0], values[1])
