"""Windows that slide along an axis: the one formula of what they give.

TOSA, ONNX, TFLite, StableHLO and PyTorch state it in their specifications, each in its
own words; they differ in what they allow, not in the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowAxis:
    """A window of `taps` elements, `dilation` apart, that moves by `stride` along an
    axis of `size` elements with `before` and `after` more around them."""

    size: int
    taps: int
    stride: int = 1
    before: int = 0
    after: int = 0
    dilation: int = 1

    @property
    def extent(self) -> int:
        """The elements from the first tap to the last, both included."""
        return window_extent(self.taps, self.dilation)

    @property
    def room(self) -> int:
        """The elements by which the window can move: negative if it doesn't fit."""
        return self.size + self.before + self.after - self.extent

    @property
    def results(self) -> int:
        """How many places the window takes, where it fits."""
        return self.room // self.stride + 1


def window_extent(taps: int, dilation: int) -> int:
    """The elements that taps span, `dilation` apart."""
    return (taps - 1) * dilation + 1


def same_padding(size: int, extent: int, stride: int) -> tuple[int, int]:
    """Padding before and after that gives `ceil(size / stride)` results.

    An odd total has its larger half after: "SAME" of TensorFlow and TFLite
    (`ComputePaddingWithOffset`), SAME_UPPER of ONNX.
    """
    results = -(-size // stride)
    total = max((results - 1) * stride + extent - size, 0)
    return total // 2, total - total // 2
