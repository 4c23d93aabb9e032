"""What ONNX Runtime does to a model in QDQ form before it fuses groups.

Each function is one of its graph transformers (onnxruntime/core/optimizer, 1.31), as
far as it decides what is fused or which values are computed.
"""

from __future__ import annotations

import math

import numpy as np

from .graph import DEQUANTIZE, QUANTIZE, Graph, Node, Step
from .schema import Array, Constant

CROSSED = ("MaxPool", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice")
"""What a conversion may be moved across (qdq_propagation.cc)."""

RANGES = {
    "INT8": (-128, 127),
    "UINT8": (0, 255),
    "INT16": (-32768, 32767),
    "UINT16": (0, 65535),
}


def separate_dequantizers(graph: Graph) -> None:
    """A dequantization for each user (ensure_unique_dq_for_node_unit.cc)."""
    for node in list(graph.nodes):
        if node.kind != DEQUANTIZE:
            continue
        (value,) = node.outputs
        uses = graph.uses(value)
        for user, number in uses if graph.is_returned(value) else uses[1:]:
            copy = _conversion(graph, DEQUANTIZE, node, node.inputs[0], value)
            graph.set_input(user, number, copy.outputs[0])


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
    value = source.outputs[0]
    while not graph.is_returned(value):
        uses = graph.uses(value)
        if len(uses) != 1 or uses[0][1] != 0 or not _is_crossed(uses[0][0]):
            return
        moving = uses[0][0]
        moved = moving.outputs[0]
        later = graph.uses(moved)
        behind = [(user, at) for user, at in later if user.kind != QUANTIZE]
        if later and (graph.is_returned(moved) or not behind):
            return
        if later:
            quantized = _conversion(graph, QUANTIZE, source, moved, moved)
            real = _conversion(graph, DEQUANTIZE, source, quantized.outputs[0], moved)
            for user, at in behind:
                graph.set_input(user, at, real.outputs[0])
            value = real.outputs[0]
        else:
            graph.set_output(moving, 0, graph.fresh(moved))
            quantized = _conversion(graph, QUANTIZE, source, moving.outputs[0], moved)
            last = Node(
                moving.index,
                "",
                DEQUANTIZE,
                moving.name,
                [quantized.outputs[0], *source.inputs[1:]],
                [moved],
                source.attributes,
            )
            graph.add(last)
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
        quantized = _conversion(graph, QUANTIZE, source, value, value)
        real = _conversion(graph, DEQUANTIZE, source, quantized.outputs[0], value)
        graph.set_input(moving, 0, real.outputs[0])


def _is_crossed(node: Node) -> bool:
    return node.kind in CROSSED and not node.domain


def _conversion(graph: Graph, kind: str, like: Node, value: str, base: str) -> Node:
    """A new (de)quantization of `value` with the scale and zero point of another."""
    made = Node(
        like.index,
        "",
        kind,
        like.name,
        [value, *like.inputs[1:]],
        [graph.fresh(base)],
        like.attributes,
    )
    graph.add(made)
    return made


def quantize_parameters(graph: Graph) -> None:
    """Integers for float weights and biases of quantized layers
    (qdq_transformer/weight_bias_quantization.cc)."""
    for node in list(graph.nodes):
        if node.kind not in ("Conv", "ConvTranspose", "Gemm") or len(node.inputs) < 2:
            continue
        input = graph.producer(node.inputs[0])
        if input is None or input.kind != DEQUANTIZE or not _is_quantized(graph, node):
            continue
        scale = graph.scalar(input.inputs[1])
        has_bias = len(node.inputs) > 2 and bool(node.inputs[2])
        bias = graph.array(node.inputs[2]) if has_bias else None
        if scale is None or (has_bias and bias is None):
            continue
        weights = graph.producer(node.inputs[1])
        if weights is not None and weights.kind == DEQUANTIZE:
            weight_scale = graph.array(weights.inputs[1])
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
    """Symmetric int8 weights with one scale; None if they are no float constant."""
    weights = graph.array(node.inputs[1])
    if weights is None or weights.dtype != np.float32 or not weights.size:
        return None
    real = weights.astype(np.float32)
    scale = np.abs(real).max() / np.float32(127)
    with np.errstate(all="ignore"):
        stored = np.nan_to_num(np.clip(np.rint(real / scale), -127, 127))
    _dequantized(graph, node, 1, stored.astype(np.int8), scale)
    return np.asarray(scale)


def _dequantized(
    graph: Graph, node: Node, number: int, stored: Array, scale: Array | np.float32
) -> None:
    """Replace a constant operand by the dequantization of another."""
    value = node.inputs[number]
    inputs = [
        graph.add_constant(value, stored),
        graph.add_constant(value, np.asarray(scale, np.float32)),
    ]
    outputs = [graph.fresh(value)]
    made = Node(node.index, "", DEQUANTIZE, node.name, inputs, outputs, {"axis": 0})
    graph.add(made)
    graph.set_input(node, number, outputs[0])


def _is_quantized(graph: Graph, node: Node) -> bool:
    """Whether one way leads from the node to a quantization, by activations only."""
    while True:
        (value,) = node.outputs[:1]
        users = graph.users(value)
        if len(users) != 1 or graph.is_returned(value):
            return False
        node = users[0]
        if node.kind == QUANTIZE:
            return True
        if not graph.is_activation(node):
            return False


def bounds(graph: Graph, node: Node) -> tuple[float, float] | None:
    """The real bounds of a Relu or Clip; None if they aren't constant."""
    if node.kind == "Relu":
        return 0.0, math.inf
    found: list[float] = []
    largest = float(np.finfo(np.float32).max)
    for number, name, default in ((1, "min", -largest), (2, "max", largest)):
        given = node.attributes.get(name, default)
        if len(node.inputs) > number and node.inputs[number]:
            scalar = graph.scalar(node.inputs[number])
            if scalar is None:
                return None
            given = float(scalar)
        found.append(float(given) if isinstance(given, (int, float)) else default)
    return found[0], found[1]


def remove_activations(graph: Graph) -> None:
    """Drop bounds that the quantization after them has by itself
    (qdq_transformer/relu_quantizelinear.cc, clip_quantizelinear.cc)."""
    for node in list(graph.nodes):
        if not graph.is_activation(node):
            continue
        (value,) = node.outputs
        users = graph.users(value)
        if len(users) != 1 or users[0].kind != QUANTIZE or graph.is_returned(value):
            continue
        step, limits = graph.step(users[0]), bounds(graph, node)
        if step is None or limits is None or step.type not in RANGES:
            continue
        low, high = RANGES[step.type]
        if node.kind == "Relu":
            redundant = step.zero_point == low
        else:
            scale, tolerance = np.float32(step.scale), np.finfo(np.float32).eps
            redundant = not (
                tolerance < limits[0] - float(scale * (low - step.zero_point))
                or tolerance < float(scale * (high - step.zero_point)) - limits[1]
            )
        if redundant:
            graph.set_input(users[0], 0, node.inputs[0])
            graph.remove(node)


def is_redundant(limits: tuple[float, float], step: Step) -> bool:
    """Whether a quantization saturates where an activation does
    (qdq_util.cc, IsClipMadeRedundantByQ)."""
    low, high = RANGES[step.type]
    most = float(2**31 - 1)
    stored = [
        int(np.rint(np.clip(limit / step.scale, -most, most))) + step.zero_point
        for limit in limits
    ]
    return stored[0] <= low and stored[1] >= high


def signed_to_unsigned(graph: Graph) -> None:
    """Pairs of int8 as uint8 (qdq_transformer/qdq_s8_to_u8.cc)."""
    for node in list(graph.nodes):
        if node.kind != QUANTIZE or not graph.has_zero_point(node):
            continue
        users = graph.users(node.outputs[0])
        if len(users) != 1 or users[0].kind != DEQUANTIZE:
            continue
        if graph.is_returned(node.outputs[0]) or not graph.has_zero_point(users[0]):
            continue
        before, after = graph.step(node), graph.step(users[0])
        if before is None or after is None or before.zero_point != after.zero_point:
            continue
        if before.type == after.type == "INT8":
            moved = np.array(before.zero_point + 128, np.uint8)
            zero_point = graph.add_constant(node.inputs[2], moved)
            graph.set_input(node, 2, zero_point)
            graph.set_input(users[0], 2, zero_point)


def same_step(graph: Graph, one: Node, other: Node) -> bool:
    """Whether both have one explicit scale and zero point, and the same."""
    if not (graph.has_zero_point(one) and graph.has_zero_point(other)):
        return False
    step = graph.step(one)
    return step is not None and step == graph.step(other)


def remove_inverse_pairs(graph: Graph) -> None:
    """Drop DQ, Q of one scale (qdq_transformer/qdq_final_cleanup.cc)."""
    for node in list(graph.nodes):
        if node.kind != DEQUANTIZE:
            continue
        (value,) = node.outputs
        users = graph.users(value)
        if len(users) != 1 or users[0].kind != QUANTIZE or graph.is_returned(value):
            continue
        quantized = users[0].outputs[0]
        if same_step(graph, users[0], node) and not graph.is_returned(quantized):
            graph.replace_uses(quantized, node.inputs[0])
            graph.remove(users[0])
            graph.remove(node)


def fused_operators(graph: Graph) -> list[Node]:
    """The nodes that groups may be around."""
    return [n for n in graph.ordered() if n.kind not in (QUANTIZE, DEQUANTIZE)]


def remove_identities(graph: Graph) -> None:
    """Drop nodes that give what they take (identity_elimination.cc and others)."""
    for node in list(graph.nodes):
        if node.domain or node.kind not in ("Identity", "Dropout") or not node.inputs:
            continue
        if any(graph.users(value) for value in node.outputs[1:]):
            continue
        if not any(graph.is_returned(value) for value in node.outputs):
            graph.replace_uses(node.outputs[0], node.inputs[0])
            graph.remove(node)


def fold_quantized(graph: Graph) -> None:
    """Quantize constants, such as weights stored as floats (constant_folding.cc)."""
    for node in list(graph.nodes):
        real = graph.array(node.inputs[0]) if node.kind == QUANTIZE else None
        scale = graph.array(node.inputs[1]) if len(node.inputs) > 1 else None
        type = graph.stored_type(node)
        if real is None or scale is None or type not in ("INT8", "UINT8"):
            continue
        zero_point = np.zeros((), np.int32)
        if graph.has_zero_point(node):
            given = graph.array(node.inputs[2])
            if given is None:
                continue
            zero_point = given.astype(np.int32)
        if real.dtype != np.float32 or scale.dtype != np.float32:
            continue
        if scale.size != 1 or zero_point.size != 1:
            axis = node.attributes.get("axis", 1)
            if not isinstance(axis, int) or not -real.ndim <= axis < real.ndim:
                continue
            sizes = [1] * real.ndim
            sizes[axis] = real.shape[axis]
            if {scale.size, zero_point.size} - {1, real.shape[axis]}:
                continue
            scale = scale.reshape(sizes if scale.size != 1 else ())
            zero_point = zero_point.reshape(sizes if zero_point.size != 1 else ())
        low, high = RANGES[type]
        with np.errstate(all="ignore"):
            steps = np.rint(real.astype(np.float32) / scale.astype(np.float32))
            steps = np.clip(steps, -(2.0**30), 2.0**30)
            stored = np.clip(np.nan_to_num(steps) + zero_point, low, high)
        array = stored.astype(np.int8 if type == "INT8" else np.uint8)
        graph.remove(node)
        graph.constants[node.outputs[0]] = Constant(type, array.shape, array)
