"""Padding that needs no memory, because its readers can read the unpadded tensor.

The code of depthwise convolutions can: each of its vectors is of channels, all of which
are inside of the image or all outside. That of other sums reads runs of bytes, in which
the columns of a window lie side by side; their padding is stored.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i8, i16
from xdsl.ir import SSAValue

from qlower.codegen.nests.recognise import DepthwiseProducts
from qlower.dialects.integers import values_of
from qlower.dialects.kernel import CopyOp, NestOp, linear_form
from qlower.dialects.types import tensor_type
from qlower.transforms.form_kernels.factors import is_constant


def is_read_in_place(copy: CopyOp) -> bool:
    """Whether all that read a copy can read its source instead, and know its border."""
    return (
        copy.pads
        and tensor_type(copy.result).element_type in (i8, i16)
        and not is_constant(copy.source)
        and all(
            isinstance(use.operation, NestOp) and _reads_bordered(use.operation, copy)
            for use in copy.result.uses
        )
    )


def _reads_bordered(nest: NestOp, copy: CopyOp) -> bool:
    """Whether the nest is a depthwise convolution of the copy's result.

    No window may lie in the border alone, and channels have none.
    """
    indices = [i for i, value in enumerate(nest.inputs) if value is copy.result]
    if (
        nest.family.data != DepthwiseProducts.family
        or len(indices) != 1
        or copy.result in nest.tables
    ):
        return False
    loops = len(nest.bounds)
    channels = linear_form(nest.result_maps[0].results[-1], loops)[0]
    reduction = range(len(nest.parallel_bounds), loops)
    borders = zip(
        nest.input_maps[indices[0]].results,
        values_of(copy.offsets),
        _border(copy.result, copy.source),
        strict=True,
    )
    for expression, low, both in borders:
        strides = linear_form(expression, loops)[0]
        window = sum(strides[loop] * (nest.bounds[loop] - 1) for loop in reduction)
        moves_channel = any(
            stride and channel
            for stride, channel in zip(strides, channels, strict=True)
        )
        if both and (moves_channel or max(low, both - low) > window):
            return False
    return any(
        channel and bound > 1
        for channel, bound in zip(channels, nest.bounds, strict=True)
    )


def _border(padded: SSAValue, source: SSAValue) -> list[int]:
    """Elements along each axis that the source doesn't have."""
    shapes = (tensor_type(value).get_shape() for value in (padded, source))
    return [after - before for after, before in zip(*shapes, strict=True)]
