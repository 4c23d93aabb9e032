"""The quantization of integers that a model takes: the file states it where they are
used."""

from __future__ import annotations

from qlower.dialects.quant import QuantizedType

from .nodes import DEQUANTIZE, Graph, Node

MOVING = (
    "Flatten",
    "Identity",
    "MaxPool",
    "Pad",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
)


def find_quantization(
    graph: Graph, name: str, width: int, signed: bool
) -> QuantizedType:
    """The scale and zero point that the first user of a value gives it.

    Where nobody gives any, the integers stand for themselves.
    """
    waiting, seen = [name], {name}
    while waiting:
        for node, number in graph.uses(waiting.pop(0)):
            found = _given(graph, node, number)
            if found is not None:
                return QuantizedType.per_tensor(width, signed, *found)
            if node.kind in MOVING and number == 0:
                new = [value for value in node.outputs if value not in seen]
                waiting += new
                seen.update(new)
    return QuantizedType.per_tensor(width, signed, 1.0, 0)


def _given(graph: Graph, node: Node, number: int) -> tuple[float, int] | None:
    """The scale and zero point that follow a quantized operand, in all operators that
    have such."""
    if node.kind != DEQUANTIZE and not node.kind.startswith(("QLinear", "QGemm")):
        return None
    if len(node.inputs) < number + 2:
        return None
    scale = graph.scalar(node.inputs[number + 1])
    if scale is None or scale.dtype.kind != "f" or not 0 < float(scale) < 1e38:
        return None
    zero = None
    if len(node.inputs) > number + 2:
        zero = graph.scalar(node.inputs[number + 2])
    return float(scale), 0 if zero is None else int(zero)
