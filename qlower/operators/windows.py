"""Windows that slide along an axis: the one formula of what they give.

TOSA, ONNX, TFLite, StableHLO and PyTorch state it in their specifications, each in its
own words; they differ in what they allow, not in the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


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
        """The number of positions of the window, where it fits."""
        return self.room // self.stride + 1

    def in_same(self) -> WindowAxis:
        """The window with the padding of `same_padding`."""
        before, after = same_padding(self.size, self.extent, self.stride)
        return replace(self, before=before, after=after)

    def lengthened(self) -> WindowAxis:
        """The window with a last result for elements that others leave out: it starts
        inside of the axis or of the padding before it, and more padding lies behind."""
        steps = -(-self.room // self.stride)
        if steps * self.stride >= self.size + self.before:
            steps -= 1
        after = steps * self.stride + self.extent - self.size - self.before
        return replace(self, after=max(self.after, after))


@dataclass(frozen=True, slots=True)
class Window:
    """A window that slides along several axes."""

    axes: tuple[WindowAxis, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], kernel: Sequence[int]) -> Window:
        """A window that moves by one element at a time, without padding."""
        return cls(tuple(map(WindowAxis, sizes, kernel)))

    @property
    def kernel(self) -> tuple[int, ...]:
        return tuple(axis.taps for axis in self.axes)

    @property
    def stride(self) -> tuple[int, ...]:
        return tuple(axis.stride for axis in self.axes)

    @property
    def dilation(self) -> tuple[int, ...]:
        return tuple(axis.dilation for axis in self.axes)

    @property
    def pad(self) -> tuple[int, ...]:
        """The elements before and after each axis: of images top, bottom, left and
        right."""
        return tuple(end for axis in self.axes for end in (axis.before, axis.after))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The results along each axis."""
        return tuple(axis.results for axis in self.axes)


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


def taps_inside(
    image: Sequence[int],
    result: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int] = (1, 1),
) -> NDArray[np.int32]:
    """The number of taps in the image, int32 for each [y, x, 1] of the result.

    Sizes and steps are [h, w], `pad` is [top, bottom, left, right].
    """

    def inside(axis: int) -> NDArray[np.int_]:
        first = np.arange(result[axis]) * stride[axis] - pad[2 * axis]
        places = first[:, np.newaxis] + np.arange(kernel[axis]) * dilation[axis]
        return np.logical_and(places >= 0, places < image[axis]).sum(axis=1)

    return np.outer(inside(0), inside(1)).astype(np.int32)[:, :, np.newaxis]
