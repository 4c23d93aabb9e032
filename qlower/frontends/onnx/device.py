"""Graphs in QDQ form as integer accelerators run them: their quantizers keep ReLUs
between a layer and its quantization, and the device clips the layer's codes.

esp-ppq and AMD's quantizers write such graphs. Nothing is computed in real numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from qlower.dialects.qnn import ACTIVATION_BOUNDS

from ..graph.bounds import RANGES, bounds
from ..graph.nodes import DEQUANTIZE, QUANTIZE, Graph, Node
from ..graph.qdq import Group
from ..site import Site
from .selectors import MOVING, StaysReal, check_bias_scale

CLIPPING = ("Add", "Conv", "Gemm", "MatMul", "Mul")
"""Operators whose results an activation clips."""

MOST_BIAS_RATIO = 1e-6
"""The largest distance of a bias's scale from the accumulator's: float32 roundings."""


def move_codes(graph: Graph) -> None:
    """Dequantize behind operators that only move values, which then move codes."""
    for node in graph.ordered():
        source = graph.producer(node.inputs[0]) if _only_moves(node) else None
        if source is None or source.kind != DEQUANTIZE or graph.step(source) is None:
            continue
        graph.set_input(node, 0, source.inputs[0])
        for number, moved in enumerate(node.outputs):
            codes = graph.fresh(moved)
            graph.set_output(node, number, codes)
            graph.add(node.like(DEQUANTIZE, [codes, *source.inputs[1:]], [moved]))


def _only_moves(node: Node) -> bool:
    """Whether an operator of one result computes nothing: a Resize may."""
    is_single = len(node.outputs) == 1 or node.kind == "Split"
    return node.kind in MOVING and node.kind != "Resize" and is_single


def fold_bounds(graph: Graph) -> None:
    """Make constants of a Clip's bounds that are dequantized codes."""
    for node in graph.of_kind("Clip"):
        for number, value in enumerate(node.inputs[1:], 1):
            source = graph.producer(value)
            if source is None or source.kind != DEQUANTIZE:
                continue
            step, code = graph.step(source), graph.scalar(source.inputs[0])
            if step is not None and code is not None:
                real = (int(code) - step.zero_point) * np.float32(step.scale)
                bound = graph.add_constant(value, np.array(real, np.float32))
                graph.set_input(node, number, bound)


def activation_of(graph: Graph, group: Group, activation: Node) -> str:
    """The activation that clips a group's codes; raises `StaysReal` if none does."""
    step = graph.step(group.quantizers[0]) if len(group.quantizers) == 1 else None
    limits = bounds(graph, activation)
    name = activation.kind
    if step is None or limits is None or step.type not in RANGES:
        raise StaysReal(f"bounds or quantization of its {name} are not constant")
    operator = group.operator
    if operator.kind not in CLIPPING or (
        operator.kind == "MatMul" and not _has_constant_weights(graph, group)
    ):
        raise StaysReal(f"nothing clips the result of {operator.kind}, as its {name}")
    last = (RANGES[step.type][1] - step.zero_point) * step.scale
    known = {pair: word for word, pair in ACTIVATION_BOUNDS.items() if word}
    low, high = limits
    found = known.get((low, None if high >= last else high))
    if found is None:
        raise StaysReal(f"its {name} to [{low:g}, {high:g}] is no known activation")
    return found


def check_bias(graph: Graph, group: Group) -> None:
    """Raise `StaysReal` if a bias isn't in steps of the sums."""
    conversions = group.dequantizers
    if group.operator.kind in ("Conv", "Gemm") and {0, 1, 2} <= conversions.keys():
        parts = (conversions[number] for number in range(3))
        check_bias_scale(graph, *parts, ratio=MOST_BIAS_RATIO, step=0)


def _has_constant_weights(graph: Graph, group: Group) -> bool:
    weights = group.dequantizers.get(1)
    return weights is not None and graph.array(weights.inputs[0]) is not None


def check_stored(graph: Graph, unfused: Mapping[Node, str]) -> None:
    """Refuse the first operator that computes on real numbers."""
    real = {name for name, port in graph.inputs.items() if port.type == "FLOAT"}
    for node in graph.ordered():
        is_real = node.kind == DEQUANTIZE or not real.isdisjoint(node.inputs)
        if node.kind == QUANTIZE or not is_real:
            continue
        if node.kind == DEQUANTIZE or _only_moves(node):
            real.update(node.outputs)
            continue
        reason = unfused.get(node, "its operands are real")
        what = f"node {node.index} {node.operator} {node.name!r}"
        raise Site(graph.model.filename, node.index, what).error(
            f"it runs on real numbers ({reason}), which devices of integers don't have",
            help="--qdq integer reads the model as ONNX Runtime runs it",
        )
