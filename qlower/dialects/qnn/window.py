"""Windows that slide over the two image dimensions of an NHWC tensor."""

from __future__ import annotations

from abc import ABC

from xdsl.irdl import prop_def

from ..integers import values_of
from .base import ActivatedOp
from .constraints import Integers


class WindowOp(ActivatedOp, ABC):
    """
    An op whose result (y, x) reads the input's rows
    `y * stride[0] - pad[0] + dilation[0] * k` for 0 <= k < kernel rows, and columns
    likewise; what lies outside of the image is padding.
    """

    stride_attr = prop_def(Integers("stride", 1, length=2), prop_name="stride")
    pad_attr = prop_def(Integers("pad", 0, length=4), prop_name="pad")

    @property
    def stride(self) -> tuple[int, ...]:
        """Steps down and right between windows, (height, width)."""
        return values_of(self.stride_attr)

    @property
    def pad(self) -> tuple[int, ...]:
        """Padding (top, bottom, left, right)."""
        return values_of(self.pad_attr)
