"""A model's layers as the nodes of a graph, with its inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.ir import Operation, SSAValue

from qlower.inspection.layer_table import describe
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import full_name, layer_name, layers

Role: TypeAlias = Literal["input", "layer", "output"]


@dataclass(frozen=True, eq=False)
class Node:
    """A layer, or an input or output of the model.

    `number` is unique; `sources` are the numbers of the nodes that it reads. `type`
    describes its first result, and `op` is None where it isn't a layer.
    """

    number: int
    role: Role
    name: str
    full_name: str
    kind: str
    type: str
    sources: tuple[int, ...]
    op: Operation | None = None


def graph_of(model: Model) -> list[Node]:
    """The inputs, the layers in order, and the outputs; states are both. Constants are
    no nodes."""
    block, signature = main_function(model.module).body.block, model.signature
    makers: dict[SSAValue, int] = {}
    nodes: list[Node] = []

    def add(
        role: Role, name: str, full: str, value: SSAValue, op: Operation | None
    ) -> None:
        read = [value] if role == "output" else op.operands if op is not None else ()
        sources = dict.fromkeys(makers[one] for one in read if one in makers)
        kind = role if op is None else op.name.removeprefix("qnn.")
        node = (len(nodes), role, name, full, kind, describe(value.type))
        nodes.append(Node(*node, tuple(sources), op))

    for spec, argument in zip(signature.arguments, block.args, strict=True):
        makers[argument] = len(nodes)
        add("input", spec.name, spec.name, argument, None)
    for op in layers(model.module):
        name = layer_name(op) or op.name
        add("layer", name, full_name(op) or name, op.results[0], op)
        makers |= dict.fromkeys(op.results, len(nodes) - 1)
    returned = block.last_op
    assert returned is not None
    for spec, value in zip(signature.results, returned.operands, strict=True):
        add("output", spec.name, spec.name, value, None)
    return nodes
