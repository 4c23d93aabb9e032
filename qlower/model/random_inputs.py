"""Inputs drawn at random, where any will do or many are wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.model.signature import Array, TensorSpec

MOST_ELEMENTS = 1 << 24
"""A few bytes of a file may ask for gigabytes of numbers: no input that is drawn is
larger."""


def random_inputs(specs: Sequence[TensorSpec], seed: int) -> tuple[Array, ...]:
    """An example of every input, drawn in order by a seed."""
    random = np.random.default_rng(seed)
    return tuple(random_input(spec, random) for spec in specs)


def random_input(
    spec: TensorSpec, random: np.random.Generator, count: int | None = None
) -> Array:
    """Stored values: any integers of the type, or normally distributed reals.

    With `count` it is a set of that many examples. Raises QlowerError for a larger one
    than MOST_ELEMENTS.
    """
    elements = math.prod(spec.shape)
    if elements > MOST_ELEMENTS:
        raise QlowerError(
            f"input {spec.name!r} has {elements} elements; at most {MOST_ELEMENTS} are"
            " drawn",
            help="give the input, or a smaller shape",
        )
    shape = spec.shape if count is None else (count, *spec.shape)
    if spec.numpy_dtype.kind == "f":
        return random.normal(size=shape).astype(spec.numpy_dtype)
    if spec.dtype == "bool":
        return random.integers(0, 2, shape).astype(spec.numpy_dtype)
    limits = np.iinfo(spec.dtype)
    stored = random.integers(limits.min, limits.max, shape, endpoint=True)
    return stored.astype(spec.numpy_dtype)
