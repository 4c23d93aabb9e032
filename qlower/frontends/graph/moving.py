"""Transposes that ONNX Runtime moves behind the operators after them.

It does so where fewer dimensions are transposed before an operator then, and a path
leads from there to another transpose, which may cancel it
(onnxruntime/core/optimizer/transpose_optimization/onnx_transpose_optimization.cc).
"""

from __future__ import annotations

from collections.abc import Collection

from .context import NodeContext
from .nodes import Graph

CROSSED = frozenset(
    (
        *("Abs", "Add", "Cast", "Ceil", "Clip", "Concat", "DequantizeLinear", "Div"),
        *("Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity"),
        *("LeakyRelu", "Log", "Max", "Min", "Mul", "Neg", "PRelu", "Pow", "QuickGelu"),
        *("QuantizeLinear", "Reciprocal", "Relu", "Round", "Sigmoid", "Softplus"),
        *("Softsign", "Sqrt", "Sub", "Sum", "Tanh"),
    )
)
MERGED = ("Reshape", "Transpose")
BARRIERS = ("AveragePool", "BatchNormalization", "GlobalAveragePool", "GlobalMaxPool")
"""Operators behind which transposes move, those with which they merge, and those
behind which they do not; it is not said of others."""


class Moving:
    """How transposes move in a graph, which must not change any more."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.leading: dict[str, bool] = {}
        """The values from which a path leads to a transpose; False where it leads
        by operators whose ways aren't stated."""
        for node in reversed(graph.ordered()):
            if node.kind == "Transpose":
                self.leading[node.inputs[0]] = True
            elif node.kind not in (*MERGED, *BARRIERS):
                ways = [self.leading[n] for n in node.outputs if n in self.leading]
                if ways:
                    is_sure = any(ways) and node.kind in CROSSED
                    for name in node.inputs:
                        self.leading[name] = self.leading.get(name, False) or is_sure

    def crosses(self, node: NodeContext, moved: Collection[str]) -> bool | None:
        """Return whether transposes move behind a node from its operands in `moved`,
        to which they are alike; the others are constants. None where that is not
        known."""
        result = node.node.result
        if result not in self.leading:
            return False
        given = [number for number in range(node.count) if node.name(number) in moved]
        large = [at for at in given if any(size != 1 for size in node.shape(at))]
        gains = {self.is_free(node.name(number)) for number in large}
        if gains <= {False}:
            return False
        is_known = None not in gains and not self.graph.is_returned(result)
        return (is_known and self.leading[result]) or None

    def is_free(self, name: str) -> bool | None:
        """Return whether all users of a transpose are such that it may move behind
        them."""
        kinds = {user.kind for user in self.graph.users(name)}
        if self.graph.is_returned(name) or kinds.intersection(BARRIERS):
            return False
        return kinds <= {*CROSSED, *MERGED} or None
