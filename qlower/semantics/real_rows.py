"""Meaning of pools, reductions and normalizations of real numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.interpreter import PythonValues

from qlower.contracts.real_rows import UNGIVEN, row_values
from qlower.dialects import qnn
from qlower.dialects.operations import operations_of
from qlower.dialects.types import shape_of
from qlower.interp.engine import implement, register_implementations
from qlower.interp.values import Array

from .rules import RuleFunctions


@register_implementations
class RealRowFunctions(RuleFunctions):
    """Rules on rows of f32."""

    @implement(*operations_of(qnn.RealRowsOp))
    def run_rows(self, op: qnn.RealRowsOp, args: PythonValues) -> PythonValues:
        values = {
            name: value[..., np.newaxis] if value.ndim else value
            for name, value in row_values(op).items()
        }
        image, *parameters = args
        outer, depth = op.loops
        size = math.prod(depth)
        values["input"] = seen_rows(op, image)
        values["turn"] = np.arange(1, size + 1, dtype=np.float32)
        if isinstance(op, qnn.RealNormalizeOp):
            given = {**UNGIVEN, **dict(zip(qnn.PARAMETERS, parameters, strict=False))}
            for name, array in given.items():
                whole = np.broadcast_to(array, image.shape)
                values[name] = whole.reshape((*outer, size))
        (rule,), (result,) = op.rules, op.results
        (found,) = self.contract(op).rule(rule).evaluate(values)
        size = size if found.shape[-1] > 1 else 1
        whole = np.broadcast_to(found, (*outer, size)).astype(np.float32)
        return (whole.reshape(shape_of(result)),)


def seen_rows(op: qnn.RealRowsOp, array: Array) -> Array:
    """The elements of each row, along the last dimension."""
    if isinstance(op, qnn.RealPool2DOp):
        array = np.pad(
            array,
            list(zip(*op.sums.padding(), strict=True)),
            constant_values=op.around,
        )
    outer, depth = op.loops
    loops = np.ogrid[tuple(slice(size) for size in (*outer, *depth))]
    # an affine expression is as good for arrays as for numbers
    dims = cast(Sequence[int], loops)
    index = [np.asarray(place.eval(dims, [])) for place in op.places]
    seen = array[tuple(np.broadcast_arrays(*index))]
    whole = np.broadcast_to(seen, (*outer, *depth))
    return whole.reshape((*outer, math.prod(depth)))
