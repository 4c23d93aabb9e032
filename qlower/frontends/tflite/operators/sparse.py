"""DENSIFY: pruned weights, which a file has only some of, as all of their elements."""

from __future__ import annotations

import math

import numpy as np

from qlower.files.arrays import Array

from ...entry import takes
from ..context import OperatorContext
from ..schema import Sparsity
from ..types import checked_shape

DTYPES = {
    "FLOAT32": np.dtype("<f4"),
    "FLOAT16": np.dtype("<f2"),
    "INT8": np.dtype("i1"),
}

MOST_ELEMENTS = 1 << 16
"""Elements of a sparse tensor, where `SPARSEST` for each stored byte are fewer."""

SPARSEST = 256
"""Elements for each byte of a sparse constant; pruning leaves 1 of 100."""


def import_densify(op: OperatorContext) -> None:
    """Elements that the constant leaves out are 0, also where a zero point is another
    (densify.cc)."""
    tensor = op.input(0)
    if tensor.sparsity is None:
        raise op.error(f"{tensor}: a dense tensor is not supported; expected a sparse")
    dtype = DTYPES[tensor.type]
    op.check_type(op.output(), tensor.type)
    data, shape = op.constant(0), checked_shape(tensor, op)
    most = max(SPARSEST * len(data), MOST_ELEMENTS)
    op.check_range(f"{tensor}: number of elements", math.prod(shape), 1, most)
    places = _places(op, tensor.sparsity, shape)
    if len(data) != places.size * dtype.itemsize:
        raise op.error(
            f"{tensor}: {len(data)} bytes of data, expected"
            f" {places.size * dtype.itemsize} for {places.size} elements"
        )
    dense = np.zeros(shape, dtype)
    dense.reshape(-1)[places] = np.frombuffer(data, dtype)
    op.graph.know(op.output(), dense.tobytes(), shape, op)


def _places(op: OperatorContext, sparsity: Sparsity, shape: tuple[int, ...]) -> Array:
    """The place of each stored element, in row-major order of the shape.

    That is `FormatConverter::Populate` (TFLite's sparsity/format_converter.cc): each
    level multiplies the places of those before, or gives each some indices.
    """
    tensor = op.input(0)
    places = np.zeros(1, np.int64)
    steps = _sizes_and_steps(op, sparsity, shape)
    for level, (size, step) in zip(sparsity.levels, steps, strict=True):
        if level.segments is None or level.indices is None:
            op.check_range(f"{tensor}: size of a level", level.size, size, size)
            op.check_range(
                f"{tensor}: number of places", places.size * size, 0, math.prod(shape)
            )
            places = np.add.outer(places, np.arange(size) * step).reshape(-1)
            continue
        segments, indices = level.segments, level.indices
        counts = np.diff(segments)
        if (
            segments.size != places.size + 1
            or (segments[0], segments[-1]) != (0, indices.size)
            or (counts < 0).any()
        ):
            raise op.error(
                f"{tensor}: {segments.size} segments that don't part {indices.size}"
                f" indices into {places.size}"
            )
        if indices.size:
            for index in (indices.min(), indices.max()):
                op.check_range(f"{tensor}: sparse index", int(index), 0, size - 1)
        places = np.repeat(places, counts) + indices * step
    return places


def _sizes_and_steps(
    op: OperatorContext, sparsity: Sparsity, shape: tuple[int, ...]
) -> list[tuple[int, int]]:
    """The number of indices of each level, and the elements from one to the next."""
    rank, count = len(shape), len(sparsity.levels)
    order, blocks = sparsity.order, sparsity.blocks
    if (
        sorted(order[:rank]) != [*range(rank)]
        or order[rank:] != tuple(range(rank, count))
        or count != rank + len(blocks)
        or sorted({*blocks} & {*range(rank)}) != [*blocks]
    ):
        raise op.error(
            f"{op.input(0)}: {count} levels in the order {list(order)} with blocks of"
            f" the dimensions {list(blocks)} are not supported for {rank} dimensions"
        )
    inner = {
        dim: level.size
        for dim, level in zip(blocks, sparsity.levels[rank:], strict=True)
    }
    for dim, size in inner.items():
        op.check_range(f"size of blocks of dimension {dim}", size, 1, shape[dim])
        if shape[dim] % size:
            raise op.error(
                f"{op.input(0)}: blocks of {size} don't part dimension {dim}, which"
                f" has {shape[dim]}"
            )
    steps = [math.prod(shape[dim + 1 :]) for dim in range(rank)]
    outer = [
        (shape[dim] // inner.get(dim, 1), steps[dim] * inner.get(dim, 1))
        for dim in order[:rank]
    ]
    return outer + [(inner[dim], steps[dim]) for dim in blocks]


IMPORTERS = {"DENSIFY": takes(f"x: {' | '.join(DTYPES)}", import_densify)}
