"""Quantized operators that a contract's rule computes: functions of one value or two,
comparisons, sums and norms; on plain numbers the same in float32.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.model.nests import row_major_index

from ...entry import Entry, takes
from ...scalars import PACKET, Compute, Scalars, text
from ..context import OperatorContext
from ..nests import finish_map, read
from .integers import of_integers
from .plain import (
    binary,
    bounded,
    c_function,
    folded_bits,
    folding,
    litert,
    map_elements,
    real_reduction,
    reduced_shape,
    scalars,
    squared_difference,
    unary,
)
from .quantized import quantized, reduced
from .real_norms import normalization

LARGEST_EXPONENT = float(1 << 31)
WHOLE_WITHIN = float(np.float32(1e-5))
"""The largest distance from a whole number of an exponent that is taken for it."""


def _function(
    name: str, real: Compute, plain: str = "REAL", stored: str = "INT8 | INT16"
) -> Entry[OperatorContext]:
    """A function of quantized values, or of plain ones, of some types each."""
    of_stored = quantized(partial(qnn.FunctionOp, function=name), f"x: {stored}")
    return of_stored | unary(real, plain)


def import_gelu(op: OperatorContext) -> None:
    name = "gelu_tanh" if op.flag("approximate") else "gelu"
    type = op.quantized_result_type(op.shape(0))
    op.finish(qnn.FunctionOp(op.quantized(0), type, function=name))


def _import_real_gelu(op: OperatorContext) -> None:
    if op.flag("approximate"):
        map_elements(op, text("_eigen", "gelu_by_tanh"))
        return
    steps = scalars(op, op.shape(0))
    x = read(op, steps.nest, 0)
    result = steps.eigen("pgelu", x)
    count = math.prod(op.shape(0))
    if tail := count % PACKET:
        first = steps.constant(count - tail, i32)
        is_in_tail = steps.compare("ge", row_major_index(steps.nest), first)
        result = steps.select(is_in_tail, steps.eigen("gelu_alone", x), result)
    finish_map(op, steps.nest, result)


def import_power(op: OperatorContext) -> None:
    """powf; by one whole exponent from 1 on, products (optimized_ops.h, BroadcastPow4D
    and IntegerExponentPow, which are the reference's, too)."""
    whole = _whole_exponent(op)
    if whole is not None:
        map_elements(op, lambda steps, x, _: _product(steps, x, whole))
    elif op.is_float(0):
        map_elements(op, c_function("powf"))
    else:
        map_elements(op, of_integers("power"))


def _whole_exponent(op: OperatorContext) -> int | None:
    """The exponent for all bases that differ from it in shape, if it is whole, or so
    close to it that LiteRT takes it to be."""
    if math.prod(op.shape(1)) != 1 or op.shape(0) == op.shape(1):
        return None
    if not op.is_constant(1):
        raise op.error(
            f"{op.input(1)}: one exponent for all, known at run time only, is not"
            " supported; expected a constant"
        )
    exponent = float(op.array(1).item())
    if not 0.5 <= exponent < LARGEST_EXPONENT:
        return None
    whole = math.floor(exponent + 0.5)
    return whole if abs(exponent - whole) < WHOLE_WITHIN else None


def _product(steps: Scalars, x: SSAValue, exponent: int) -> SSAValue:
    if exponent == 1:
        return x
    half = _product(steps, x, exponent // 2)
    square = bounded(steps, steps.multiply(half, half))
    return bounded(steps, steps.multiply(x, square)) if exponent % 2 else square


def _comparison(predicate: str) -> Entry[OperatorContext]:
    """A comparison; for INT16 only EQUAL and NOT_EQUAL look at scales."""

    def build(op: OperatorContext) -> None:
        for number in (0, 1):
            op.per_tensor(op.input(number))
        type = op.result_type(op.broadcast_shape(0, 1))
        lhs, rhs = op.value(0), op.value(1)
        op.finish(qnn.CompareOp(lhs, rhs, type, predicate=predicate))

    of_plain, of_words = (
        binary(lambda steps, x, y: steps.compare(predicate, x, y), types)
        for types in ("PLAIN", "INT16")
    )

    def build_words(op: OperatorContext) -> None:
        is_scaled = predicate in ("eq", "ne") and op.input(0).quantization is not None
        (build if is_scaled else of_words.build)(op)

    return (
        of_plain
        | takes("x: BYTE, y: as x", build)
        | takes("x: INT16, y: as x", build_words)
    )


def import_product(op: OperatorContext) -> None:
    axes, shape = reduced_shape(op)
    type = op.quantized_result_type(shape)
    value, keep_dims = op.quantized(0), op.flag("keep_dims")
    if not axes:  # products of one number each, along a dimension of their own
        axes, keep_dims = [len(shape)], False
        value = op.reshaped(value, (*shape, 1))
    op.finish(qnn.ProductOp(value, type, axes=axes, keep_dims=keep_dims))


IMPORTERS = {
    "ABS": _function("abs", Scalars.absolute, "FLOAT32 | INT32"),
    "RSQRT": _function("rsqrt", litert("inverse_root")),
    "SQRT": _function("sqrt", Scalars.sqrt),
    "EXP": _function("exp", c_function("expf")),
    "LOG": _function("log", c_function("logf")),
    "GELU": takes("x: REAL", _import_real_gelu) | takes("x: STORED", import_gelu),
    "SQUARED_DIFFERENCE": binary(squared_difference, "NUMBER")
    | quantized(qnn.SquaredDifferenceOp, "x: INT8, y"),
    "DIV": binary(Scalars.divide, "REAL")
    | binary(of_integers("cut_quotient"), "INT32")
    | quantized(qnn.DivOp, "x: STORED, y", activates=True),
    "PRELU": binary(litert("prelu"), "REAL") | quantized(qnn.PReluOp, "x: BYTE, y"),
    "POW": takes("x: FLOAT32 | INT32, y: as x", import_power),
    "SUM": takes("x: BOOL, axes", folded_bits("or"))
    | real_reduction("sum")
    | takes("x: INDEX, axes", folding(Scalars.add, "0"))
    | takes("x: STORED, axes", reduced(qnn.SumOp)),
    "REDUCE_PROD": takes("x: BOOL, axes", folded_bits("and"))
    | real_reduction("product")
    | takes("x: INDEX, axes", folding(Scalars.multiply, "1"))
    | takes("x: INT8 | INT16, axes", import_product),
    "L2_NORMALIZATION": normalization("l2_normalize") | quantized(qnn.L2NormalizeOp),
    **{
        name: _comparison(predicate)
        for name, predicate in (
            ("EQUAL", "eq"),
            ("NOT_EQUAL", "ne"),
            ("LESS", "lt"),
            ("LESS_EQUAL", "le"),
            ("GREATER", "gt"),
            ("GREATER_EQUAL", "ge"),
        )
    },
}
