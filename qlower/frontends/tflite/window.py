"""The sliding window of convolutions and pools, with explicit padding."""

from __future__ import annotations

from collections.abc import Sequence

from qlower.operators.windows import Window, WindowAxis

from .context import OperatorContext

MAX_STRIDE = 1 << 16
MAX_DILATION = 1 << 12
MAX_KERNEL = 1 << 16

SAME, VALID = 0, 1

SIDES = "dhw"
"""The names of axes of volumes in options; images have the last two."""


def read_window(
    op: OperatorContext, image: Sequence[int], kernel: Sequence[int]
) -> Window:
    """The window that the operator's options give for `image` and `kernel` sizes."""
    axes = [
        WindowAxis(
            size,
            taps,
            op.option(f"stride_{side}", 1, MAX_STRIDE),
            dilation=op.integer(f"dilation_{side}_factor", 1, 1, MAX_DILATION),
        )
        for side, size, taps in zip(SIDES[-len(image) :], image, kernel, strict=True)
    ]
    if op.option("padding", SAME, VALID) == SAME:
        axes = [axis.in_same() for axis in axes]
    window = Window(tuple(axes))
    if min(axis.room for axis in axes) < 0:
        raise op.error(
            f"a window of {list(kernel)} with dilation {list(window.dilation)} does not"
            f" fit into an image of {list(image)}"
        )
    return window


def read_pool(op: OperatorContext) -> Window:
    """The window of a pool, which slides over the operand."""
    names = ("filter_height", "filter_width")
    kernel = [op.option(name, 1, MAX_KERNEL) for name in names]
    return read_window(op, op.shape(0)[1:3], kernel)
