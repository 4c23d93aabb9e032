"""The sliding window of convolutions and pools, and the images that it slides over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from qlower.operators.windows import Window, WindowAxis

from .context import NodeContext
from .orders import channels_last, identity
from .values import Value

MAX_STRIDE = 1 << 16
MAX_DILATION = 1 << 12
MAX_PAD = 1 << 16

PADDINGS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def as_image(
    node: NodeContext, value: Value, is_last: bool, *, is_whole: bool = False
) -> Value:
    """A value as [N, H, W, C], stored in that order.

    Its dimensions are [N, C, ...], or with `is_last` [N, ..., C]; a row becomes an
    image of height 1. If it is taken as a whole it may be a volume, whose first two
    dimensions are the height.
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
    image: Sequence[int],
    kernel: Sequence[int],
    *,
    is_pool: bool = False,
) -> Window:
    """The window that the attributes give for `image` and `kernel` sizes.

    A row's attributes have one number for each two of an image. In a pool's `ceil_mode`
    a last window counts that starts inside of the image or of the padding before it,
    although it reaches beyond the padding behind: that is lengthened.
    """
    rank = len(node.shape(0)) - 2
    still = len(image) - rank
    if len(kernel) != len(image):
        raise node.error(
            f"a window of {len(kernel) - still} dimensions; expected {rank}"
        )
    declared = node.integer_list("kernel_shape", kernel[still:], 1)
    if declared != list(kernel[still:]):
        raise node.error(f"kernel_shape {declared}, expected {list(kernel)}")
    pads = node.integer_list("pads", [0] * (2 * rank), 0, MAX_PAD)
    strides, dilations, before, after = (
        [missing] * still + given
        for missing, given in (
            (1, node.integer_list("strides", [1] * rank, 1, MAX_STRIDE)),
            (1, node.integer_list("dilations", [1] * rank, 1, MAX_DILATION)),
            (0, pads[:rank]),
            (0, pads[rank:]),
        )
    )
    is_ceil = is_pool and node.flag("ceil_mode", False)
    mode = node.text("auto_pad", "NOTSET", ("", *PADDINGS)) or "NOTSET"
    axes: list[WindowAxis] = []
    for sizes in zip(image, kernel, strides, before, after, dilations, strict=True):
        axis = WindowAxis(*sizes)
        if mode != "NOTSET":
            axis = replace(axis, before=0, after=0)
        if mode.startswith("SAME"):
            axis = _padded_by_taps(node, axis) if is_pool else axis.in_same()
        if mode == "SAME_LOWER":
            axis = replace(axis, before=axis.after, after=axis.before)
        if axis.room < 0:
            raise node.error(
                f"a window of {axis.extent} is larger than the padded image of"
                f" {axis.size + axis.before + axis.after}"
            )
        axes.append(axis.lengthened() if is_ceil else axis)
    return Window(tuple(axes))


def _padded_by_taps(node: NodeContext, axis: WindowAxis) -> WindowAxis:
    """A pool's window that is padded in ONNX Runtime's way: dilation adds nothing, and
    steps that are longer than the window would take something away
    (core/providers/cpu/nn/pool_attributes.h, ComputeSizePadDilations)."""
    last = (-(-axis.size // axis.stride) - 1) * axis.stride
    cut = axis.size - last - axis.taps
    if cut > 1 or (cut == 1 and axis.dilation > 1):
        raise node.error(
            f"auto_pad with a window of {axis.taps} that moves by {axis.stride} is not"
            f" supported: ONNX Runtime leaves out {cut} of {axis.size} elements",
            help="say where the windows begin by pads instead",
        )
    padded = replace(axis, dilation=1).in_same()
    return replace(padded, dilation=axis.dilation)
