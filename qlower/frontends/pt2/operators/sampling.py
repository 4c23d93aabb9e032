"""Images and rows of other sizes, as ATen makes them.

aten/src/ATen/native/UpSample.h and native/cpu/UpSampleKernel.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from qlower.files.arrays import Array
from qlower.model.nests import Nest, extract, to_index

from ...entry import takes
from ...graph.context import NodeContext
from ...graph.operators.real import real_operand
from ...graph.operators.resizing import resized
from ...graph.orders import channels_last
from ...graph.values import Value
from ...scalars import Scalars, Steps, by_packets, text
from ..translating import TORCH

ONE, HALF = np.float32(1), np.float32(0.5)

VECTOR = 8
"""Channels of a vector."""

MOST_CHANNELS, LARGEST = 3, 128
"""Images of more channels, or whose rows and columns are together no more than that,
are computed in vectors of channels: they lie last in memory behind a convolution."""


LARGEST_FACTOR = 1 << 20


@dataclass(frozen=True)
class _Side:
    """One dimension: its size, that of the result, and how far apart in the operand the
    elements of the result lie."""

    size: int
    wanted: int
    step: np.float32
    is_between_corners: bool

    def nearest(self) -> list[int]:
        places = np.floor(np.arange(self.wanted, dtype=np.float32) * self.step)
        return [int(at) for at in np.minimum(places, self.size - 1)]

    def neighbours(self) -> tuple[list[Array], list[Array]]:
        """The two indices next to each place, and their shares."""
        places = np.arange(self.wanted, dtype=np.float32)
        if self.is_between_corners:
            places = self.step * places
        elif self.wanted != self.size:
            # one rounding: a product of float32 is exact in float64
            middle = np.float64(self.step) * (places + HALF)
            places = np.maximum((middle - 0.5).astype(np.float32), 0)
        low = np.minimum(places.astype(np.int32), self.size - 1)
        high = np.minimum(low + 1, self.size - 1)
        after = np.clip(places - low.astype(np.float32), 0, ONE)
        return [low, high], [ONE - after, after]


def import_interpolated(node: NodeContext) -> None:
    """Import the nearest elements, or numbers between the two or four next ones."""
    value = node.value(0)
    sides = _sides(node, value.shape[2:])
    if node.text("mode", None, ["nearest", "linear"]) == "nearest":
        for axis, side in enumerate(sides, 2):
            value = resized(node, value, axis, side.nearest())
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
    operands = _operands(nest, image.ssa, sides)
    (result,) = nest.build([compute(Scalars(nest), *operands)])
    node.define(Value(result, order, is_real=True))


def _between(channels: int, extent: int) -> Steps:
    """The function of four pixels, whose order depends on how an image is walked."""
    if channels <= MOST_CHANNELS and extent > LARGEST:
        return text("_sleef", "between_rows")
    whole = text("_sleef", "between_four_of_vectors")
    return by_packets(whole, text("_sleef", "between_four"), VECTOR, of_rows=True)


def _operands(nest: Nest, image: SSAValue, sides: Sequence[_Side]) -> list[SSAValue]:
    """The elements next to each other, row by row, and their shares."""
    emit, last = nest.emitter, len(sides) + 1
    batch, channel = (nest.add(IndexOp(loop)).result for loop in (0, last))
    places: list[list[SSAValue]] = [[]]
    shares: list[SSAValue] = []
    for loop, side in enumerate(sides, 1):
        ends, given = side.neighbours()
        indices = [
            to_index(nest, nest.input(emit.constant(end, i32), (loop,))) for end in ends
        ]
        places = [[*place, index] for place in places for index in indices]
        shares += [nest.input(emit.constant(share, f32), (loop,)) for share in given]
    pixels = [extract(nest, image, [batch, *place, channel]) for place in places]
    return [*pixels, *shares]


def _sides(node: NodeContext, sizes: Sequence[int]) -> list[_Side]:
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
    has_corners = node.flag("corners", False)
    found: list[_Side] = []
    for size, new, factor in zip(sizes, wanted, factors, strict=True):
        node.check_range("size", new, 1, LARGEST_FACTOR)
        step = np.float32(1 / factor if factor else size / new)
        if has_corners:
            step = np.float32(size - 1) / np.float32(max(new - 1, 1))
        found.append(_Side(size, new, step, has_corners))
    return found


IMPORTERS = {(TORCH, "Interpolate"): takes("x", import_interpolated)}
