"""TRANSPOSE_CONV, as a convolution that computes a block of the result at a pixel."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    TensorType,
)
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.files.arrays import Array
from qlower.model.nests import dense
from qlower.operators.transposed import (
    Axis,
    filters_of,
    image_movements,
    phase_weights,
)
from qlower.operators.windows import same_padding

from ...entry import takes
from ...graph.values import sliced
from ..context import OperatorContext
from ..types import PLAIN_TYPES
from ..weights import check_bias, check_weights
from ..window import MAX_STRIDE, SAME, VALID
from .hybrid import is_hybrid
from .real_images import convolve_blocks


def import_transpose_conv(op: OperatorContext) -> None:
    batch, height, width, depth = op.shape(2)
    filters, *kernel, weight_depth = op.shape(1)
    if weight_depth != depth:
        raise op.error(f"{weight_depth} channels of weights, expected {depth}")
    result = op.integers(0, "output shape", count=4)
    if result[0] != batch or result[3] != filters:
        raise op.error(f"output shape {result}, expected [{batch}, .., {filters}]")
    strides = [op.option(f"stride_{side}", 1, MAX_STRIDE) for side in "hw"]
    for stride, taps, size in zip(strides, kernel, result[1:3], strict=True):
        if stride > taps + size:
            raise op.error(
                f"a stride of {stride} for a result of {size};"
                f" expected at most {taps + size}"
            )
    pads = [0, 0]
    if op.option("padding", SAME, VALID) == SAME:
        pads = [
            same_padding(size, taps, stride)[0]
            for size, taps, stride in zip(result[1:3], kernel, strides, strict=True)
        ]
    rows, columns = (
        Axis(size, taps, stride, pad, wanted)
        for size, taps, stride, pad, wanted in zip(
            (height, width), kernel, strides, pads, result[1:3], strict=True
        )
    )
    blocks = _real_blocks if op.is_float(2) else _quantized_blocks
    if is_hybrid(op, 2):
        blocks = _hybrid_blocks
    value = blocks(op, rows, columns)
    type = op.result_type(result)
    split, turned, whole, cut = image_movements(shape_of(value), rows, columns)
    image = op.permuted(op.reshaped(value, split.shape), turned.order)
    if list(whole.shape) == result:
        op.finish(qnn.ReshapeOp(image, type))
        return
    image = op.reshaped(image, whole.shape)
    op.finish(sliced(image, cut))


def _quantized_blocks(op: OperatorContext, rows: Axis, columns: Axis) -> SSAValue:
    filters = op.shape(1)[0]
    element = check_weights(op, 1, 0, op.input(2).type)
    check_bias(op, 3, filters)
    phases = rows.stride * columns.stride
    missing = 0 if element.is_per_axis else element.zero_point
    weights = phase_weights(op.stored_array(1), missing, rows, columns)
    op.check_type(op.input(2), op.output().type)
    op.per_tensor(op.input(2))
    shape = (op.shape(2)[0], rows.positions, columns.positions, phases * filters)
    convolution = qnn.Conv2DOp(
        op.value(2),
        _constant(op, weights, element, phases),
        _repeated_bias(op, phases),
        TensorType(op.per_tensor(op.output()), shape),
        stride=(1, 1),
        pad=_padding(rows, columns),
        dilation=(1, 1),
        transposed=True,
        activation=op.activation(),
    )
    return op.emit(convolution, "blocks")


def _real_blocks(op: OperatorContext, rows: Axis, columns: Axis) -> SSAValue:
    for number in (1, 3):
        if op.has(number):
            op.check_type(op.input(number), "FLOAT32")
    weights = phase_weights(op.array(1), 0, rows, columns)
    bias = _tiled_bias(op, rows.stride * columns.stride)
    return convolve_blocks(op, filters_of(weights), bias, _padding(rows, columns))


def _hybrid_blocks(op: OperatorContext, rows: Axis, columns: Axis) -> SSAValue:
    phases = rows.stride * columns.stride
    scales = np.array(check_weights(op, 1, 0, "INT8").scales, np.float32)
    scales = np.tile(np.broadcast_to(scales, op.shape(1)[:1]), phases)
    if op.has(3):
        op.check_type(op.input(3), "FLOAT32")
    weights = filters_of(phase_weights(op.stored_array(1), 0, rows, columns))
    return convolve_blocks(
        op,
        weights.astype(np.float32),
        _tiled_bias(op, phases),
        _padding(rows, columns),
        scales,
    )


def _tiled_bias(op: OperatorContext, phases: int) -> Array | None:
    return np.tile(op.array(3).reshape(-1), phases) if op.has(3) else None


def _padding(rows: Axis, columns: Axis) -> tuple[int, int, int, int]:
    return (rows.before, rows.after, columns.before, columns.after)


def _constant(
    op: OperatorContext, weights: Array, element: QuantizedType, phases: int
) -> SSAValue:
    """Weights of one convolution, with the scales of the filters for each phase."""
    if element.is_per_axis:
        scales, zero_points = element.scales * phases, element.zero_points * phases
        element = QuantizedType.per_axis(8, True, 0, scales, zero_points)
    stored = filters_of(weights)
    type = TensorType(element, stored.shape)
    constant = qnn.ConstantOp(dense(stored, element.storage_type), type)
    return op.emit(constant, "weights")


def _repeated_bias(op: OperatorContext, phases: int) -> SSAValue | None:
    bias = _tiled_bias(op, phases)
    if bias is None:
        return None
    stored = dense(bias, PLAIN_TYPES[op.input(3).type])
    return op.emit(arith.ConstantOp(stored), "bias")


IMPORTERS = {
    "TRANSPOSE_CONV": takes("shape, weights[4], x[4], bias?", import_transpose_conv),
}
