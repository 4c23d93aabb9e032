"""Rows of float32 by their sums: SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION and
LOCAL_RESPONSE_NORMALIZATION.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32, f64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from qlower.dialects import qnn
from qlower.emit.reductions import summed

from ...entry import Entry, takes
from ...scalars import Scalars, Unary, square
from ..context import OperatorContext
from ..nests import finish_map, start
from ..window import MAX_KERNEL


def normalization(function: str) -> Entry[OperatorContext]:
    """A normalization of rows of real numbers."""
    return takes("x: REAL", partial(_import_normalization, function=function))


def _import_normalization(op: OperatorContext, function: str) -> None:
    """Each element by a function of its row, which has the last dimension."""
    shape = _rows(op)
    op.check_type(op.output(), "FLOAT32")
    operation = qnn.RealNormalizeOp(
        op.value(0),
        [],
        op.result_type(shape),
        function=function,
        axis=len(shape) - 1,
        beta=op.number("beta") if "beta" in op.options else 1.0,
        fallback="tflite",
    )
    op.finish(operation)


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
"""The power `beta` of a number."""


def _rows(op: OperatorContext) -> tuple[int, ...]:
    """The shape of an operand that has rows."""
    shape = op.shape(0)
    if not shape:
        raise op.error(f"{op.input(0)}: rank 0, expected at least 1")
    return shape


IMPORTERS = {
    "LOCAL_RESPONSE_NORMALIZATION": takes(
        "x: REAL", import_local_response_normalization
    )
}
