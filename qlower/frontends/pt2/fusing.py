"""The calls of a quantized program that run on integers, each with its operator.

PT2E leaves operators real, with quantize_per_tensor and dequantize_per_tensor between
them. The system that runs the program decides which groups of them become one operator:
the lowering for x86 fuses convolutions and linear layers (torchao/quantization/pt2e/
lowering.py), the delegate XNNPACK of ExecuTorch sums, products and means as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..graph.bounds import bounds, is_redundant
from ..graph.nodes import DEQUANTIZE, MICROSOFT, Graph, Node
from ..graph.passes import remove_identities, separate_dequantizers
from ..graph.qdq import Group, find_group, open_result
from .translating import TORCH

CONTRACTIONS = {"Conv": "QuantizedConv", "Linear": "QuantizedLinear"}
"""Layers with weights, and those that they become where these are quantized."""

MOVING = (
    *("Expand", "Flatten", "Flip", "Gather", "MaxPool", "Repeat", "Reshape", "Roll"),
    *("Slice", "Split", "Squeeze", "Transpose", "TransposeTwo", "Unbind", "Unflatten"),
    "Unsqueeze",
)


@dataclass(frozen=True)
class Executor:
    """Who runs a program.

    `fuses_bounds` says whether bounds belong to the group of the operator before them.
    Where they don't, a bound of [0, 6] may be taken for one if the zero point is 0:
    then it makes no difference. With `fuses_residuals` a sum belongs to the convolution
    before it. `layers` are those with weights, and `fused` the other operators, that
    run on integers, with what they become. `ignores_tanh` says that every GELU is that
    of the error function.
    """

    contract: str
    reason: str
    fuses_bounds: bool
    fuses_residuals: bool
    layers: Mapping[str, str]
    fused: Mapping[str, tuple[str, str]]
    ignores_tanh: bool = False


INDUCTOR = Executor(
    "pytorch-inductor",
    "activations are uint8, as X86InductorQuantizer has them",
    fuses_bounds=False,
    fuses_residuals=True,
    layers=CONTRACTIONS,
    fused={},
)
EAGER = replace(INDUCTOR, reason="PyTorch runs what nothing fuses")
XNNPACK = Executor(
    "xnnpack",
    "activations are int8, as XNNPACKQuantizer has them",
    fuses_bounds=True,
    fuses_residuals=False,
    layers={**CONTRACTIONS, "ConvTranspose": "QuantizedTransposed"},
    fused={
        "Add": (MICROSOFT, "QLinearAdd"),
        "Mul": (MICROSOFT, "QLinearMul"),
        "AdaptiveAveragePool": (TORCH, "AdaptiveAveragePool"),
        "Mean": (TORCH, "DelegatedMean"),
    },
    ignores_tanh=True,
)


def find_executor(graph: Graph) -> Executor:
    """The system that the quantizer was made for, by the type of the first
    activation."""
    for node in graph.nodes:
        if graph.is_quantize(node):
            is_signed = graph.stored_type(node) == "INT8"
            return XNNPACK if is_signed else INDUCTOR
    return EAGER


def fuse(graph: Graph, executor: Executor) -> dict[Node, str]:
    """Replace groups by operators on integers; gives why others stay real."""
    remove_identities(graph)
    separate_dequantizers(graph)
    _move_integers(graph)
    unfused: dict[Node, str] = {}
    for node in list(graph.nodes):
        if node.domain == TORCH and node.kind in executor.layers:
            problem = _fuse_contraction(graph, node, executor)
        elif node.kind in executor.fused:
            problem = _fuse_closed(graph, node, executor)
        elif node.kind == "GeluByTanh" and executor.ignores_tanh:
            graph.remove(node)
            erf = node.like("Gelu", node.inputs, node.outputs, domain=TORCH)
            # backends/xnnpack/operators/op_gelu.py
            unfused[graph.add(erf)] = "ExecuTorch takes erf, whatever approximate is"
            continue
        else:
            continue
        if problem is not None:
            unfused[node] = problem
    graph.needed()
    return unfused


def _move_integers(graph: Graph) -> None:
    """Dequantize behind operators that only move values: these then move integers."""
    for node in graph.ordered():
        if node.kind not in MOVING:
            continue
        source = graph.producer(node.inputs[0])
        if source is None or not graph.is_dequantize(source):
            continue
        if graph.step(source) is None:
            continue
        graph.set_input(node, 0, source.inputs[0])
        for number, value in enumerate(node.outputs):
            stored = graph.fresh(value)
            graph.set_output(node, number, stored)
            operands = [stored, *source.inputs[1:]]
            graph.add(Node(node.index, "", DEQUANTIZE, "", operands, [value]))


def _fuse_contraction(graph: Graph, node: Node, executor: Executor) -> str | None:
    """A convolution or linear layer whose operands are dequantized; its result may be
    quantized, or stay real."""
    group = find_group(graph, node)
    for number, what in ((0, "input is"), (1, "weights are")):
        if number not in group.dequantizers:
            return f"its {what} not quantized"
    operands = [
        *_operand(group.dequantizers[0]),
        *_operand(group.dequantizers[1]),
        node.inputs[2],
    ]
    if executor.fuses_residuals and _fuse_residual(graph, node, operands):
        return None
    attributes = dict(node.attributes)
    activation = _activation(graph, group, executor)
    outputs, problem = node.outputs, open_result(graph, group)
    if activation is None:
        problem = "its bounds are none that are fused"
    if problem is not None and node.kind == "ConvTranspose":
        return problem
    if problem is None:
        operands += _operand(group.quantizers[0])[1:]
        outputs = group.quantizers[0].outputs
        if activation:
            attributes["activation"] = activation
        _remove(graph, group)
    else:
        graph.remove(node)
    kind = executor.layers[node.kind]
    graph.add(node.like(kind, operands, outputs, attributes, domain=TORCH))
    return None


def _fuse_residual(graph: Graph, node: Node, operands: list[str]) -> bool:
    """Whether a convolution becomes one with the sum after it, whose other operand is
    dequantized, and whose result is quantized."""
    addition = graph.only_user(node, "Add")
    if node.kind != "Conv" or addition is None or addition.domain:
        return False
    sums = find_group(graph, addition)
    if len(sums.dequantizers) != 1 or open_result(graph, sums) is not None:
        return False
    if sums.activation is not None and sums.activation.kind != "Relu":
        return False
    (other,) = sums.dequantizers.values()
    (stored,) = sums.quantizers
    if {graph.stored_type(one) for one in (other, stored)} != {"UINT8"}:
        return False
    if graph.step(other) is None or graph.step(stored) is None:
        return False
    attributes = dict(node.attributes)
    if sums.activation is not None:
        attributes["activation"] = "relu"
    outputs = stored.outputs
    operands = [*operands, *_operand(stored)[1:], *_operand(other)]
    _remove(graph, sums)
    graph.remove(node)
    graph.add(node.like("ResidualConv", operands, outputs, attributes, domain=TORCH))
    return True


def _fuse_closed(graph: Graph, node: Node, executor: Executor) -> str | None:
    """Fuse an operator whose operands and result are all quantized."""
    group = find_group(graph, node)
    if len(group.dequantizers) != len(node.inputs):
        return "not all of its operands are quantized"
    if node.kind == "AdaptiveAveragePool" and node.attributes["sizes"] != (1, 1):
        return "it gives more than one mean"
    problem = open_result(graph, group)
    if problem is not None:
        return problem
    activation = _activation(graph, group, executor)
    if activation is None:
        return "its bounds are none that are fused"
    operands = [
        name
        for number in range(len(node.inputs))
        for name in _operand(group.dequantizers[number])
    ]
    operands += _operand(group.quantizers[0])[1:]
    attributes = dict(node.attributes)
    if activation:
        attributes["activation"] = activation
    _remove(graph, group)
    domain, kind = executor.fused[node.kind]
    outputs = group.quantizers[0].outputs
    graph.add(node.like(kind, operands, outputs, attributes, domain=domain))
    return None


def _remove(graph: Graph, group: Group) -> None:
    """Take out an operator with what follows it."""
    for member in (group.operator, group.activation, *group.quantizers):
        if member is not None:
            graph.remove(member)


def _operand(conversion: Node) -> tuple[str, str, str]:
    """Value, scale and zero point that a conversion takes."""
    value, scale, zero_point = conversion.inputs
    return value, scale, zero_point


ACTIVATIONS = {(0.0, 6.0): "relu6", (-1.0, 1.0): "relu_n1_to_1"}


def _activation(graph: Graph, group: Group, executor: Executor) -> str | None:
    """The activation that bounds a fused result, "" for none; None if the group can't
    have it."""
    if group.activation is None:
        return ""
    if group.activation.kind == "Relu":
        return "relu"
    limits = bounds(graph, group.activation)
    step = graph.step(group.quantizers[0]) if len(group.quantizers) == 1 else None
    if limits is None or step is None:
        return None
    if not executor.fuses_bounds and (step.zero_point != 0 or limits[0] != 0.0):
        return None
    if is_redundant(limits, step):
        return ""
    return ACTIVATIONS.get(limits)
