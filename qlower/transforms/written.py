"""The elements of a tensor that have been written, where not all have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import tensor
from xdsl.ir import Operation, SSAValue

from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import CopyOp
from qlower.dialects.types import tensor_type

Masks: TypeAlias = dict[SSAValue, NDArray[np.bool_]]
"""The tensors with elements that were never written, and where there are some."""


def follow_writes(op: Operation, masks: Masks) -> None:
    """Note what an op of the kernel level leaves unwritten in its result.

    Raises QlowerError if it reads what was never written; moving it is no reading as
    long as it is moved by a reshape.
    """
    match op:
        case tensor.ExpandShapeOp(src=source) | tensor.CollapseShapeOp(src=source):
            if source in masks:
                shape = tensor_type(op.results[0]).get_shape()
                masks[op.results[0]] = masks[source].reshape(shape)
        case CopyOp():
            _follow_copy(op, masks)
        case _:
            for operand in op.operands:
                if operand in masks:
                    _refuse(op)


def _follow_copy(op: CopyOp, masks: Masks) -> None:
    sizes = op.sizes.get_values()
    if op.source in masks:
        offsets, strides = (
            op.source_offsets.get_values(),
            op.source_strides.get_values(),
        )
        if not masks[op.source][_box(offsets, sizes, strides)].all():
            _refuse(op)
    if op.fill is not None or (
        op.destination is not None and op.destination not in masks
    ):
        return
    written = (
        np.zeros(tensor_type(op.result).get_shape(), np.bool_)
        if op.destination is None
        else masks[op.destination].copy()
    )
    written[_box(op.offsets.get_values(), sizes, op.strides.get_values())] = True
    if not written.all():
        masks[op.result] = written


def _box(
    offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
) -> tuple[slice, ...]:
    return tuple(
        slice(offset, offset + size * stride, stride)
        for offset, size, stride in zip(offsets, sizes, strides, strict=True)
    )


def _refuse(op: Operation) -> None:
    raise QlowerError(
        f"'{op.name}' reads elements of a tensor that were never written", op.location
    )
