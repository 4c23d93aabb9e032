"""Bounds of activations, and quantizations that have them by themselves."""

from __future__ import annotations

import math

import numpy as np

from .nodes import ACTIVATIONS, QUANTIZE, Graph, Node, QuantStep

RANGES = {
    "INT8": (-128, 127),
    "UINT8": (0, 255),
    "INT16": (-32768, 32767),
    "UINT16": (0, 65535),
}


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
    for node in graph.of_kind(*ACTIVATIONS):
        user = graph.only_user(node, QUANTIZE)
        if user is None:
            continue
        step, limits = graph.step(user), bounds(graph, node)
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
            graph.set_input(user, 0, node.inputs[0])
            graph.remove(node)


def is_redundant(limits: tuple[float, float], step: QuantStep) -> bool:
    """Whether a quantization saturates where an activation does
    (qdq_util.cc, IsClipMadeRedundantByQ)."""
    low, high = RANGES[step.type]
    most = float(2**31 - 1)
    stored = [
        int(np.rint(np.clip(limit / step.scale, -most, most))) + step.zero_point
        for limit in limits
    ]
    return stored[0] <= low and stored[1] >= high
