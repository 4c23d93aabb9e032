"""Inputs drawn at random, where any will do or many are wanted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Operation

from qlower.diagnostics import QlowerError
from qlower.model.signature import Array, TensorSpec

MOST_ELEMENTS = 1 << 24
"""A few bytes of a file may ask for gigabytes of numbers: no input that is drawn is
larger."""

MOST_VALUES = 1 << 26
"""Elements of all that layers read and make but constants, where inputs are made up."""


def check_size(operations: Iterable[Operation], runs: int = 1) -> None:
    """Refuse layers that small inputs make large, as a pad may be, if they read and
    make more than MOST_VALUES elements in so many runs: QlowerError."""
    values = {value for op in operations for value in (*op.operands, *op.results)}
    elements = sum(
        math.prod(value.type.get_shape())
        for value in values
        if isinstance(value.type, ShapedType)
        and not (isinstance(value.owner, Operation) and not value.owner.operands)
    )
    if runs * elements > MOST_VALUES:
        raise QlowerError(
            f"its values have {elements} elements in all; where inputs are made up they"
            f" are computed up to {MOST_VALUES // runs}",
            help="give inputs, or a smaller shape",
        )


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
