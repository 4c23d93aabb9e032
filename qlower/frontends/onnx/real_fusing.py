"""The fusions of operators that stay real in ONNX Runtime, at its level "extended".

Each function is one of its graph transformers (onnxruntime/core/optimizer, 1.31), as
far as it changes the result's bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..graph.nodes import MICROSOFT, Graph, Node
from .norm_fusing import (
    fuse_layer_normalization,
    fuse_simplified_layer_normalization,
    fuse_skip_layer_normalization,
)
from .patterns import (
    inner,
    is_near,
    is_whole,
    maker,
    other,
    replace,
    scalar,
    taker,
    times,
)
from .ranks import find_ranks

SQRT_2 = 1.4142135623730951


def fuse_reals(graph: Graph) -> None:
    """In the order of core/optimizer/graph_transformer_utils.cc."""
    ranks = find_ranks(graph)
    for fusion in (
        _fuse_gelu,
        partial(fuse_layer_normalization, ranks=ranks),
        partial(fuse_simplified_layer_normalization, ranks=ranks),
        _fuse_quick_gelu,
        partial(fuse_skip_layer_normalization, ranks=ranks),
        partial(_fuse_matmul_scale, ranks=ranks),
    ):
        for node in list(graph.nodes):
            if node in graph.nodes and is_whole(node):
                fusion(graph, node)


def _fuse_gelu(graph: Graph, erf: Node) -> None:
    """`x / 2 (1 + erf(x / sqrt(2)))`, in two orders (gelu_fusion.cc, which takes any
    product that is multiplied by the sum for `x / 2`)."""
    if erf.kind != "Erf":
        return
    argument = inner(graph, *erf.inputs, "Div")
    addition = taker(graph, erf, "Add")
    product = addition and taker(graph, addition, "Mul")
    if not (argument and addition and product):
        return
    is_one = is_near(graph, other(addition, erf.result), 1.0)
    if not is_one or not is_near(graph, argument.inputs[1], SQRT_2):
        return
    x, rest = argument.inputs[0], other(product, addition.result)
    gone = [argument, erf, addition, product]
    maker_of_x = graph.producer(x)
    if rest == x:
        if maker_of_x is not None and maker_of_x.kind == "Mul":
            return
        last = taker(graph, product, "Mul")
        if last is None or times(graph, last, 0.5) != product.result:
            return
        gone.append(last)
    else:
        half = inner(graph, rest, "Mul")
        if half is None or times(graph, half, 0.5) != x:
            return
        gone.append(half)
        last = product
    replace(graph, gone, last.like("Gelu", [x], last.outputs, domain=MICROSOFT))


def _fuse_quick_gelu(graph: Graph, sigmoid: Node) -> None:
    """`x sigmoid(alpha x)` (quick_gelu_fusion.cc)."""
    if sigmoid.kind != "Sigmoid":
        return
    product = taker(graph, sigmoid, "Mul")
    if product is None:
        return
    (x,), alpha, gone = sigmoid.inputs, 1.0, [sigmoid, product]
    rest = other(product, sigmoid.result)
    scaling = inner(graph, x, "Mul")
    if rest != x:
        factor = None if scaling is None else scalar(graph, other(scaling, rest))
        if scaling is None or factor is None or rest not in scaling.inputs:
            return
        x, alpha = rest, float(factor)
        gone.append(scaling)
    made = product.like(
        "QuickGelu", [x], product.outputs, {"alpha": alpha}, domain=MICROSOFT
    )
    replace(graph, gone, made)


def _scale_of(
    graph: Graph, node: Node, ranks: Mapping[str, int]
) -> tuple[str, np.float32] | None:
    """The operand that a node multiplies by one number without changing its rank, and
    the number."""
    for number in (0, 1) if node.kind == "Mul" else (1,):
        value, scaled = node.inputs[number], node.inputs[1 - number]
        given = graph.scalar(value)
        if given is None or ranks[value] > ranks.get(scaled, ranks[value]):
            continue
        if given.dtype == np.float32:
            factor = np.float32(given)
            if node.kind == "Div":
                factor = np.float32(1) / factor
            return scaled, factor
    return None


def _fuse_matmul_scale(graph: Graph, node: Node, ranks: Mapping[str, int]) -> None:
    """One factor for a product: those of its operands and of its result
    (matmul_scale_fusion.cc)."""
    if node.kind == "MatMul":
        _scale_product(graph, node, np.float32(1), ranks)


def _scale_product(
    graph: Graph, node: Node, alpha: np.float32, ranks: Mapping[str, int]
) -> None:
    operands, last = list(node.inputs), node
    for number, value in enumerate(node.inputs):
        before = maker(graph, value, "Mul", "Div")
        found = before and _scale_of(graph, before, ranks)
        if found:
            operands[number], factor = found
            alpha = np.float32(alpha * factor)
    for kind in ("Mul", "Div"):
        after = taker(graph, node, kind)
        found = after and _scale_of(graph, after, ranks)
        if after and found and found[0] == node.result:
            alpha, last = np.float32(alpha * found[1]), after
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
    replace(graph, gone, made)
    graph.needed()
    _scale_product(graph, made, alpha, ranks)
