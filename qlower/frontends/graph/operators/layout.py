"""Operators that change a tensor's shape or the order of its dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from qlower.operators.shapes import Shape

from ...entry import Entry, takes
from ..context import NodeContext
from ..orders import identity, reshaped_order, transposed_order

Read: TypeAlias = Callable[[NodeContext, Shape], Sequence[int]]
"""The shape that an operator gives a tensor of some shape."""


def read_reshape(node: NodeContext, shape: Shape) -> Sequence[int]:
    """0 is the input's size unless `allowzero`; -1 what is left over."""
    wanted = node.integers(1, "shape")
    if not node.integer("allowzero", 0, 0, 1):
        for at, size in enumerate(wanted):
            if size == 0:
                node.check_range("place of a 0 in shape", at, 0, len(shape) - 1)
                wanted[at] = shape[at]
    elements = math.prod(shape)
    known = math.prod(size for size in wanted if size != -1)
    unknown = wanted.count(-1)
    if unknown > 1 or known < 1 or elements % known or min(wanted, default=1) < -1:
        raise node.error(f"shape {wanted} does not hold the elements of {list(shape)}")
    return [elements // known if size == -1 else size for size in wanted]


def read_flatten(node: NodeContext, shape: Shape) -> Sequence[int]:
    axis = node.integer("axis", 1, -len(shape), len(shape))
    axis += len(shape) if axis < 0 else 0
    return [math.prod(shape[:axis]), math.prod(shape[axis:])]


def read_squeeze(node: NodeContext, shape: Shape) -> Sequence[int]:
    axes = node.axes(1, len(shape))
    if axes is None:
        axes = [d for d, size in enumerate(shape) if size == 1]
    for axis in axes:
        node.check_range(f"size of dimension {axis}", shape[axis], 1, 1)
    return [size for d, size in enumerate(shape) if d not in axes]


def read_unsqueeze(node: NodeContext, shape: Shape) -> Sequence[int]:
    given = node.integers(1, "axes") if node.has(1) else node.integer_list("axes")
    rank = len(shape) + len(given)
    axes = {node.axis(axis, rank, "axes") for axis in given}
    if len(axes) != len(given):
        raise node.error(f"axes {given} repeat a dimension")
    sizes = iter(shape)
    return [1 if d in axes else next(sizes) for d in range(rank)]


def reshape(node: NodeContext, shape: Sequence[int]) -> None:
    """In the order that the value has, where that can be."""
    value = node.value(0)
    if math.prod(shape) != math.prod(value.shape):
        raise node.error(
            f"shape {list(shape)} does not hold the elements of {list(value.shape)}"
        )
    for size in shape:
        node.check_range("dimension", size, 1, math.prod(shape))
    order = reshaped_order(value.shape, value.order, shape)
    if order is None:
        value = node.in_order(value)
        order = identity(len(shape))
    node.define(node.reshaped(value, shape, order))


def import_transpose(node: NodeContext) -> None:
    rank = len(node.shape(0))
    perm = node.integer_list("perm", list(reversed(range(rank))), 0, max(rank - 1, 0))
    if sorted(perm) != list(range(rank)):
        raise node.error(f"perm {perm} is not a permutation of {rank} dimensions")
    transpose(node, perm)


def transpose(node: NodeContext, perm: Sequence[int]) -> None:
    """Nothing is moved: the value's dimensions are numbered in another way."""
    value = node.value(0)
    node.define(replace(value, order=transposed_order(value.order, perm)))


def import_identity(node: NodeContext) -> None:
    node.define(node.value(0))


def _reshaping(signature: str, read: Read) -> Entry[NodeContext]:
    return takes(signature, lambda node: reshape(node, read(node, node.shape(0))))


RESHAPES: Mapping[str, tuple[str, Read]] = {
    "Reshape": ("x, shape", read_reshape),
    "Flatten": ("x", read_flatten),
    "Squeeze": ("x, axes?", read_squeeze),
    "Unsqueeze": ("x, axes?", read_unsqueeze),
}
"""Operands of each operator that gives another shape, and which one."""

IMPORTERS = {
    **{("", kind): _reshaping(*entry) for kind, entry in RESHAPES.items()},
    ("", "Transpose"): takes("x", import_transpose),
    ("", "Identity"): takes("x", import_identity),
    ("", "Dropout"): takes("x, ratio?, training?", import_identity),
}
