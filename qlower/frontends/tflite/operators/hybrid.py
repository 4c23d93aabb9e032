"""Layers of float32 with weights of 8 bits, as dynamic-range quantization writes them.

LiteRT quantizes the operand when the layer runs, each row or image by its own range,
and sums integers. Sums of weights that wrap in LiteRT's eight lanes of 16 bits, as
those of 2,065 times 127, are not reproduced.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i8
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function, call_results
from qlower.emit.movement import concatenated
from qlower.emit.reductions import ranges_of_rows
from qlower.files.arrays import Array
from qlower.model.nests import dense
from qlower.operators.movement import Concatenate

from ...scalars import Scalars
from ..context import OperatorContext
from ..nests import emitter, finish, start, take
from ..types import MAX_RANK, Element
from ..weights import check_weights, read_real_bias

MOST_MATRICES = 64
"""The most constant matrices of a BATCH_MATMUL; each becomes a layer."""


def is_hybrid(op: OperatorContext, operand: int = 0) -> bool:
    """Whether the operand is float32 and the weights are of 8 bits."""
    return op.is_float(operand) and op.input(1).type == "INT8"


def import_hybrid_fully_connected(op: OperatorContext, shape: Sequence[int]) -> None:
    """The options say whether the operand is symmetric."""
    units, depth = op.shape(1, rank=2)
    rows = math.prod(op.shape(0)) // depth
    layer = qnn.HybridLinearOp(
        op.reshaped(op.value(0), (rows, depth)),
        hybrid_weights(op, 0),
        read_real_bias(op, 2, units),
        _result_type(op, (rows, units)),
        activation=op.activation(),
    )
    _finish_rows(op, layer, shape)


def import_hybrid_matmul(op: OperatorContext, lhs: SSAValue) -> None:
    """Products with constant matrices: one for all rows, or one for each matrix of the
    operand. They have one scale or one a column of the result; the options say whether
    the operand is symmetric (batch_matmul.cc, EvalHybrid)."""
    op.check_range("number of dimensions", len(op.shape(1)), 2, MAX_RANK)
    *batch, depth, units = op.shape(1)
    columns = len(batch) + (0 if op.flag("adj_y") else 1)
    element = check_weights(op, 1, columns, "INT8")
    if element.is_per_axis:
        element = QuantizedType.per_axis(
            8, True, 0, element.scales, element.zero_points
        )
    matrices = op.stored_array(1).reshape(-1, depth, units)
    if op.flag("adj_y"):
        depth, units = units, depth
    else:
        matrices = np.ascontiguousarray(matrices.transpose(0, 2, 1))
    *outer, last = shape_of(lhs)
    op.check_range(f"columns of {op.input(0)}", last, depth, depth)
    count, rows = len(matrices), math.prod(outer)
    op.check_range(f"{op.input(1)}: number of matrices", count, 1, MOST_MATRICES)
    if count > 1 and (outer[:-1] != batch or max(batch) != count):
        raise op.error(
            f"{count} matrices of INT8 in a batch of shape {batch} by those of"
            f" FLOAT32 in one of shape {outer[:-1]} are not supported; expected equal"
            " shapes with one size above 1"
        )

    def product(given: SSAValue, matrix: Array) -> qnn.HybridLinearOp:
        constant = qnn.ConstantOp(dense(matrix, i8), TensorType(element, matrix.shape))
        weights = op.emit(constant, "weights")
        type = TensorType(f32, (shape_of(given)[0], units))
        return qnn.HybridLinearOp(given, weights, None, type)

    together = op.reshaped(lhs, (rows, depth))
    if count == 1:
        ones = (1,) * (len(batch) + 1 - len(outer))
        _finish_rows(op, product(together, matrices[0]), (*ones, *outer, units))
        return
    each = rows // count
    is_symmetric = not op.flag("asymmetric_quantize_inputs")
    parts: list[SSAValue] = []
    for number, matrix in enumerate(matrices):
        places = range(number * each, (number + 1) * each)
        layer = product(take(op, together, [places, range(depth)]), matrix)
        parts.append(op.emit(by_litert(layer, is_symmetric=is_symmetric), "rows"))
    products = concatenated(emitter(op), Concatenate(0), (rows, units), f32, parts)
    finish(op, op.reshaped(products, (*outer, units)))


def by_litert(layer: qnn.HybridOp, *, is_symmetric: bool) -> qnn.HybridOp:
    """A layer that has LiteRT's arithmetic unless a contract has its own."""
    layer.fallback = "tflite"
    layer.symmetric = is_symmetric
    return layer


def _finish_rows(
    op: OperatorContext, layer: qnn.HybridLinearOp, shape: Sequence[int]
) -> None:
    """Finish a layer of rows whose result has this shape."""
    is_symmetric = not op.flag("asymmetric_quantize_inputs")
    by_litert(layer, is_symmetric=is_symmetric)
    if shape_of(layer.result) == tuple(shape):
        op.finish(layer)
        return
    rows = op.emit(layer, "rows")
    op.finish(qnn.ReshapeOp(rows, op.result_type(shape)))


def _result_type(op: OperatorContext, shape: Sequence[int]) -> TensorType[Element]:
    op.check_type(op.output(), "FLOAT32")
    return TensorType(f32, shape)


def hybrid_weights(op: OperatorContext, axis: int) -> SSAValue:
    """Constant symmetric weights. A bias of -0 is refused: LiteRT keeps it where the
    whole operand is 0, and only there."""
    check_weights(op, 1, axis, "INT8")
    if op.has(2):
        op.check_type(op.input(2), "FLOAT32")
        bias = op.array(2)
        if (np.signbit(bias) & (bias == 0)).any():
            raise op.error(f"{op.input(2)}: a bias of -0 is not supported; expected 0")
    op.stored_array(1)
    return op.value(1)


def centred_rows(op: OperatorContext, values: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The codes of an image's numbers less their zero point, as float32, and the scales
    [rows]: as of a layer that isn't symmetric."""
    ends = ranges_of_rows(emitter(op), values)
    nest = start(op, shape_of(ends[0]))
    each = [nest.input(end, [0]) for end in ends]
    range_of = call_results(nest, "tflite", "hybrid_range", *each)
    scales, factors, points = nest.build(range_of)
    steps = Scalars(start(op, shape_of(values)))
    nest = steps.nest
    x = nest.input(values, range(nest.parallel))
    factor, point = (nest.input(each, [0]) for each in (factors, points))
    code = call_function(nest, "tflite", "hybrid_code", x, factor, point)
    centred = steps.cast(steps.subtract(code, point), f32)
    return nest.build([centred])[0], scales
