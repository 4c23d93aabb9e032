"""Quantized operators that a contract's rule computes: functions of one value or two,
comparisons, sums and norms; on plain numbers the same in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.types import element_type
from qlower.model.nests import row_major_index

from ...scalars import PACKET, Scalars
from ..context import OperatorContext
from ..importer import Importer
from ..nests import finish_map, read
from .integers import cut_divide, integer_power
from .plain import (
    NUMBERS,
    REAL,
    Unary,
    bounded,
    c_function,
    check_type,
    comparison,
    fold,
    fold_bits,
    is_plain,
    map_one,
    map_two,
    reciprocal_root,
    reduced_shape,
    scalars,
    squared_difference,
)
from .real_norms import import_real_l2_normalization

WORDS = ("INT8", "INT16")

LARGEST_EXPONENT = float(1 << 31)
WHOLE_WITHIN = float(np.float32(1e-5))
"""How far from a whole number an exponent may be to be taken for it."""


def _function(
    name: str,
    real: Unary,
    plain: tuple[str, ...] = REAL,
    stored: tuple[str, ...] = ("INT8",),
) -> Callable[[OperatorContext], None]:
    """A function of quantized values, or of plain ones, of some types each."""

    def build(op: OperatorContext) -> None:
        if is_plain(op):
            check_type(op, plain)
            map_one(op, real)
            return
        _check_kernel(op, stored)
        type = op.quantized_result_type(op.shape(0))
        op.finish(qnn.FunctionOp(op.quantized(0), type, function=name))

    return build


def _check_kernel(op: OperatorContext, types: tuple[str, ...]) -> None:
    """Refuse a type that LiteRT has no kernel for."""
    tensor = op.input(0)
    if tensor.type not in types:
        raise op.error(
            f"{tensor}: LiteRT has no {op.operator.name} of {tensor.type}; expected"
            f" {' or '.join(types)}"
        )


def import_gelu(op: OperatorContext) -> None:
    if is_plain(op):
        check_type(op, REAL)
        _import_real_gelu(op)
        return
    _check_kernel(op, ("INT8", "UINT8", "INT16"))
    name = "gelu_tanh" if op.flag("approximate") else "gelu"
    type = op.quantized_result_type(op.shape(0))
    op.finish(qnn.FunctionOp(op.quantized(0), type, function=name))


def _import_real_gelu(op: OperatorContext) -> None:
    if op.flag("approximate"):
        map_one(op, lambda steps, x: steps.eigen("gelu_by_tanh", x))
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


def import_squared_difference(op: OperatorContext) -> None:
    if is_plain(op):
        map_two(op, squared_difference, NUMBERS)
        return
    _check_kernel(op, ("INT8",))
    type = op.quantized_result_type(op.broadcast_shape(0, 1))
    op.finish(qnn.SquaredDifferenceOp(op.quantized(0), op.quantized(1), type))


def import_div(op: OperatorContext) -> None:
    if is_plain(op):
        is_integer = op.input(0).type == "INT32"
        divide = cut_divide if is_integer else Scalars.divide
        map_two(op, divide, ("FLOAT32", "INT32"))
        return
    type = op.quantized_result_type(op.broadcast_shape(0, 1))
    lhs, rhs = op.quantized(0), op.quantized(1)
    op.finish(qnn.DivOp(lhs, rhs, type, activation=op.activation()))


def import_prelu(op: OperatorContext) -> None:
    if is_plain(op):
        map_two(op, _prelu, ("FLOAT32",))
        return
    if op.input(0).type == "INT16":
        raise op.error(
            f"{op.input(0)}: PRELU of INT16 is not supported, of which LiteRT takes the"
            " bytes for elements; expected INT8 or UINT8"
        )
    type = op.quantized_result_type(op.broadcast_shape(0, 1))
    op.finish(qnn.PReluOp(op.quantized(0), op.quantized(1), type))


def _prelu(steps: Scalars, x: SSAValue, alpha: SSAValue) -> SSAValue:
    positive = steps.compare("ge", x, steps.constant(0.0, x.type))
    return steps.select(positive, x, steps.multiply(x, alpha))


def import_power(op: OperatorContext) -> None:
    """powf; by one whole exponent from 1 on, products (optimized_ops.h, BroadcastPow4D
    and IntegerExponentPow, which are the reference's, too)."""
    whole, types = _whole_exponent(op), ("FLOAT32", "INT32")
    if whole is None:
        map_two(op, _real_power if op.is_float(0) else integer_power, types)
    else:
        map_two(op, lambda steps, x, _: _product(steps, x, whole), types)


def _real_power(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    return steps.c("powf", x, y)


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


def _comparison(predicate: str) -> Callable[[OperatorContext], None]:
    def build(op: OperatorContext) -> None:
        if is_plain(op):
            map_two(op, comparison(predicate), (*NUMBERS, "BOOL"))
            return
        if op.input(0).type == "INT16":  # the kernel doesn't look at scales
            map_two(op, comparison(predicate), ("INT16",))
            return
        for number in (0, 1):
            op.per_tensor(op.input(number))
        op.check_type(op.input(1), op.input(0).type)
        type = op.result_type(op.broadcast_shape(0, 1))
        lhs, rhs = op.value(0), op.value(1)
        op.finish(qnn.CompareOp(lhs, rhs, type, predicate=predicate))

    return build


def import_sum(op: OperatorContext) -> None:
    if op.input(0).type == "BOOL":
        fold_bits(op, "or")
        return
    if is_plain(op):
        fold(op, Scalars.add, "0")
        return
    axes, shape = reduced_shape(op)
    type = op.quantized_result_type(shape)
    op.finish(
        qnn.SumOp(op.quantized(0), type, axes=axes, keep_dims=op.flag("keep_dims"))
    )


def import_product(op: OperatorContext) -> None:
    if op.input(0).type == "BOOL":
        fold_bits(op, "and")
        return
    if is_plain(op):
        fold(op, Scalars.multiply, "1")
        return
    _check_kernel(op, WORDS)
    axes, shape = reduced_shape(op)
    type = op.quantized_result_type(shape)
    value, keep_dims = op.quantized(0), op.flag("keep_dims")
    if not axes:  # products of one number each, along a dimension of their own
        axes, keep_dims = [len(shape)], False
        column = TensorType(element_type(value.type), (*shape, 1))
        value = op.emit(qnn.ReshapeOp(value, column), "reshape")
    op.finish(qnn.ProductOp(value, type, axes=axes, keep_dims=keep_dims))


def import_l2_normalization(op: OperatorContext) -> None:
    if is_plain(op):
        check_type(op, REAL)
        import_real_l2_normalization(op)
        return
    type = op.quantized_result_type(op.shape(0))
    op.finish(qnn.L2NormalizeOp(op.quantized(0), type))


IMPORTERS = {
    "ABS": Importer(
        _function("abs", Scalars.absolute, ("FLOAT32", "INT32"), WORDS), (1, 1)
    ),
    "RSQRT": Importer(_function("rsqrt", reciprocal_root, stored=WORDS), (1, 1)),
    "SQRT": Importer(_function("sqrt", Scalars.sqrt, stored=WORDS), (1, 1)),
    "EXP": Importer(_function("exp", c_function("expf"), stored=WORDS), (1, 1)),
    "LOG": Importer(_function("log", c_function("logf"), stored=WORDS), (1, 1)),
    "GELU": Importer(import_gelu, (1, 1), "GeluOptions"),
    "SQUARED_DIFFERENCE": Importer(import_squared_difference, (2, 2)),
    "DIV": Importer(import_div, (2, 2), "DivOptions"),
    "PRELU": Importer(import_prelu, (2, 2)),
    "POW": Importer(import_power, (2, 2)),
    "SUM": Importer(import_sum, (2, 2), "ReducerOptions"),
    "REDUCE_PROD": Importer(import_product, (2, 2), "ReducerOptions"),
    "L2_NORMALIZATION": Importer(import_l2_normalization, (1, 1), "L2NormOptions"),
    **{
        name: Importer(_comparison(predicate), (2, 2))
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
