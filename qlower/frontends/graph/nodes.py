"""The nodes of a model as a graph that can be rewritten."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .schema import MAX_RANK, Array, Constant, Model, Node, Port

QUANTIZE, DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
ACTIVATIONS = ("Relu", "Clip")
MICROSOFT = "com.microsoft"

TYPE_NAMES: Mapping[str, str] = {
    "int8": "INT8",
    "uint8": "UINT8",
    "int16": "INT16",
    "uint16": "UINT16",
    "int32": "INT32",
    "int64": "INT64",
    "float32": "FLOAT",
    "bool": "BOOL",
}


DTYPES_BY_NAME: Mapping[str, str] = {name: dtype for dtype, name in TYPE_NAMES.items()}

FLOAT = 1
"""ONNX's number of the type."""

TYPES_BY_NUMBER: Mapping[int, str] = {
    FLOAT: "FLOAT",
    2: "UINT8",
    3: "INT8",
    4: "UINT16",
    5: "INT16",
    6: "INT32",
    7: "INT64",
    9: "BOOL",
}
"""Types by the numbers of ONNX."""

MOST_FOLDED = 1 << 12
"""Elements of a constant that is computed."""

STORED_BY_NUMBER: Mapping[int, str] = {
    0: "UINT8",
    2: "UINT8",
    3: "INT8",
    4: "UINT16",
    5: "INT16",
    21: "UINT4",
    22: "INT4",
    25: "UINT2",
    26: "INT2",
}
"""Stored types by the numbers of ONNX, uint8 where none is given."""


@dataclass(frozen=True, slots=True)
class QuantStep:
    """One scale and zero point, and the type of the stored values."""

    scale: float
    zero_point: int
    type: str


class Graph:
    """The nodes, in an order of no meaning, and who makes and takes each value."""

    def __init__(self, model: Model, outputs: Sequence[str]) -> None:
        self.model = model
        self.constants: dict[str, Constant] = dict(model.constants)
        self.inputs: dict[str, Port] = {port.name: port for port in model.inputs}
        self.outputs = tuple(outputs)
        self.nodes: dict[Node, None] = {}
        self._producers: dict[str, Node] = {}
        self._users: defaultdict[str, list[tuple[Node, int]]] = defaultdict(list)
        self.changes = 0
        """The number of changes of the graph."""
        self._fresh = 0
        for node in model.nodes:
            inputs, outputs = list(node.inputs), list(node.outputs)
            self.add(replace(node, inputs=inputs, outputs=outputs))

    # Who makes and takes a value

    def producer(self, value: str) -> Node | None:
        return self._producers.get(value)

    def users(self, value: str) -> list[Node]:
        return [node for node, _ in self._users[value]]

    def uses(self, value: str) -> list[tuple[Node, int]]:
        """The nodes that take `value`, with the numbers of the operands."""
        return list(self._users[value])

    def is_returned(self, value: str) -> bool:
        return value in self.outputs

    def only_user(self, node: Node, kind: str | None = None) -> Node | None:
        """The only user of a node's first result, which the model doesn't return; None
        for one of another `kind`, if that is given."""
        value = node.result
        users = self.users(value)
        if len(users) != 1 or self.is_returned(value):
            return None
        return users[0] if kind in (None, users[0].kind) else None

    def of_kind(self, *kinds: str) -> list[Node]:
        """The nodes of these kinds, whose list stays while the graph changes."""
        return [node for node in self.nodes if node.kind in kinds]

    def is_dequantize(self, node: Node) -> bool:
        return node.kind == DEQUANTIZE

    def is_quantize(self, node: Node) -> bool:
        return node.kind == QUANTIZE

    def is_activation(self, node: Node) -> bool:
        return node.kind in ACTIVATIONS

    def written_operator(self, node: Node) -> str:
        """The file's word for the operator that a node was made of."""
        for source in self.model.nodes[node.index : node.index + 1]:
            if (source.index, source.name) == (node.index, node.name):
                return source.operator
        return node.operator

    # Rewriting

    def add(self, node: Node) -> Node:
        """Add a node; a value that has a producer already keeps that one."""
        self.changes += 1
        self.nodes[node] = None
        for value in node.outputs:
            if value:
                self._producers.setdefault(value, node)
        for number, value in enumerate(node.inputs):
            if value:
                self._users[value].append((node, number))
        return node

    def remove(self, *nodes: Node) -> None:
        for node in nodes:
            self._remove(node)

    def _remove(self, node: Node) -> None:
        self.changes += 1
        del self.nodes[node]
        for value in node.outputs:
            if self._producers.get(value) is node:
                del self._producers[value]
        for number, value in enumerate(node.inputs):
            if value:
                self._users[value].remove((node, number))

    def set_input(self, node: Node, number: int, value: str) -> None:
        self.changes += 1
        if node.inputs[number]:
            self._users[node.inputs[number]].remove((node, number))
        node.inputs[number] = value
        if value:
            self._users[value].append((node, number))

    def set_output(self, node: Node, number: int, value: str) -> None:
        del self._producers[node.outputs[number]]
        node.outputs[number] = value
        self._producers[value] = node

    def replace_uses(self, value: str, other: str) -> None:
        for node, number in self.uses(value):
            self.set_input(node, number, other)

    def fresh(self, base: str) -> str:
        """A name that no value has."""
        while True:
            self._fresh += 1
            name = f"{base}/{self._fresh}"
            if not (
                name in self._producers or name in self.constants or name in self.inputs
            ):
                return name

    def add_constant(self, base: str, array: Array) -> str:
        name = self.fresh(base)
        type = TYPE_NAMES[array.dtype.name]
        self.constants[name] = Constant(type, array.shape, array)
        return name

    # Constants

    def array(self, value: str) -> Array | None:
        """The elements of a constant, None for anything else."""
        constant = self.constants.get(value)
        return None if constant is None else constant.array

    def scalar(self, value: str) -> Array | None:
        """The one element of a constant, without dimensions."""
        array = self.array(value)
        return array.reshape(()) if array is not None and array.size == 1 else None

    def step(self, node: Node) -> QuantStep | None:
        """The step of a (de)quantization with one constant scale and zero point."""
        scale = self.scalar(node.inputs[1]) if len(node.inputs) > 1 else None
        if scale is None or scale.dtype != np.float32:
            return None
        zero_point = 0
        if self.has_zero_point(node):
            zero = self.scalar(node.inputs[2])
            if zero is None:
                return None
            zero_point = int(zero)
        return QuantStep(float(scale), zero_point, self.stored_type(node))

    def has_zero_point(self, node: Node) -> bool:
        return len(node.inputs) > 2 and bool(node.inputs[2])

    def stored_type(self, node: Node) -> str:
        """The type of the stored values that a (de)quantization gives or takes."""
        if self.has_zero_point(node) and node.inputs[2] in self.constants:
            return self.constants[node.inputs[2]].type
        if node.kind == QUANTIZE:
            number = node.attributes.get("output_dtype", 0)
            if not isinstance(number, int):
                return "UINT8"
            return STORED_BY_NUMBER.get(number, f"type {number}")
        stored = node.inputs[0]
        if stored in self.constants:
            return self.constants[stored].type
        if stored in self.inputs:
            return self.inputs[stored].type
        source = self.producer(stored)
        if source is not None and source.kind == QUANTIZE:
            return self.stored_type(source)
        return "unknown"

    # Order

    def needed(self) -> None:
        """Remove the nodes that no output depends on."""
        kept: dict[Node, None] = {}
        wanted = list(self.outputs)
        while wanted:
            node = self.producer(wanted.pop())
            if node is not None and node not in kept:
                kept[node] = None
                wanted += node.inputs
        for node in [node for node in self.nodes if node not in kept]:
            self.remove(node)

    def ordered(self) -> list[Node]:
        """Every node after those that it needs, else as in the file; nodes of a cycle
        come last."""
        places = {node: place for place, node in enumerate(self.nodes)}
        waiting = {node: self._missing(node) for node in self.nodes}
        ready = [
            (node.index, places[node], node) for node in self.nodes if not waiting[node]
        ]
        heapq.heapify(ready)
        ordered: dict[Node, None] = {}
        while ready:
            node = heapq.heappop(ready)[2]
            ordered[node] = None
            for value in node.outputs:
                if self._producers.get(value) is not node:
                    continue
                for user, _ in self._users[value]:
                    waiting[user] -= 1
                    if not waiting[user]:
                        heapq.heappush(ready, (user.index, places[user], user))
        return [*ordered, *(node for node in self.nodes if node not in ordered)]

    def _missing(self, node: Node) -> int:
        return sum(value in self._producers for value in node.inputs if value)


def hoist_constants(graph: Graph, nodes: Iterable[Node]) -> None:
    """Make constants of Constant nodes, which have their value as an attribute, and of
    what fills or casts constants, as exporters write zero points."""
    for node in nodes:
        if node.domain or len(node.outputs) != 1:
            continue
        constant = _constant_of(graph, node)
        if constant is not None:
            graph.remove(node)
            graph.constants.setdefault(node.result, constant)


def _constant_of(graph: Graph, node: Node) -> Constant | None:
    match node.kind:
        case "Constant":
            return _given(node)
        case "ConstantOfShape" | "Cast":
            source = graph.array(node.inputs[0]) if len(node.inputs) == 1 else None
            if source is None or source.size > MOST_FOLDED:
                return None
            make = cast if node.kind == "Cast" else filled
            return make(node, source)
        case _:
            return None


def _given(node: Node) -> Constant | None:
    for name, value in node.attributes.items():
        match name, value:
            case "value", Constant():
                return value
            case (("value_int" | "value_ints"), (int() | tuple())):
                array = np.array(value, np.int64)
            case (("value_float" | "value_floats"), (float() | tuple())):
                array = np.array(value, np.float32)
            case _:
                continue
        return Constant(TYPE_NAMES[array.dtype.name], array.shape, array)
    return None


def filled(node: Node, shape: Array) -> Constant | None:
    """The result of ConstantOfShape: one value throughout, zero by default."""
    value = node.attributes.get("value")
    filler = value.array if isinstance(value, Constant) else np.zeros(1, np.float32)
    if filler is None or filler.size != 1 or shape.dtype.kind != "i":
        return None
    sizes = [int(size) for size in shape.reshape(-1)]
    count = math.prod(sizes)
    if min(sizes, default=1) < 0 or len(sizes) > MAX_RANK or count > MOST_FOLDED:
        return None
    array = np.full(sizes, filler.reshape(-1)[0], filler.dtype)
    name = TYPE_NAMES.get(array.dtype.name)
    return None if name is None else Constant(name, array.shape, array)


def cast(node: Node, source: Array) -> Constant | None:
    """The result of Cast for integers, or for whole numbers that the other type has."""
    number = node.attributes.get("to")
    name = TYPES_BY_NUMBER.get(number) if isinstance(number, int) else None
    if name is None or source.dtype.kind not in "iufb":
        return None
    with np.errstate(all="ignore"):
        array = source.astype(DTYPES_BY_NAME[name])
    if not np.array_equal(array, source):
        return None
    return Constant(name, array.shape, array)
