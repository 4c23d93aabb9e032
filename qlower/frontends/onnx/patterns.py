"""The parts of patterns that fusions of real operators look for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..graph.nodes import Graph, Node
from ..graph.schema import Array

OPERANDS: Mapping[str, Sequence[int]] = {
    **dict.fromkeys(("Erf", "Sigmoid", "Sqrt"), (1,)),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "MatMul"), (2,)),
    "ReduceMean": (1, 2),
    "LayerNormalization": (3,),
    "Cast": (1,),
}
"""The number of operands of nodes in patterns."""


def is_whole(node: Node) -> bool:
    """Whether a node may be one of a pattern, and has all operands and one result."""
    return (
        not node.domain
        and len(node.inputs) in OPERANDS.get(node.kind, ())
        and all(node.inputs)
        and len(node.outputs) == 1
    )


def inner(graph: Graph, value: str, *kinds: str) -> Node | None:
    """The node of one of these kinds that makes a value which one other node takes."""
    node = maker(graph, value, *kinds)
    is_inner = len(graph.uses(value)) == 1 and not graph.is_returned(value)
    return node if is_inner else None


def maker(graph: Graph, value: str, *kinds: str) -> Node | None:
    node = graph.producer(value)
    if node is None or node.kind not in kinds or not is_whole(node):
        return None
    return node


def taker(graph: Graph, node: Node, kind: str) -> Node | None:
    """The only user of the only result, if it is of this kind."""
    user = graph.only_user(node, kind)
    return user if user is not None and is_whole(user) else None


def is_near(graph: Graph, value: str, expected: float) -> bool:
    """Whether a value is nearly this constant (IsInitializerWithExpectedValue)."""
    given = scalar(graph, value)
    if given is None or given.dtype.kind not in "fi":
        return False
    return bool(np.isclose(np.float32(given), np.float32(expected), 1e-5, 1e-8))


def scalar(graph: Graph, value: str) -> Array | None:
    """The one element of a constant of at most one dimension."""
    array = graph.array(value)
    return None if array is None or array.ndim > 1 else graph.scalar(value)


def other(node: Node, value: str) -> str:
    """The operand of a binary node other than `value`."""
    one, other = node.inputs
    return other if one == value else one


def times(graph: Graph, node: Node, factor: float) -> str | None:
    """The operand that a Mul multiplies by a constant."""
    for number in (0, 1):
        if is_near(graph, node.inputs[number], factor):
            return node.inputs[1 - number]
    return None


def row(graph: Graph, node: Node, value: str) -> str | None:
    """The constant vector that a binary node takes with `value`."""
    name = other(node, value)
    array = graph.array(name)
    return name if array is not None and array.ndim == 1 else None


def replace(graph: Graph, gone: list[Node], made: Node) -> None:
    graph.remove(*gone)
    graph.add(made)
