"""Resize to the nearest: every index of a dimension several times, or some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType

from qlower.dialects import qnn

from ...entry import takes
from ..context import NodeContext
from ..values import Value
from .rearranging import pick
from .slicing import take

Reals = NDArray[np.float32]

HALF = np.float32(0.5)

ROUNDINGS: Mapping[str, Callable[[Reals], Reals]] = {
    "round_prefer_floor": lambda x: np.ceil(x - HALF),
    "round_prefer_ceil": lambda x: np.floor(x + HALF),
    "floor": np.floor,
    "ceil": np.ceil,
}
"""The schema's `nearest_mode`."""

MAX_SIZE = 1 << 20


def import_resize(node: NodeContext) -> None:
    """Sizes, or scales that give them rounded down."""
    value = node.value(0)
    mode = node.text("mode", "nearest")
    if mode != "nearest":
        raise node.error(
            f"mode {mode!r} is not supported; expected 'nearest'",
            help="ONNX Runtime interpolates stored integers and cuts the result off",
        )
    indices = [
        _sources(node, size, wanted, scale)
        for size, (wanted, scale) in zip(value.shape, _sizes(node, value), strict=True)
    ]
    for axis, sources in enumerate(indices):
        value = _resized(node, value, axis, sources)
    node.define(value)


def _sizes(node: NodeContext, value: Value) -> list[tuple[int, float]]:
    """For each dimension the result's size and how much larger it is."""
    rank = len(value.shape)
    if node.has(3):
        sizes = node.integers(3, "sizes", rank)
        scales = [new / old for new, old in zip(sizes, value.shape, strict=True)]
    else:
        number = 2 if len(node.node.inputs) > 2 else 1
        array = node.array(number, "scales")
        if array.dtype != np.float32 or array.size != rank:
            raise node.error(f"{array.size} scales of {array.dtype}; expected {rank}")
        scales = [float(scale) for scale in array.reshape(-1)]
        for scale in scales:
            if not 0 < scale <= MAX_SIZE:
                raise node.error(f"scale {scale} is out of range (0, {MAX_SIZE}]")
        sizes = [
            int(np.floor(np.float32(old) * np.float32(scale)))
            for old, scale in zip(value.shape, scales, strict=True)
        ]
    for size in sizes:
        node.check_range("size", size, 1, MAX_SIZE)
    return list(zip(sizes, scales, strict=True))


def _sources(node: NodeContext, size: int, wanted: int, scale: float) -> list[int]:
    """The index that each index of the result is taken from (core/providers/cpu/tensor,
    upsample.cc and upsamplebase.h)."""
    if size == wanted and scale == 1:
        return list(range(size))
    old = node.graph.model.opset < 11
    transformation = node.text(
        "coordinate_transformation_mode", "asymmetric" if old else "half_pixel"
    )
    rounding = node.text(
        "nearest_mode", "floor" if old else "round_prefer_floor", [*ROUNDINGS]
    )
    x, ratio = np.arange(wanted, dtype=np.float32), np.float32(scale)
    match transformation:
        case "asymmetric":
            place = x / ratio
        case "half_pixel":
            place = (x + HALF) / ratio - HALF
        case "pytorch_half_pixel":
            place = (x + HALF) / ratio - HALF if wanted > 1 else np.zeros_like(x)
        case "align_corners":
            last = np.float32(wanted - 1)
            place = x * np.float32(size - 1) / last if wanted > 1 else x * 0
        case _:
            legal = "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"
            name = "coordinate_transformation_mode"
            raise node.unsupported(name, transformation, *legal)
    nearest = np.clip(ROUNDINGS[rounding](place.astype(np.float32)), 0, size - 1)
    return [int(index) for index in nearest]


def _resized(node: NodeContext, value: Value, axis: int, sources: list[int]) -> Value:
    """The dimension with these of its indices."""
    size, wanted = value.shape[axis], len(sources)
    factor = wanted // size
    if sources == list(range(size)):
        return value
    if sources == [index // factor for index in range(size * factor)]:
        return _repeated(node, value, axis, factor)
    step = sources[1] - sources[0] if wanted > 1 else 1
    found = range(sources[0], sources[0] + wanted * max(step, 1), max(step, 1))
    if list(found) != sources:
        return pick(node, value, axis, sources)
    ranges = [range(extent) for extent in value.shape]
    ranges[axis] = found
    return take(node, value, ranges, 0, f"slice_{axis}")


def _repeated(node: NodeContext, value: Value, axis: int, factor: int) -> Value:
    """Each index `factor` times: copies side by side along a new dimension."""
    sizes = value.type.get_shape()
    place = value.order.index(axis)
    before, after = sizes[: place + 1], sizes[place + 1 :]
    single = TensorType(value.element, (*before, 1, *after))
    column = node.emit(qnn.ReshapeOp(value.ssa, single), f"column_{axis}")
    copies = TensorType(value.element, (*before, factor, *after))
    joined = qnn.ConcatOp([column] * factor, copies, axis=place + 1)
    node.importer.charge(factor)
    copied = node.emit(joined, f"copies_{axis}")
    merged = (*sizes[:place], sizes[place] * factor, *after)
    result = qnn.ReshapeOp(copied, TensorType(value.element, merged))
    return replace(value, ssa=node.emit(result, f"repeated_{axis}"))


IMPORTERS = {
    ("", "Resize"): takes("x: STORED, roi, scales?, sizes?; axes: None", import_resize)
}
