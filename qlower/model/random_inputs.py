"""Inputs drawn at random, where any will do or many are wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qlower.model.signature import Array, TensorSpec


def random_inputs(specs: Sequence[TensorSpec], seed: int) -> tuple[Array, ...]:
    """An example of every input, drawn in order by a seed."""
    random = np.random.default_rng(seed)
    return tuple(random_input(spec, random) for spec in specs)


def random_input(
    spec: TensorSpec, random: np.random.Generator, count: int | None = None
) -> Array:
    """Stored values: any integers of the type, or normally distributed reals.

    With `count` it is a set of that many examples.
    """
    shape = spec.shape if count is None else (count, *spec.shape)
    if spec.numpy_dtype.kind == "f":
        return random.normal(size=shape).astype(spec.numpy_dtype)
    if spec.dtype == "bool":
        return random.integers(0, 2, shape).astype(spec.numpy_dtype)
    limits = np.iinfo(spec.dtype)
    stored = random.integers(limits.min, limits.max, shape, endpoint=True)
    return stored.astype(spec.numpy_dtype)
