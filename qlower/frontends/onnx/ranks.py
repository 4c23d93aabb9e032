"""The ranks of a graph's values, on which ONNX Runtime's fusions depend where axes are
counted from the front."""

from __future__ import annotations

from collections.abc import Mapping

from ..graph.nodes import MICROSOFT, Graph, Node
from ..graph.operators import IMPORTERS

OF_OTHER_RANKS = (
    *("Compress", "Einsum", "GatherND", "GRU", "LSTM", "TopK"),
    *("GatherBlockQuantized", "MatMulNBits", "DynamicQuantizeLSTM"),
    *("EmbedLayerNormalization", "QEmbedLayerNormalization"),
)
"""Operators whose results have ranks that aren't followed."""


def find_ranks(graph: Graph) -> Mapping[str, int]:
    """The ranks of all values for which they follow from those of inputs and constants,
    as in ONNX's inference of shapes."""
    ranks = {name: len(constant.shape) for name, constant in graph.constants.items()}
    for port in graph.inputs.values():
        if port.shape is not None:
            ranks[port.name] = len(port.shape)
    for node in graph.ordered():
        rank = _rank_of(graph, node, ranks)
        if rank is not None:
            ranks |= dict.fromkeys(filter(None, node.outputs), rank)
    return ranks


def _rank_of(graph: Graph, node: Node, ranks: Mapping[str, int]) -> int | None:
    """The rank of a node's results, None where it isn't known."""
    if node.kind == "Shape":
        return 1
    if node.kind == "Reshape":
        return _length(graph, node.inputs[1], ranks)
    known = (node.domain, node.kind) in IMPORTERS and node.domain in ("", MICROSOFT)
    operands = [ranks.get(value) for value in node.inputs if value]
    given = [rank for rank in operands if rank is not None]
    if not known or not given or len(given) < len(operands):
        return None
    first, highest = given[0], max(given)
    match node.kind:
        case kind if kind in OF_OTHER_RANKS:
            return None
        case "Flatten":
            return 2
        case "Gather":
            return first + given[1] - 1
        case "MatMul":
            return max(highest, 2) - given.count(1)
        case "Expand":
            length = _length(graph, node.inputs[1], ranks)
            return None if length is None else max(first, length)
        case "Squeeze" | "Unsqueeze":
            axes = _axes(graph, node, ranks)
            sign = 1 if node.kind == "Unsqueeze" else -1
            return None if axes is None else first + sign * axes
        case kind if kind.startswith(("Reduce", "Arg")):
            if node.attributes.get("keepdims", 1) == 1:
                return first
            axes = 1 if kind.startswith("Arg") else _axes(graph, node, ranks)
            return None if axes is None else first - axes
        case _:
            return highest


def _axes(graph: Graph, node: Node, ranks: Mapping[str, int]) -> int | None:
    """The number of the axes that a node names."""
    given = node.attributes.get("axes")
    if isinstance(given, tuple):
        return len(given)
    return _length(graph, node.inputs[1], ranks) if len(node.inputs) > 1 else None


def _length(graph: Graph, value: str, ranks: Mapping[str, int]) -> int | None:
    """The number of elements of a vector that is a constant, a shape, one element, or
    is joined from such."""
    total, left = 0, [value]
    while left:
        name = left.pop()
        constant, node = graph.constants.get(name), graph.producer(name)
        if constant is not None:
            total += constant.shape[0] if constant.shape else 1
        elif node is None:
            return None
        elif node.kind == "Concat":
            left += node.inputs
        elif node.kind == "Shape" and len(node.inputs) == 1 and not node.attributes:
            rank = ranks.get(node.inputs[0])
            if rank is None:
                return None
            total += rank
        elif node.kind == "Unsqueeze" and ranks.get(name) == 1:
            total += 1
        elif node.kind == "Cast":
            left += node.inputs
        else:
            return None
    return total
