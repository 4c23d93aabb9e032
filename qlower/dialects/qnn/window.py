"""Windows that slide over the two image dimensions of an NHWC tensor."""

from __future__ import annotations

from abc import ABC

from .base import ActivatedOp
from .fields import integers_field


class WindowOp(ActivatedOp, ABC):
    """
    An op whose result (y, x) reads the input's rows
    `y * stride[0] - pad[0] + dilation[0] * k` for 0 <= k < kernel rows, and columns
    likewise; what lies outside of the image is padding.
    """

    stride = integers_field(1, length=2, initial=(1, 1))
    """Steps down and right between windows, (height, width)."""
    pad = integers_field(0, length=4, initial=(0, 0, 0, 0))
    """Padding (top, bottom, left, right)."""
