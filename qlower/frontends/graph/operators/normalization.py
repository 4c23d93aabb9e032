"""Normalizations of real numbers.

Rows from 8 numbers on are normalized by MLAS's AVX2 kernel (of RMSNormalization from
16 on), shorter ones by loops of core/providers/cpu/nn/layer_norm_impl.cc.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.operators.shapes import reduced

from ...entry import Entry, takes
from ...scalars import Scalars, folded, in_turn, mapped, square
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..values import Value, real_value
from .real import body_of, elementwise, real_operand
from .real_layers import FALLBACK, real_tensor

GROUP_CHANNELS_SINCE = 21
"""The opset from which on each channel of a group has a factor."""

EPSILON, FUSED_EPSILON = 1e-5, 1e-12
"""The default epsilon, and the default of operators into which others are fused."""

SHORTEST, SHORTEST_OF_SQUARES = 8, 16
"""The shortest rows that the kernel takes, and those of RMSNormalization."""


def import_layer_normalization(node: NodeContext, *, is_centred: bool) -> None:
    """Rows of the dimensions from `axis` on, times a factor for each place of a row."""
    value = real_operand(node, 0)
    axis = node.axis(node.integer("axis", -1), len(value.shape))
    short = SHORTEST if is_centred else SHORTEST_OF_SQUARES
    function = "layer_norm" if is_centred else "rms_norm"
    if math.prod(value.shape[axis:]) < short:
        function = f"loop_{function}"
    _define(node, value, axis, function, [1, 2] if is_centred else [1])


def import_skip_layer_normalization(node: NodeContext, *, is_centred: bool) -> None:
    """Import the sum of two tensors of one shape and a bias, normalized by Welford's
    corrections, or by squares in turn, whatever the size
    (contrib_ops/cpu/skip_layer_norm.cc), along the last axis whatever the node says.
    Where ONNX Runtime doesn't fuse an addition with what follows, its rows are
    normalized as those of LayerNormalization."""
    operands = [real_tensor(node, 0), real_tensor(node, 1)]
    shapes = {value.shape for value in operands}
    is_fused = len(shapes) == 1 and len(operands[0].shape) == 3
    bias = 4 if is_centred else 3
    if node.has(bias):
        if not is_fused:
            raise node.error(
                f"operands of shapes {[list(value.shape) for value in operands]} and a"
                " bias are not supported; expected one shape of 3 dimensions",
                help="--qdq as-written reads the model so",
            )
        operands.append(real_tensor(node, bias))

    total = elementwise(node, operands, body_of(in_turn(Scalars.add)))
    for number in (1, 2):
        refuse_result(node, number)
    if node.has_result(SUM):
        node.define(total, SUM)
    axis = node.axis(-1 if is_fused else node.integer("axis", -1), len(total.shape))
    function = "layer_norm" if is_centred else "rms_norm"
    shortest = SHORTEST if is_centred else SHORTEST_OF_SQUARES
    if is_fused or math.prod(total.shape[axis:]) < shortest:
        function = f"loop_{function}"
    numbers = [2, 3] if is_centred else [2]
    _define(node, total, axis, function, numbers, FUSED_EPSILON)


SUM = 3
"""The number of the result that is the sum before normalization."""


def refuse_result(node: NodeContext, number: int) -> None:
    """Refuse a result of statistics that something takes."""
    if node.has_result(number):
        name = node.result(number)
        if node.graph.users(name) or node.graph.is_returned(name):
            raise node.error(f"result {number}, {name!r}, is not supported")


def _define(
    node: NodeContext,
    value: Value,
    axis: int,
    function: str,
    numbers: Sequence[int],
    epsilon: float = EPSILON,
) -> None:
    """Make the normalized rows the node's result; `numbers` are the operands of factors
    and offsets, for each place of a row, and `epsilon` is that by default."""
    whole = node.in_order(value)
    row = value.shape[axis:]
    parameters = [_parameter(node, at, row) for at in numbers if node.has(at)]
    normalized(node, whole, axis, function, parameters, value.shape, epsilon)


def normalized(
    node: NodeContext,
    value: Value,
    axis: int,
    function: str,
    parameters: Sequence[SSAValue],
    shape: Sequence[int],
    epsilon: float = EPSILON,
    fallback: str = FALLBACK,
) -> None:
    """Make the normalized rows, which may have another shape, the node's result;
    `epsilon` and the contract `fallback` are those by default."""
    operation = qnn.RealNormalizeOp(
        value.ssa,
        parameters,
        TensorType(f32, value.shape),
        function=function,
        axis=axis,
        epsilon=node.number("epsilon", epsilon),
        fallback=fallback,
    )
    if value.shape == tuple(shape):
        node.define(real_value(node.emit(operation)))
        return
    made = real_value(node.emit(operation, "rows"))
    node.define(node.reshaped(made, shape))


def import_instance_normalization(node: NodeContext) -> None:
    """Each channel of each image (nn/instance_norm.cc)."""
    value = real_operand(node, 0)
    rank = len(value.shape)
    if rank < 3:
        raise node.error(f"an input of rank {rank}; expected at least 3")
    whole = node.in_order(value)
    channels = (value.shape[1], *[1] * (rank - 2))
    parameters = [_parameter(node, at, channels) for at in (1, 2)]
    normalized(node, whole, 2, "instance_norm", parameters, value.shape)


def import_group_normalization(node: NodeContext) -> None:
    """Groups of channels, as the operator's function in the schema says, with a factor
    for each channel."""
    value = real_operand(node, 0)
    shape = value.shape
    groups = node.integer("num_groups", None, 1, shape[1])
    if shape[1] % groups or node.graph.model.opset < GROUP_CHANNELS_SINCE:
        raise node.error(
            f"{groups} groups of {shape[1]} channels in opset"
            f" {node.graph.model.opset} are not supported; expected groups of one"
            f" size, and opset {GROUP_CHANNELS_SINCE}"
        )
    whole = node.in_order(value)
    depth = shape[1] // groups
    split = (shape[0], groups, depth, math.prod(shape[2:]))
    rows = node.reshaped(whole, split)
    parameters = [_parameter(node, at, (groups, depth, 1)) for at in (1, 2)]
    normalized(node, rows, 2, "group_norm", parameters, shape)


def _import_mean_variance_normalization(node: NodeContext) -> None:
    """All elements along axes, which become the last dimensions
    (tensor/mean_variance_normalization.cc)."""
    value = real_operand(node, 0)
    rank = len(value.shape)
    axes = node.axes(1, rank)
    if axes is None:
        axes = [axis for axis in (0, 2, 3) if axis < rank]
    if not axes:
        raise node.error("no axes are not supported; expected some")
    order = sorted(range(rank), key=lambda axis: axis in axes)
    rows = node.builder.in_order(value, tuple(order), node.place())
    operation = qnn.RealNormalizeOp(
        rows.ssa,
        (),
        rows.type,
        function="mean_variance_norm",
        axis=rank - len(axes),
        fallback=FALLBACK,
    )
    node.define(replace(rows, ssa=node.emit(operation)))


def _import_lp_normalization(node: NodeContext) -> None:
    """Rows along an axis over their norms, whose sums are in turn; where that is 0 the
    results are, too (nn/lp_norm.cc)."""
    value = node.in_order(real_operand(node, 0))
    axis = node.axis(node.integer("axis", -1), len(value.shape))
    has_root = node.integer("p", 2, 1, 2) == 2
    emit = node.builder.emitter(node.place(), "norms")
    term = square if has_root else Scalars.absolute
    norms = folded(emit, value.ssa, [axis], Scalars.add, 0.0, term)
    if has_root:
        norms = mapped(emit, Scalars.sqrt, norms)
    column = node.reshaped(real_value(norms), reduced(value.shape, [axis], True))

    def share(steps: Scalars, x: SSAValue, norm: SSAValue) -> SSAValue:
        none = steps.constant(0.0, f32)
        is_none = steps.compare("eq", norm, none)
        return steps.select(is_none, none, steps.divide(x, norm))

    node.define(elementwise(node, [value, column], body_of(share)))


def _parameter(node: NodeContext, number: int, shape: Sequence[int]) -> SSAValue:
    """An operand that has one number for each place of this shape."""
    value = real_tensor(node, number)
    size = math.prod(shape)
    if math.prod(value.shape) != size:
        raise node.error(
            f"{node.name(number)!r} of shape {list(value.shape)} is not supported;"
            f" expected {size} numbers"
        )
    return node.reshaped(node.in_order(value), shape).ssa


def _of_rows(*, is_centred: bool) -> Entry[NodeContext]:
    operands = "x, scale, bias?" if is_centred else "x, scale"
    build = partial(import_layer_normalization, is_centred=is_centred)
    return takes(f"{operands}; stash_type: 1", build)


IMPORTERS = {
    ("", "GroupNormalization"): takes(
        "x, scale, bias; stash_type: 1", import_group_normalization
    ),
    ("", "InstanceNormalization"): takes(
        "x, scale, bias", import_instance_normalization
    ),
    ("", "LpNormalization"): takes("x", _import_lp_normalization),
    ("", "MeanVarianceNormalization"): takes("x", _import_mean_variance_normalization),
    ("", "LayerNormalization"): _of_rows(is_centred=True),
    ("", "RMSNormalization"): _of_rows(is_centred=False),
    ("", "SimplifiedLayerNormalization"): _of_rows(is_centred=False),
    (MICROSOFT, "SkipLayerNormalization"): takes(
        "x, skip, scale, offset?, bias?",
        partial(import_skip_layer_normalization, is_centred=True),
        (1, 4),
    ),
    (MICROSOFT, "SkipSimplifiedLayerNormalization"): takes(
        "x, skip, scale, bias?",
        partial(import_skip_layer_normalization, is_centred=False),
        (1, 4),
    ),
    (MICROSOFT, "LayerNormalization"): _of_rows(is_centred=True),
}
