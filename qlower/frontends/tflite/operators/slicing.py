"""Parts of a tensor: SLICE, STRIDED_SLICE, SPLIT, SPLIT_V and UNPACK."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from qlower.dialects import qnn
from qlower.operators.shapes import Shape

from ...entry import takes
from ...graph.values import slice_of
from ...signature import UNLIMITED
from ..context import OperatorContext
from ..nests import finish, take
from ..slices import Taken, read_slice, read_strided_slice


def _import_taken(
    op: OperatorContext, read: Callable[[OperatorContext, Shape], Taken]
) -> None:
    """A box, then a reshape if dimensions are dropped or new. What has no elements gets
    a shape and no value: loops join it to other parts."""
    shape = op.shape(0)
    taken = read(op, shape)
    if 0 in taken.shape:
        op.graph.resize(op.output(), taken.shape, op)
        return
    result_type = op.result_type(taken.shape)
    if any(indices.step < 0 for indices in taken.indices):
        box = take(op, op.elements(0), taken.indices)
        finish(op, op.reshaped(box, taken.shape))
        return
    sizes = tuple(map(len, taken.indices))
    value = op.moved(0)
    if taken.shape == sizes:
        op.finish(slice_of(value, taken.indices))
        return
    if sizes != shape:
        value = op.emit(slice_of(value, taken.indices), "slice")
    op.finish(qnn.ReshapeOp(value, result_type))


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
    ranges = [range(size) for size in sizes]
    ranges[axis] = range(begin, begin + sizes[axis])
    slice_op = slice_of(op.moved(0, number), ranges)
    if len(shape) == len(sizes):
        op.finish_part(number, slice_op)
    else:
        value = op.emit(slice_op, "slice", output=number)
        op.finish_part(number, qnn.ReshapeOp(value, result_type))


IMPORTERS = {
    "SLICE": takes("x, begin, size", partial(_import_taken, read=read_slice)),
    "STRIDED_SLICE": takes(
        "x, begin, end, strides", partial(_import_taken, read=read_strided_slice)
    ),
    "SPLIT": takes("axis, x", import_split, (1, UNLIMITED)),
    "SPLIT_V": takes("x, sizes, axis", import_split_v, (1, UNLIMITED)),
    "UNPACK": takes("x", import_unpack, (1, UNLIMITED)),
}
