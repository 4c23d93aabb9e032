"""The simplifications that ONNX Runtime begins with, as far as they decide what is
fused.

Each function is one of its graph transformers of level 1 (onnxruntime/core/optimizer,
1.31).
"""

from __future__ import annotations

import numpy as np

from ..graph.bounds import RANGES
from ..graph.nodes import DEQUANTIZE, QUANTIZE, Graph, Node, QuantStep
from ..graph.passes import same_step
from ..graph.schema import Array, Constant
from .patterns import is_whole, other, taker
from .ranks import find_ranks


def fold_quantized(graph: Graph) -> None:
    """Quantize constants, such as weights stored as floats (constant_folding.cc)."""
    for node in graph.of_kind(QUANTIZE):
        real = constant_array(graph, node.inputs[0])
        scale = graph.array(node.inputs[1])
        type = graph.stored_type(node)
        if real is None or scale is None or type not in ("INT8", "UINT8"):
            continue
        zero_point = np.zeros((), np.int32)
        if graph.has_zero_point(node):
            given = graph.array(node.inputs[2])
            if given is None:
                continue
            zero_point = given.astype(np.int32)
        if real.dtype != np.float32 or scale.dtype != np.float32:
            continue
        if scale.size != 1 or zero_point.size != 1:
            axis = node.attributes.get("axis", 1)
            if not isinstance(axis, int) or not -real.ndim <= axis < real.ndim:
                continue
            sizes = [1] * real.ndim
            sizes[axis] = real.shape[axis]
            if {scale.size, zero_point.size} - {1, real.shape[axis]}:
                continue
            scale = scale.reshape(sizes if scale.size != 1 else ())
            zero_point = zero_point.reshape(sizes if zero_point.size != 1 else ())
        low, high = RANGES[type]
        with np.errstate(all="ignore"):
            steps = np.rint(real.astype(np.float32) / scale.astype(np.float32))
            steps = np.clip(steps, -(2.0**30), 2.0**30)
            stored = np.clip(np.nan_to_num(steps) + zero_point, low, high)
        array = stored.astype(np.int8 if type == "INT8" else np.uint8)
        graph.remove(node)
        graph.constants[node.result] = Constant(type, array.shape, array)


def constant_array(graph: Graph, value: str) -> Array | None:
    """The elements of a constant, or of one that is dequantized with one scale or one
    for each index of an axis."""
    source = graph.producer(value)
    if source is None or source.kind != DEQUANTIZE or len(source.inputs) < 3:
        return graph.array(value)
    stored, scale, point = (graph.array(name) for name in source.inputs)
    axis = source.attributes.get("axis", 1)
    if stored is None or scale is None or point is None or not isinstance(axis, int):
        return None
    if scale.size > 1:
        sizes = [1] * stored.ndim
        sizes[axis] = stored.shape[axis]
        if scale.size != stored.shape[axis] or point.size != scale.size:
            return None
        scale, point = scale.reshape(sizes), point.reshape(sizes)
    centred = (stored.astype(np.int64) - point.astype(np.int64)).astype(np.float32)
    return centred * scale.astype(np.float32)


NEUTRAL = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1}
"""The constants that change nothing, but for -0 + 0."""


def remove_neutral(graph: Graph) -> None:
    """Drop additions of 0 and products by 1, but for those of an input of the model
    (noop_elimination.cc, CanRemoveNode in graph_utils.cc)."""
    ranks = None
    for node in graph.of_kind(*NEUTRAL):
        if not is_whole(node) or graph.is_returned(node.result):
            continue
        for number in (1,) if node.kind in ("Sub", "Div") else (0, 1):
            value, kept = node.inputs[number], node.inputs[1 - number]
            constant = graph.scalar(value)
            if constant != NEUTRAL[node.kind] or graph.producer(kept) is None:
                continue
            ranks = ranks or find_ranks(graph)
            if ranks[value] <= ranks.get(kept, 0):
                graph.replace_uses(node.result, kept)
                graph.remove(node)
                break


def divide_once(graph: Graph) -> None:
    """`1 / x * y` becomes `y / x` (div_mul_fusion.cc)."""
    for node in graph.of_kind("Div"):
        product = taker(graph, node, "Mul") if is_whole(node) else None
        if product is None or graph.scalar(node.inputs[0]) != 1:
            continue
        operands = [other(product, node.result), node.inputs[1]]
        graph.remove(node, product)
        graph.add(node.like("Div", operands, product.outputs))


def remove_double_pairs(graph: Graph) -> None:
    """Q, DQ, Q, DQ becomes Q, DQ with the range that both have
    (double_qdq_pairs_remover.cc); what is left of it waits for the next round."""
    joined: set[Node] = set()
    for node in graph.ordered():
        if node not in graph.nodes or node.kind != DEQUANTIZE or node in joined:
            continue
        parent = graph.producer(node.inputs[0])
        child = graph.only_user(node, QUANTIZE)
        if parent is None or child is None or parent.kind != QUANTIZE:
            continue
        last = graph.only_user(child, DEQUANTIZE)
        if last is None or graph.only_user(parent, DEQUANTIZE) is not node:
            continue
        if not (same_step(graph, parent, node) and same_step(graph, child, last)):
            continue
        one, other = graph.step(node), graph.step(child)
        if one is None or other is None or one.type != other.type:
            continue
        if one.type not in ("INT8", "UINT8"):
            continue
        if one != other:
            scale, zero_point = _common_range(one, other)
            for changed in (parent, last):
                scale_name = graph.add_constant(changed.inputs[1], scale)
                graph.set_input(changed, 1, scale_name)
                zero_name = graph.add_constant(changed.inputs[2], zero_point)
                graph.set_input(changed, 2, zero_name)
        joined.add(last)
        graph.set_input(last, 0, node.inputs[0])
        graph.remove(child, node)


def _common_range(one: QuantStep, other: QuantStep) -> tuple[Array, Array]:
    """Scale and zero point of the real numbers that both can hold."""
    low, high = RANGES[one.type]
    first, second = np.float32(one.scale), np.float32(other.scale)
    least = max(
        np.float32(low - one.zero_point) * first,
        np.float32(low - other.zero_point) * second,
    )
    most = min(
        np.float32(high - one.zero_point) * first,
        np.float32(high - other.zero_point) * second,
    )
    with np.errstate(all="ignore"):
        scale = (most - least) / np.float32(high - low)
        zero = np.nan_to_num(np.float32(low) - least / scale)
    # Half away from zero, as C rounds.
    rounded = int(np.clip(np.trunc(zero + np.copysign(0.5, zero)), low, high))
    dtype = np.int8 if one.type == "INT8" else np.uint8
    return np.asarray(scale, np.float32), np.array(rounded, dtype)


def share_results(graph: Graph) -> None:
    """One node for equal ones of the same values (constant_sharing.cc,
    common_subexpression_elimination.cc). Those of dequantized values aren't the same:
    each has a dequantization of its own. Those that the model returns aren't looked at:
    ONNX Runtime may keep one for both."""
    known: dict[tuple[object, ...], Node] = {}
    for node in graph.ordered():
        if len(node.outputs) != 1 or graph.is_returned(node.result):
            continue
        sources = [graph.producer(value) for value in node.inputs]
        if node.kind == DEQUANTIZE or (
            node.kind != QUANTIZE
            and any(source and source.kind == DEQUANTIZE for source in sources)
        ):
            continue
        key = (
            node.operator,
            *(_constant_key(graph, value) for value in node.inputs),
            *sorted((name, repr(given)) for name, given in node.attributes.items()),
        )
        first = known.setdefault(key, node)
        if first is not node:
            graph.replace_uses(node.result, first.result)
            graph.remove(node)


def _constant_key(graph: Graph, value: str) -> object:
    """Equal constants of one float become one."""
    array = graph.array(value)
    if array is None or array.size != 1 or array.dtype.kind != "f":
        return value
    return array.dtype.name, array.shape, array.tobytes()


def add_biases(graph: Graph) -> None:
    """A product with a constant matrix and the sum after it, as one Gemm
    (matmul_add_fusion.cc)."""
    for node in graph.of_kind("MatMul"):
        if node.domain or len(node.inputs) != 2:
            continue
        addition = graph.only_user(node, "Add")
        weights = _constant_shape(graph, node.inputs[1])
        if addition is None or weights is None or len(weights) != 2:
            continue
        if addition.inputs[0] == addition.inputs[1]:
            continue
        number = 1 - addition.inputs.index(node.result)
        bias = _constant_shape(graph, addition.inputs[number])
        if bias not in ((weights[1],), (1, weights[1])):
            continue
        inputs = [*node.inputs, addition.inputs[number]]
        graph.remove(addition, node)
        graph.add(node.like("Gemm", inputs, addition.outputs))


def _constant_shape(graph: Graph, value: str) -> tuple[int, ...] | None:
    """The shape of a constant, which may be dequantized."""
    producer = graph.producer(value)
    if producer is not None and producer.kind == DEQUANTIZE:
        value = producer.inputs[0]
    constant = graph.constants.get(value)
    return None if constant is None else constant.shape
