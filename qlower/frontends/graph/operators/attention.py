"""Attention, as ONNX Runtime fuses it: products of heads on both sides of a softmax."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i1, i32

from qlower.dialects import qnn

from ...entry import takes
from ...scalars import Scalars, text
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..values import Value, real_value, slice_of
from .dynamic import real_sums
from .integer_products import matmul_integer, stored_operand
from .real import body_of, elementwise, real_operand
from .real_layers import SCALED_SUM, layer, product, real_tensor
from .real_softmax import softmax_of

MASK_FILTER = -10000.0
"""The number that is added by default where a mask hides an element."""


def import_attention(node: NodeContext) -> None:
    """Import an Attention: one product of real numbers gives queries, keys and values,
    whose weights are packed before the model runs."""
    x = node.in_order(real_operand(node, 0))
    node.array(1, "weights")
    weights, bias = real_tensor(node, 1), real_tensor(node, 2)
    shape = (*x.shape[:-1], weights.shape[-1])
    operation = qnn.RealMatMulOp(x.ssa, weights.ssa, bias.ssa, TensorType(f32, shape))
    sums = layer(node, operation, "inputs", is_computed=False)
    _attend(node, real_value(sums), mask=3, unsupported=(4, 5))


def import_quantized_attention(node: NodeContext) -> None:
    """Import a QAttention: one product of integers gives queries, keys and values."""
    sums = matmul_integer(node, stored_operand(node, 0, 6), 1, 7, "inputs")
    scales = [node.real(index) for index in (3, 4)]
    whole = real_sums(node, sums, scales, [node.real(2)])
    _attend(node, whole, mask=5, unsupported=(8,))


def _attend(
    node: NodeContext, whole: Value, mask: int, unsupported: tuple[int, ...]
) -> None:
    """Compute `softmax(alpha q k^T + mask) v` for each head
    (bert/attention_cpu_base.h)."""
    for number in unsupported:
        if node.has(number):
            raise node.error(
                f"operand {number}, a past state or a bias of scores, is not supported"
            )
    heads = node.integer("num_heads", None, 1)
    batch, length, width = whole.shape
    if width % (3 * heads):
        raise node.error(
            f"rows of {width} numbers do not hold queries, keys and values of {heads}"
            " heads of one size"
        )
    depth = width // (3 * heads)
    alpha = node.number("scale", 0.0)
    if not alpha:
        alpha = float(np.float32(1) / np.sqrt(np.float32(depth)))
    whole = node.in_order(whole)
    split = (batch, length, 3, heads, depth)
    parts = node.reshaped(whole, split)

    def part(at: int, name: str, *order: int) -> Value:
        """Queries, keys or values of all heads, stored as [batch, length, head, ...]"""
        ranges = [range(size) for size in split]
        ranges[2] = range(at, at + 1)
        taken = node.emit(slice_of(parts.ssa, ranges), name)
        type = TensorType(f32, (batch, length, heads, depth))
        return Value(
            node.emit(qnn.ReshapeOp(taken, type), f"{name}_heads"), order, True
        )

    queries = part(0, "queries", 0, 2, 1, 3)
    keys = part(1, "keys", 0, 3, 1, 2)
    sums = product(node, queries, keys, suffix="scores", alpha=alpha)
    terms = _mask_terms(node, mask, batch, length)
    if terms is None:
        scores = elementwise(node, [sums], body_of(Scalars.multiply, alpha))
    else:
        scores = elementwise(node, [sums, terms], body_of(SCALED_SUM, alpha, 1.0))
    shares = softmax_of(node, scores, "softmax", 3, "shares")
    found = product(node, shares, part(2, "values", 0, 2, 1, 3), suffix="found")
    rows = node.in_order(Value(found.ssa, (0, 2, 1, 3), True))
    shape = (batch, length, heads * depth)
    node.define(node.reshaped(rows, shape))


def _mask_terms(
    node: NodeContext, number: int, batch: int, length: int
) -> Value | None:
    """The terms of scores by a mask [batch, length], or by lengths [batch]; of later
    places the lowest number, if only earlier ones may be seen."""
    place, terms = node.place(), None
    filter = node.number("mask_filter_value", MASK_FILTER)
    if node.has(number):
        mask = node.value(number)
        given = mask.shape
        if mask.element != i32 or given not in ((batch, length), (batch,)):
            raise node.error(
                f"a mask {node.name(number)!r} of shape {list(given)} is not supported;"
                f" expected INT32 of shape {[batch, length]} or {[batch]}"
            )
        mask = node.in_order(mask)
        whole = (*given[:1], 1, 1, *given[1:], *[1] * (2 - len(given)))
        operands = [node.reshaped(mask, whole)]
        body = body_of(text("_mlas", "mask_term"), filter)
        if len(given) == 1:
            places = np.arange(length, dtype=np.int32)
            constant = node.builder.constant(places, i32, place)
            operands.append(Value(constant, (0,)))
            body = body_of(text("_mlas", "mask_term_of_length"), filter)
        terms = elementwise(node, operands, body)
    if node.flag("unidirectional", False):
        later = np.triu(np.ones((length, length), np.bool_), 1)
        if terms is None:
            zeros = np.zeros((length, length), np.float32)
            terms = Value(node.builder.constant(zeros, f32, place), (0, 1), True)
        operands = [terms, Value(node.builder.constant(later, i1, place), (0, 1))]
        body = body_of(text("_mlas", "causal_term"), qnn.LOWEST)
        terms = elementwise(node, operands, body)
    return terms


IMPORTERS = {
    (MICROSOFT, "Attention"): takes(
        "x[3], weights[2], bias[1], mask?, past?, score_bias?, past_length?",
        import_attention,
    ),
    (MICROSOFT, "QAttention"): takes(
        "x[3], weights[2], bias[1], x_scale, weight_scale, mask?, x_zero_point?,"
        " weight_zero_point?, past?",
        import_quantized_attention,
    ),
}
