"""Operators that change a tensor's shape, or take it apart, in PyTorch's terms."""

from __future__ import annotations

import math

from ...entry import takes
from ...graph.context import NodeContext
from ...graph.operators.layout import reshape, transpose
from ...graph.operators.slicing import split
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


IMPORTERS = {
    (TORCH, "Flatten"): takes("x", import_flatten),
    (TORCH, "Unflatten"): takes("x", import_unflatten),
    (TORCH, "Squeeze"): takes("x", import_squeeze),
    (TORCH, "TransposeTwo"): takes("x", import_transpose_two),
    (TORCH, "Split"): takes("x", import_split, (1, UNLIMITED)),
}
