"""The size of what is computed where inputs are made up: drawn, or zeros."""

from __future__ import annotations

import math
from collections.abc import Iterable

from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Operation

from qlower.diagnostics import QlowerError
from qlower.model import Model
from qlower.model.random_inputs import random_inputs
from qlower.model.signature import Array

MOST_VALUES = 1 << 26
"""Elements of all that layers read and make but constants, where inputs are made up."""


def check_size(operations: Iterable[Operation], runs: int = 1) -> None:
    """Raise QlowerError for layers whose operands and results have more than
    MOST_VALUES elements in all `runs`: small inputs may grow, as in a pad."""
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


def inputs_for_layers(model: Model, seed: int) -> tuple[Array, ...]:
    """Draw inputs of a model whose layers will all be computed in the interpreter.

    Raises QlowerError for a model that is too large for that.
    """
    check_size(model.module.walk())
    return random_inputs(model.inputs, seed)
