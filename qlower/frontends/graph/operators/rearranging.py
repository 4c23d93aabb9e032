"""Operators that repeat, reflect or regroup the elements of a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32, i1, i32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.emit.movement import taken
from qlower.model.nests import Nest, extract, to_index

from ...entry import takes
from ..context import NodeContext
from ..orders import identity
from ..values import Value, real_value
from .elementwise import broadcast
from .real import elementwise, number, real_operand


def pick(node: NodeContext, value: Value, axis: int, indices: Sequence[int]) -> Value:
    """These indices of a dimension, in any order, each as often as it is listed."""
    if list(indices) == list(range(value.shape[axis])):
        return value
    at = value.order.index(axis)
    sizes = [*value.type.get_shape()]
    sizes[at] = len(indices)
    node.check_elements(math.prod(sizes))
    node.importer.charge(len(indices))
    table = node.plain(value, f"stored_{axis}")
    places: list[Sequence[int]] = [range(size) for size in value.type.get_shape()]
    places[at] = indices
    picked = taken(node.builder.emitter(node.place(), f"picked_{axis}"), table, places)
    return replace(value, ssa=node.meant(picked, value.element, f"cast_{axis}"))


def import_tile(node: NodeContext) -> None:
    value = node.value(0)
    tile(node, value, node.integers(1, "repeats", len(value.shape)))


def tile(node: NodeContext, value: Value, repeats: Sequence[int]) -> None:
    """Define the node's result by repeating each dimension the given number of
    times."""
    for axis, times in enumerate(repeats):
        node.check_range("repeat", times, 1, 1 << 16)
        value = pick(node, value, axis, [*range(value.shape[axis])] * times)
    node.define(value)


def import_expand(node: NodeContext) -> None:
    expand(node, node.integers(1, "shape"))


def expand(node: NodeContext, sizes: Sequence[int]) -> None:
    """Repeat dimensions of size 1, and missing ones."""
    value, wanted = node.value(0), tuple(sizes)
    for size in wanted:
        node.check_range("size", size, 1, 1 << 30)
    shape = broadcast(node, value.shape, wanted)
    missing = len(shape) - len(value.shape)
    if missing:
        value = node.in_order(value)
        full = (1,) * missing + value.shape
        value = node.reshaped(value, full)
    for axis, size in enumerate(shape):
        if value.shape[axis] != size:
            value = pick(node, value, axis, [0] * size)
    node.define(value)


def _regrouped(
    node: NodeContext, split: Sequence[int], perm: Sequence[int], shape: Sequence[int]
) -> None:
    """Dimensions that are split, permuted and joined."""
    value = node.reshaped(node.in_order(node.value(0)), split)
    value = node.in_order(value, tuple(perm))
    stored = replace(value, order=identity(len(perm)))
    node.define(node.reshaped(stored, shape))


def import_depth_to_space(node: NodeContext) -> None:
    """Blocks of channels become squares of pixels, columns first or depth first."""
    batch, channels, height, width = node.shape(0, rank=4)
    size = node.integer("blocksize", None, 1, 1 << 12)
    if channels % size**2:
        raise node.error(f"{channels} channels are no multiple of {size**2}")
    depth = channels // size**2
    if node.text("mode", "DCR", ["DCR", "CRD"]) == "DCR":
        split, perm = (batch, size, size, depth, height, width), (0, 3, 4, 1, 5, 2)
    else:
        split, perm = (batch, depth, size, size, height, width), (0, 1, 4, 2, 5, 3)
    _regrouped(node, split, perm, (batch, depth, height * size, width * size))


def import_space_to_depth(node: NodeContext) -> None:
    """Squares of pixels become blocks of channels."""
    batch, channels, height, width = node.shape(0, rank=4)
    size = node.integer("blocksize", None, 1, 1 << 12)
    if height % size or width % size:
        raise node.error(f"an image of {height}x{width} is no multiple of {size}")
    split = (batch, channels, height // size, size, width // size, size)
    shape = (batch, channels * size**2, height // size, width // size)
    _regrouped(node, split, (0, 3, 5, 1, 2, 4), shape)


def import_triangle(node: NodeContext) -> None:
    """Import the part of matrices on and above a diagonal, or on and below; the rest is
    0."""
    value = real_operand(node, 0)
    rows, columns = value.shape[-2:]
    offset = 0
    if node.has(1):
        (offset,) = node.integers(1, "k", 1)
    keep = np.triu if node.flag("upper", True) else np.tril
    mask = keep(np.ones((rows, columns), np.bool_), offset)
    ssa = node.builder.constant(mask, i1, node.place())

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        kept, x = elements
        return nest.add(arith.SelectOp(kept, x, number(nest, 0.0))).result

    node.define(elementwise(node, [Value(ssa, (0, 1)), value], body))


def import_gather_elements(node: NodeContext) -> None:
    """For each index the element there of its own row."""
    value = node.value(0)
    rank = len(value.shape)
    axis = node.axis(node.integer("axis", 0), rank)
    given = [node.axis(at, value.shape[axis], "index") for at in node.integers(1, "i")]
    shape = node.shape(1, rank=rank)
    value = node.in_order(value)
    table = node.plain(value)
    nest = node.nest(shape, "gathered")
    loops: list[SSAValue | int] = [*range(rank)]
    places = nest.emitter.constant(np.array(given, np.int32).reshape(shape), i32)
    loops[axis] = to_index(nest, nest.input(places, range(rank)))
    (picked,) = nest.build([extract(nest, table, loops)])
    node.define(replace(value, ssa=node.meant(picked, value.element)))


def padded(
    node: NodeContext, low: Sequence[int], high: Sequence[int], filler: float
) -> Value:
    """Real numbers with others around them."""
    value = real_operand(node, 0)
    emit = node.builder.emitter(node.place(), "padded")
    sizes = value.type.get_shape()
    first = [low[axis] for axis in value.order]
    shape = [
        low[axis] + size + high[axis]
        for axis, size in zip(value.order, sizes, strict=True)
    ]
    node.check_elements(math.prod(shape))
    around = emit.filled(shape, f32, float(np.float32(filler)))
    return replace(value, ssa=emit.inserted(value.ssa, around, first))


def import_gather_nd(node: NodeContext) -> None:
    """Import the elements at each of the constant indices of the first dimensions."""
    node.expect("batch_dims", 0)
    value = node.value(0)
    rows, places, shape = _placed(node, value, 1)
    found = pick(node, rows, 0, [int(place) for place in places])
    whole = (*shape, *rows.shape[1:])
    node.define(node.reshaped(found, whole))


def import_scatter_nd(node: NodeContext) -> None:
    """The operand with updates at constant indices; of several at one the last."""
    node.expect("reduction", "none")
    value, updates = real_operand(node, 0), real_operand(node, 2)
    rows, places, _ = _placed(node, value, 1)
    _scattered(node, rows, places, updates, value.shape)


def import_scatter_elements(node: NodeContext) -> None:
    """The operand with each update at a constant index of its own row."""
    node.expect("reduction", "none")
    value, updates = real_operand(node, 0), real_operand(node, 2)
    rank, shape = len(value.shape), node.shape(1)
    axis = node.axis(node.integer("axis", 0), rank)
    if len(shape) != rank or any(np.array(shape) > value.shape):
        raise node.error(f"indices of {list(shape)} into {list(value.shape)}")
    given = [node.axis(at, value.shape[axis], "index") for at in node.integers(1, "i")]
    indices = [*np.indices(shape)]
    indices[axis] = np.array(given).reshape(shape)
    places = np.ravel_multi_index(tuple(indices), value.shape).reshape(-1)
    rows = node.reshaped(node.in_order(value), (math.prod(value.shape),))
    _scattered(node, rows, np.asarray(places, np.int64), updates, value.shape)


def _scattered(
    node: NodeContext,
    rows: Value,
    places: NDArray[np.int64],
    updates: Value,
    shape: Sequence[int],
) -> None:
    """Make rows with others in places the node's result, in a shape."""
    row = rows.shape[1:]
    wanted = (len(places), *row)
    if math.prod(updates.shape) != math.prod(wanted):
        raise node.error(f"updates of shape {list(updates.shape)}; expected {wanted}")
    updates = node.reshaped(node.in_order(updates), wanted)
    type = TensorType(f32, (rows.shape[0] + len(places), *row))
    both = node.emit(qnn.ConcatOp([rows.ssa, updates.ssa], type, axis=0), "both")
    taken = np.arange(rows.shape[0])
    taken[places] = rows.shape[0] + np.arange(len(places))
    found = pick(node, real_value(both), 0, [int(place) for place in taken])
    node.define(node.reshaped(found, shape))


def import_compress(node: NodeContext) -> None:
    """The places along an axis, or of all elements, where a constant is true."""
    value = node.value(0)
    kept = [int(at) for at in np.flatnonzero(node.array(1, "condition"))]
    if "axis" in node.node.attributes:
        axis = node.axis(node.integer("axis"), len(value.shape))
    else:
        axis, shape = 0, (math.prod(value.shape),)
        value = node.reshaped(node.in_order(value), shape)
    if not kept or kept[-1] >= value.shape[axis]:
        size = value.shape[axis]
        raise node.error(f"condition chooses {kept} of {size}; expected some of these")
    node.define(pick(node, value, axis, kept))


def import_reverse_sequence(node: NodeContext) -> None:
    """Import the first steps of each sequence of a batch in reverse; a constant has
    their number for each."""
    value = node.in_order(node.value(0))
    shape, rank = value.shape, len(value.shape)
    axes = [
        node.integer(f"{name}_axis", at) for at, name in ((0, "time"), (1, "batch"))
    ]
    time, batch = (node.axis(axis, rank) for axis in axes)
    if time == batch:
        raise node.error(f"time_axis and batch_axis are {time}; expected two axes")
    steps = np.arange(shape[time])
    lengths = node.integers(1, "sequence_lens", shape[batch])
    for length in lengths:
        node.check_range("length", length, 0, shape[time])
    places = [np.where(steps < one, one - 1 - steps, steps) for one in lengths]
    nest = node.nest(shape, "reversed")
    loops: list[SSAValue | int] = [*range(rank)]
    table = nest.emitter.constant(np.array(places, np.int32), i32)
    loops[time] = to_index(nest, nest.input(table, (batch, time)))
    (found,) = nest.build([extract(nest, node.plain(value), loops)])
    node.define(replace(value, ssa=node.meant(found, value.element)))


def _placed(
    node: NodeContext, value: Value, number: int
) -> tuple[Value, NDArray[np.int64], tuple[int, ...]]:
    """The operand with its indexed dimensions as one, the places in it that constant
    indices name, and the shape that these have."""
    array = node.array(number, "indices").astype(np.int64)
    sizes = value.shape
    count = array.shape[-1] if array.ndim else 0
    if not 1 <= count <= len(sizes):
        raise node.error(f"indices of {count} dimensions; expected 1 to {len(sizes)}")
    given = array.reshape(-1, count)
    found = np.where(given < 0, given + sizes[:count], given)
    if np.any((found < 0) | (found >= sizes[:count])):
        raise node.error(f"an index is out of range of {list(sizes[:count])}")
    places = np.ravel_multi_index(tuple(found.T), sizes[:count])
    value = node.in_order(value)
    shape = (math.prod(sizes[:count]), *sizes[count:])
    rows = node.reshaped(value, shape)
    return rows, np.asarray(places, np.int64), array.shape[:-1]


IMPORTERS = {
    ("", "GatherND"): takes("x, indices", import_gather_nd),
    ("", "ScatterND"): takes("x, indices, updates", import_scatter_nd),
    ("", "ScatterElements"): takes("x, indices, updates", import_scatter_elements),
    ("", "Compress"): takes("x, condition", import_compress),
    ("", "ReverseSequence"): takes("x, sequence_lens", import_reverse_sequence),
    ("", "Tile"): takes("x, repeats", import_tile),
    ("", "Expand"): takes("x, shape", import_expand),
    ("", "DepthToSpace"): takes("x[4]", import_depth_to_space),
    ("", "SpaceToDepth"): takes("x[4]", import_space_to_depth),
    ("", "Trilu"): takes("x, k?", import_triangle),
    ("", "GatherElements"): takes("x, indices", import_gather_elements),
}
