"""Pools and means, of quantized values and of float32 numbers.

Means of float32 are added as ATen adds them, sums of other pools in raster order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from xdsl.dialects.builtin import TensorType, f32

from qlower.dialects import qnn
from qlower.model.windows import padded_image
from qlower.operators.windows import Window, WindowAxis

from ...entry import quantized, takes
from ...graph.context import NodeContext
from ...graph.operators.pooling import average_of_stored
from ...graph.operators.real import real_operand
from ...graph.operators.real_pools import pool_of, read_pool
from ...graph.orders import Order, identity, stored_shape
from ...graph.values import Value, real_value, slice_of
from ...graph.window import as_image, define_image, from_image
from ..translating import TORCH
from .contraction import CONTRACT


def import_average_pool(node: NodeContext) -> None:
    """`F(sum / count)` of float32."""
    image = as_image(node, real_operand(node, 0), False)
    image, window, includes = _within_padding(node, image)
    pool = pool_of(image, window, "average_pool", CONTRACT)
    pool.count_include_pad = includes
    from_image(node, pool, replace(image, is_real=True), False)


def import_quantized_average_pool(node: NodeContext) -> None:
    """The mean of stored integers; qnnpack leaves pools with `ceil_mode` to ATen's
    kernel, which is fbgemm's (aten/src/ATen/native/quantized/cpu/AveragePool2d.cpp)."""
    image = as_image(node, node.stored(0, 1, 2), False)
    image, window, includes = _within_padding(node, image)
    leaves = node.flag("is_qnnpack", False) and node.flag("ceil_mode", False)
    contract = "pytorch-fbgemm" if leaves else None
    pool = average_of_stored(node, image, window, includes, contract)
    from_image(node, pool, image, False)


def _within_padding(node: NodeContext, image: Value) -> tuple[Value, Window, bool]:
    """The image and window of an average, and whether padding counts.

    The padding that was asked for does unless `count_include_pad` is 0, and what lies
    beyond it, where `ceil_mode` adds a window, doesn't: then that padding becomes part
    of the image.
    """
    window = read_pool(node, image)
    pads = node.integer_list("pads", None, 0)
    *_, bottom, right = [0, *pads[len(pads) // 2 :]]
    top, below, left, behind = window.pad
    includes = node.flag("count_include_pad", True)
    if not includes or (bottom, right) == (below, behind):
        return image, window, includes
    padded = padded_image(image.ssa, (top, bottom, left, right))
    image = replace(image, ssa=node.emit(padded, "padded"))
    inside = [
        replace(axis, size=size, before=0, after=axis.after - asked)
        for axis, size, asked in zip(
            window.axes, image.type.get_shape()[1:3], (bottom, right), strict=True
        )
    ]
    return image, Window(tuple(inside)), False


def import_adaptive_pool(node: NodeContext) -> None:
    """A mean of everything, or of windows that cover the image."""
    shape = node.shape(0)
    spatial = shape[2:]
    sizes = node.integer_list("sizes", None, 1)
    if len(sizes) == 1:
        sizes *= len(spatial)
    if len(sizes) != len(spatial):
        raise node.error(f"output_size {sizes} for an input of shape {list(shape)}")
    if all(size == 1 for size in sizes):
        _mean(node, range(2, len(shape)), keeps=True)
        return
    image = as_image(node, real_operand(node, 0), False)
    batch, height, width, channels = image.type.get_shape()
    rows, columns = (1, *sizes)[-2:]
    runs = [
        (row, column) for row in _runs(height, rows) for column in _runs(width, columns)
    ]
    if len(runs) == 1:
        from_image(node, _pool(image, *runs[0]), replace(image, is_real=True), False)
        return
    emit = node.builder.emitter(node.place(), "windows")
    whole = emit.filled((batch, rows, columns, channels), f32, 0)
    for row, column in runs:
        taken = [range(batch), row.taken, column.taken, range(channels)]
        name = f"{row.at}_{column.at}"
        part = node.emit(slice_of(image.ssa, taken), f"part_{name}")
        pool = node.emit(_pool(replace(image, ssa=part), row, column), f"pool_{name}")
        whole = emit.inserted(pool, whole, (0, row.at, column.at, 0))
    define_image(node, whole, replace(image, is_real=True), False)


def _pool(image: Value, *runs: _Run) -> qnn.RealPool2DOp:
    axes = [WindowAxis(len(run.taken), run.kernel, run.stride) for run in runs]
    return pool_of(image, Window(tuple(axes)), "average_pool", CONTRACT)


@dataclass(frozen=True)
class _Run:
    """Neighbouring results from `at` on, whose windows have one size and distance, of
    the elements `taken`."""

    at: int
    taken: range
    kernel: int
    stride: int


def _runs(extent: int, size: int) -> list[_Run]:
    """The windows of an adaptive pool along a dimension, as few runs.

    Result i is that of the elements from i extent / size, rounded down, to the one
    before (i + 1) extent / size, rounded up (aten/src/ATen/native/AdaptivePooling.h).
    """
    windows = [
        range(at * extent // size, -(-(at + 1) * extent // size)) for at in range(size)
    ]
    found: list[_Run] = []
    for at, window in enumerate(windows):
        if found:
            last = found[-1]
            stride = window.start - windows[at - 1].start
            is_first = at == last.at + 1
            is_like = is_first or stride == last.stride
            if len(window) == last.kernel and stride and is_like:
                taken = range(last.taken.start, window.stop)
                found[-1] = replace(last, taken=taken, stride=stride)
                continue
        found.append(_Run(at, window, len(window), 1))
    return found


def import_mean(node: NodeContext, function: str = "mean") -> None:
    """The mean along dimensions, of all by default, or their sum."""
    axes, keeps = _reduced(node)
    _mean(node, axes, keeps=keeps, function=function)


def import_delegated_mean(node: NodeContext) -> None:
    """A mean of stored integers where XNNPACK has one, of images whose dimensions stay.

    ExecuTorch dequantizes for all others, and quantizes the mean
    (backends/xnnpack/partition/config/generic_node_configs.py, MeanDimConfig).
    """
    axes, keeps = _reduced(node)
    if keeps and len(node.shape(0)) == 4 and set(axes) == {2, 3}:
        _quantized_mean(node, axes, keeps=keeps)
        return
    value = replace(node.stored(0, 1, 2), is_real=True)
    real = node.builder.dequantized(value, node.place(node.name(0)))
    mean = _real_mean(node, real, axes, keeps=keeps)
    type = node.typed(node.quantization(3, 4), mean.shape, mean.order)
    node.finish(qnn.QuantizeOp(mean.ssa, type), mean)


def _reduced(node: NodeContext) -> tuple[Sequence[int], bool]:
    """The dimensions of a mean, and whether they stay, with size 1."""
    rank = len(node.shape(0))
    given = node.integer_list("axes", None)
    axes = [node.axis(axis, rank, "dim") for axis in given]
    return axes or range(rank), node.flag("keepdims", False)


def _mean(
    node: NodeContext, axes: Sequence[int], *, keeps: bool, function: str = "mean"
) -> None:
    """The mean of stored integers if the node has a quantization of its result, else
    of float32."""
    if node.has(1):
        _quantized_mean(node, axes, keeps=keeps)
        return
    value = real_operand(node, 0)
    node.define(_real_mean(node, value, axes, keeps=keeps, function=function))


def _real_mean(
    node: NodeContext,
    value: Value,
    axes: Sequence[int],
    *,
    keeps: bool,
    function: str = "mean",
) -> Value:
    """`F(sum / count)` of float32, or its sum."""
    reduced = [place for place, d in enumerate(value.order) if d in axes]
    start, end = reduced[0], reduced[-1] + 1
    if len(reduced) < end - start:
        kept = [d for d in value.order if d not in axes]
        order = (*kept, *(d for d in value.order if d in axes))
        value = node.in_order(value, order)
        start, end = len(kept), len(order)
    sizes = stored_shape(value.shape, value.order)
    batch, count, columns = (
        math.prod(part) for part in (sizes[:start], sizes[start:end], sizes[end:])
    )
    is_inner = columns == 1
    shape = (batch, count) if is_inner else (batch, count, columns)
    stored = replace(value, order=identity(len(sizes)))
    matrix = node.reshaped(stored, shape)
    type = TensorType(f32, (batch,) if is_inner else (batch, columns))
    reduction = qnn.RealReduceOp(
        matrix.ssa, type, function=function, axes=[1], fallback=CONTRACT
    )
    means = node.emit(reduction, "mean")
    ones = [1 if d in axes else size for d, size in enumerate(value.shape)]
    mean = node.reshaped(real_value(means), ones, value.order)
    return _without(node, mean, axes, keeps=keeps)


def _quantized_mean(node: NodeContext, axes: Sequence[int], *, keeps: bool) -> None:
    value = node.stored(0, 1, 2)
    sizes = [1 if d in axes else size for d, size in enumerate(value.shape)]
    operation = qnn.MeanOp(
        value.ssa,
        node.typed(node.quantization(3, 4), sizes, value.order),
        axes=sorted(value.order.index(axis) for axis in axes),
        keep_dims=True,
    )
    mean = Value(node.emit(operation, None if keeps else "mean"), value.order)
    node.define(_without(node, mean, axes, keeps=keeps))


def _without(
    node: NodeContext, mean: Value, axes: Sequence[int], *, keeps: bool
) -> Value:
    """A mean whose reduced dimensions have size 1, or without them."""
    if keeps:
        return mean
    kept = [d for d in mean.order if d not in axes]
    shape = [size for d, size in enumerate(mean.shape) if d not in axes]
    order: Order = tuple(sum(other < d for other in kept) for d in kept)
    return node.reshaped(mean, shape, order)


MAYBE_QUANTIZED = "x, x_scale?, x_zero_point?, scale?, zero_point?"

IMPORTERS = {
    (TORCH, "AveragePool"): takes("x", import_average_pool),
    (TORCH, "QuantizedAveragePool"): takes(
        f"{quantized('x')}, scale, zero_point", import_quantized_average_pool
    ),
    (TORCH, "AdaptiveAveragePool"): takes(MAYBE_QUANTIZED, import_adaptive_pool),
    (TORCH, "Mean"): takes(MAYBE_QUANTIZED, import_mean),
    (TORCH, "DelegatedMean"): takes(
        "x, x_scale, x_zero_point, scale, zero_point", import_delegated_mean
    ),
    (TORCH, "Sum"): takes("x", partial(import_mean, function="sum")),
}
