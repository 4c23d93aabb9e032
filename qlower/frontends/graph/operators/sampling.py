"""Pixels of images at places that a grid gives.

core/providers/cpu/tensor/grid_sample.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i32
from xdsl.dialects.math import RoundEvenOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.model.nests import extract

from ...entry import takes
from ...scalars import Scalars, nearest, text
from ..context import NodeContext
from ..values import real_value
from .real import real_operand

FARTHEST = float(1 << 24)
"""Places beyond are brought there: outside of any image."""


@dataclass(frozen=True)
class _Side:
    """One side of an image: its size, and the ends that places are reflected at."""

    steps: Scalars
    size: int
    padding: str
    low: float
    high: float

    def inside(self, place: SSAValue) -> tuple[SSAValue, SSAValue | None]:
        """The index for a whole place, and whether it is one of the image, where what
        is outside counts as 0."""
        steps, index = self.steps, _index(self.steps, place)
        if self.padding == "reflection":
            ends = [steps.constant(end, f32) for end in (self.low, self.high)]
            index = _index(steps, REFLECTED(steps, place, *ends))
        found = nearest(steps.nest, index, self.size)
        if self.padding != "zeros":
            return found, None
        zero, end = steps.constant(0, i32), steps.constant(self.size, i32)
        is_from = steps.compare("ge", index, zero)
        is_below = steps.compare("lt", index, end)
        return found, steps.logical("and", is_from, is_below)


REFLECTED = text("_mlas", "reflected")


def _index(steps: Scalars, place: SSAValue) -> SSAValue:
    """A whole number of float32 as an integer."""
    return steps.cast(steps.clamp(place, -FARTHEST, FARTHEST), i32)


def import_grid_sample(node: NodeContext) -> None:
    """Import a GridSample: the nearest pixel to each place of a grid, or a number
    between four pixels."""
    legal = ["linear", "bilinear", "nearest"]
    mode = node.text("mode", "linear", legal)
    padding = node.text("padding_mode", "zeros", ["zeros", "border", "reflection"])
    has_corners = node.flag("align_corners", False)
    image, grid = (node.in_order(real_operand(node, at)) for at in (0, 1))
    batch, channels, *sizes = image.shape
    if grid.shape[0] != batch or grid.shape[3] != 2:
        raise node.error(
            f"a grid of shape {list(grid.shape)}; expected [{batch}, height, width, 2]"
        )
    if padding == "reflection" and has_corners and min(sizes) == 1:
        raise node.error("an image of one row or column can't be reflected")
    nest = node.nest((batch, channels, *grid.shape[1:3]))
    steps = Scalars(nest)
    margin = 0.0 if has_corners else 0.5
    name = "grid_place_of_corners" if has_corners else "grid_place"
    sides: list[_Side] = []
    places: list[SSAValue] = []
    for size, number in zip(sizes, (1, 0), strict=True):
        given = nest.input(grid.ssa, (0, 2, 3, AffineConstantExpr(number)))
        length = steps.constant(size - 1 if has_corners else size, f32)
        places.append(text("_mlas", name)(steps, given, length))
        sides.append(_Side(steps, size, padding, -margin, size - 1 + margin))

    def pixel(row: SSAValue, column: SSAValue) -> SSAValue:
        found = [
            side.inside(place) for side, place in zip(sides, (row, column), strict=True)
        ]
        result = extract(nest, image.ssa, [0, 1, *(index for index, _ in found)])
        for _, is_inside in found:
            if is_inside is not None:
                result = steps.select(is_inside, result, steps.constant(0, f32))
        return result

    if mode == "nearest":
        rounded = [steps.step(RoundEvenOp(place)) for place in places]
        result = pixel(*rounded)
    else:
        by_shares = padding == "zeros" and not has_corners
        result = _between(steps, places, pixel, by_shares=by_shares)
    node.define(real_value(nest.build([result])[0]))


def _between(
    steps: Scalars,
    places: Sequence[SSAValue],
    pixel: Callable[[SSAValue, SSAValue], SSAValue],
    *,
    by_shares: bool,
) -> SSAValue:
    """Interpolate between four pixels, by a share of each or row by row."""
    one = steps.constant(1, f32)
    firsts = [steps.floor(place) for place in places]
    seconds = [steps.add(first, one) for first in firsts]
    rows, columns = zip(firsts, seconds, strict=True)
    pixels = [pixel(row, column) for row in rows for column in columns]
    before = [steps.subtract(*pair) for pair in zip(places, firsts, strict=True)]
    behind = [steps.subtract(*pair) for pair in zip(seconds, places, strict=True)]
    name = "between_pixels_by_shares" if by_shares else "between_pixels"
    return text("_mlas", name)(steps, *pixels, *before, *behind)


IMPORTERS = {("", "GridSample"): takes("x[4], grid[4]", import_grid_sample)}
