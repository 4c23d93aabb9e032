"""Layers of float32 with weights of 8 bits, as dynamic-range quantization writes them.

LiteRT quantizes the operand when the layer runs, each row or image by its own range,
and sums integers. The zero point is taken off the sums, exactly:
`sum((x - z) w) = sum(x w) - z sum(w)`. Ranges of real values below 1e-36, whose scale
has no reciprocal in float32, are not reproduced. Nor are sums of weights that wrap in
LiteRT's eight lanes of 16 bits, as those of 2,065 times 127.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, TensorType, f32, f64, i8, i32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.fixed import ConvertOp, RoundingMode, SaturateOp
from qlower.dialects.qnn.constraints import NARROW
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.files.arrays import Array
from qlower.model.nests import dense

from ...scalars import Scalars
from ..context import OperatorContext
from ..nests import finish, start
from ..types import MAX_RANK
from ..weights import check_weights
from ..window import read_window
from .real import finish_layer, padded, reshaped

CODES = QuantizedType.per_tensor(8, True, 1.0, 0)
"""What stored integers of a scale of their own are read as."""

NARROW_CODES = QuantizedType.per_tensor(NARROW, True, 1.0, 0)
"""What stored weights of 4 bits with a scale of their own are read as."""


def is_hybrid(op: OperatorContext, operand: int = 0) -> bool:
    """Whether the operand is float32 and the weights are of 8 bits."""
    return op.is_float(operand) and op.input(1).type == "INT8"


@dataclass(frozen=True, slots=True)
class Codes:
    """An operand [rows, ...] as stored integers, with a scale [rows] and, where it
    isn't symmetric, a zero point [rows] that run time finds."""

    stored: SSAValue
    scale: SSAValue
    zero_point: SSAValue | None


def import_hybrid_conv2d(op: OperatorContext) -> None:
    """Weights with one scale meet a symmetric operand, others a zero point."""
    batch, height, width, channels = op.shape(0, rank=4)
    filters, *kernel, depth = op.shape(1, rank=4)
    window = read_window(op, (height, width), (kernel[0], kernel[1]))
    scales = _weight_scales(op, 0)
    per_filter = scales.size > 1
    codes = quantize_rows(op, op.value(0), padded(op, window), symmetric=not per_filter)
    sums = qnn.Conv2DOp(
        codes.stored,
        _stored_weights(op),
        None,
        TensorType(i32, (batch, *window.size, filters)),
        stride=window.stride,
        dilation=window.dilation,
        groups=max(channels // depth, 1),
    )
    totals = _weights(op).sum(axis=(1, 2, 3))
    _scale(op, op.emit(sums, "sums"), codes, totals, scales, weights_first=per_filter)


def import_hybrid_depthwise(op: OperatorContext) -> None:
    batch, height, width, _ = op.shape(0, rank=4)
    _, *kernel, filters = op.shape(1, rank=4)
    window = read_window(op, (height, width), (kernel[0], kernel[1]))
    scales = _weight_scales(op, 3)
    codes = quantize_rows(op, op.value(0), padded(op, window), symmetric=False)
    sums = qnn.DepthwiseConv2DOp(
        codes.stored,
        _stored_weights(op),
        None,
        TensorType(i32, (batch, *window.size, filters)),
        stride=window.stride,
        dilation=window.dilation,
    )
    totals = _weights(op).sum(axis=(0, 1, 2))
    _scale(op, op.emit(sums, "sums"), codes, totals, scales)


def import_hybrid_fully_connected(op: OperatorContext, shape: Sequence[int]) -> None:
    """The options say whether the operand is symmetric."""
    units, depth = op.shape(1, rank=2)
    rows = math.prod(op.shape(0)) // depth
    scales = _weight_scales(op, 0)
    matrix = reshaped(op, op.value(0), (rows, depth))
    symmetric = not op.flag("asymmetric_quantize_inputs")
    codes = quantize_rows(op, matrix, matrix, symmetric=symmetric)
    sums = qnn.LinearOp(
        codes.stored, _stored_weights(op), None, TensorType(i32, (rows, units))
    )
    totals = _weights(op).sum(axis=1)
    _scale(op, op.emit(sums, "sums"), codes, totals, scales, shape)


def import_hybrid_matmul(op: OperatorContext, lhs: SSAValue) -> None:
    """Products with one constant matrix, which has one scale; the options say whether
    the operand is symmetric (batch_matmul.cc, EvalHybrid)."""
    check_weights(op, 1, 0, "INT8")
    weight = op.per_tensor(op.input(1)).scale
    op.check_range("number of dimensions", len(op.shape(1)), 2, MAX_RANK)
    *batch, depth, units = op.shape(1)
    op.check_range(f"{op.input(1)}: number of matrices", math.prod(batch), 1, 1)
    weights = op.stored_array(1).reshape(depth, units)
    if op.flag("adj_y"):
        depth, units = units, depth
    else:
        weights = np.ascontiguousarray(weights.T)
    *outer, last = shape_of(lhs)
    op.check_range(f"columns of {op.input(0)}", last, depth, depth)
    rows = math.prod(outer)
    matrix = reshaped(op, lhs, (rows, depth))
    symmetric = not op.flag("asymmetric_quantize_inputs")
    codes = quantize_rows(op, matrix, matrix, symmetric=symmetric)
    constant = qnn.ConstantOp(dense(weights, i8), TensorType(CODES, weights.shape))
    stored = op.emit(constant, "weights")
    product = qnn.LinearOp(codes.stored, stored, None, TensorType(i32, (rows, units)))
    steps = Scalars(start(op, (rows, units)))
    real, scale, factor = unscaled(
        steps,
        op.emit(product, "sums"),
        codes,
        weights.sum(axis=1, dtype=np.int32),
        np.array([weight], np.float32),
    )
    real = steps.multiply(real, steps.multiply(scale, factor))
    ones = (1,) * (len(batch) + 1 - len(outer))
    shape = (*ones, *outer, units)
    finish(op, reshaped(op, steps.nest.build([real])[0], shape))


def _weight_scales(op: OperatorContext, axis: int) -> Array:
    """The scales of constant symmetric weights. A bias of -0 is refused: LiteRT keeps
    it where the whole operand is 0, and only there."""
    element = check_weights(op, 1, axis, "INT8")
    if op.has(2):
        op.check_type(op.input(2), "FLOAT32")
        bias = op.array(2)
        if (np.signbit(bias) & (bias == 0)).any():
            raise op.error(f"{op.input(2)}: a bias of -0 is not supported; expected 0")
    return np.array(element.scales, np.float32)


def _weights(op: OperatorContext) -> Array:
    return op.stored_array(1).astype(np.int32)


def _stored_weights(op: OperatorContext) -> SSAValue:
    codes = NARROW_CODES if op.input(1).is_narrow else CODES
    return op.graph.value(op.input(1), TensorType(codes, op.shape(1)), op)


def quantize_rows(
    op: OperatorContext, values: SSAValue, image: SSAValue, *, symmetric: bool
) -> Codes:
    """`image` by the ranges of `values`, of the same rows without padding."""
    stored, scales, points = _quantize(op, values, image, symmetric=symmetric)
    codes = op.as_stored(stored, TensorType(CODES, shape_of(image)))
    return Codes(codes, scales, None if symmetric else points)


def centred_rows(
    op: OperatorContext, values: SSAValue, image: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """As `quantize_rows`, not symmetric: `q - z` as float32, and the scales [rows]."""
    stored, scales, points = _quantize(op, values, image, symmetric=False)
    steps = Scalars(start(op, shape_of(image)))
    code = steps.cast(steps.nest.input(stored, range(len(shape_of(image)))), i32)
    centred = steps.subtract(code, steps.nest.input(points, [0]))
    return steps.nest.build([steps.cast(centred, f32)])[0], scales


def _quantize(
    op: OperatorContext, values: SSAValue, image: SSAValue, *, symmetric: bool
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Codes, scales [rows] and zero points [rows].

    PortableSymmetricQuantizeFloats, `q = round(x F(127 / max|x|))`, and
    PortableAsymmetricQuantizeFloats, `q = z + round(F(x F(1 / s)))` with
    `s = F(F(max - min) / 255)`; halves away from 0.
    """
    low = _extreme(op, values, arith.MinimumfOp)
    high = _extreme(op, values, arith.MaximumfOp)
    (rows,) = shape_of(low)
    steps = Scalars(start(op, (rows,)))
    least, most = (steps.nest.input(end, [0]) for end in (low, high))
    is_zero = steps.compare("eq", least, most)
    if symmetric:
        limit, point = steps.constant(127.0, f32), steps.constant(0, i32)
        largest = steps.larger(steps.negate(least), most)
        largest = steps.select(is_zero, limit, largest)
        scale, inverse = steps.divide(largest, limit), steps.divide(limit, largest)
    else:
        full = steps.constant(255.0, f32)
        distance = steps.select(is_zero, full, steps.subtract(most, least))
        scale = steps.divide(distance, full)
        inverse = steps.divide(steps.constant(1.0, f32), scale)
        point = _zero_point(steps, least, most, distance)
    scales, inverses, points = steps.nest.build([scale, inverse, point])

    shape = shape_of(image)
    nest = start(op, shape)
    steps = Scalars(nest)
    real, inverse = nest.input(image, range(len(shape))), nest.input(inverses, [0])
    whole = _nearest(steps, steps.multiply(real, inverse), i32)
    if not symmetric:
        whole = steps.add(nest.input(points, [0]), whole)
    (stored,) = nest.build([steps.step(SaturateOp(whole, i8))])
    return stored, scales, points


def _zero_point(
    steps: Scalars, least: SSAValue, most: SSAValue, distance: SSAValue
) -> SSAValue:
    """The end of the range from which it is reckoned with the smaller error."""
    step = steps.divide(steps.cast(distance, f64), steps.constant(255.0, f64))
    from_ends: list[tuple[SSAValue, SSAValue]] = []
    for end, limit in ((least, -128.0), (most, 127.0)):
        codes = steps.divide(steps.cast(end, f64), step)
        point = steps.subtract(steps.constant(limit, f64), codes)
        size = steps.constant(abs(limit), f64)
        from_ends.append((point, steps.add(size, steps.absolute(codes))))
    (from_least, error), (from_most, other) = from_ends
    point = steps.select(steps.compare("lt", error, other), from_least, from_most)
    return steps.cast(_nearest(steps, point, i8), i32)


def _nearest(steps: Scalars, real: SSAValue, type: IntegerType) -> SSAValue:
    return steps.step(ConvertOp(real, type, RoundingMode.HALF_AWAY))


def _extreme(
    op: OperatorContext,
    values: SSAValue,
    further: type[arith.MinimumfOp | arith.MaximumfOp],
) -> SSAValue:
    """The end of each row's range, or 0: of the columns of images, then of all."""
    shape = shape_of(values)
    inner = range(1, max(len(shape) - 1, 2))
    order = [*(dim for dim in range(len(shape)) if dim not in inner), *inner]
    nest = start(op, [shape[dim] for dim in order], reductions=len(inner))
    value = nest.input(values, [order.index(dim) for dim in range(len(shape))])
    init = nest.emitter.filled(nest.output_shape, f32, 0.0)
    (folded,) = nest.reduce(
        [init], lambda before: [nest.add(further(before[0], value)).result]
    )
    return folded if len(shape) == 2 else _extreme(op, folded, further)


def _scale(
    op: OperatorContext,
    sums: SSAValue,
    codes: Codes,
    totals: Array,
    scales: Array,
    shape: Sequence[int] | None = None,
    *,
    weights_first: bool = False,
) -> None:
    """Sums of integers as real numbers; `totals` are the sums of each filter's weights.

    `F(F(a) F(s w))`, or with `weights_first` `F(F(F(a) w) s)`.
    """
    bounds = shape_of(sums)
    steps = Scalars(start(op, bounds))
    real, scale, weight = unscaled(steps, sums, codes, totals, scales)
    if weights_first:
        real = steps.multiply(steps.multiply(real, weight), scale)
    else:
        real = steps.multiply(real, steps.multiply(scale, weight))
    finish_layer(op, steps, real, shape or bounds)


def unscaled(
    steps: Scalars, sums: SSAValue, codes: Codes, totals: Array, scales: Array
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Sums of integers [rows, ..., filters] without the zero point, in a nest over
    them, and the two scales by which they are real numbers."""
    nest = steps.nest
    total: SSAValue = nest.input(sums, range(nest.parallel))
    if codes.zero_point is not None:
        excess = steps.multiply(
            nest.input(codes.zero_point, [0]), nest.constant(totals, i32)
        )
        total = steps.subtract(total, excess)
    scale, weight = nest.input(codes.scale, [0]), nest.constant(scales, f32)
    return steps.cast(total, f32), scale, weight
