"""Functions of one value, softmax and the place of the largest."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from xdsl.dialects.builtin import Float32Type, i64

from qlower.dialects import qnn

from ...entry import RESULT, Entry, quantized, takes
from ...ranking import place_of_extreme
from ..bounds import bounds
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..values import Value
from .real import import_bounded, real_operand


def import_softmax(node: NodeContext) -> None:
    """Along one axis since opset 13, before along all dimensions from it on."""
    value = node.stored(0, 1, 2)
    rank = len(value.shape)
    is_old = node.integer("opset", node.graph.model.opset) < 13
    axis = node.axis(node.integer("axis", 1 if is_old else -1), rank)
    result = node.quantization(3, 4)
    if is_old and axis != rank - 1:
        whole = node.in_order(value)
        rows, size = math.prod(value.shape[:axis]), math.prod(value.shape[axis:])
        matrix = node.reshaped(whole, (rows, size))
        type = node.typed(result, (rows, size), (0, 1))
        ssa = node.emit(qnn.SoftmaxOp(matrix.ssa, type), "rows")
        rowed = Value(ssa, (0, 1))
        node.define(node.reshaped(rowed, value.shape))
        return
    order = (*(d for d in value.order if d != axis), axis)
    value = node.in_order(value, order)
    type = node.typed(result, value.shape, order)
    node.finish(qnn.SoftmaxOp(value.ssa, type, axis=rank - 1), value)


def import_bounds(node: NodeContext) -> None:
    """A Relu or Clip: of dequantized values that are quantized again on integers."""
    value = node.real(0)
    quantizer = node.quantizer()
    limits = bounds(node.graph, node.node)
    if limits is None:
        raise node.error(
            "bounds are computed, which is not supported; expected constants"
        )
    low, high = limits
    if not low <= high:
        raise node.error(f"min {low} is above max {high}")
    if quantizer is None or isinstance(value.element, Float32Type):
        import_bounded(node, low, high)
        return
    type = node.typed(quantizer.quantization(1, 2), value.shape, value.order)
    operation = qnn.ClampOp(value.ssa, type, min=low, max=high)
    if node.node.kind == "Relu":
        operation = qnn.ReluOp(value.ssa, type)
    quantizer.finish(operation, value)
    node.importer.skip(quantizer.node)


def import_arg_max(node: NodeContext, predicate: str = "gt") -> None:
    """The place of the first of the largest along an axis, or with `lt` of the least;
    of stored integers the largest by an operation of its own."""
    value = node.value(0)
    rank = len(value.order)
    axis = node.axis(node.integer("axis", 0), rank)
    kept = tuple(d for d in value.order if d != axis)
    order = tuple(d - (d > axis) for d in kept)
    type = node.typed(i64, [n for d, n in enumerate(value.shape) if d != axis], order)
    is_kept = node.flag("keepdims", True)
    suffix = "position" if is_kept else None
    at = value.order.index(axis)
    if predicate == "gt" and not value.is_real:
        position = node.emit(qnn.ArgMaxOp(value.ssa, type, axis=at), suffix)
    else:
        emit = node.builder.emitter(node.place(), suffix)
        position = place_of_extreme(emit, real_operand(node, 0).ssa, at, predicate)
    found = Value(position, order)
    if is_kept:
        found = node.in_order(found)
        shape = [1 if d == axis else size for d, size in enumerate(value.shape)]
        found = node.reshaped(found, shape)
    node.define(found)


def function(kind: Callable[..., qnn.QnnOp], **defaults: float) -> Entry[NodeContext]:
    """An operation on one quantized value that has these numbers."""

    def build(node: NodeContext) -> None:
        value = node.stored(0, 1, 2)
        type = node.typed(node.quantization(3, 4), value.shape, value.order)
        given = {name: node.number(name, at) for name, at in defaults.items()}
        node.finish(kind(value.ssa, type, **given), value)

    return takes(f"{quantized('x')}, {RESULT}", build)


IMPORTERS = {
    (MICROSOFT, "QLinearSigmoid"): function(qnn.SigmoidOp),
    (MICROSOFT, "QLinearLeakyRelu"): function(qnn.LeakyReluOp, alpha=0.01),
    (MICROSOFT, "QLinearSoftmax"): takes(f"{quantized('x')}, {RESULT}", import_softmax),
    ("", "Relu"): takes("x", import_bounds),
    ("", "Clip"): takes("x, min?, max?", import_bounds),
    ("", "ArgMax"): takes("x; select_last_index: 0", import_arg_max),
    ("", "ArgMin"): takes(
        "x; select_last_index: 0", partial(import_arg_max, predicate="lt")
    ),
}
