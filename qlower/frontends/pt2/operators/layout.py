"""Operators that change a tensor's shape, or take it apart, in PyTorch's terms."""

from __future__ import annotations

import math

from ...entry import takes
from ...graph.context import NodeContext
from ...graph.operators.layout import reshape, transpose
from ...graph.operators.rearranging import expand, pick, tile
from ...graph.operators.slicing import split, take
from ...signature import UNLIMITED
from ..translating import TORCH


def import_flatten(node: NodeContext) -> None:
    """Dimensions from one to another, both included, become one."""
    shape = node.shape(0) or (1,)
    first = node.axis(node.integer("start_dim", 0), len(shape), "start_dim")
    last = node.axis(node.integer("end_dim", -1), len(shape), "end_dim")
    if last < first:
        raise node.error(f"end_dim {last} is before start_dim {first}")
    middle = math.prod(shape[first : last + 1])
    reshape(node, [*shape[:first], middle, *shape[last + 1 :]])


def import_unflatten(node: NodeContext) -> None:
    """One dimension becomes several; one of them may be -1, what is left over."""
    shape = node.shape(0)
    dim = node.axis(node.integer("dim", None), len(shape), "dim")
    sizes = node.integer_list("sizes", None, -1)
    known = math.prod(size for size in sizes if size != -1)
    if sizes.count(-1) > 1 or known < 1 or shape[dim] % known:
        raise node.error(f"sizes {sizes} do not hold the {shape[dim]} of {dim}")
    sizes = [shape[dim] // known if size == -1 else size for size in sizes]
    reshape(node, [*shape[:dim], *sizes, *shape[dim + 1 :]])


def import_squeeze(node: NodeContext) -> None:
    shape = node.shape(0)
    dims = range(len(shape))
    if "dims" in node.node.attributes:
        given = node.integer_list("dims", None)
        dims = [node.axis(dim, len(shape), "dim") for dim in given]
    reshape(node, [size for d, size in enumerate(shape) if d not in dims or size > 1])


def import_transpose_two(node: NodeContext) -> None:
    rank = len(node.shape(0))
    one, other = (
        node.axis(node.integer(name, None), rank, name) for name in ("dim0", "dim1")
    )
    perm = list(range(rank))
    perm[one], perm[other] = other, one
    transpose(node, perm)


def import_split(node: NodeContext) -> None:
    """Split into parts of the given sizes, of one size, or into the given number of
    parts: the last one may be smaller."""
    shape = node.shape(0)
    axis = node.axis(node.integer("axis", 0), len(shape))
    total = shape[axis]
    if "split" in node.node.attributes:
        sizes = node.integer_list("split", None, 1)
    else:
        size = (
            -(-total // node.integer("chunks", None, 1))
            if "chunks" in node.node.attributes
            else node.integer("size", None, 1)
        )
        sizes = [min(size, total - begin) for begin in range(0, total, size)]
    split(node, axis, sizes)


def import_unbind(node: NodeContext) -> None:
    """One result for each index of a dimension, which the results lack."""
    value = node.value(0)
    axis = node.axis(node.integer("axis", 0), len(value.shape))
    if len(node.node.outputs) != value.shape[axis]:
        raise node.error(
            f"{len(node.node.outputs)} parts of {value.shape[axis]} indices"
        )
    shape = [size for d, size in enumerate(value.shape) if d != axis]
    order = tuple(d - (d > axis) for d in value.order if d != axis)
    for number in range(value.shape[axis]):
        if node.has_result(number):
            ranges = [range(size) for size in value.shape]
            ranges[axis] = range(number, number + 1)
            part = take(node, value, ranges, number, f"part_{number}")
            node.define(node.reshaped(part, shape, order), number)


def import_expand(node: NodeContext) -> None:
    """A size of -1 stays what it is."""
    shape, sizes = node.shape(0), node.integer_list("sizes", None, -1)
    before = [*[1] * (len(sizes) - len(shape)), *shape]
    if len(before) != len(sizes):
        raise node.error(f"sizes {sizes} of an input of shape {list(shape)}")
    wanted = zip(before, sizes, strict=True)
    expand(node, [old if size == -1 else size for old, size in wanted])


def import_repeat(node: NodeContext) -> None:
    """Repeat the input; dimensions that it lacks come first."""
    value, repeats = node.value(0), node.integer_list("repeats", None, 1)
    missing = len(repeats) - len(value.shape)
    if missing < 0:
        raise node.error(f"repeats {repeats} of an input of {len(value.shape)} sizes")
    shape = [*[1] * missing, *value.shape]
    whole = node.in_order(value) if missing else value
    tile(node, node.reshaped(whole, shape) if missing else value, repeats)


def import_flip(node: NodeContext) -> None:
    value = node.value(0)
    for dim in node.integer_list("dims", None):
        axis = node.axis(dim, len(value.shape), "dim")
        value = pick(node, value, axis, range(value.shape[axis])[::-1])
    node.define(value)


def import_roll(node: NodeContext) -> None:
    """Indices move up; those that leave come back at the start."""
    value = node.value(0)
    shifts, dims = (node.integer_list(name, None) for name in ("shifts", "dims"))
    if not dims or len(shifts) != len(dims):
        raise node.error(f"shifts {shifts} of dimensions {dims} are not supported")
    for shift, dim in zip(shifts, dims, strict=True):
        axis = node.axis(dim, len(value.shape), "dim")
        size = value.shape[axis]
        value = pick(node, value, axis, [(at - shift) % size for at in range(size)])
    node.define(value)


IMPORTERS = {
    (TORCH, "Expand"): takes("x", import_expand),
    (TORCH, "Flip"): takes("x", import_flip),
    (TORCH, "Repeat"): takes("x", import_repeat),
    (TORCH, "Roll"): takes("x", import_roll),
    (TORCH, "Unbind"): takes("x", import_unbind, (1, UNLIMITED)),
    (TORCH, "Flatten"): takes("x", import_flatten),
    (TORCH, "Unflatten"): takes("x", import_unflatten),
    (TORCH, "Squeeze"): takes("x", import_squeeze),
    (TORCH, "TransposeTwo"): takes("x", import_transpose_two),
    (TORCH, "Split"): takes("x", import_split, (1, UNLIMITED)),
}
