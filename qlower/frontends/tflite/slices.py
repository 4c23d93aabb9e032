"""The elements that SLICE and STRIDED_SLICE take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qlower.files.arrays import Array
from qlower.operators.movement import Movement
from qlower.operators.shapes import Shape

from .context import OperatorContext


@dataclass(frozen=True)
class Taken(Movement):
    """The indices of each dimension of the operand, and the result's shape, which lacks
    dropped dimensions and has new ones of size 1."""

    indices: Sequence[range]
    shape: Shape

    def result_shape(self, *shapes: Shape) -> Shape:
        return self.shape

    def evaluate(self, *arrays: Array) -> Array:
        return arrays[0][np.ix_(*self.indices)].reshape(self.shape)


def read_slice(op: OperatorContext, shape: Shape) -> Taken:
    """The start and the size of a SLICE; a size of -1 reaches to the end."""
    begins = op.integers(1, "begin", count=len(shape))
    sizes = op.integers(2, "size", count=len(shape))
    indices: list[range] = []
    for dim, (begin, size) in enumerate(zip(begins, sizes, strict=True)):
        op.check_range(f"begin of dimension {dim}", begin, 0, shape[dim])
        left = shape[dim] - begin
        size = left if size == -1 else size
        op.check_range(f"size of dimension {dim}", size, 0, left)
        indices.append(range(begin, begin + size))
    return Taken(indices, tuple(map(len, indices)))


def read_strided_slice(op: OperatorContext, shape: Shape) -> Taken:
    """NumPy's `x[begin:end:stride]`, with an index, `...` or `newaxis` by the masks.

    A dimension that is `...` is not new, and one that is new is not an index.
    """
    begins = op.integers(1, "begin")
    ends = op.integers(2, "end", count=len(begins))
    strides = op.integers(3, "strides", count=len(begins))
    if op.flag("offset"):
        ends = [begin + end for begin, end in zip(begins, ends, strict=True)]
    begin_mask, end_mask, ellipsis_mask, new_mask, shrink_mask = (
        op.option(f"{name}_mask", 0, (1 << 31) - 1)
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    )
    places = range(len(begins))
    dots = [place for place in places if ellipsis_mask >> place & 1]
    if len(dots) > 1:
        raise op.error(f"ellipsis_mask {ellipsis_mask} has more than one bit")
    new = {place for place in places if new_mask >> place & 1}.difference(dots)
    sliced = len(begins) - len(new) - len(dots)
    op.check_range("number of sliced dimensions", sliced, 0, len(shape))
    indices: list[range] = []
    result: list[int] = []

    def take_all(count: int) -> None:
        for size in shape[len(indices) :][:count]:
            indices.append(range(size))
            result.append(size)

    for place in places:
        dim = len(indices)
        if place in dots:
            take_all(len(shape) - sliced)
        elif place in new:
            result.append(1)
        elif shrink_mask >> place & 1:
            first = op.axis(begins[place], shape[dim], f"begin of dimension {dim}")
            indices.append(range(first, first + 1))
        else:
            if strides[place] == 0:
                raise op.error(
                    f"stride 0 of dimension {dim} is not supported;"
                    " expected another one"
                )
            taken = slice(
                None if begin_mask >> place & 1 else begins[place],
                None if end_mask >> place & 1 else ends[place],
                strides[place],
            )
            indices.append(range(*taken.indices(shape[dim])))
            if not indices[-1]:
                raise op.error(
                    f"nothing is left of dimension {dim} of size {shape[dim]} from"
                    f" {begins[place]} to {ends[place]}"
                )
            result.append(len(indices[-1]))
    take_all(len(shape))
    return Taken(indices, tuple(result))
