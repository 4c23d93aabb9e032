"""The rewrites of a model in QDQ form that ONNX Runtime makes before it fuses groups.

Each function is one of its graph transformers (onnxruntime/core/optimizer, 1.31), as
far as it decides what is fused or which values are computed.
"""

from __future__ import annotations

import numpy as np

from ..graph.nodes import DEQUANTIZE, MICROSOFT, QUANTIZE, Graph, Node
from ..graph.passes import conversion, same_step
from ..graph.schema import Array

CROSSED = ("MaxPool", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice")
"""Operators that a conversion may be moved across (qdq_propagation.cc)."""


def propagate(graph: Graph) -> None:
    """Put pairs around operators that only move values (qdq_propagation.cc)."""
    order = graph.ordered()
    for node in order:
        if node.kind == DEQUANTIZE and graph.step(node) is not None:
            _propagate_forward(graph, node)
    for node in order:
        if node.kind == QUANTIZE and graph.step(node) is not None:
            _propagate_backward(graph, node)


def _propagate_forward(graph: Graph, source: Node) -> None:
    """DQ, move becomes DQ, move, Q, DQ, and so on behind what follows."""
    value = source.result
    while not graph.is_returned(value):
        uses = graph.uses(value)
        if len(uses) != 1 or uses[0][1] != 0 or not _is_crossed(uses[0][0]):
            return
        moving = uses[0][0]
        moved = moving.result
        later = graph.uses(moved)
        behind = [(user, at) for user, at in later if user.kind != QUANTIZE]
        if later and (graph.is_returned(moved) or not behind):
            return
        if later:
            quantized = conversion(graph, QUANTIZE, source, moved, moved)
            real = conversion(graph, DEQUANTIZE, source, quantized.result, moved)
            for user, at in behind:
                graph.set_input(user, at, real.result)
            value = real.result
        else:
            graph.set_output(moving, 0, graph.fresh(moved))
            quantized = conversion(graph, QUANTIZE, source, moving.result, moved)
            operands = [quantized.result, *source.inputs[1:]]
            graph.add(moving.like(DEQUANTIZE, operands, [moved], source.attributes))
            return


def _propagate_backward(graph: Graph, source: Node) -> None:
    """Move, Q becomes Q, DQ, move, Q, and so on before what precedes."""
    value = source.inputs[0]
    while True:
        moving = graph.producer(value)
        if moving is None or not _is_crossed(moving):
            return
        if len(graph.uses(value)) != 1 or graph.is_returned(value):
            return
        value = moving.inputs[0]
        before = graph.producer(value)
        if value in graph.constants or (
            before is not None
            and (
                before.kind == DEQUANTIZE
                or len(graph.uses(value)) != 1
                or graph.is_returned(value)
            )
        ):
            return
        quantized = conversion(graph, QUANTIZE, source, value, value)
        real = conversion(graph, DEQUANTIZE, source, quantized.result, value)
        graph.set_input(moving, 0, real.result)


def _is_crossed(node: Node) -> bool:
    return node.kind in CROSSED and not node.domain


def quantize_parameters(graph: Graph) -> None:
    """Integers for float weights and biases of quantized layers
    (qdq_transformer/weight_bias_quantization.cc)."""
    for node in graph.of_kind("Conv", "ConvTranspose", "Gemm"):
        if len(node.inputs) < 2:
            continue
        input = graph.producer(node.inputs[0])
        if input is None or input.kind != DEQUANTIZE or not _is_quantized(graph, node):
            continue
        scale = graph.scalar(input.inputs[1])
        has_bias = len(node.inputs) > 2 and bool(node.inputs[2])
        bias = graph.array(node.inputs[2]) if has_bias else None
        if scale is None or (has_bias and bias is None):
            continue
        if bias is not None and bias.ndim != 1:
            continue
        weights = graph.producer(node.inputs[1])
        if weights is not None and weights.kind == DEQUANTIZE:
            weight_scale = graph.array(weights.inputs[1])
            if (
                weight_scale is not None
                and weight_scale.size != 1
                and (bias is None or weight_scale.shape != bias.shape)
            ):
                continue
        else:
            weight_scale = _quantize_weights(graph, node)
        if bias is not None and weight_scale is not None:
            step = np.float32(scale) * weight_scale.astype(np.float32)
            with np.errstate(all="ignore"):
                stored = np.rint(bias.astype(np.float32) / step)
            limits = np.iinfo(np.int32)
            stored = np.clip(np.nan_to_num(stored), limits.min, limits.max)
            _dequantized(graph, node, 2, stored.astype(np.int32), step)


def _quantize_weights(graph: Graph, node: Node) -> Array | None:
    """Int8 weights with one scale for the range that they have; None if they are no
    float constant (core/util/qmath.h, GetQuantizationParameter)."""
    weights = graph.array(node.inputs[1])
    if weights is None or weights.dtype != np.float32 or not weights.size:
        return None
    real = weights.astype(np.float32)
    zero, low, high = np.float32(0), np.float32(-128), np.float32(127)
    least, most = min(real.min(), zero), max(real.max(), zero)
    scale = (most - least) / np.float32(255) if most != least else np.float32(1)
    with np.errstate(all="ignore"):
        offset = np.rint(np.clip(np.nan_to_num(low - least / scale), low, high))
        steps = np.clip(np.nan_to_num(np.rint(real / scale)), -256, 256)
    stored = np.clip(steps + offset, low, high).astype(np.int8)
    _dequantized(graph, node, 1, stored, scale, offset.astype(np.int8))
    return np.asarray(scale)


def _dequantized(
    graph: Graph,
    node: Node,
    number: int,
    stored: Array,
    scale: Array | np.float32,
    zero_point: np.int8 | None = None,
) -> None:
    """Replace a constant operand by the dequantization of another."""
    value = node.inputs[number]
    inputs = [
        graph.add_constant(value, stored),
        graph.add_constant(value, np.asarray(scale, np.float32)),
    ]
    if zero_point is not None:
        inputs.append(graph.add_constant(value, np.asarray(zero_point)))
    outputs = [graph.fresh(value)]
    graph.add(node.like(DEQUANTIZE, inputs, outputs, {"axis": 0}))
    graph.set_input(node, number, outputs[0])


def _is_quantized(graph: Graph, node: Node) -> bool:
    """Whether one way leads from the node to a quantization, by activations only."""
    while True:
        (value,) = node.outputs[:1]
        users = graph.users(value)
        if len(users) != 1:
            return False
        node = users[0]
        if node.kind == QUANTIZE:
            return True
        if not graph.is_activation(node):
            return False


def use_uint8(graph: Graph) -> None:
    """Make pairs of int8 uint8, by 128 more (qdq_transformer/qdq_s8_to_u8.cc)."""
    for node in graph.of_kind(QUANTIZE):
        user, step = graph.only_user(node, DEQUANTIZE), graph.step(node)
        if user is None or step is None or step.type != "INT8":
            continue
        if not same_step(graph, node, user):
            continue
        zero_point = np.array(step.zero_point + 128, np.uint8)
        name = graph.add_constant(node.inputs[2], zero_point)
        for changed in (node, user):
            graph.set_input(changed, 2, name)


def add_to_convolutions(graph: Graph) -> None:
    """Let the sums of a real convolution start from what is added to its result
    (conv_add_act_fusion.cc), which shows in the order alone."""
    for node in graph.of_kind("Add"):
        if node.domain or node.inputs[0] == node.inputs[1]:
            continue
        for value, other in (node.inputs, reversed(node.inputs)):
            source = graph.producer(value)
            if (
                source is None
                or (source.domain, source.kind) != ("", "Conv")
                or len(source.inputs) != 3
                or graph.only_user(source) is None
            ):
                continue
            graph.remove(node, source)
            operands = [*source.inputs, other]
            made = source.like(
                "FusedConv", operands, node.outputs, source.attributes, domain=MICROSOFT
            )
            made.index = node.index
            graph.add(made)
            break


def remove_inverse_pairs(graph: Graph) -> None:
    """Drop DQ, Q of one scale (qdq_transformer/qdq_final_cleanup.cc)."""
    for node in graph.of_kind(DEQUANTIZE):
        user = graph.only_user(node, QUANTIZE)
        if user is None or not same_step(graph, user, node):
            continue
        if not graph.is_returned(user.result):
            graph.replace_uses(user.result, node.inputs[0])
            graph.remove(user, node)


def fused_operators(graph: Graph) -> list[Node]:
    """The nodes that groups may be around."""
    return [n for n in graph.ordered() if n.kind not in (QUANTIZE, DEQUANTIZE)]
