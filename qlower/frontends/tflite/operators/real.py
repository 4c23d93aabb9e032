"""Convolutions, layers, pools and means in float32.

Sums are in the order of LiteRT's reference kernels, plain loops that round each product
and each sum: a convolution's over rows and columns of the kernel, then channels. Taps
outside of the image are skipped there; here they add a zero, which changes no sum.
"""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from qlower.dialects.types import element_type, shape_of

from ...scalars import Scalars, folded, mapped
from ..context import OperatorContext
from ..nests import emitter, finish, start
from ..weights import read_real_bias
from .plain import activated, reduced_shape


def is_real(op: OperatorContext) -> bool:
    """Whether operands and results are float32, weights included."""
    return all(
        op.input(number).type == "FLOAT32"
        for number in range(len(op.operator.inputs))
        if op.has(number)
    )


def product_batch(op: OperatorContext, lhs: SSAValue, rhs: SSAValue) -> tuple[int, ...]:
    """The dimensions over which two operands have matrices, broadcast as numpy's."""
    left, right = shape_of(lhs), shape_of(rhs)
    try:
        batch = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        batch = None
    if batch is None or left[-1] != right[-2]:
        raise op.error(f"no product of matrices {list(left)} and {list(right)}")
    return batch


def import_plain_mean(op: OperatorContext) -> None:
    """Sums in i64, divided by how many numbers there are and cut toward 0."""
    axes, result = reduced_shape(op)
    count = math.prod(op.shape(0)[axis] for axis in axes)
    emit = emitter(op)
    sums = folded(
        emit, op.value(0), axes, Scalars.add, 0, lambda steps, x: steps.cast(x, i64)
    )

    def mean(steps: Scalars, total: SSAValue) -> SSAValue:
        quotient = steps.step(arith.DivSIOp(total, steps.constant(count, i64)))
        return steps.cast(quotient, element_type(op.value(0).type))

    finish(op, op.reshaped(mapped(emit, mean, sums), result))


def finish_sums(op: OperatorContext, sums: SSAValue, bias: int = 2) -> None:
    """The operator's result from its sums: with operand `bias` along the last
    dimension, and the activation."""
    shape = shape_of(sums)
    steps = Scalars(start(op, shape))
    nest = steps.nest
    value: SSAValue = nest.input(sums, range(len(shape)))
    added = read_real_bias(op, bias, shape[-1])
    if added is not None:
        value = steps.add(value, nest.input(added, [nest.parallel - 1]))
    value = activated(op, steps, value)
    finish(op, op.reshaped(nest.build([value])[0], shape))
