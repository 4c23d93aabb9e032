"""Operators of PyTorch's quantized engines that are no one else's."""

from __future__ import annotations

import math
from collections.abc import Mapping

from xdsl.dialects.builtin import f32

from qlower.dialects import qnn

from ..entry import Entry, quantized, takes
from ..graph.context import NodeContext
from ..graph.operators.activation import function
from ..graph.operators.real import body_of, elementwise
from ..graph.orders import identity, stored_shape
from ..graph.window import as_image, from_image
from ..pt2.operators import IMPORTERS as PT2
from ..pt2.operators.real import hard_sigmoid
from ..pt2.translating import TORCH
from .norms import import_batch_norm, import_norm


def import_bounds(node: NodeContext) -> None:
    """A RELU or other bounds, of stored integers."""
    value = node.stored(0, 1, 2)
    type = node.typed(node.quantization(3, 4), value.shape, value.order)
    low, high = (
        node.number(name, 0.0) if name in node.node.attributes else default
        for name, default in (("min", -math.inf), ("max", math.inf))
    )
    if not low <= high:
        raise node.error(f"min {low} is above max {high}")
    if low == 0 and high == math.inf:
        operation = qnn.ReluOp(value.ssa, type)
    else:
        operation = qnn.ClampOp(value.ssa, type, min=low, max=high)
    node.finish(operation, value)


def import_elu(node: NodeContext) -> None:
    node.expect("alpha", 1.0)
    function(qnn.EluOp).build(node)


def import_hard_sigmoid(node: NodeContext) -> None:
    """Import a hard sigmoid between a dequantization and a quantization of the
    contract."""
    value = node.stored(0, 1, 2)
    source = node.typed(f32, value.shape, value.order)
    real = elementwise(
        node,
        [
            type(value)(
                node.emit(qnn.DequantizeOp(value.ssa, source), "real"), value.order
            )
        ],
        body_of(hard_sigmoid),
    )
    result = node.typed(node.quantization(3, 4), real.shape, real.order)
    node.finish(qnn.QuantizeOp(real.ssa, result), real)


def import_adaptive_pool(node: NodeContext) -> None:
    image = as_image(node, node.stored(0, 1, 2), False)
    batch, _, _, channels = image.type.get_shape()
    rows, columns = node.integer_list("sizes", [0, 0], 1)
    type = node.typed(
        node.quantization(3, 4), (batch, rows, columns, channels), image.order
    )
    from_image(node, qnn.AdaptiveAvgPool2DOp(image.ssa, type), image, False)


def import_prelu(node: NodeContext) -> None:
    """Slopes for each channel, or one for all."""
    value = node.stored(0, 1, 2)
    slopes = node.stored(3, 4, 5)
    shape = [1] * len(value.shape)
    if len(shape) > 1:
        shape[1] = math.prod(slopes.shape)
    stored = stored_shape(shape, value.order)
    slope = node.builder.reshape(slopes, stored, identity(len(shape)), node.place())
    type = node.typed(node.quantization(6, 7), value.shape, value.order)
    node.finish(qnn.PReluOp(value.ssa, slope.ssa, type), value)


QUANTIZED = f"{quantized('x')}, scale, zero_point"

IMPORTERS: Mapping[tuple[str, str], Entry[NodeContext]] = {
    **PT2,
    (TORCH, "QuantizedBounds"): takes(QUANTIZED, import_bounds),
    (TORCH, "QuantizedElu"): takes(QUANTIZED, import_elu),
    (TORCH, "QuantizedHardSigmoid"): takes(QUANTIZED, import_hard_sigmoid),
    (TORCH, "QuantizedHardSwish"): function(qnn.HardSwishOp),
    (TORCH, "QuantizedLeakyRelu"): function(qnn.LeakyReluOp, alpha=0.01),
    (TORCH, "QuantizedSigmoid"): function(qnn.SigmoidOp),
    (TORCH, "QuantizedTanh"): function(qnn.TanhOp),
    (TORCH, "QuantizedAdaptivePool"): takes(QUANTIZED, import_adaptive_pool),
    (TORCH, "QuantizedNorm"): takes(
        f"{quantized('x')}, weight?, bias?, scale, zero_point", import_norm
    ),
    (TORCH, "QuantizedBatchNorm"): takes(
        f"{quantized('x')}, weight?, bias?, mean, variance, scale, zero_point",
        import_batch_norm,
    ),
    (TORCH, "QuantizedPRelu"): takes(
        f"{quantized('x', 'slopes')}, scale, zero_point", import_prelu
    ),
}
