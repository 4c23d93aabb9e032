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

from ...entry import takes
from ...scalars import Scalars, Unary
from ..context import OperatorContext
from ..nests import finish_map, start
from ..window import MAX_KERNEL
from .plain import LOWEST
from .real import sum_products

LEAST_NORM = float(np.float32(1e-6))


def import_real_softmax(op: OperatorContext) -> None:
    """The exponentials of each row, divided by their sum."""
    beta, shape = op.number("beta"), _rows(op)
    loops = range(len(shape))
    terms = _terms(op, _largest(op), beta)
    sums = _sums(op, terms)
    nest = start(op, shape)
    term, total = nest.input(terms, loops), nest.input(sums, loops[:-1])
    finish_map(op, nest, Scalars(nest).divide(term, total))


def import_real_log_softmax(op: OperatorContext) -> None:
    """How far each element is below the largest of its row, less the logarithm of the
    sum of exponentials."""
    shape = _rows(op)
    loops = range(len(shape))
    most = _largest(op)
    sums = _sums(op, _terms(op, most, 1.0))
    nest = start(op, shape[:-1])
    total = nest.input(sums, loops[:-1])
    (logarithms,) = nest.build([Scalars(nest).c("logf", total)])
    nest = start(op, shape)
    steps = Scalars(nest)
    x, largest = nest.input(op.value(0), loops), nest.input(most, loops[:-1])
    below = steps.subtract(x, largest)
    finish_map(op, nest, steps.subtract(below, nest.input(logarithms, loops[:-1])))


def import_real_l2_normalization(op: OperatorContext) -> None:
    """Rows by the root of the sum of their squares, which is at least 1e-6."""
    shape = _rows(op)
    loops = range(len(shape))
    nest = start(op, shape, reductions=1)
    x = nest.input(op.value(0), loops)
    squares = sum_products(nest, x, x)
    nest = start(op, shape)
    steps = Scalars(nest)
    root = steps.sqrt(nest.input(squares, loops[:-1]))
    # std::max, which keeps NaN
    norm = steps.clamp(root, LEAST_NORM, None)
    finish_map(op, nest, steps.divide(nest.input(op.value(0), loops), norm))


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
    squares = sum_products(nest, x, x)
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


def _largest(op: OperatorContext) -> SSAValue:
    """The largest element of each row."""
    shape = op.shape(0)
    nest = start(op, shape, reductions=1)
    steps = Scalars(nest)
    x = nest.input(op.value(0), range(len(shape)))
    init = nest.emitter.filled(shape[:-1], f32, LOWEST)
    return nest.reduce([init], lambda before: [steps.larger(before[0], x)])[0]


def _terms(op: OperatorContext, most: SSAValue, factor: float) -> SSAValue:
    """The exponentials of how far elements are below the largest, times a factor."""
    shape = op.shape(0)
    loops = range(len(shape))
    nest = start(op, shape)
    steps = Scalars(nest)
    below = steps.subtract(nest.input(op.value(0), loops), nest.input(most, loops[:-1]))
    if factor != 1:
        below = steps.multiply(below, steps.constant(factor, f32))
    return nest.build([steps.c("expf", below)])[0]


def _sums(op: OperatorContext, terms: SSAValue) -> SSAValue:
    """The sum of each row, one term after the other."""
    shape = op.shape(0)
    nest = start(op, shape, reductions=1)
    term = nest.input(terms, range(len(shape)))
    init = nest.emitter.filled(shape[:-1], f32, 0.0)
    return nest.reduce([init], nest.adding(term))[0]


IMPORTERS = {
    "LOCAL_RESPONSE_NORMALIZATION": takes(
        "x: REAL", import_local_response_normalization
    )
}
