"""Images of other sizes: where along an axis the elements of a result lie.

Systems differ in where the first one lies, and in the order of roundings to float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float32]
Places = NDArray[np.int32]

HALF = np.float32(0.5)

ROUNDINGS: Mapping[str, Callable[[Reals], Reals | NDArray[np.float64]]] = {
    "round_prefer_floor": lambda x: np.ceil(x - HALF),
    "round_prefer_ceil": lambda x: np.floor(x + HALF),
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_ceil_exactly": lambda x: np.floor(x.astype(np.float64) + 0.5),
}
"""From places to the nearest index: ONNX's `nearest_mode`, and one of LiteRT."""


@dataclass(frozen=True, slots=True)
class Side:
    """One axis: its size, that of the result, and how far apart in the operand the
    elements of the result lie; or, if that is not 0, by which factor the axis grows."""

    size: int
    wanted: int
    factor: float = 0

    @property
    def step(self) -> np.float32:
        return np.float32(1 / self.factor if self.factor else self.size / self.wanted)

    @property
    def corner_step(self) -> np.float32:
        """The step between results whose ends lie on the ends of the operand."""
        return np.float32(self.size - 1) / np.float32(max(self.wanted - 1, 1))

    def places(self, rule: str) -> Reals:
        """The place in the operand of each index of the result, by one of `PLACES`."""
        return PLACES[rule](np.arange(self.wanted, dtype=np.float32), self)

    def nearest(self, places: Reals, rounding: str) -> list[int]:
        """The index that each element of the result is taken from."""
        found = np.clip(ROUNDINGS[rounding](places), 0, self.size - 1)
        return [int(index) for index in found]

    def neighbours(self, places: Reals) -> tuple[Places, Places]:
        """The two indices next to each place."""
        low = np.clip(np.floor(places), 0, self.size - 1).astype(np.int32)
        return low, np.minimum(low + 1, self.size - 1)


PLACES: Mapping[str, Callable[[Reals, Side], Reals]] = {
    # upsamplebase.h of ONNX Runtime: ONNX's `coordinate_transformation_mode`
    "half_pixel": lambda x, side: (x + HALF) / np.float32(side.factor) - HALF,
    "pytorch_half_pixel": lambda x, side: side.places("half_pixel") * (side.wanted > 1),
    "asymmetric": lambda x, side: x / np.float32(side.factor),
    "align_corners": lambda x, side: (
        x * np.float32(side.size - 1) / np.float32(max(side.wanted - 1, 1))
    ),
    # resize_bilinear.h and resize_nearest_neighbor.h of LiteRT, UpSample.h of ATen
    "by_corner_steps": lambda x, side: x * side.corner_step,
    "by_steps": lambda x, side: x * side.step,
    "of_middles": lambda x, side: (x + HALF) * side.step,
    "between_middles": lambda x, side: (x + HALF) * side.step - HALF,
    # one rounding: a product of float32 is exact in float64
    "between_middles_once": lambda x, side: (
        np.float64(side.step) * (x + HALF) - 0.5
    ).astype(np.float32),
}
