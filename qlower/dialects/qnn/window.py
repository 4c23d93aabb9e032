"""Windows that slide over the two image dimensions of an NHWC tensor."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.irdl import prop_def
from xdsl.utils.exceptions import VerifyException

from qlower.operators.windows import WindowAxis

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


def check_window(
    op: WindowOp,
    input_shape: Sequence[int],
    kernel: Sequence[int],
    dilation: Sequence[int],
    output_shape: Sequence[int],
) -> None:
    """
    Checks batch and image size of the result of a window over NHWC `input_shape`:
    `WindowAxis.results` in both dimensions.
    """
    if output_shape[0] != input_shape[0]:
        raise VerifyException(
            f"batch {output_shape[0]} of result does not match "
            f"the input's {input_shape[0]}"
        )
    for index, name in enumerate(("height", "width")):
        before, after = op.pad[2 * index : 2 * index + 2]
        size, taps, stride = input_shape[1 + index], kernel[index], op.stride[index]
        axis = WindowAxis(size, taps, stride, before, after, dilation[index])
        source = (
            f"input {size}, kernel {taps}, stride {stride}, pad {before}+{after}, "
            f"dilation {dilation[index]}"
        )
        if axis.room < 0:
            raise VerifyException(
                f"output {name} does not exist: the window of {source} "
                f"is larger than the padded input"
            )
        if output_shape[1 + index] != axis.results:
            raise VerifyException(
                f"output {name} {output_shape[1 + index]} does not follow from "
                f"{source}: expected {axis.results}"
            )
