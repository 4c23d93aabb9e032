"""The fusions of normalizations in ONNX Runtime.

Each function is one of its graph transformers (onnxruntime/core/optimizer, 1.31), as
far as it changes the result's bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..graph.nodes import MICROSOFT, Graph, Node
from ..site import Site
from .patterns import inner, is_whole, maker, other, replace, row, taker

LAYER_EPSILON = 1e-5
"""The epsilon of a LayerNormalization that states none."""

WITHOUT = "--qdq as-written reads the model without fusions"


def _site(graph: Graph, node: Node) -> Site:
    return Site(graph.model.filename, node.index, f"node {node.index} {node.kind}")


def _parameter(
    graph: Graph, node: Node, value: str, ranks: Mapping[str, int]
) -> tuple[str, int | None] | None:
    """The vector that a node of a normalization takes with `value`, and its length."""
    name = other(node, value)
    if ranks.get(name) != 1:
        return None
    known = graph.constants.get(name) or graph.inputs.get(name)
    (length,) = (known and known.shape) or (None,)
    return name, length


def _axis(graph: Graph, mean: Node) -> int | None:
    """The one axis of a mean whose dimension stays."""
    axes: object = mean.attributes.get("axes")
    if len(mean.inputs) > 1:
        array = graph.array(mean.inputs[1])
        axes = None if array is None else tuple(array.reshape(-1).tolist())
    if mean.attributes.get("keepdims", 1) != 1:
        return None
    match axes:
        case (int(axis),):
            return axis
        case _:
            return None


def _are_of_rows(graph: Graph, means: Sequence[Node], ranks: Mapping[str, int]) -> bool:
    """Whether means of tensors of one rank are along the last dimension
    (CheckAxesOnReduceMean in layer_norm_fusion.cc, which takes 0 for another one)."""
    axes = [_axis(graph, mean) for mean in means]
    if any(axis is None or axis < -1 or axis == 0 for axis in axes):
        return False
    if all(axis == -1 for axis in axes):
        return True
    mean = means[0]
    rank = ranks.get(mean.inputs[0])
    if rank is None:
        raise _site(graph, mean).error(
            f"axis {axes[0]} of {mean.inputs[0]!r}, whose rank is not known: ONNX"
            " Runtime fuses the normalization if that is the last axis",
            help=WITHOUT,
        )
    return all(axis in (-1, rank - 1) for axis in axes)


@dataclass(frozen=True)
class _Root:
    """`sqrt(mean(x^n) + epsilon)`, of operands in any order."""

    root: Node
    addition: Node
    mean: Node
    power: Node

    @property
    def nodes(self) -> list[Node]:
        return [self.root, self.addition, self.mean, self.power]

    def epsilon(self, graph: Graph, *, operands: Sequence[int]) -> float:
        """The constant number among these operands, or the default."""
        for number in operands:
            given = graph.scalar(self.addition.inputs[number])
            if given is not None:
                return float(given)
        return LAYER_EPSILON


def _root(graph: Graph, value: str) -> _Root | None:
    root = inner(graph, value, "Sqrt")
    addition = root and inner(graph, *root.inputs, "Add")
    if root is None or addition is None:
        return None
    for operand in addition.inputs:
        mean = inner(graph, operand, "ReduceMean")
        power = mean and inner(graph, mean.inputs[0], "Pow")
        if mean and power:
            return _Root(root, addition, mean, power)
    return None


@dataclass(frozen=True)
class _Distances:
    """`x - mean(x)` or `mean(x) - x`, which ONNX Runtime takes for one another, in one
    node or in two."""

    x: str
    mean: Node
    nodes: list[Node]

    @property
    def values(self) -> list[str]:
        return [node.result for node in self.nodes]


def _distances(graph: Graph, value: str) -> _Distances | None:
    """Find the distances that `value` is among, if a quotient and a power are all that
    takes them."""
    node = maker(graph, value, "Sub")
    if node is None:
        return None
    for x, average in (node.inputs, reversed(node.inputs)):
        mean, users = maker(graph, average, "ReduceMean"), graph.users(average)
        if not mean or mean.inputs[0] != x or graph.is_returned(average):
            continue
        if not all(user.kind == "Sub" and is_whole(user) for user in users):
            continue
        if any(other(user, average) != x for user in users):
            continue
        found = _Distances(x, mean, users)
        takers = [user for one in found.values for user in graph.users(one)]
        if len(takers) == 2 and not any(map(graph.is_returned, found.values)):
            return found
    return None


def fuse_layer_normalization(
    graph: Graph, quotient: Node, ranks: Mapping[str, int]
) -> None:
    """Distances from the mean by their deviation, a factor and an offset
    (layer_norm_fusion.cc, which doesn't look at the exponent and at the order of
    operands, and takes epsilon from the right alone)."""
    if quotient.kind != "Div":
        return
    product = taker(graph, quotient, "Mul")
    offset = product and taker(graph, product, "Add")
    if product is None or offset is None:
        return
    for number in (0, 1):
        root = _root(graph, quotient.inputs[1 - number])
        found = _distances(graph, quotient.inputs[number])
        if root and found and not set(found.values).isdisjoint(root.power.inputs):
            break
    else:
        return
    scale = _parameter(graph, product, quotient.result, ranks)
    bias = _parameter(graph, offset, product.result, ranks)
    if scale is None or bias is None:
        return
    if not _are_of_rows(graph, [found.mean, root.mean], ranks):
        return
    if None in (scale[1], bias[1]):
        raise _site(graph, offset).error(
            f"the lengths of {scale[0]!r} and {bias[0]!r} are not known: ONNX Runtime"
            " fuses the normalization if they are equal",
            help=WITHOUT,
        )
    if scale[1] != bias[1]:
        return
    epsilon = root.epsilon(graph, operands=(1,))
    operands, attributes = [found.x, scale[0], bias[0]], {"epsilon": epsilon}
    made = offset.like("LayerNormalization", operands, offset.outputs, attributes)
    gone = [found.mean, *found.nodes, *root.nodes, quotient, product, offset]
    replace(graph, gone, made)


def fuse_simplified_layer_normalization(
    graph: Graph, quotient: Node, ranks: Mapping[str, int]
) -> None:
    """Numbers by the root of their mean square, and a factor
    (layer_norm_fusion.cc)."""
    if quotient.kind != "Div":
        return
    x, value = quotient.inputs
    root = _root(graph, value)
    product = taker(graph, quotient, "Mul")
    if root is None or product is None or root.power.inputs[0] != x:
        return
    if graph.scalar(root.power.inputs[1]) != 2:
        return
    scale = _parameter(graph, product, quotient.result, ranks)
    if scale is None or not _are_of_rows(graph, [root.mean], ranks):
        return
    epsilon = root.epsilon(graph, operands=(0, 1))
    operands, attributes = [x, scale[0]], {"epsilon": epsilon}
    made = product.like(
        "SimplifiedLayerNormalization", operands, product.outputs, attributes
    )
    replace(graph, [quotient, product, *root.nodes], made)


def fuse_skip_layer_normalization(
    graph: Graph, node: Node, ranks: Mapping[str, int]
) -> None:
    """A sum of two tensors, and of a bias before it, that is normalized
    (skip_layer_norm_fusion.cc, which doesn't look at the axis)."""
    if node.kind != "LayerNormalization":
        return
    if any(ranks.get(name, 1) != 1 for name in node.inputs[1:]):
        return
    addition = inner(graph, node.inputs[0], "Add")
    if addition is None or any(ranks.get(name, 3) != 3 for name in addition.inputs):
        return
    operands, gone = [*addition.inputs, *node.inputs[1:]], [node, addition]
    for number, value in enumerate(addition.inputs):
        before = inner(graph, value, "Add")
        if before is None or _is_rescaled(graph, before.inputs[0]):
            continue
        if row(graph, before, before.inputs[0]) and len(operands) < 5:
            operands[number], bias = before.inputs
            operands.append(bias)
            gone.append(before)
    made = node.like(
        "SkipLayerNormalization",
        operands,
        node.outputs,
        {"epsilon": LAYER_EPSILON, **node.attributes},
        domain=MICROSOFT,
    )
    replace(graph, gone, made)


def _is_rescaled(graph: Graph, value: str) -> bool:
    """Whether a value is a sum of integers times its scale, which is one operator with
    the addition of a bias by then (matmul_integer_to_float.cc)."""
    scaling = maker(graph, value, "Mul")
    return scaling is not None and any(
        maker(graph, name, "Cast") is not None for name in scaling.inputs
    )
