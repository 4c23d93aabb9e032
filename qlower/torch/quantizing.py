"""Stored integers of real tensors, with the gradient that passes through."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from qlower.diagnostics import QlowerError
from qlower.model.signature import TensorSpec
from qlower.model.weights import WeightSpec
from qlower.torch.straight_through import Rounded, applied, store
from qlower.torch.tensors import tensor_of, type_of

Pair: TypeAlias = tuple[Tensor, Tensor]
"""Stored values as the device takes them, and the real ones that they stand for."""

_EXACT_IN_FLOAT32 = 1 << 23
"""Integers below have real values in float32 that give them again."""


def initial_parameter(spec: WeightSpec) -> Tensor:
    """The real weight or bias: float32, or float64 where that has too few digits."""
    whole = spec.stored.dtype.kind != "f" and spec.stored.size
    large = whole and int(np.abs(spec.stored.astype(np.int64)).max())
    type = torch.float64 if large >= _EXACT_IN_FLOAT32 else torch.float32
    return tensor_of(spec.real).to(type)


def stored_parameter(spec: WeightSpec, real: Tensor) -> Tensor:
    """The stored weight or bias nearest to real values, ties to even, clipped.

    `real / scale` is a quotient of float32 for weights and of float64 for biases, whose
    scale is the product of those of input and weight.
    """
    stored = precise = real.detach()
    if spec.scales:
        precise, scales, zero_points = _with_steps(spec, precise)
        stored = store(precise, scales, zero_points, spec.low, spec.high)
    return stored.to(type_of(spec.stored.dtype))


def quantized_parameter(
    spec: WeightSpec, real: Tensor, trained: Tensor | None = None
) -> Pair:
    """`stored_parameter` and its real values; `trained` are the scales of weights where
    these have a gradient."""
    stored = stored_parameter(spec, real)
    if not spec.scales:
        return stored, real
    precise, scales, zero_points = _with_steps(spec, real)
    if trained is not None:
        scales = trained.reshape(scales.shape)
    given = precise, stored, scales, zero_points, spec.low, spec.high
    return stored, applied(Rounded, *given).to(real)


def _with_steps(spec: WeightSpec, real: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Real values as they are divided, their scales and zero points."""
    precise = real.double() if spec.role == "bias" else real
    scales, zero_points = (
        tensor_of(spec.along_axis(values)).to(precise)
        for values in (spec.scales, spec.zero_points)
    )
    return precise, scales, zero_points


def quantized_input(spec: TensorSpec, given: Tensor) -> Pair:
    """An input of real or of stored values. Raises QlowerError for another type."""
    kind = type_of(spec.numpy_dtype)
    if spec.scale is None or spec.zero_point is None:
        if not given.is_floating_point() or not kind.is_floating_point:
            raise QlowerError(
                f"input {spec.name!r} has type {given.dtype}, the model takes {kind}"
            )
        return given.detach().to(kind), single(given)
    if given.dtype == kind:
        return given, real_input(spec, given)
    if not given.is_floating_point():
        raise QlowerError(
            f"input {spec.name!r} has type {given.dtype}; real values or stored ones "
            f"of {kind} are expected"
        )
    real = single(given)
    limits = np.iinfo(spec.dtype)
    low, high = int(limits.min), int(limits.max)
    stored = store(real.detach(), spec.scale, spec.zero_point, low, high)
    rounded = applied(Rounded, real, stored, spec.scale, spec.zero_point, low, high)
    return stored.to(kind), rounded


def real_input(spec: TensorSpec, given: Tensor) -> Tensor:
    """The real values of an input that may be stored."""
    if given.is_floating_point() or spec.scale is None or spec.zero_point is None:
        return single(given)
    return (given.float() - spec.zero_point) * spec.scale


def single(given: Tensor) -> Tensor:
    """Half precision in float32, other numbers as they are."""
    return given.float() if given.itemsize < 4 else given
