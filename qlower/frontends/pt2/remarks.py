"""What a user is told about the reading of a program: whose bits it has, and where."""

from __future__ import annotations

from collections.abc import Mapping

from ..onnx.graph import Graph, Node
from ..onnx.remarks import MOST_GROUPS
from .fusing import Executor


def remarks(graph: Graph, executor: Executor, unfused: Mapping[Node, str]) -> list[str]:
    """One remark on the contract, and one for each operator that stays real."""
    found = [f"the contract is {executor.contract}, because {executor.reason}"]
    kept = [node for node in unfused if node in graph.nodes]
    for node in kept[:MOST_GROUPS]:
        name = node.name or node.outputs[0]
        found.append(f"{node.operator} {name!r} runs on float32: {unfused[node]}")
    if len(kept) > MOST_GROUPS:
        found.append(f"{len(kept) - MOST_GROUPS} more operators run on float32")
    return found
