"""Rows of float32 by their sums, in the order of LiteRT's reference kernels: SOFTMAX,
LOG_SOFTMAX, L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32, f64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from qlower.dialects import qnn
from qlower.emit.reductions import summed

from ...entry import takes
from ...scalars import Scalars, Unary, folded, mapped, square, subtract_both, text
from ..context import OperatorContext
from ..nests import emitter, finish, finish_map, start
from ..window import MAX_KERNEL
from .plain import LOWEST

LEAST_NORM = float(np.float32(1e-6))


def import_real_softmax(op: OperatorContext) -> None:
    """The exponentials of each row, divided by their sum."""
    last = len(_rows(op)) - 1
    emit = emitter(op)
    terms = _terms(op, _largest(op, last), op.number("beta"))
    sums = folded(emit, terms, [last], Scalars.add, 0.0)
    finish(op, mapped(emit, Scalars.divide, terms, sums))


def import_real_log_softmax(op: OperatorContext) -> None:
    """How far each element is below the largest of its row, less the logarithm of the
    sum of exponentials."""
    last = len(_rows(op)) - 1
    emit, most = emitter(op), _largest(op, last)
    sums = folded(emit, _terms(op, most, 1.0), [last], Scalars.add, 0.0)
    logarithms = mapped(emit, text("_glibc", "logf"), sums)
    finish(op, mapped(emit, subtract_both, op.value(0), most, logarithms))


def import_real_l2_normalization(op: OperatorContext) -> None:
    """Rows by the root of the sum of their squares, which is at least 1e-6."""
    last = len(_rows(op)) - 1
    emit, x = emitter(op), op.value(0)
    squares = folded(emit, x, [last], Scalars.add, 0.0, square)
    finish(op, mapped(emit, _normalized, x, squares))


def _normalized(steps: Scalars, x: SSAValue, squares: SSAValue) -> SSAValue:
    """std::max, which keeps NaN"""
    norm = steps.clamp(steps.sqrt(squares), LEAST_NORM, None)
    return steps.divide(x, norm)


def import_local_response_normalization(op: OperatorContext) -> None:
    """Each element times a power of the sum of squares around it: of `radius` elements
    before it, itself, and one less than `radius` after it.

    The power is computed in float64 and rounded to float32. That is what the kernel
    gets of the C library's pow, but where the last bit of a float64 decides: once in
    about 10^8 elements.
    """
    shape = _rows(op)
    radius = op.option("radius", 1, MAX_KERNEL)
    bias, alpha, beta = (op.number(name) for name in ("bias", "alpha", "beta"))
    if beta not in POWERS:
        raise op.error(
            f"beta {beta} is not supported; expected {', '.join(map(str, POWERS))}"
        )
    last = len(shape) - 1
    low, high = [0] * last + [radius], [0] * last + [radius - 1]
    type = TensorType(f32, (*shape[:-1], shape[-1] + 2 * radius - 1))
    source = op.emit(qnn.PadOp(op.value(0), type, low=low, high=high), "pad")
    nest = start(op, (*shape, 2 * radius), reductions=1)
    nest.window((last + 1,))
    place = AffineDimExpr(last) + AffineDimExpr(last + 1)
    x = nest.input(source, [*range(last), place])
    squares = summed(nest, square(Scalars(nest), x))
    nest = start(op, shape)
    steps = Scalars(nest)
    total = steps.cast(nest.input(squares, range(len(shape))), f64)
    base = steps.multiply(steps.constant(alpha, f64), total)
    base = steps.add(steps.constant(bias, f64), base)
    divisor = POWERS[beta](steps, base)
    quotient = steps.divide(steps.constant(1.0, f64), divisor)
    factor = steps.step(arith.TruncFOp(quotient, f32))
    element = nest.input(op.value(0), range(len(shape)))
    finish_map(op, nest, steps.multiply(element, factor))


def _to_three_quarters(steps: Scalars, x: SSAValue) -> SSAValue:
    root = steps.sqrt(x)
    return steps.multiply(root, steps.sqrt(root))


POWERS: Mapping[float, Unary] = {
    0.5: Scalars.sqrt,
    0.75: _to_three_quarters,
    1.0: lambda steps, x: x,
}
"""How a number is raised to `beta`."""


def _rows(op: OperatorContext) -> tuple[int, ...]:
    """The shape of an operand that has rows."""
    shape = op.shape(0)
    if not shape:
        raise op.error(f"{op.input(0)}: rank 0, expected at least 1")
    return shape


def _largest(op: OperatorContext, axis: int) -> SSAValue:
    """The largest element of each row."""
    return folded(emitter(op), op.value(0), [axis], Scalars.larger, LOWEST)


def _terms(op: OperatorContext, most: SSAValue, factor: float) -> SSAValue:
    """The exponentials of how far elements are below the largest, times a factor."""

    def compute(steps: Scalars, x: SSAValue, most: SSAValue) -> SSAValue:
        below = steps.subtract(x, most)
        if factor != 1:
            below = steps.multiply(below, steps.constant(factor, f32))
        return steps.c("expf", below)

    return mapped(emitter(op), compute, op.value(0), most)


IMPORTERS = {
    "LOCAL_RESPONSE_NORMALIZATION": takes(
        "x: REAL", import_local_response_normalization
    )
}
