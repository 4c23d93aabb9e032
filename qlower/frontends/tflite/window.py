"""The sliding window of convolutions and pools, with explicit padding."""

from __future__ import annotations

from dataclasses import dataclass

from qlower.operators.windows import WindowAxis, same_padding, window_extent

from .context import OperatorContext

MAX_STRIDE = 1 << 16
MAX_DILATION = 1 << 12
MAX_KERNEL = 1 << 16

SAME, VALID = 0, 1


@dataclass(frozen=True, slots=True)
class Window:
    """`stride`, `dilation` and the result's `size` are [h, w], `pad` is [top, bottom,
    left, right]."""

    stride: tuple[int, int]
    pad: tuple[int, int, int, int]
    dilation: tuple[int, int]
    size: tuple[int, int]


def read_window(
    op: OperatorContext,
    image: tuple[int, int],
    kernel: tuple[int, int],
    *,
    has_dilation: bool = True,
) -> Window:
    """The window that the operator's options give for `image` and `kernel` sizes."""
    stride = (
        op.option("stride_h", 1, MAX_STRIDE),
        op.option("stride_w", 1, MAX_STRIDE),
    )
    dilation = (1, 1)
    if has_dilation:
        dilation = (
            op.option("dilation_h_factor", 1, MAX_DILATION),
            op.option("dilation_w_factor", 1, MAX_DILATION),
        )
    pad = (0, 0, 0, 0)
    if op.option("padding", SAME, VALID) == SAME:
        pad = (
            *same_padding(image[0], window_extent(kernel[0], dilation[0]), stride[0]),
            *same_padding(image[1], window_extent(kernel[1], dilation[1]), stride[1]),
        )
    rows, columns = (
        WindowAxis(
            image[side],
            kernel[side],
            stride[side],
            pad[2 * side],
            pad[2 * side + 1],
            dilation[side],
        )
        for side in (0, 1)
    )
    if min(rows.room, columns.room) < 0:
        raise op.error(
            f"a window of {list(kernel)} with dilation {list(dilation)} does not fit"
            f" into an image of {list(image)}"
        )
    return Window(stride, pad, dilation, (rows.results, columns.results))


def read_pool(op: OperatorContext) -> tuple[tuple[int, int], Window]:
    """The sizes of a pool's window, and how it slides over the operand."""
    _, height, width, _ = op.shape(0)
    kernel = (
        op.option("filter_height", 1, MAX_KERNEL),
        op.option("filter_width", 1, MAX_KERNEL),
    )
    return kernel, read_window(op, (height, width), kernel, has_dilation=False)
