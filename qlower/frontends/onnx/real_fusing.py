"""The fusions of operators that stay real in ONNX Runtime, at its level "extended".

Each function is one of its graph transformers (onnxruntime/core/optimizer, 1.31), as
far as it changes the result's bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ..graph.nodes import MICROSOFT, Graph, Node
from ..site import Site
from .ranks import find_ranks

SQRT_2 = 1.4142135623730951

LAYER_EPSILON = 1e-5
"""The epsilon of a LayerNormalization that states none."""

OPERANDS: Mapping[str, Sequence[int]] = {
    **dict.fromkeys(("Erf", "Sigmoid", "Sqrt"), (1,)),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "MatMul"), (2,)),
    "ReduceMean": (1, 2),
    "LayerNormalization": (3,),
    "Cast": (1,),
}
"""The number of operands of nodes in patterns."""


def fuse_reals(graph: Graph) -> None:
    """In the order of core/optimizer/graph_transformer_utils.cc."""
    ranks = find_ranks(graph)
    for fusion in (
        _fuse_gelu,
        partial(_fuse_layer_normalization, ranks=ranks),
        partial(_fuse_simplified_layer_normalization, ranks=ranks),
        _fuse_quick_gelu,
        partial(_fuse_skip_layer_normalization, ranks=ranks),
        _fuse_matmul_scale,
    ):
        for node in list(graph.nodes):
            if node in graph.nodes and _is_whole(node):
                fusion(graph, node)


# What patterns ask for


def _is_whole(node: Node) -> bool:
    """Whether a node may be one of a pattern, and has all operands and one result."""
    return (
        not node.domain
        and len(node.inputs) in OPERANDS.get(node.kind, ())
        and all(node.inputs)
        and len(node.outputs) == 1
    )


def _inner(graph: Graph, value: str, *kinds: str) -> Node | None:
    """The node of one of these kinds that makes a value which one other node takes."""
    node = _maker(graph, value, *kinds)
    is_inner = len(graph.uses(value)) == 1 and not graph.is_returned(value)
    return node if is_inner else None


def _maker(graph: Graph, value: str, *kinds: str) -> Node | None:
    node = graph.producer(value)
    if node is None or node.kind not in kinds or not _is_whole(node):
        return None
    return node


def _taker(graph: Graph, node: Node, kind: str) -> Node | None:
    """The only user of the only result, if it is of this kind."""
    user = graph.only_user(node, kind)
    return user if user is not None and _is_whole(user) else None


def _is(graph: Graph, value: str, expected: float) -> bool:
    """Whether a value is nearly this constant (IsInitializerWithExpectedValue)."""
    given = graph.scalar(value)
    if given is None or given.dtype.kind not in "fi":
        return False
    return bool(np.isclose(np.float32(given), np.float32(expected), 1e-5, 1e-8))


def _other(node: Node, value: str) -> str:
    """The operand of a binary node other than `value`."""
    one, other = node.inputs
    return other if one == value else one


def _times(graph: Graph, node: Node, factor: float) -> str | None:
    """The operand that a Mul multiplies by a constant."""
    for number in (0, 1):
        if _is(graph, node.inputs[number], factor):
            return node.inputs[1 - number]
    return None


def _row(graph: Graph, node: Node, value: str) -> str | None:
    """The constant vector that a binary node takes with `value`."""
    name = _other(node, value)
    array = graph.array(name)
    return name if array is not None and array.ndim == 1 else None


def _parameter(
    graph: Graph, node: Node, value: str, ranks: Mapping[str, int]
) -> tuple[str, int | None] | None:
    """The vector that a node of a normalization takes with `value`, and its length."""
    name = _other(node, value)
    if ranks.get(name) != 1:
        return None
    known = graph.constants.get(name) or graph.inputs.get(name)
    shape = known and known.shape
    return name, None if shape is None else shape[0]


WITHOUT = "--qdq as-written reads the model without fusions"


def _site(graph: Graph, node: Node) -> Site:
    return Site(graph.model.filename, node.index, f"node {node.index} {node.kind}")


def _replace(graph: Graph, gone: list[Node], made: Node) -> None:
    graph.remove(*gone)
    graph.add(made)


# Fusions


def _fuse_gelu(graph: Graph, erf: Node) -> None:
    """`x / 2 (1 + erf(x / sqrt(2)))`, in two orders (gelu_fusion.cc)."""
    if erf.kind != "Erf":
        return
    argument = _inner(graph, erf.inputs[0], "Div")
    addition = _taker(graph, erf, "Add")
    product = addition and _taker(graph, addition, "Mul")
    if not (argument and addition and product):
        return
    is_one = _is(graph, _other(addition, erf.outputs[0]), 1.0)
    if not is_one or not _is(graph, argument.inputs[1], SQRT_2):
        return
    x, rest = argument.inputs[0], _other(product, addition.outputs[0])
    gone = [argument, erf, addition, product]
    if rest == x:
        last = _taker(graph, product, "Mul")
        if last is None or _times(graph, last, 0.5) != product.outputs[0]:
            return
        gone.append(last)
    else:
        half = _inner(graph, rest, "Mul")
        if half is None or _times(graph, half, 0.5) != x:
            return
        gone.append(half)
        last = product
    _replace(graph, gone, last.like("Gelu", [x], last.outputs, domain=MICROSOFT))


def _fuse_quick_gelu(graph: Graph, sigmoid: Node) -> None:
    """`x sigmoid(alpha x)` (quick_gelu_fusion.cc)."""
    if sigmoid.kind != "Sigmoid":
        return
    product = _taker(graph, sigmoid, "Mul")
    if product is None:
        return
    x, alpha, gone = sigmoid.inputs[0], 1.0, [sigmoid, product]
    rest = _other(product, sigmoid.outputs[0])
    scaling = _inner(graph, x, "Mul")
    if rest != x:
        factor = None if scaling is None else graph.scalar(_other(scaling, rest))
        if scaling is None or factor is None or rest not in scaling.inputs:
            return
        x, alpha = rest, float(factor)
        gone.append(scaling)
    made = product.like(
        "QuickGelu", [x], product.outputs, {"alpha": alpha}, domain=MICROSOFT
    )
    _replace(graph, gone, made)


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


def _squares(graph: Graph, value: str) -> tuple[str, float, list[Node]] | None:
    """`sqrt(mean(d^n) + epsilon)`: d, epsilon and the nodes."""
    root = _inner(graph, value, "Sqrt")
    moved = root and _inner(graph, root.inputs[0], "Add")
    if root is None or moved is None:
        return None
    for number in (0, 1):
        epsilon = graph.scalar(moved.inputs[1 - number])
        mean = _inner(graph, moved.inputs[number], "ReduceMean")
        power = mean and _inner(graph, mean.inputs[0], "Pow")
        if mean and power and epsilon is not None:
            return power.inputs[0], float(epsilon), [root, moved, mean, power]
    return None


def _fuse_layer_normalization(
    graph: Graph, quotient: Node, ranks: Mapping[str, int]
) -> None:
    """Distances from the mean by their deviation, a factor and an offset
    (layer_norm_fusion.cc, which doesn't look at the exponent, and takes epsilon from
    the right alone)."""
    if quotient.kind != "Div":
        return
    found = _squares(graph, quotient.inputs[1])
    distance = _maker(graph, quotient.inputs[0], "Sub")
    mean = distance and _inner(graph, distance.inputs[1], "ReduceMean")
    product = _taker(graph, quotient, "Mul")
    offset = product and _taker(graph, product, "Add")
    if not (found and distance and mean and product and offset):
        return
    (x, _), (centred,) = distance.inputs, distance.outputs
    if mean.inputs[0] != x or found[0] != centred:
        return
    scale = _parameter(graph, product, quotient.outputs[0], ranks)
    bias = _parameter(graph, offset, product.outputs[0], ranks)
    if scale is None or bias is None:
        return
    if graph.is_returned(centred) or len(graph.uses(centred)) > 2:
        return
    if not _are_of_rows(graph, [mean, found[2][2]], ranks):
        return
    if None in (scale[1], bias[1]):
        raise _site(graph, offset).error(
            f"the lengths of {scale[0]!r} and {bias[0]!r} are not known: ONNX Runtime"
            " fuses the normalization if they are equal",
            help=WITHOUT,
        )
    if scale[1] != bias[1]:
        return
    epsilon = graph.scalar(found[2][1].inputs[1])
    attributes = {"epsilon": LAYER_EPSILON if epsilon is None else float(epsilon)}
    made = offset.like(
        "LayerNormalization", [x, scale[0], bias[0]], offset.outputs, attributes
    )
    gone = [mean, distance, *found[2], quotient, product, offset]
    _replace(graph, gone, made)


def _fuse_simplified_layer_normalization(
    graph: Graph, quotient: Node, ranks: Mapping[str, int]
) -> None:
    """Numbers by the root of their mean square, and a factor
    (layer_norm_fusion.cc)."""
    if quotient.kind != "Div":
        return
    found = _squares(graph, quotient.inputs[1])
    product = _taker(graph, quotient, "Mul")
    if found is None or product is None or found[0] != quotient.inputs[0]:
        return
    *_, power = found[2]
    if not _is(graph, power.inputs[1], 2.0):
        return
    scale = _parameter(graph, product, quotient.outputs[0], ranks)
    if scale is None or not _are_of_rows(graph, [found[2][2]], ranks):
        return
    made = product.like(
        "SimplifiedLayerNormalization",
        [found[0], scale[0]],
        product.outputs,
        {"epsilon": found[1]},
    )
    _replace(graph, [quotient, product, *found[2]], made)


def _fuse_skip_layer_normalization(
    graph: Graph, node: Node, ranks: Mapping[str, int]
) -> None:
    """A sum of two tensors, and of a bias before it, that is normalized
    (skip_layer_norm_fusion.cc, which doesn't look at the axis)."""
    if node.kind != "LayerNormalization":
        return
    if any(ranks.get(name, 1) != 1 for name in node.inputs[1:]):
        return
    addition = _inner(graph, node.inputs[0], "Add")
    if addition is None:
        return
    operands, gone = [*addition.inputs, *node.inputs[1:]], [node, addition]
    for number, value in enumerate(addition.inputs):
        before = _inner(graph, value, "Add")
        if before is None or _is_rescaled(graph, before.inputs[0]):
            continue
        if _row(graph, before, before.inputs[0]) and len(operands) < 5:
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
    _replace(graph, gone, made)


def _is_rescaled(graph: Graph, value: str) -> bool:
    """Whether a value is a sum of integers times its scale, which is one operator with
    the addition of a bias by then (matmul_integer_to_float.cc)."""
    scaling = _maker(graph, value, "Mul")
    return scaling is not None and any(
        _maker(graph, name, "Cast") is not None for name in scaling.inputs
    )


def _scale_of(graph: Graph, node: Node) -> tuple[str, np.float32] | None:
    """The operand that a node multiplies by one number, and the number."""
    for number in (0, 1) if node.kind == "Mul" else (1,):
        given = graph.scalar(node.inputs[number])
        if given is not None and given.dtype == np.float32:
            factor = np.float32(given)
            if node.kind == "Div":
                factor = np.float32(1) / factor
            return node.inputs[1 - number], factor
    return None


def _fuse_matmul_scale(graph: Graph, node: Node) -> None:
    """One factor for a product: those of its operands and of its result
    (matmul_scale_fusion.cc)."""
    if node.kind == "MatMul":
        _scale_product(graph, node, np.float32(1))


def _scale_product(graph: Graph, node: Node, alpha: np.float32) -> None:
    operands, last = list(node.inputs), node
    for number, value in enumerate(node.inputs):
        maker = _maker(graph, value, "Mul", "Div")
        found = maker and _scale_of(graph, maker)
        if found:
            operands[number], factor = found
            alpha = np.float32(alpha * factor)
    for kind in ("Mul", "Div"):
        taker = _taker(graph, node, kind)
        found = taker and _scale_of(graph, taker)
        if taker and found and found[0] == node.outputs[0]:
            alpha, last = np.float32(alpha * found[1]), taker
    if operands == node.inputs and last is node:
        return
    gone = [node] if last is node else [node, last]
    made = node.like(
        "FusedMatMul",
        operands,
        last.outputs,
        {"alpha": float(alpha)},
        domain=MICROSOFT,
    )
    _replace(graph, gone, made)
    graph.needed()
    _scale_product(graph, made, alpha)
