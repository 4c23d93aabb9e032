"""Graphs of a few nodes, made of lines such as `a, b = Kind x y axis:1`; an operand `_`
is left out, and attributes are Python's numbers and tuples without spaces."""

from __future__ import annotations

from ast import literal_eval
from typing import Any

import numpy as np

from qlower.frontends.graph.nodes import TYPE_NAMES, Graph
from qlower.frontends.graph.schema import Constant, Model, Node


def graph(lines: str, outputs: str = "", **arrays: Any) -> Graph:
    """Nodes `a, b = Kind x y`, constants by name, and the model's outputs."""
    nodes: list[Node] = []
    for index, line in enumerate(filter(None, map(str.strip, lines.splitlines()))):
        results, _, operation = line.partition(" = ")
        kind, *operands = operation.split()
        attributes = {
            name: literal_eval(value)
            for name, _, value in (one.partition(":") for one in operands if ":" in one)
        }
        names = ["" if one == "_" else one for one in operands if ":" not in one]
        nodes.append(Node(index, "", kind, "", names, results.split(", "), attributes))
    constants = {
        name: Constant(TYPE_NAMES.get(array.dtype.name, "DOUBLE"), array.shape, array)
        for name, array in ((name, np.asarray(one)) for name, one in arrays.items())
    }
    model = Model("f", 1, 18, tuple(nodes), constants, (), ())
    return Graph(model, outputs.split())


def shown(built: Graph) -> list[str]:
    """The nodes as the text that they were made of, without attributes."""
    return [
        f"{', '.join(node.outputs)} = {node.kind} {' '.join(node.inputs)}"
        for node in built.nodes
    ]


def kept(text: str) -> list[str]:
    """The nodes of a text that nothing has changed."""
    return shown(graph(text))


def changed(text: str, changes: str) -> str:
    """The text with other lines for the same results, and new lines at the end."""
    lines = {line.partition(" =")[0]: line for line in text.strip().splitlines()}
    for line in filter(None, changes.split("; ")):
        lines[line.partition(" =")[0]] = line
    return "\n".join(lines.values())
