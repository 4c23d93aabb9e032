"""The groups that ONNX Runtime runs on integers, each with its operator.

The table is that of 1.31: onnxruntime/core/optimizer/qdq_transformer/selectors_actions,
qdq_selector_action_transformer.cc, qdq_selectors.cc and qdq_actions.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..graph.nodes import MICROSOFT, Graph, Node
from ..graph.passes import same_step
from ..graph.qdq import Group, open_operand, open_result
from ..graph.schema import AttributeValue


@dataclass(frozen=True)
class Fused:
    """The operator that a group becomes, and its operands."""

    domain: str
    kind: str
    inputs: tuple[str, ...]
    attributes: Mapping[str, AttributeValue]


MOST_BIAS_RATIO, MOST_BIAS_STEP = 0.01, 1e-6
"""The largest distance of a bias's scale from the accumulator's; measured."""


class StaysReal(Exception):
    """Why a group is not fused."""


def _refuse(problem: str | None) -> None:
    if problem is not None:
        raise StaysReal(problem)


# What selectors ask for


def _check_open(
    graph: Graph, group: Group, count: int | None = None, *, real: bool = False
) -> None:
    """The group is closed: `count` operands (all that there are) are dequantized, and
    the results quantized, or with `real` not used otherwise."""
    given = [number for number, value in enumerate(group.operator.inputs) if value]
    _refuse(open_operand(graph, group, given[:count]))
    if group.quantizers or not real:
        _refuse(open_result(graph, group))


def _types(graph: Graph, group: Group) -> tuple[list[str], list[str]]:
    """The stored types of the operands and of the results."""
    return (
        [graph.stored_type(node) for node in group.dequantizers.values()],
        [graph.stored_type(node) for node in group.quantizers],
    )


def _check_bytes(types: list[str]) -> None:
    """Values of other types than 8 bits stay real."""
    for type in types:
        if type not in ("INT8", "UINT8"):
            raise StaysReal(f"there is no such operator on {type}")


def _check_alike(types: list[str]) -> None:
    if len(set(types)) > 1:
        listed = ", ".join(types)
        raise StaysReal(f"operands and result have different types: {listed}")


def _check_int8(types: list[str]) -> None:
    """Activations of int8 need weights of int8."""
    if types[0] == "INT8" and types[1] != "INT8":
        raise StaysReal(f"int8 activations with weights of {types[1]}")


def _operand(graph: Graph, node: Node) -> tuple[str, str, str]:
    """Value, scale and zero point that a dequantization takes."""
    value, *_ = node.inputs
    return value, *_scale(graph, node)


def _scale(graph: Graph, node: Node) -> tuple[str, str]:
    scale = node.inputs[1]
    if graph.has_zero_point(node):
        return scale, node.inputs[2]
    dtype = np.int8 if graph.stored_type(node) == "INT8" else np.uint8
    return scale, graph.add_constant(scale, np.zeros((), dtype))


def _result(graph: Graph, group: Group) -> tuple[str, str]:
    return _scale(graph, group.quantizers[0])


def _check_closed(graph: Graph, group: Group, count: int | None = None) -> None:
    """A group is closed as in `_check_open`, and of one type of 8 bits."""
    _check_open(graph, group, count)
    types = [type for side in _types(graph, group) for type in side]
    _check_bytes(types)
    _check_alike(types)


def _operands(graph: Graph, group: Group) -> list[str]:
    return [v for node in group.dequantizers.values() for v in _operand(graph, node)]


# Selectors


def _select_conv(graph: Graph, group: Group) -> Fused:
    _check_open(graph, group)
    inputs, outputs = _types(graph, group)
    _check_bytes([*inputs[:2], *outputs])
    _check_alike([inputs[0], *outputs])
    _check_int8(inputs)
    _check_bias_type(inputs)
    x, w, *bias = group.dequantizers.values()
    if bias:
        check_bias_scale(graph, x, w, bias[0])
    return Fused(
        "",
        "QLinearConv",
        (
            *_operand(graph, x),
            *_operand(graph, w),
            *_result(graph, group),
            *(node.inputs[0] for node in bias),
        ),
        group.operator.attributes,
    )


def _check_bias_type(types: list[str]) -> None:
    if len(types) > 2 and types[2] != "INT32":
        raise StaysReal(f"its bias is of type {types[2]}, not INT32")


def check_bias_scale(
    graph: Graph,
    x: Node,
    w: Node,
    bias: Node,
    ratio: float = MOST_BIAS_RATIO,
    step: float = MOST_BIAS_STEP,
) -> None:
    """Raise `StaysReal` if the bias isn't in steps of the accumulator, for which it is
    taken: its scale may differ by `step` and, in proportion, by `ratio`."""
    scales = [graph.array(node.inputs[1]) for node in (x, w, bias)]
    zero = graph.array(bias.inputs[2]) if graph.has_zero_point(bias) else None
    if zero is not None and zero.any():
        raise StaysReal("the zero point of its bias is not 0")
    reals = [array.astype(np.float32) for array in scales if array is not None]
    if len(reals) < 3:
        raise StaysReal("scales of operands or bias are not constant")
    expected = (reals[0] * reals[1]).reshape(-1)
    given = reals[2].reshape(-1)
    sizes = {1, expected.size, given.size}
    if (
        len(sizes) > 2
        or (np.abs(given - expected) > step + ratio * np.abs(expected)).any()
    ):
        raise StaysReal(
            "the scale of its bias is not that of the input times the weights'"
        )


def _select_matmul(graph: Graph, group: Group) -> Fused:
    if _has_stored_weights(graph, group):
        return _with_stored_weights(group)
    _check_open(graph, group, real=True)
    inputs, outputs = _types(graph, group)
    _check_bytes([*inputs, *outputs])
    _check_int8(inputs)
    a, b = (_operand(graph, node) for node in group.dequantizers.values())
    if not group.quantizers:
        if group.activation is not None:
            raise StaysReal("its result is not quantized")
        operands = (a[0], b[0], a[1], b[1], a[2], b[2])
        return Fused(MICROSOFT, "MatMulIntegerToFloat", operands, {})
    _check_alike([inputs[0], *outputs])
    return Fused("", "QLinearMatMul", (*a, *b, *_result(graph, group)), {})


def _has_stored_weights(graph: Graph, group: Group) -> bool:
    """Whether a real matrix is multiplied by a constant one that is dequantized, all of
    it or each column with one scale, or blocks of rows
    (DQMatMulNodeGroupSelector)."""
    node, source = group.operator, group.dequantizers.get(1)
    others = {number for number in group.dequantizers if number != 1}
    if source is None or group.quantizers or group.activation is not None:
        return False
    if not others <= ({2} if node.kind == "Gemm" else set()):
        return False
    if node.attributes.get("transB", 0) or node.attributes.get("alpha", 1.0) != 1.0:
        return False
    weights, scales = (graph.constants.get(name) for name in source.inputs[:2])
    if weights is None or scales is None or len(weights.shape) != 2:
        return False
    if weights.type.removeprefix("U") not in ("INT2", "INT4", "INT8"):
        return False
    if graph.only_user(source) is None:
        return False
    axis, size = (source.attributes.get(name) for name in ("axis", "block_size"))
    if size:
        return (
            axis == 0 and isinstance(size, int) and size >= 16 and not size & size - 1
        )
    return not scales.shape or (scales.shape == weights.shape[1:] and axis in (None, 1))


def _with_stored_weights(group: Group) -> Fused:
    """A real bias stays what it is."""
    value, _, *bias = group.operator.inputs
    source = group.dequantizers[1]
    group.dequantizers.pop(2, None)
    operands = (value, *source.inputs, *bias)
    return Fused(MICROSOFT, "MatMulNBits", operands, {"accuracy_level": 4})


def _select_gemm(graph: Graph, group: Group) -> Fused:
    if _has_stored_weights(graph, group):
        return _with_stored_weights(group)
    _check_open(graph, group, real=True)
    inputs, outputs = _types(graph, group)
    _check_bytes([*inputs[:2], *outputs])
    _check_bias_type(inputs)
    _check_alike([inputs[0], *outputs])
    _check_int8(inputs)
    attributes = dict(group.operator.attributes)
    if attributes.pop("beta", 1.0) != 1.0 and len(inputs) > 2:
        raise StaysReal("its beta is not 1")
    if attributes.get("alpha", 1.0) != 1.0 and len(inputs) > 2:
        raise StaysReal("its alpha is not 1")
    a, b, *bias = group.dequantizers.values()
    operands = [*_operand(graph, a), *_operand(graph, b)]
    operands.append(bias[0].inputs[0] if bias else "")
    if group.quantizers:
        operands += _result(graph, group)
    return Fused(MICROSOFT, "QGemm", tuple(operands), attributes)


def _select_binary(graph: Graph, group: Group) -> Fused:
    _check_closed(graph, group)
    operands = (*_operands(graph, group), *_result(graph, group))
    return Fused(MICROSOFT, f"QLinear{group.operator.kind}", operands, {})


def _select_unary(graph: Graph, group: Group) -> Fused:
    _check_closed(graph, group, 1)
    attributes = dict(group.operator.attributes)
    if group.operator.kind == "Softmax":
        attributes["opset"] = graph.model.opset
    operands = (*_operands(graph, group), *_result(graph, group))
    return Fused(MICROSOFT, f"QLinear{group.operator.kind}", operands, attributes)


def _select_concat(graph: Graph, group: Group) -> Fused:
    _check_closed(graph, group)
    operands = (*_result(graph, group), *_operands(graph, group))
    return Fused(MICROSOFT, "QLinearConcat", operands, group.operator.attributes)


def _select_where(graph: Graph, group: Group) -> Fused:
    condition, *_ = group.operator.inputs
    _refuse(open_operand(graph, group, (1, 2)) or open_result(graph, group))
    inputs, outputs = _types(graph, group)
    _check_alike([*inputs, *outputs])
    operands = (condition, *_operands(graph, group), *_result(graph, group))
    return Fused(MICROSOFT, "QLinearWhere", operands, {})


def _select_moving(graph: Graph, group: Group) -> Fused:
    """The operator itself, on stored values: nothing changes them."""
    node = group.operator
    if group.activation is not None:
        raise StaysReal("its result is bounded before it is quantized")
    if node.kind == "MaxPool" and graph.model.opset < 12:
        raise StaysReal("MaxPool has integers since opset 12")
    if node.kind == "Resize" and node.attributes.get("mode", "nearest") != "nearest":
        raise StaysReal("it computes what lies between pixels")
    _check_open(graph, group, 1)
    (x,) = group.dequantizers.values()
    if not all(same_step(graph, quantizer, x) for quantizer in group.quantizers):
        raise StaysReal(
            "scale and zero point differ before and after it, or are not given as one"
            " constant each"
        )
    operands = (x.inputs[0], *node.inputs[1:])
    return Fused(node.domain, node.kind, operands, node.attributes)


def _select_arg_max(graph: Graph, group: Group) -> Fused:
    _refuse(open_operand(graph, group, (0,)))
    (x,) = group.dequantizers.values()
    if graph.step(x) is None or not graph.has_zero_point(x):
        raise StaysReal("scale and zero point are not one constant each")
    node = group.operator
    return Fused("", node.kind, (x.inputs[0], *node.inputs[1:]), node.attributes)


Selector = Callable[[Graph, Group], Fused]

MOVING = (
    "Expand",
    "Flatten",
    "Gather",
    "GatherElements",
    "MaxPool",
    "ReduceMax",
    "ReduceMin",
    "Reshape",
    "Resize",
    "Slice",
    "Split",
    "Squeeze",
    "Tile",
    "Transpose",
    "Unsqueeze",
)
UNARY = ("AveragePool", "GlobalAveragePool", "LeakyRelu", "Sigmoid", "Softmax")

SELECTORS: Mapping[str, Selector] = {
    "Conv": _select_conv,
    "MatMul": _select_matmul,
    "Gemm": _select_gemm,
    **dict.fromkeys(("Add", "Mul"), _select_binary),
    **dict.fromkeys(UNARY, _select_unary),
    "Concat": _select_concat,
    "Where": _select_where,
    **dict.fromkeys(MOVING, _select_moving),
    "ArgMax": _select_arg_max,
}
"""Selector by the operator's name."""
