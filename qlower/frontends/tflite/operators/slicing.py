"""Parts of a tensor: SLICE, STRIDED_SLICE, SPLIT, SPLIT_V and UNPACK."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType

from qlower.dialects import qnn

from ...signature import UNLIMITED
from ..context import OperatorContext
from ..importer import takes
from ..nests import finish, take
from ..slices import read_slice, read_strided_slice


def import_slice(op: OperatorContext) -> None:
    """What has no elements gets a shape and no value: loops join it to other parts."""
    offsets, sizes = read_slice(op)
    if 0 in sizes:
        op.graph.resize(op.output(), tuple(sizes), op)
        return
    op.finish(
        qnn.SliceOp(
            op.moved(0),
            op.result_type(sizes),
            offsets=offsets,
            sizes=sizes,
            strides=[1] * len(sizes),
        )
    )


def import_strided_slice(op: OperatorContext) -> None:
    """A box, then a reshape if dimensions are dropped or new."""
    taken = read_strided_slice(op)
    shape = op.shape(0)
    result_type = op.result_type(taken.shape)
    if any(indices.step < 0 for indices in taken.indices):
        box = take(op, op.elements(0), taken.indices)
        finish(op, op.reshaped(box, taken.shape))
        return
    sizes = [len(indices) for indices in taken.indices]
    value = op.moved(0)
    slice_op = qnn.SliceOp(
        value,
        TensorType(result_type.element_type, sizes),
        offsets=[indices.start for indices in taken.indices],
        sizes=sizes,
        strides=[indices.step for indices in taken.indices],
    )
    if taken.shape == tuple(sizes):
        op.finish(slice_op)
    elif tuple(sizes) == shape:
        op.finish(qnn.ReshapeOp(value, result_type))
    else:
        op.finish(qnn.ReshapeOp(op.emit(slice_op, "slice"), result_type))


def import_split(op: OperatorContext) -> None:
    shape = op.shape(1)
    axis = op.axis_at(0, len(shape))
    parts = len(op.operator.outputs)
    if shape[axis] % parts:
        raise op.error(f"dimension {axis} of size {shape[axis]} in {parts} parts")
    part = (*shape[:axis], shape[axis] // parts, *shape[axis + 1 :])
    types = [op.result_type(part, number) for number in range(parts)]
    op.finish(qnn.SplitOp(op.moved(1), types, axis=axis))


def import_split_v(op: OperatorContext) -> None:
    """One slice for each part; one size may be -1, what is left over. Parts of no
    elements, which unrolled GRUs have and nothing takes, get no value."""
    shape = op.shape(0)
    parts = len(op.operator.outputs)
    sizes = op.integers(1, "sizes", count=parts)
    axis = op.axis_at(2, len(shape))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = shape[axis] - sum(sizes) - 1
    if min(sizes) < 0 or sum(sizes) != shape[axis]:
        raise op.error(
            f"parts of sizes {sizes} do not add up to the {shape[axis]} of dimension"
            f" {axis}"
        )
    begin = 0
    for number, size in enumerate(sizes):
        sizes_taken = [*shape[:axis], size, *shape[axis + 1 :]]
        if size:
            _take(op, number, axis, begin, sizes_taken, sizes_taken)
        begin += size


def import_unpack(op: OperatorContext) -> None:
    """Every index of a dimension by itself: a slice of size 1, and a reshape."""
    shape = op.shape(0)
    axis = op.axis(op.option("axis", -len(shape), len(shape) - 1), len(shape))
    parts = len(op.operator.outputs)
    if parts != shape[axis]:
        raise op.error(f"{parts} results, expected the {shape[axis]} of axis {axis}")
    rest = [*shape[:axis], *shape[axis + 1 :]]
    for number in range(parts):
        _take(op, number, axis, number, [*shape[:axis], 1, *shape[axis + 1 :]], rest)


def _take(
    op: OperatorContext,
    number: int,
    axis: int,
    begin: int,
    sizes: Sequence[int],
    shape: Sequence[int],
) -> None:
    """Result `number` is a slice along `axis`, in the given shape."""
    result_type = op.result_type(shape, number)
    slice_op = qnn.SliceOp(
        op.moved(0, number),
        TensorType(result_type.element_type, sizes),
        offsets=[begin if dim == axis else 0 for dim in range(len(sizes))],
        sizes=sizes,
        strides=[1] * len(sizes),
    )
    if len(shape) == len(sizes):
        op.finish_part(number, slice_op)
    else:
        value = op.emit(slice_op, "slice", output=number)
        op.finish_part(number, qnn.ReshapeOp(value, result_type))


IMPORTERS = {
    "SLICE": takes("x, begin, size", import_slice),
    "STRIDED_SLICE": takes("x, begin, end, strides", import_strided_slice),
    "SPLIT": takes("axis, x", import_split, (1, UNLIMITED)),
    "SPLIT_V": takes("x, sizes, axis", import_split_v, (1, UNLIMITED)),
    "UNPACK": takes("x", import_unpack, (1, UNLIMITED)),
}
