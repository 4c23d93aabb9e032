"""Rewritings of a graph that do not depend on who runs it."""

from __future__ import annotations

from .nodes import DEQUANTIZE, FLOAT, QUANTIZE, TYPES_BY_NUMBER, Graph, Node


def remove_identities(graph: Graph) -> None:
    """Drop nodes that give what they take (identity_elimination.cc and others)."""
    for node in list(graph.nodes):
        if node.domain or not node.inputs or not _is_identity(graph, node):
            continue
        if any(graph.users(value) for value in node.outputs[1:]):
            continue
        if not any(graph.is_returned(value) for value in node.outputs):
            graph.replace_uses(node.result, node.inputs[0])
            graph.remove(node)


def _is_identity(graph: Graph, node: Node) -> bool:
    """Casts of stored values and of real numbers to their own type are among them."""
    if node.kind != "Cast":
        return node.kind in ("Identity", "Dropout")
    source = graph.producer(node.inputs[0])
    number = node.attributes.get("to")
    if source is not None and source.kind == DEQUANTIZE and number == FLOAT:
        return True
    return (
        source is not None
        and source.kind == QUANTIZE
        and isinstance(number, int)
        and TYPES_BY_NUMBER.get(number) == graph.stored_type(source)
    )


def separate_dequantizers(graph: Graph) -> None:
    """A dequantization for each user (ensure_unique_dq_for_node_unit.cc)."""
    for node in graph.of_kind(DEQUANTIZE):
        (value,) = node.outputs
        uses = graph.uses(value)
        for user, number in uses if graph.is_returned(value) else uses[1:]:
            copy = conversion(graph, DEQUANTIZE, node, node.inputs[0], value)
            graph.set_input(user, number, copy.result)


def conversion(graph: Graph, kind: str, like: Node, value: str, base: str) -> Node:
    """A new (de)quantization of `value` with the scale and zero point of another."""
    operands = [value, *like.inputs[1:]]
    return graph.add(like.like(kind, operands, [graph.fresh(base)], like.attributes))


def same_step(graph: Graph, one: Node, other: Node) -> bool:
    """Whether both have one explicit scale and zero point, and the same."""
    if not (graph.has_zero_point(one) and graph.has_zero_point(other)):
        return False
    step = graph.step(one)
    return step is not None and step == graph.step(other)
