"""Images and rows of other sizes, as ATen makes them.

aten/src/ATen/native/UpSample.h and native/cpu/UpSampleKernel.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from qlower.emit.movement import elements_at
from qlower.operators.resizing import Places, Reals, Side

from ...entry import takes
from ...graph.context import NodeContext
from ...graph.operators.real import real_operand
from ...graph.operators.resizing import resized
from ...graph.orders import channels_last
from ...graph.values import Value
from ...scalars import Scalars, Steps, by_packets, text
from ..translating import TORCH

VECTOR = 8
"""Channels of a vector."""

MOST_CHANNELS, LARGEST = 3, 128
"""Images of more channels, or whose rows and columns are together no more than that,
are computed in vectors of channels: they lie last in memory behind a convolution."""

LARGEST_FACTOR = 1 << 20


def import_interpolated(node: NodeContext) -> None:
    """Import the nearest elements, or numbers between the two or four next ones."""
    value = node.value(0)
    sides = _sides(node, value.shape[2:])
    has_corners = node.flag("corners", False)
    if node.text("mode", None, ["nearest", "linear"]) == "nearest":
        rule = "by_corner_steps" if has_corners else "by_steps"
        for axis, side in enumerate(sides, 2):
            value = resized(node, value, axis, side.nearest(side.places(rule), "floor"))
        node.define(value)
        return
    rank = 2 + len(sides)
    order = channels_last(rank)
    image = node.in_order(real_operand(node, 0), order)
    *_, channels = image.type.get_shape()
    wanted = [side.wanted for side in sides]
    nest = node.nest((value.shape[0], *wanted, channels))
    compute = text("_sleef", "between_two")
    if rank == 4:
        compute = _between(channels, sum(wanted))
    ends: dict[int, Sequence[Places]] = {}
    shares: list[SSAValue] = []
    for loop, side in enumerate(sides, 1):
        at = _places(side, has_corners=has_corners)
        ends[loop] = low, _ = side.neighbours(at)
        after = np.clip(at - low.astype(np.float32), 0, 1)
        for share in (np.float32(1) - after, after):
            shares.append(nest.constant(share, f32, (loop,)))
    pixels = elements_at(nest, image.ssa, ends)
    result = nest.build_one(compute(Scalars(nest), *pixels, *shares))
    node.define(Value(result, order, is_real=True))


def _between(channels: int, extent: int) -> Steps:
    """The function of four pixels, whose order depends on how an image is walked."""
    if channels <= MOST_CHANNELS and extent > LARGEST:
        return text("_sleef", "between_rows")
    whole = text("_sleef", "between_four_of_vectors")
    return by_packets(whole, text("_sleef", "between_four"), VECTOR, of_rows=True)


def _places(side: Side, *, has_corners: bool) -> Reals:
    """The place in the operand of each index of the result."""
    if has_corners:
        return side.places("by_corner_steps")
    if side.size == side.wanted:
        return np.arange(side.size, dtype=np.float32)
    return np.maximum(side.places("between_middles_once"), 0)


def _sides(node: NodeContext, sizes: Sequence[int]) -> list[Side]:
    """The dimensions of an image, by the factors or the sizes that are given."""
    factors: list[float] = [0.0] * len(sizes)
    if "factors" in node.node.attributes:
        factors = node.number_list("factors")
        for factor in factors:
            if not 0 < factor < LARGEST_FACTOR:
                raise node.error(
                    f"factor {factor:g} is out of range (0, {LARGEST_FACTOR})"
                )
        wanted = [
            int(size * factor) for size, factor in zip(sizes, factors, strict=True)
        ]
    else:
        wanted = node.integer_list("sizes", [1] * len(sizes), 1)
    for size in wanted:
        node.check_range("size", size, 1, LARGEST_FACTOR)
    return [Side(*axis) for axis in zip(sizes, wanted, factors, strict=True)]


IMPORTERS = {(TORCH, "Interpolate"): takes("x", import_interpolated)}
