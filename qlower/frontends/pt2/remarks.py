"""Remarks for users on the reading of a program: the system whose bits it has, and
where."""

from __future__ import annotations

from collections.abc import Mapping

from ..graph.nodes import Graph, Node
from ..graph.remarks import float_remarks
from .fusing import Executor


def remarks(graph: Graph, executor: Executor, unfused: Mapping[Node, str]) -> list[str]:
    """One remark on the contract, and those on operators that stay real."""
    found = f"the contract is {executor.contract}, because {executor.reason}"
    return [found, *float_remarks(graph, unfused)]
