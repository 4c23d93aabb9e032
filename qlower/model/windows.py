"""Windows that slide over images [N, H, W, C]: their padding, and what lies inside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.types import element_type, shape_of
from qlower.interp.values import Array


def padded_image(image: SSAValue, pad: Sequence[int]) -> qnn.PadOp:
    """The image with zeros around it; `pad` is [top, bottom, left, right] in pixels."""
    top, bottom, left, right = pad
    batch, height, width, channels = shape_of(image)
    shape = (batch, top + height + bottom, left + width + right, channels)
    return qnn.PadOp(
        image,
        TensorType(element_type(image.type), shape),
        low=(0, top, left, 0),
        high=(0, bottom, right, 0),
    )


def taps_inside(
    image: Sequence[int],
    result: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int] = (1, 1),
) -> Array:
    """How many taps lie in the image, int32 for each [y, x, 1] of the result.

    Sizes and steps are [h, w], `pad` is [top, bottom, left, right].
    """

    def inside(axis: int) -> Array:
        first = np.arange(result[axis]) * stride[axis] - pad[2 * axis]
        places = first[:, np.newaxis] + np.arange(kernel[axis]) * dilation[axis]
        return np.logical_and(places >= 0, places < image[axis]).sum(axis=1)

    return np.outer(inside(0), inside(1)).astype(np.int32)[:, :, np.newaxis]
