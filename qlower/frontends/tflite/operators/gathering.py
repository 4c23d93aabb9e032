"""Elements by position: REVERSE_V2, MIRROR_PAD, GATHER and the
rearrangements of blocks of an image.

The kernels copy stored elements, whatever quantization input and result have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32, i32

from qlower.dialects import qnn
from qlower.dialects.types import element_type
from qlower.model.nests import extract, widen
from qlower.operators.movement import border

from ...entry import takes
from ...graph.values import slice_of
from ...scalars import Scalars, nearest
from ..context import OperatorContext
from ..nests import finish, read, start, take
from ..types import MAX_RANK
from ..weights import check_weights
from .blockwise import blocks_of, import_rows_of_blocks
from .layout import MAX_REPEATS


def import_reverse(op: OperatorContext) -> None:
    shape = op.shape(0)
    axes = {op.axis(axis, len(shape)) for axis in op.integers(1, "axes")}
    places = [
        range(size)[::-1] if dim in axes else range(size)
        for dim, size in enumerate(shape)
    ]
    _import_take(op, places)


def import_mirror_pad(op: OperatorContext) -> None:
    """REFLECT leaves the border out, SYMMETRIC repeats it."""
    shape = op.shape(0)
    paddings = op.integers(1, "paddings", count=2 * len(shape))
    mode = "symmetric" if op.flag("mode") else "reflect"
    places: list[Sequence[int]] = []
    for dim, size in enumerate(shape):
        most = size if mode == "symmetric" else size - 1
        low, high = paddings[2 * dim : 2 * dim + 2]
        for padding in (low, high):
            op.check_range(f"padding of dimension {dim}", padding, 0, most)
        places.append(border(mode, size, low, high))
    _import_take(op, places)


def _import_take(op: OperatorContext, places: Sequence[Sequence[int]]) -> None:
    op.result_type([len(taken) for taken in places])
    finish(op, take(op, op.elements(0), places))


def import_gather(op: OperatorContext) -> None:
    """Indices that only run time knows are brought into the dimension's range, where
    LiteRT stops with an error."""
    source, indices = op.shape(0), op.shape(1)
    axis = op.axis(op.option("axis", -MAX_RANK, MAX_RANK), len(source))
    batch_dims = op.option("batch_dims", -MAX_RANK, MAX_RANK)
    batch_dims += len(indices) if batch_dims < 0 else 0
    op.check_range("batch_dims", batch_dims, 0, min(len(indices), axis))
    if source[:batch_dims] != indices[:batch_dims]:
        raise op.error(f"shapes {list(source)} and {list(indices)} of unequal batches")
    kept = indices[batch_dims:]
    result = (*source[:axis], *kept, *source[axis + 1 :])
    op.result_type(result)
    if op.is_constant(1) and not batch_dims:
        wanted = op.integers(1, "indices")
        for index in wanted:
            op.check_range("index", index, 0, source[axis] - 1)
        places: list[Sequence[int]] = [range(size) for size in source]
        places[axis] = wanted
        taken = take(op, op.elements(0), places)
        finish(op, op.reshaped(taken, result))
        return
    nest = start(op, result)
    places_of_index = [*range(batch_dims), *range(axis, axis + len(kept))]
    index = read(op, nest, 1, places_of_index)
    place = nearest(nest, index, source[axis])
    chosen = [*range(axis), place, *range(axis + len(kept), len(result))]
    table = op.elements(0)
    finish(op, nest.build([extract(nest, table, chosen)])[0])


def import_embedding_lookup(op: OperatorContext) -> None:
    """Rows of a table; the indices come first. Of a table of int8 they may be float32:
    the stored numbers times their scale (embedding_lookup.cc, EvalHybrid)."""
    is_real = op.output().type == "FLOAT32" and op.input(1).type == "INT8"
    if is_real and (blocks := blocks_of(op)) is not None:
        import_rows_of_blocks(op, blocks)
        return
    (count,), source = op.shape(0), op.shape(1)
    result = (count, *source[1:])
    op.result_type(result)
    nest = start(op, result)
    index = read(op, nest, 0, [0])
    table = op.stored(op.value(1)) if is_real else op.elements(1)
    row = nearest(nest, index, source[0])
    element = extract(nest, table, [row, *range(1, len(result))])
    if is_real:
        scales = check_weights(op, 1, 0, "INT8").scales
        steps = Scalars(nest)
        scale = steps.constant(scales[0], f32)
        if len(scales) > 1:
            of_rows = nest.emitter.constant(np.array(scales, np.float32), f32)
            scale = extract(nest, of_rows, [row])
        number = widen(nest, element, i32)
        element = steps.multiply(steps.step(arith.SIToFPOp(number, f32)), scale)
    finish(op, nest.build([element])[0])


def import_depth_to_space(op: OperatorContext) -> None:
    batch, height, width, channels = op.shape(0)
    block = op.option("block_size", 1, MAX_REPEATS)
    depth, rest = divmod(channels, block * block)
    if rest:
        raise op.error(f"{channels} channels are not a multiple of {block} squared")
    shape = (batch, height, width, block, block, depth)
    value = op.permuted(op.reshaped(op.moved(0), shape), (0, 1, 3, 2, 4, 5))
    type = op.result_type((batch, height * block, width * block, depth))
    op.finish(qnn.ReshapeOp(value, type))


def import_space_to_depth(op: OperatorContext) -> None:
    batch, height, width, channels = op.shape(0)
    block = op.option("block_size", 1, MAX_REPEATS)
    if height % block or width % block:
        raise op.error(f"an image of [{height}, {width}] has no blocks of {block}")
    rows, columns = height // block, width // block
    shape = (batch, rows, block, columns, block, channels)
    value = op.permuted(op.reshaped(op.moved(0), shape), (0, 1, 3, 2, 4, 5))
    type = op.result_type((batch, rows, columns, block * block * channels))
    op.finish(qnn.ReshapeOp(value, type))


def _read_blocks(op: OperatorContext, what: str) -> tuple[list[int], list[int]]:
    """The sizes of blocks along the dimensions of an image, and what is added or taken
    away before and after each of these."""
    blocks = op.integers(1, "block_shape")
    rank = len(op.shape(0))
    op.check_range("number of dimensions", rank, len(blocks) + 1, MAX_RANK)
    border = op.integers(2, what, count=2 * len(blocks))
    for block in blocks:
        op.check_range("block size", block, 1, MAX_REPEATS)
    return blocks, border


def import_space_to_batch(op: OperatorContext) -> None:
    """The image is padded with the zero point first."""
    shape = op.shape(0)
    blocks, paddings = _read_blocks(op, "paddings")
    spatial = len(blocks)
    for padding in paddings:
        op.check_range("padding", padding, 0, MAX_REPEATS)
    rest = len(shape) - spatial - 1
    low = [0, *paddings[0::2], *[0] * rest]
    high = [0, *paddings[1::2], *[0] * rest]
    padded = [sum(sizes) for sizes in zip(low, shape, high, strict=True)]
    value = op.moved(0)
    if padded != list(shape):
        type = TensorType(element_type(value.type), padded)
        value = op.emit(qnn.PadOp(value, type, low=low, high=high), "pad")
    split = [padded[0]]
    result = [padded[0] * math.prod(blocks)]
    for dim, block in enumerate(blocks, 1):
        if padded[dim] % block:
            raise op.error(
                f"dimension {dim} of size {padded[dim]} in blocks of {block}"
            )
        split += [padded[dim] // block, block]
        result.append(padded[dim] // block)
    split += padded[spatial + 1 :]
    result += padded[spatial + 1 :]
    inner = [2 * dim + 2 for dim in range(spatial)]
    outer = [2 * dim + 1 for dim in range(spatial)]
    perm = [*inner, 0, *outer, *range(2 * spatial + 1, len(split))]
    value = op.permuted(op.reshaped(value, split), perm)
    op.finish(qnn.ReshapeOp(value, op.result_type(result)))


def import_batch_to_space(op: OperatorContext) -> None:
    shape = op.shape(0)
    blocks, crops = _read_blocks(op, "crops")
    spatial = len(blocks)
    batch, left_over = divmod(shape[0], math.prod(blocks))
    if left_over:
        raise op.error(f"a batch of {shape[0]} in blocks of {blocks}")
    split = [*blocks, batch, *shape[1:]]
    joined = [batch, *(n * block for n, block in zip(shape[1:], blocks, strict=False))]
    joined += shape[spatial + 1 :]
    result = list(joined)
    for dim in range(spatial):
        before, after = crops[2 * dim : 2 * dim + 2]
        op.check_range("crop", before, 0, joined[dim + 1] - 1)
        op.check_range("crop", after, 0, joined[dim + 1] - 1 - before)
        result[dim + 1] -= before + after
    perm = [spatial]
    for dim in range(spatial):
        perm += [spatial + 1 + dim, dim]
    perm += range(2 * spatial + 1, len(split))
    value = op.permuted(op.reshaped(op.moved(0), split), perm)
    type = op.result_type(result)
    if result == joined:
        op.finish(qnn.ReshapeOp(value, type))
        return
    rest = [0] * (len(shape) - spatial - 1)
    firsts = zip([0, *crops[0::2], *rest], result, strict=True)
    ranges = [range(first, first + size) for first, size in firsts]
    op.finish(slice_of(op.reshaped(value, joined), ranges))


IMPORTERS = {
    "REVERSE_V2": takes("x, axes", import_reverse),
    "MIRROR_PAD": takes("x, paddings", import_mirror_pad),
    "GATHER": takes("x, indices: INDEX", import_gather),
    "EMBEDDING_LOOKUP": takes("indices[1], table", import_embedding_lookup),
    "DEPTH_TO_SPACE": takes("x[4]", import_depth_to_space),
    "SPACE_TO_DEPTH": takes("x[4]", import_space_to_depth),
    "SPACE_TO_BATCH_ND": takes("x, block_shape, paddings", import_space_to_batch),
    "BATCH_TO_SPACE_ND": takes("x, block_shape, crops", import_batch_to_space),
}
