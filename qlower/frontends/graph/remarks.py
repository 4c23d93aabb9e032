"""Remarks for users on the operators of a graph that stay real."""

from __future__ import annotations

from collections.abc import Mapping

from .nodes import Graph, Node

MOST_GROUPS = 8
"""Operators that are named; the others are counted."""


def float_remarks(graph: Graph, unfused: Mapping[Node, str]) -> list[str]:
    """One remark for each operator that stays real although it stands between
    conversions, with the reason that `unfused` has; of many, a few and their number."""
    kept = [node for node in unfused if node in graph.nodes]
    found: list[str] = []
    for node in kept[:MOST_GROUPS]:
        name = node.name or node.result
        found.append(f"{node.operator} {name!r} runs on float32: {unfused[node]}")
    if len(kept) > MOST_GROUPS:
        found.append(f"{len(kept) - MOST_GROUPS} more operators run on float32")
    return found
