"""Constants that operations on rows of real numbers give to rules."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.func import FuncOp

from qlower.contracts.real_sums import NO_BIAS, activation_bounds
from qlower.contracts.rows import kinds_of, order_of
from qlower.contracts.values import Values, window_values
from qlower.contracts.walk import ROWS, callees
from qlower.dialects import qnn
from qlower.operators.orders import ELEMENT_ORDERS
from qlower.operators.windows import taps_inside

UNGIVEN: Values = {"scale": np.array(1, np.float32), "bias": NO_BIAS}
"""Operands that change no number, for those that are left out."""


def row_values(op: qnn.RealRowsOp) -> Values:
    """All constants of an operation on rows; counts that differ are along the last
    loops over rows."""
    outer, depth = op.loops
    found = activation_bounds(op)
    found["count"] = np.array(math.prod(depth), np.int32)
    if isinstance(op, qnn.RealPool2DOp):
        found |= window_values(op, op.kernel)
        sides = op.input.type.get_shape()[1:3]
        found["image_width"] = np.array(sides[1], np.int32)
        if not op.count_include_pad:
            found["count"] = taps_inside(
                sides, outer[1:3], op.kernel, op.stride, op.pad, op.dilation
            )
    if isinstance(op, qnn.RealNormalizeOp):
        found["epsilon"] = np.array(op.epsilon, np.float32)
        found["beta"] = np.array(op.beta, np.float32)
    if isinstance(op, qnn.RealReduceOp):
        shape = op.input.type.get_shape()
        # dimensions of size 1 lie nowhere
        spans = [axis for axis in op.axes if shape[axis] > 1]
        first, last = (spans[0], spans[-1]) if spans else (len(shape), len(shape))
        before, behind = math.prod(shape[:first]), math.prod(shape[last + 1 :])
        found["row_count"] = np.array(before, np.int32)
        found["column_count"] = np.array(behind, np.int32)
        found["apart"] = np.array(before * behind != math.prod(outer))
        found["whole"] = np.array(not outer)
    return found


def orders_of(function: FuncOp, values: Values) -> dict[str, str]:
    """The order of each sum that a rule's function is made of, by its helper's name."""
    found: dict[str, str] = {}
    for helper in callees(function):
        if ROWS in helper.attributes:
            if kinds_of(helper)[0] in ELEMENT_ORDERS:
                found[helper.sym_name.data] = order_of(helper, values)[0]
            found |= orders_of(helper, values)
    return found
