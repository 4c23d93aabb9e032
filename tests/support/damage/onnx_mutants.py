"""ONNX files whose fields say something else: names, sizes, types, attributes."""

from __future__ import annotations

import random
from importlib import import_module
from typing import Any

NUMBERS = (0, 1, -1, 2, 3, 7, 255, 1 << 20, 1 << 31, -(1 << 31), 1 << 40, (1 << 63) - 1)
OPERATORS = (
    "Add",
    "AveragePool",
    "Clip",
    "Concat",
    "Conv",
    "DequantizeLinear",
    "Flatten",
    "FusedConv",
    "Gather",
    "Gemm",
    "GlobalAveragePool",
    "Identity",
    "MatMul",
    "MaxPool",
    "Pad",
    "QGemm",
    "QLinearConcat",
    "QLinearConv",
    "QLinearMatMul",
    "QLinearSoftmax",
    "QuantizeLinear",
    "Relu",
    "Reshape",
    "Shape",
    "Slice",
    "Softmax",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
)
NAMES = ("", "x", "y", "no such value", "../x", "\n", "\u202e")


def mutant(data: bytes, choice: random.Random) -> bytes:
    """A copy of the file in which one to three fields are others."""
    onnx: Any = import_module("onnx")
    model = onnx.ModelProto.FromString(data)
    for _ in range(choice.choice((1, 1, 2, 3))):
        choice.choice(CHANGES)(model.graph, choice)
    if choice.random() < 0.05:
        model.opset_import[0].version = choice.choice(NUMBERS[:8])
    return model.SerializeToString()


def _values(graph: Any) -> list[str]:
    """The names of all values of the graph."""
    names = [value.name for value in (*graph.input, *graph.initializer)]
    return [*names, *(name for node in graph.node for name in node.output), *NAMES]


def _change_operand(graph: Any, choice: random.Random) -> None:
    node = choice.choice(graph.node)
    if node.input:
        node.input[choice.randrange(len(node.input))] = choice.choice(_values(graph))


def _drop_operand(graph: Any, choice: random.Random) -> None:
    node = choice.choice(graph.node)
    if node.input:
        del node.input[choice.randrange(len(node.input))]


def _add_operand(graph: Any, choice: random.Random) -> None:
    choice.choice(graph.node).input.append(choice.choice(_values(graph)))


def _change_result(graph: Any, choice: random.Random) -> None:
    node = choice.choice(graph.node)
    if node.output:
        node.output[choice.randrange(len(node.output))] = choice.choice(_values(graph))


def _change_operator(graph: Any, choice: random.Random) -> None:
    node = choice.choice(graph.node)
    node.op_type = choice.choice(OPERATORS)
    node.domain = choice.choice(("", "com.microsoft", node.domain))


def _shuffle(graph: Any, choice: random.Random) -> None:
    nodes = list(graph.node)
    choice.shuffle(nodes)
    del graph.node[:]
    graph.node.extend(nodes)


def _change_attribute(graph: Any, choice: random.Random) -> None:
    node = choice.choice(graph.node)
    if not node.attribute:
        attribute = node.attribute.add()
        attribute.name = choice.choice(("axis", "perm", "group", "pads", "alpha"))
        attribute.type = choice.choice((1, 2, 7))
        return
    attribute = choice.choice(node.attribute)
    number = choice.choice(NUMBERS)
    if attribute.type == 2:
        attribute.i = number
    elif attribute.type == 7 and len(attribute.ints):
        attribute.ints[choice.randrange(len(attribute.ints))] = number
    elif attribute.type == 1:
        attribute.f = choice.choice((0.0, -1.0, 1e30, float("nan"), float("inf")))
    else:
        attribute.type = choice.randrange(15)


def _change_constant(graph: Any, choice: random.Random) -> None:
    if not graph.initializer:
        return
    tensor = choice.choice(graph.initializer)
    kind = choice.randrange(5)
    if kind == 0:
        tensor.data_type = choice.randrange(24)
    elif kind == 1 and len(tensor.dims):
        tensor.dims[choice.randrange(len(tensor.dims))] = choice.choice(NUMBERS)
    elif kind == 2:
        tensor.raw_data = tensor.raw_data[: choice.randrange(len(tensor.raw_data) + 1)]
    elif kind == 3:
        count = len(tensor.raw_data)
        tensor.raw_data = bytes(choice.randrange(256) for _ in range(count))
    else:
        tensor.data_location = 1
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", choice.choice(NAMES)


def _change_input(graph: Any, choice: random.Random) -> None:
    type = choice.choice(graph.input).type.tensor_type
    if choice.random() < 0.3 or not type.shape.dim:
        type.elem_type = choice.randrange(24)
        return
    dim = choice.choice(type.shape.dim)
    if choice.random() < 0.2:
        dim.ClearField("dim_value")
    else:
        dim.dim_value = choice.choice(NUMBERS)


def _change_output(graph: Any, choice: random.Random) -> None:
    choice.choice(graph.output).name = choice.choice(_values(graph))


CHANGES = (
    _change_operand,
    _drop_operand,
    _add_operand,
    _change_result,
    _change_operator,
    _shuffle,
    _change_attribute,
    _change_attribute,
    _change_constant,
    _change_constant,
    _change_input,
    _change_output,
)
