"""The values that a layer's accumulator can take, from its real weights and bias.

Each input element lies anywhere in its type's storage range, on its own. The bounds of
the sum are then the sums of the bounds, and both are reached: for a contraction

    min = bias + sum(min((x - zx) * (w - zw) for x in {x_min, x_max}))

for every output channel, and likewise the maximum. Where a window may hang over the
image, a tap may also contribute nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type, is_tensor_type

Integers = NDArray[np.int64]

_LOST_IN_PAIRS = 1 << 14
"""More than half of what a pair of products of bytes is beyond 16 bits."""


@dataclass(frozen=True)
class AccumulatorRange:
    """The smallest and largest accumulator, over all output channels."""

    minimum: int
    maximum: int

    @property
    def bits(self) -> int:
        """The width of the narrowest signed integer that holds every value."""
        extreme = max(self.maximum, ~self.minimum)
        return extreme.bit_length() + 1

    def __str__(self) -> str:
        return f"[{self.minimum}, {self.maximum}]"


def accumulator_range(
    op: Operation, start: Integers | None = None
) -> AccumulatorRange | None:
    """The range of a layer's exact accumulator, bias included.

    The sums of a contraction start from `start`, [channel] or one for all, by default
    from its integer bias. None for layers that don't sum, and where weights or bias
    aren't constant integers. Pools and means sum stored integers, contractions
    differences from the zero points.
    """
    match op:
        case qnn.Conv2DOp() | qnn.DepthwiseConv2DOp() | qnn.LinearOp():
            return _contraction(op, start)
        case qnn.MatMulOp():
            return _product(op)
        case qnn.AvgPool2DOp():
            partial = any(op.pad) and not op.count_include_pad
            taps = math.prod(op.kernel)
            return _sum(op.input, 1 if partial else taps, taps)
        case qnn.AdaptiveAvgPool2DOp():
            sizes = [[len(window) for window in axis] for axis in op.windows]
            return _sum(
                op.input, math.prod(map(min, sizes)), math.prod(map(max, sizes))
            )
        case qnn.MeanOp():
            shape = op.input.type.get_shape()
            count = math.prod(shape[axis] for axis in op.axes)
            return _sum(op.input, count, count)
        case _:
            return None


def _contraction(
    op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp, start: Integers | None
) -> AccumulatorRange | None:
    bounds = product_bounds(op)
    if start is None and op.bias is None:
        start = np.zeros((), np.int64)
    elif start is None and op.bias is not None and element_type(op.bias.type) != f32:
        start = constant_integers(op.bias)
    if bounds is None or start is None:
        return None
    least, most = bounds
    return AccumulatorRange(int((least + start).min()), int((most + start).max()))


def product_bounds(
    op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp,
) -> tuple[Integers, Integers] | None:
    """The smallest and the largest sum of products of each output channel, without
    bias; None if the weights aren't constant."""
    terms = product_terms(op)
    return terms and (terms[0].sum(axis=1), terms[1].sum(axis=1))


def sum_bounds(
    op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp, saturates: bool
) -> tuple[Integers, Integers]:
    """`product_bounds` with computed weights bounded by their type alone, and for sums
    of pairs that saturate; then not each bound is reached."""
    shape = op.weight.type.get_shape()
    axis = 3 if isinstance(op, qnn.DepthwiseConv2DOp) else 0
    taps = math.prod(shape) // shape[axis]
    type = _quantization(op.weight)
    ends = (
        type.storage_min - max(type.zero_points),
        type.storage_max - min(type.zero_points),
    )
    products = [
        x * w for x in _difference_bounds(_quantization(op.input)) for w in ends
    ]
    bounds = product_bounds(op) or tuple(
        np.full(shape[axis], taps * end)
        for end in (min(0, *products), max(0, *products))
    )
    slack = taps * _LOST_IN_PAIRS if saturates else 0
    return bounds[0] - slack, bounds[1] + slack


def product_terms(
    op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp, share: float = 1.0
) -> tuple[Integers, Integers] | None:
    """The smallest and the largest product of each weight, [channel, weight] in the
    order of memory; None if the weights aren't constant.

    Weights are rounded to a `share` of what they are beyond their zero point.
    """
    rows = centred_rows(op)
    if rows is None:
        return None
    if share != 1:
        rows = np.rint(rows * share).astype(np.int64)
    low, high = _difference_bounds(_quantization(op.input))
    products = np.stack([rows * low, rows * high])
    least, most = products.min(axis=0), products.max(axis=0)
    if not isinstance(op, qnn.LinearOp) and any(op.pad):
        least, most = np.minimum(least, 0), np.maximum(most, 0)
    return least, most


def centred_rows(
    op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp,
) -> Integers | None:
    """The weights without their zero points, [channel, weight] in the order of memory;
    None if they aren't constant."""
    weights = constant_integers(op.weight)
    if weights is None:
        return None
    weights = _without_zero_point(weights, _quantization(op.weight))
    axis = 3 if isinstance(op, qnn.DepthwiseConv2DOp) else 0
    return np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1)


def _product(op: qnn.MatMulOp) -> AccumulatorRange:
    depth = op.lhs.type.get_shape()[-1]
    products = [
        left * right
        for left in _difference_bounds(_quantization(op.lhs))
        for right in _difference_bounds(_quantization(op.rhs))
    ]
    return AccumulatorRange(depth * min(products), depth * max(products))


def _sum(input: SSAValue, fewest: int, most: int) -> AccumulatorRange:
    type = _quantization(input)
    return AccumulatorRange(
        min(type.storage_min * taps for taps in (fewest, most)),
        max(type.storage_max * taps for taps in (fewest, most)),
    )


def constant_integers(value: SSAValue) -> Integers | None:
    """The stored integers of a constant tensor, or None if it isn't constant."""
    match value.owner:
        case qnn.ConstantOp() as op:
            dense = op.value
            signed = _quantization(value).signed
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as dense):
            signed = True
        case _:
            return None
    size = dense.get_element_type().compile_time_size
    stored = np.frombuffer(dense.data.data, f"<{'i' if signed else 'u'}{size}")
    return stored.astype(np.int64).reshape(dense.get_shape())


def _without_zero_point(weights: Integers, type: QuantizedType) -> Integers:
    points = np.array(type.zero_points, np.int64)
    if type.axis is None:
        return weights - points[0]
    shape: Sequence[int] = [1] * weights.ndim
    shape[type.axis] = len(points)
    return weights - points.reshape(shape)


def _difference_bounds(type: QuantizedType) -> tuple[int, int]:
    """The bounds of stored - zero point."""
    return type.storage_min - type.zero_point, type.storage_max - type.zero_point


def _quantization(value: SSAValue) -> QuantizedType:
    element = element_type(value.type)
    assert isinstance(element, QuantizedType), "the verifier admits nothing else"
    return element


def tensor_shape(type: Attribute) -> tuple[int, ...]:
    """The shape of a tensor type; () for anything else."""
    return type.get_shape() if is_tensor_type(type) else ()
