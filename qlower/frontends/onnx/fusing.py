"""The groups that ONNX Runtime fuses in a graph in QDQ form, at its level "extended".

With int8 allowed for groups (`session.qdqisint8allowed`), the fused operators are on
integers on every machine. By default this isn't so on x86-64: there convolutions and
products of int8 stay real.
"""

from __future__ import annotations

from dataclasses import replace

from ..graph.bounds import RANGES, bounds, is_redundant, remove_activations
from ..graph.nodes import DEQUANTIZE, QUANTIZE, Graph, Node
from ..graph.operators import IMPORTERS
from ..graph.passes import remove_identities, separate_dequantizers
from ..graph.qdq import Group, find_group
from ..import_options import DEVICE, INTEGER, X86
from ..site import Site
from .device import activation_of, check_bias, fold_bounds, move_codes
from .real_fusing import fuse_reals
from .rewriting import (
    add_to_convolutions,
    fused_operators,
    propagate,
    quantize_parameters,
    remove_inverse_pairs,
    use_uint8,
)
from .selectors import SELECTORS, Fused, StaysReal
from .simplifying import (
    add_biases,
    divide_once,
    fold_quantized,
    remove_double_pairs,
    remove_neutral,
    share_results,
)

SIMPLIFICATIONS = (
    remove_identities,
    remove_neutral,
    divide_once,
    remove_double_pairs,
    share_results,
    fold_quantized,
    add_biases,
    propagate,
    quantize_parameters,
    separate_dequantizers,
)
"""In the order in which ONNX Runtime has them at its first level
(core/optimizer/graph_transformer_utils.cc)."""

MOST_ROUNDS = 10
"""The most times that they are applied, as long as anything changes
(max_num_graph_transformation_steps)."""


def fuse(graph: Graph, qdq: str = INTEGER) -> dict[Node, str]:
    """Rewrite the graph to what ONNX Runtime makes of it at its level "extended", with
    int8 allowed for groups ("integer") or as on x86-64 by default ("x86"). In the
    reading "device" an activation between an operator and its quantization is fused.

    Gives, for each operator between conversions that stays real, why.
    """
    passes = list(SIMPLIFICATIONS)
    if qdq == DEVICE:
        passes.remove(remove_double_pairs)  # a device rounds twice
        fold_bounds(graph)
        move_codes(graph)
    for _ in range(MOST_ROUNDS):
        changes = graph.changes
        for simplify in passes:
            simplify(graph)
        if graph.changes == changes:
            break
    remove_activations(graph)
    if qdq == X86:
        remove_inverse_pairs(graph)
        use_uint8(graph)
    unfused: dict[Node, str] = {}
    for node in fused_operators(graph):
        if node not in graph.nodes:
            continue
        group = find_group(graph, node)
        if not (group.dequantizers or group.quantizers) or graph.is_activation(node):
            continue
        try:
            _replace(graph, group, _select(graph, group, qdq))
        except StaysReal as reason:
            unfused[node] = str(reason)
    remove_inverse_pairs(graph)
    add_to_convolutions(graph)
    fuse_reals(graph)
    return unfused


def _replace(graph: Graph, group: Group, fused: Fused) -> None:
    node = group.operator
    quantized = [quantizer.result for quantizer in group.quantizers]
    graph.remove(*group.members, node)
    outputs = quantized or node.outputs
    graph.add(
        node.like(
            fused.kind, fused.inputs, outputs, fused.attributes, domain=fused.domain
        )
    )


def _select(graph: Graph, group: Group, qdq: str) -> Fused:
    node = group.operator
    selector = SELECTORS.get(node.kind) if not node.domain else None
    if selector is None:
        raise StaysReal("there is no such operator on integers")
    activation = group.activation
    if qdq == DEVICE:
        check_bias(graph, group)
    if qdq == DEVICE and activation is not None:
        word = activation_of(graph, group, activation)
        selected = selector(graph, group)
        return replace(selected, attributes={**selected.attributes, "activation": word})
    if activation is not None:
        _check_activation(graph, group, activation)
    selected = selector(graph, group)
    value = group.dequantizers.get(0)
    is_limited = node.kind in ("Conv", "MatMul") and qdq == X86
    if is_limited and value is not None and graph.stored_type(value) == "INT8":
        raise StaysReal(
            "int8 activations need the session entry session.qdqisint8allowed=1"
        )
    return selected


def _check_activation(graph: Graph, group: Group, activation: Node) -> None:
    """Check that the quantization implies the activation."""
    name = activation.kind
    if len(group.quantizers) != 1:
        raise StaysReal(f"its {name} is not quantized")
    step, limits = graph.step(group.quantizers[0]), bounds(graph, activation)
    if step is None or limits is None or step.type not in RANGES:
        raise StaysReal(f"bounds or quantization of its {name} are not constant")
    low, high = RANGES[step.type]
    fits = step.zero_point == low if name == "Relu" else is_redundant(limits, step)
    if not fits:
        raise StaysReal(
            f"its {name} is not what the quantization to [{low}, {high}] with scale"
            f" {step.scale:.9g} and zero point {step.zero_point} does anyway"
        )


REWRITTEN = (
    *(QUANTIZE, DEQUANTIZE, *SELECTORS, "Clip", "ConvTranspose", "Dropout", "Identity"),
    "Relu",
)
"""The kinds of nodes that are rewritten."""

SEVERAL_RESULTS = ("Dropout", "MaxPool", "Split")


def check_arity(graph: Graph) -> None:
    """Refuse a node that may be rewritten without all operands and results, as its
    signature has them."""
    for node in graph.nodes:
        if node.kind not in REWRITTEN:
            continue
        low, high = IMPORTERS["", node.kind].inputs
        if (
            not low <= len(node.inputs) <= high
            or not all(node.inputs[:low])
            or not any(node.outputs[:1])
            or (node.kind not in SEVERAL_RESULTS and len(node.outputs) != 1)
        ):
            site = Site(graph.model.filename, node.index, f"node {node.index}")
            raise site.error(
                f"{node.kind} with operands {node.inputs} and results {node.outputs};"
                f" expected {low} to {high} operands"
            )
