"""The sliding window of convolutions and pools, with explicit padding."""

from __future__ import annotations

from dataclasses import dataclass

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
            *same_padding(image[0], kernel[0], stride[0], dilation[0]),
            *same_padding(image[1], kernel[1], stride[1], dilation[1]),
        )
    height = image[0] + pad[0] + pad[1] - (kernel[0] - 1) * dilation[0] - 1
    width = image[1] + pad[2] + pad[3] - (kernel[1] - 1) * dilation[1] - 1
    if min(height, width) < 0:
        raise op.error(
            f"a window of {list(kernel)} with dilation {list(dilation)} does not fit"
            f" into an image of {list(image)}"
        )
    size = (height // stride[0] + 1, width // stride[1] + 1)
    return Window(stride, pad, dilation, size)


def same_padding(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Padding before and after, for ceil(size / stride) results.

    An odd total has the larger half after (TFLite `ComputePaddingWithOffset`).
    """
    results = -(-size // stride)
    extent = (kernel - 1) * dilation + 1
    total = max((results - 1) * stride + extent - size, 0)
    return total // 2, total - total // 2
