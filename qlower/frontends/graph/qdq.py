"""Groups of dequantize, operator, quantize: the meaning of a graph of float operators.

Quantizers of float frameworks leave the operators alone and put pairs of quantize and
dequantize between them. An operator whose operands are dequantized and whose results
are quantized stands for one on integers. Here the parts of a group are found, or the
reason why there is no group; a front end decides which groups an executor takes, and as
which operator.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .nodes import Graph, Node


@dataclass(frozen=True)
class Group:
    """An operator with what surrounds it.

    `dequantizers` are those of its operands, by their numbers. `activation` is the only
    user of its only result, if that is one. `quantizers` are those of the results, or
    of the activation's.
    """

    operator: Node
    dequantizers: dict[int, Node]
    activation: Node | None
    quantizers: tuple[Node, ...]

    @property
    def last(self) -> Node:
        """The float operator whose results are quantized."""
        return self.activation or self.operator

    @property
    def members(self) -> tuple[Node, ...]:
        """The nodes other than the operator that the group replaces."""
        activation = () if self.activation is None else (self.activation,)
        return (*self.dequantizers.values(), *activation, *self.quantizers)


def find_group(graph: Graph, operator: Node) -> Group:
    """The operator with the conversions next to it, whatever they are good for."""
    dequantizers: dict[int, Node] = {}
    for number, value in enumerate(operator.inputs):
        producer = graph.producer(value) if value else None
        if producer is not None and graph.is_dequantize(producer):
            dequantizers[number] = producer
    users = [user for value in operator.outputs for user in graph.users(value)]
    activation = None
    if len(users) == 1 and graph.is_activation(users[0]):
        bounded = users[0].result
        if len(graph.users(bounded)) == 1 and not graph.is_returned(bounded):
            activation = users[0]
    last = activation or operator
    quantizers = tuple(
        user
        for value in last.outputs
        for user in graph.users(value)
        if graph.is_quantize(user)
    )
    return Group(operator, dequantizers, activation, quantizers)


def open_operand(graph: Graph, group: Group, numbers: Collection[int]) -> str | None:
    """Why the operands with these numbers don't come from the group alone, if so."""
    for number in sorted(numbers):
        value = group.operator.inputs[number]
        if number not in group.dequantizers:
            return f"operand {number} ({value!r}) is not dequantized"
    for number, dequantizer in group.dequantizers.items():
        (value,) = dequantizer.outputs
        if number not in numbers:
            return f"operand {number} ({value!r}) is dequantized"
        if graph.is_returned(value):
            return f"operand {number} ({value!r}) is an output of the model"
        if len(graph.users(value)) != 1:
            return f"operand {number} ({value!r}) has other users"
    return None


def open_result(graph: Graph, group: Group) -> str | None:
    """Why the results don't all go to one quantization each and to nothing else."""
    given = [value for value in group.operator.outputs if value]
    for value in (*given, *group.last.outputs):
        if graph.is_returned(value):
            return f"result {value!r} is an output of the model"
    for value in group.last.outputs:
        users = graph.users(value)
        if not any(graph.is_quantize(user) for user in users):
            return f"result {value!r} is not quantized"
        if len(users) != 1:
            return f"result {value!r} has {len(users)} users"
    return None
