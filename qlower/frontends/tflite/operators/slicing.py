"""Parts of a tensor: SLICE, STRIDED_SLICE, SPLIT, SPLIT_V and UNPACK."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType

from qlower.dialects import qnn

from ..context import OperatorContext
from ..importer import UNLIMITED, Importer


def import_slice(op: OperatorContext) -> None:
    """A size of -1 reaches to the end."""
    shape = op.shape(0)
    begins = op.integers(1, "begin", count=len(shape))
    sizes = op.integers(2, "size", count=len(shape))
    for dim, (begin, size) in enumerate(zip(begins, sizes, strict=True)):
        op.check_range(f"begin of dimension {dim}", begin, 0, shape[dim] - 1)
        if size != -1:
            op.check_range(f"size of dimension {dim}", size, 1, shape[dim] - begin)
    sizes = [
        shape[dim] - begins[dim] if size == -1 else size
        for dim, size in enumerate(sizes)
    ]
    op.expect_result_shape(sizes)
    op.finish(
        qnn.SliceOp(
            op.quantized(0),
            op.quantized_result_type(),
            offsets=begins,
            sizes=sizes,
            strides=[1] * len(shape),
        )
    )


def import_strided_slice(op: OperatorContext) -> None:
    """NumPy's `x[begin:end:stride]`; shrunk dimensions are dropped by a reshape."""
    shape = op.shape(0)
    for name in ("ellipsis_mask", "new_axis_mask", "offset"):
        if op.option(name, -(1 << 31), (1 << 31) - 1):
            raise op.error(f"{name} {op.options[name]} is not supported; expected 0")
    begins = op.integers(1, "begin")
    ends = op.integers(2, "end", count=len(begins))
    strides = op.integers(3, "strides", count=len(begins))
    op.check_range("number of sliced dimensions", len(begins), 0, len(shape))
    every = (1 << len(shape)) - 1
    begin_mask = op.option("begin_mask", 0, every)
    end_mask = op.option("end_mask", 0, every)
    shrink_mask = op.option("shrink_axis_mask", 0, every)

    offsets, sizes = [0] * len(shape), list(shape)
    steps = [*strides, *[1] * (len(shape) - len(begins))]
    kept = [dim for dim in range(len(shape)) if not shrink_mask >> dim & 1]
    for dim, (begin, end, stride) in enumerate(zip(begins, ends, strides, strict=True)):
        if stride < 1:
            raise op.error(
                f"stride {stride} of dimension {dim} is not supported; expected at"
                " least 1"
            )
        if dim not in kept:
            offsets[dim] = op.axis(f"begin of dimension {dim}", begin, shape[dim])
            sizes[dim] = steps[dim] = 1
            continue
        taken = slice(
            None if begin_mask >> dim & 1 else begin,
            None if end_mask >> dim & 1 else end,
            stride,
        )
        indices = range(*taken.indices(shape[dim]))
        if not indices:
            raise op.error(
                f"nothing is left of dimension {dim} of size {shape[dim]} from {begin}"
                f" to {end}"
            )
        offsets[dim], sizes[dim] = indices.start, len(indices)

    op.expect_result_shape([sizes[dim] for dim in kept])
    result_type = op.quantized_result_type()
    sliced_type = TensorType(result_type.element_type, sizes)
    slice_op = qnn.SliceOp(
        op.quantized(0), sliced_type, offsets=offsets, sizes=sizes, strides=steps
    )
    if len(kept) == len(shape):
        op.finish(slice_op)
    else:
        op.finish(qnn.ReshapeOp(op.emit(slice_op, "slice"), result_type))


def import_split(op: OperatorContext) -> None:
    shape = op.shape(1)
    (axis,) = op.integers(0, "axis", count=1)
    axis = op.axis("axis", axis, len(shape))
    parts = len(op.operator.outputs)
    if shape[axis] % parts:
        raise op.error(f"dimension {axis} of size {shape[axis]} in {parts} parts")
    types = [op.quantized_result_type(number) for number in range(parts)]
    op.finish(qnn.SplitOp(op.quantized(1), types, axis=axis))


def import_split_v(op: OperatorContext) -> None:
    """One slice for each part; one size may be -1, what is left over."""
    shape = op.shape(0)
    parts = len(op.operator.outputs)
    sizes = op.integers(1, "sizes", count=parts)
    (axis,) = op.integers(2, "axis", count=1)
    axis = op.axis("axis", axis, len(shape))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = shape[axis] - sum(sizes) - 1
    if min(sizes) < 1 or sum(sizes) != shape[axis]:
        raise op.error(
            f"parts of sizes {sizes} do not add up to the {shape[axis]} of dimension"
            f" {axis}"
        )
    begin = 0
    for number, size in enumerate(sizes):
        _take(op, 0, number, axis, begin, [*shape[:axis], size, *shape[axis + 1 :]])
        begin += size


def import_unpack(op: OperatorContext) -> None:
    """Every index of a dimension by itself: a slice of size 1, and a reshape."""
    shape = op.shape(0)
    axis = op.axis("axis", op.option("axis", -len(shape), len(shape) - 1), len(shape))
    parts = len(op.operator.outputs)
    if parts != shape[axis]:
        raise op.error(f"{parts} results, expected the {shape[axis]} of axis {axis}")
    for number in range(parts):
        _take(op, 0, number, axis, number, [*shape[:axis], 1, *shape[axis + 1 :]])


def _take(
    op: OperatorContext,
    source: int,
    number: int,
    axis: int,
    begin: int,
    sizes: Sequence[int],
) -> None:
    """Result `number` is a slice along `axis`, without it if the result has none."""
    result_type = op.quantized_result_type(number)
    sliced_type = TensorType(result_type.element_type, sizes)
    slice_op = qnn.SliceOp(
        op.quantized(source),
        sliced_type,
        offsets=[begin if dim == axis else 0 for dim in range(len(sizes))],
        sizes=sizes,
        strides=[1] * len(sizes),
    )
    if result_type.get_num_dims() == len(sizes):
        op.expect_result_shape(sizes, number)
        op.finish_part(number, slice_op)
    else:
        op.expect_result_shape([*sizes[:axis], *sizes[axis + 1 :]], number)
        value = op.emit(slice_op, "slice", output=number)
        op.finish_part(number, qnn.ReshapeOp(value, result_type))


IMPORTERS = {
    "SLICE": Importer(import_slice, (3, 3)),
    "STRIDED_SLICE": Importer(import_strided_slice, (4, 4), "StridedSliceOptions"),
    "SPLIT": Importer(import_split, (2, 2), outputs=(1, UNLIMITED)),
    "SPLIT_V": Importer(import_split_v, (3, 3), outputs=(1, UNLIMITED)),
    "UNPACK": Importer(import_unpack, (1, 1), "UnpackOptions", (1, UNLIMITED)),
}
