"""Parts of a tensor: Slice and Split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qlower.operators.shapes import Shape

from ...entry import takes
from ...signature import UNLIMITED
from ..context import NodeContext
from ..values import Value, slice_of
from .rearranging import pick


def read_slice(node: NodeContext, shape: Shape) -> list[range]:
    """NumPy's `x[start:end:step]` for each of the axes."""
    rank = len(shape)
    if "starts" in node.node.attributes:
        starts = node.integer_list("starts", None)
        ends = node.integer_list("ends", None, -(1 << 63), 1 << 63)
        steps = [1] * len(starts)
    else:
        starts, ends = node.integers(1, "starts"), node.integers(2, "ends")
        steps = node.integers(4, "steps") if node.has(4) else [1] * len(starts)
    axes = node.axes(3, rank) or list(range(len(starts)))
    if not len(starts) == len(ends) == len(steps) == len(axes) <= rank:
        raise node.error(
            f"{len(starts)} starts, {len(ends)} ends, {len(steps)} steps, {len(axes)}"
            f" axes of {rank} dimensions"
        )
    ranges = [range(size) for size in shape]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step == 0:
            raise node.error("a step of 0; expected any other number")
        ranges[axis] = range(*slice(start, end, step).indices(shape[axis]))
    return ranges


def import_slice(node: NodeContext) -> None:
    """Import a slice, in which dimensions that go back are picked one by one."""
    value = node.value(0)
    ranges = read_slice(node, value.shape)
    for axis, found in enumerate(ranges):
        if not found:
            raise node.error(
                f"nothing is left of dimension {axis}: {found.start} to {found.stop}"
            )
        if found.step < 0:
            value = pick(node, value, axis, found)
            ranges[axis] = range(len(found))
    node.define(take(node, value, ranges, 0))


def import_split(node: NodeContext) -> None:
    shape = node.shape(0)
    axis = node.axis(node.integer("axis", 0), len(shape))
    parts, total = len(node.node.outputs), shape[axis]
    if node.has(1):
        sizes = node.integers(1, "sizes", parts)
    elif "split" in node.node.attributes:
        sizes = node.integer_list("split", [0] * parts)
    else:
        size = -(-total // parts)
        sizes = [min(size, total - size * at) for at in range(parts)]
    split(node, axis, sizes)


def split(node: NodeContext, axis: int, sizes: Sequence[int]) -> None:
    """Parts of these sizes, one for each result."""
    value = node.value(0)
    total = value.shape[axis]
    if min(sizes) < 1 or sum(sizes) != total or len(sizes) != len(node.node.outputs):
        raise node.error(
            f"parts of sizes {list(sizes)} do not add up to the {total} of dimension"
            f" {axis}"
        )
    begin = 0
    for number, size in enumerate(sizes):
        ranges = [range(extent) for extent in value.shape]
        ranges[axis] = range(begin, begin + size)
        if node.node.outputs[number]:
            node.define(take(node, value, ranges, number), number)
        begin += size


def take(
    node: NodeContext,
    value: Value,
    ranges: Sequence[range],
    number: int,
    suffix: str | None = None,
) -> Value:
    """These indices of every dimension, for result `number`."""
    if all(len(r) == n for r, n in zip(ranges, value.shape, strict=True)):
        return value
    operation = slice_of(value.ssa, [ranges[dimension] for dimension in value.order])
    return replace(value, ssa=node.emit(operation, suffix, number))


IMPORTERS = {
    ("", "Slice"): takes("x, starts?, ends?, axes?, steps?", import_slice),
    ("", "Split"): takes("x, sizes?", import_split, (1, UNLIMITED)),
}
