"""Constants of float32: as a file has them, or dequantized from stored ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .context import NodeContext
from .narrow import CODED
from .nodes import DEQUANTIZE

Reals = NDArray[np.float32]


def is_real_constant(node: NodeContext, number: int) -> bool:
    """Whether an operand is a constant, or is dequantized from one."""
    return node.is_constant(number) or _source(node, number) is not None


def real_constant(node: NodeContext, number: int) -> Reals:
    """A constant of float32, or `F(F(q - z) s)` of a constant that is dequantized."""
    source = _source(node, number)
    if source is not None:
        return dequantized(source)
    array = node.array(number, "operand")
    if array.dtype != np.float32:
        raise node.error(f"{node.name(number)!r} is of {array.dtype}, expected float32")
    return array.astype(np.float32)


def real_bias(node: NodeContext, number: int, count: int) -> Reals:
    """A constant as `real_constant` has it, one number for each of `count` channels."""
    bias = real_constant(node, number)
    if bias.shape != (count,):
        raise node.error(f"a bias of shape {list(bias.shape)}; expected [{count}]")
    return bias


def _source(node: NodeContext, number: int) -> NodeContext | None:
    """The dequantization of a constant that an operand comes from."""
    producer = node.graph.producer(node.name(number))
    if producer is None or producer.kind != DEQUANTIZE:
        return None
    source = NodeContext(node.importer, producer)
    return source if source.is_constant(0) else None


def dequantized(node: NodeContext) -> Reals:
    """The real numbers of a dequantized constant, `F(F(q - z) s)`; `F(x s)` of narrow
    floats."""
    stored = node.array(0, "operand")
    is_float = node.constant(0, "operand").type in CODED
    if stored.dtype.kind not in "iu" and not is_float:
        raise node.error(f"{node.name(0)!r} is of {stored.dtype}, expected integers")
    scales, points = node.steps(1, 2)
    shape = node.shape(1)
    scale = np.array(scales, np.float32).reshape(shape)
    point = np.array(points, np.int64).reshape(shape)
    if len(scales) == 1:
        scale, point = scale.reshape(()), point.reshape(())
    else:
        axis = node.axis(node.integer("axis", 1), stored.ndim)
        size = node.integer("block_size", 0, 0) or 1
        places = _places(node, stored.shape, axis, size)
        scale, point = scale[places], point[places]
    if is_float:
        return stored.astype(np.float32) * scale
    return scaled(stored, point, scale)


def scaled(
    stored: NDArray[np.generic], points: NDArray[np.generic], scales: Reals
) -> Reals:
    """`F(F(q - z) s)` of integers, zero points and scales that broadcast."""
    with np.errstate(all="ignore"):
        centred = stored.astype(np.int64) - points.astype(np.int64)
        return centred.astype(np.float32) * scales


def _places(
    node: NodeContext, shape: tuple[int, ...], axis: int, block: int
) -> tuple[NDArray[np.intp], ...]:
    """The place of each element's scale: along one axis, or in blocks of it."""
    counts = node.shape(1)
    axes = [axis] if len(counts) == 1 else range(len(shape))
    expected = [-(-shape[d] // (block if d == axis else 1)) for d in axes]
    if list(counts) != expected:
        raise node.error(
            f"scales of shape {list(counts)} for {list(shape)}; expected {expected}"
        )
    grid = np.ogrid[tuple(slice(size) for size in shape)]
    return tuple(grid[d] // (block if d == axis else 1) for d in axes)
