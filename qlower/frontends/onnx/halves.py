"""Networks of float16, most of whose operators ONNX Runtime computes in float32.

Its processor has kernels of float16 for conversions and movement. Other operators are
surrounded by casts (onnxruntime/core/optimizer/insert_cast_transformer.cc); those
between two such operators are left out, so what one gives to the other isn't rounded.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..graph.narrow import HALF, KEEPING, NARROW
from ..graph.nodes import DEQUANTIZE, FLOAT, Graph, Node
from .simplifying import constant_array

WITHOUT_KERNEL = (
    *("Add", "AveragePool", "Conv", "Div", "Erf", "Exp", "Gemm", "GlobalAveragePool"),
    *("LeakyRelu", "MatMul", "MaxPool", "Mul", "Pad", "ReduceMean", "Relu"),
    *("Resize", "Sigmoid", "Sqrt", "Sub", "Tanh"),
)
"""Operators that are computed in float32, as far as that was seen."""


def widen_halves(graph: Graph, narrow: Mapping[str, str]) -> bool:
    """Cast around the operators without a kernel; whether there are any. `narrow` are
    the types of values of fewer bits than float32."""
    types = {name: one for name, one in narrow.items() if one == HALF}
    wide: dict[Node, None] = {
        node: None
        for node in graph.nodes
        if node.kind in WITHOUT_KERNEL and any(name in types for name in node.inputs)
    }
    if not wide:
        return False
    for node in sorted(graph.nodes, key=lambda node: node.index):
        if _is_isolated(graph, node, wide, types):
            wide[node] = None
    raw = {name: graph.fresh(name) for node in wide for name in node.outputs if name}
    casts: dict[str, str] = {}
    for node in wide:
        for number, name in enumerate(node.inputs):
            if name in types:
                graph.set_input(
                    node, number, raw.get(name) or _cast(graph, node, name, casts)
                )
    for node in wide:
        for number, name in enumerate(node.outputs):
            if not name:
                continue
            graph.set_output(node, number, raw[name])
            if graph.users(name) or graph.is_returned(name):
                graph.add(
                    node.like("Cast", [raw[name]], [name], {"to": NARROW[HALF].number})
                )
    return True


def _is_isolated(
    graph: Graph, node: Node, wide: Mapping[Node, None], types: Mapping[str, str]
) -> bool:
    """Whether a node with a kernel takes float16 from operators without one only, and
    gives it to such only."""
    if node.domain or node.kind not in (*KEEPING, DEQUANTIZE):
        return False
    producers = {name: graph.producer(name) for name in node.inputs if name}
    if not any(producers.values()) or types.keys().isdisjoint(node.outputs):
        return False
    if not any(name in types for name in node.inputs):
        return False
    made = [one for name, one in producers.items() if one and name in types]
    users = [user for name in node.outputs for user in graph.users(name)]
    returned = any(graph.is_returned(name) for name in node.outputs)
    return not returned and all(one in wide for one in (*made, *users))


def _cast(graph: Graph, node: Node, name: str, casts: dict[str, str]) -> str:
    """A value of float16 as float32."""
    if name not in casts:
        array = constant_array(graph, name)
        if array is not None:
            halves = array.astype(np.float16)
            casts[name] = graph.add_constant(name, halves.astype(np.float32))
        else:
            casts[name] = graph.fresh(name)
            graph.add(node.like("Cast", [name], [casts[name]], {"to": FLOAT}))
    return casts[name]


def optimized_otherwise(graph: Graph, types: Mapping[str, str]) -> Node | None:
    """A node of float16 that ONNX Runtime's optimizer replaces: a product of two
    dequantized matrices, or one that moves dequantized numbers."""
    for node in graph.of_kind("MatMul", *KEEPING):
        if node.kind == "Identity":
            continue
        made = [graph.producer(name) for name in node.inputs if types.get(name) == HALF]
        kinds = {one.kind for one in made if one is not None}
        if kinds == {DEQUANTIZE} and (node.kind != "MatMul" or len(made) == 2):
            return node
    return None
