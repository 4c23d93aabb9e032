"""Changes of a model that its file doesn't have yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qlower.model.signature import Array
from qlower.model.weights import WeightSpec


@dataclass(frozen=True)
class Rescaled:
    """A tensor of a file, and its scales and zero points before and now."""

    file_name: str
    old_scales: tuple[float, ...]
    scales: tuple[float, ...]
    old_zero_points: tuple[int, ...]
    zero_points: tuple[int, ...]


@dataclass(frozen=True)
class Changes:
    """Weights and biases with new stored values, and tensors with new scales."""

    stored: Sequence[tuple[WeightSpec, Array]]
    scales: Sequence[Rescaled]
