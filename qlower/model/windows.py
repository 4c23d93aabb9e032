"""Images [N, H, W, C] with what windows see around them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.types import element_type, shape_of


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
