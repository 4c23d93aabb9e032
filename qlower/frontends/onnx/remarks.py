"""What a user is told about the reading of a model: whose bits it has, and where."""

from __future__ import annotations

from collections.abc import Mapping

from .graph import DEQUANTIZE, QUANTIZE, Graph, Node

MOST_GROUPS = 8
"""Operators that are named; the others are counted."""

INT8_ALLOWED = (
    "ONNX Runtime gives the same bits, with any number of threads, in a session with"
    " the entry session.qdqisint8allowed=1:"
    " options.add_session_config_entry('session.qdqisint8allowed', '1')"
)
DEFAULT_SESSION = (
    "ONNX Runtime gives the same bits in its default session, with any number of"
    " threads"
)


def is_signed(graph: Graph) -> bool:
    """Whether activations are int8, which ONNX Runtime leaves real by default where
    convolutions and products take them."""
    return any(
        node.kind == QUANTIZE and graph.stored_type(node) == "INT8"
        for node in graph.nodes
    )


def has_pairs(graph: Graph) -> bool:
    """Whether any operator takes what a node dequantizes."""
    return any(
        node.kind == DEQUANTIZE and graph.users(node.outputs[0]) for node in graph.nodes
    )


def remarks(
    graph: Graph, unfused: Mapping[Node, str], *, is_signed: bool, has_pairs: bool
) -> list[str]:
    """One remark on the session, and one for each operator that stays real."""
    kept = [node for node in unfused if node in graph.nodes]
    found = [INT8_ALLOWED if is_signed and has_pairs else DEFAULT_SESSION]
    for node in kept[:MOST_GROUPS]:
        name = node.name or node.outputs[0]
        found.append(f"{node.operator} {name!r} runs on float32: {unfused[node]}")
    if len(kept) > MOST_GROUPS:
        found.append(f"{len(kept) - MOST_GROUPS} more operators run on float32")
    return found
