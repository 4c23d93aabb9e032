"""Reductions of real numbers along dimensions, whose orders are rules of contracts."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from xdsl.dialects.builtin import TensorType, f32, i32, i64
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.operators.shapes import reduced

from ...entry import takes
from ...scalars import Scalars, folded
from ..context import NodeContext
from ..orders import identity
from ..values import Value
from .real import real_operand
from .real_layers import FALLBACK

ANY_ORDER = {"ReduceMax": "maximum", "ReduceMin": "minimum"}
"""Rules, without `real_`, whose results the order of the elements doesn't change."""

FUNCTIONS = {
    **ANY_ORDER,
    "ReduceL1": "l1",
    "ReduceL2": "l2",
    "ReduceLogSum": "log_sum",
    "ReduceLogSumExp": "log_sum_exp",
    "ReduceMean": "mean",
    "ReduceProd": "product",
    "ReduceSum": "sum",
    "ReduceSumSquare": "square_sum",
}


def import_global_max_pool(node: NodeContext) -> None:
    value = real_operand(node, 0)
    reduce(node, value, range(2, len(value.shape)), "maximum", keeps=True)


def import_global_lp_pool(node: NodeContext) -> None:
    """The root of the sum of powers of an image (nn/pool_functors.h); powers above 2
    are computed in float64."""
    value = real_operand(node, 0)
    function = "l1" if node.integer("p", 2, 1, 2) == 1 else "global_l2"
    reduce(node, value, range(2, len(value.shape)), function, keeps=True)


def import_reduction(node: NodeContext, function: str) -> None:
    value = node.value(0)
    is_whole_numbers = function == "sum" and value.element in (i32, i64)
    is_stored = function in ANY_ORDER.values() and not value.is_real
    if not (is_whole_numbers or is_stored):
        value = real_operand(node, 0)
    rank, keeps = len(value.shape), node.flag("keepdims", True)
    axes = node.axes(1, rank)
    is_whole = axes is not None or not node.flag("noop_with_empty_axes", False)
    axes = axes or (range(rank) if is_whole else ())
    if not (is_whole_numbers or is_stored):
        reduce(node, value, axes, function, keeps=keeps)
        return
    value = node.in_order(value)
    if is_whole_numbers:  # ONNX Runtime's sum of INT32 doesn't wrap
        emit = node.builder.emitter(node.place(), "sums")
        found = folded(emit, value.ssa, axes, Scalars.add, 0)
    else:
        found = _reduced_codes(node, value, axes, function)
    shape = reduced(value.shape, sorted(axes), keeps)
    node.define(node.reshaped(Value(found, identity(len(shape_of(found)))), shape))


def _reduced_codes(
    node: NodeContext, value: Value, axes: Collection[int], function: str
) -> SSAValue:
    """The largest or smallest stored integers along axes, with the operand's scale."""
    element = value.element
    if not isinstance(element, QuantizedType):
        raise node.error(f"a {function} of {element} is not supported")
    emit = node.builder.emitter(node.place(), "codes")
    codes = node.plain(value, "codes")
    compute, start = Scalars.larger, element.storage_min
    if function == "minimum":
        compute, start = Scalars.smaller, element.storage_max
    found = folded(emit, codes, axes, compute, start, is_unsigned=not element.signed)
    return node.meant(found, element, "stored")


def reduce(
    node: NodeContext,
    value: Value,
    axes: Collection[int],
    function: str,
    *,
    keeps: bool,
) -> None:
    """Define the node's result as a function of the elements along axes."""
    if function not in ANY_ORDER.values():
        value = node.in_order(value)
    places = sorted(value.order.index(axis) for axis in axes)
    shape = reduced(shape_of(value.ssa), places, keeps)
    operation = qnn.RealReduceOp(
        value.ssa,
        TensorType(f32, shape),
        function=function,
        axes=places,
        keep_dims=keeps,
        fallback=FALLBACK,
    )
    kept = [axis for axis in value.order if keeps or axis not in axes]
    order = tuple(sum(other < axis for other in kept) for axis in kept)
    node.define(Value(node.emit(operation), order, is_real=True))


IMPORTERS = {
    **{
        ("", kind): takes("x, axes?", partial(import_reduction, function=function))
        for kind, function in FUNCTIONS.items()
    },
    ("", "GlobalLpPool"): takes("x", import_global_lp_pool),
    ("", "GlobalMaxPool"): takes("x", import_global_max_pool),
}
