"""Transposed convolutions of quantized inputs and weights."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type, shape_of
from qlower.operators.movement import Slice
from qlower.operators.transposed import Axis, image_movements, phase_weights

from ...entry import takes
from ...graph.context import NodeContext
from ...graph.values import sliced
from ...graph.window import as_image, from_image
from ..translating import TORCH
from .contraction import STORED

INPUT, WEIGHTS, BIAS, RESULT = 0, 3, 6, 7
"""Operands, as of a convolution."""


def import_transposed(node: NodeContext) -> None:
    """Weights are [C, O / groups, KH, KW], with one scale, or one for each of the
    second dimension."""
    image = as_image(node, node.stored(INPUT, INPUT + 1, INPUT + 2), False)
    batch, height, width, channels = image.type.get_shape()
    share = node.shape(WEIGHTS)[1]
    type = node.axis_quantization(WEIGHTS + 1, WEIGHTS + 2, 1, share)
    given = node.stored_array(WEIGHTS, type)
    if given.ndim == 3:
        given = given[:, :, np.newaxis, :]
    groups = node.integer("group", 1, 1)
    depth = channels // groups
    rows, columns = (
        Axis(size, taps, stride, pad, (size - 1) * stride - 2 * pad + taps + more)
        for size, taps, stride, pad, more in zip(
            (height, width), given.shape[2:], *_sides(node), strict=True
        )
    )
    zero = type.zero_points[0]
    split = given.reshape(groups, depth, share, *given.shape[2:])
    weights = np.concatenate(
        [
            phase_weights(part.transpose(1, 2, 3, 0), zero, rows, columns)
            for part in split
        ]
    ).reshape(-1, rows.taps, columns.taps, depth)
    phases = rows.stride * columns.stride
    count = len(weights)
    if len(type.scales) > 1:
        scales = np.tile(np.array(type.scales), count // share).tolist()
        type = QuantizedType.per_axis(8, type.signed, 0, scales, [0] * count)
    place = node.place(node.name(WEIGHTS))
    operation = qnn.Conv2DOp(
        image.ssa,
        node.builder.constant(weights, type, place),
        _bias(node, groups, phases),
        TensorType(
            node.quantization(RESULT, RESULT + 1),
            (batch, rows.positions, columns.positions, count),
        ),
        pad=(rows.before, rows.after, columns.before, columns.after),
        groups=groups,
        transposed=True,
        activation=node.text("activation", "") or None,
        contract=node.text("contract", "") or None,
    )
    blocks = node.emit(operation, "blocks")
    whole, cut = _spread(node, blocks, rows, columns, groups)
    from_image(node, sliced(whole, cut), image, False)


def _sides(node: NodeContext) -> list[list[int]]:
    """Strides, padding and what is added to the result, of rows and columns."""
    found: list[list[int]] = []
    for name, missing in (("strides", 1), ("pads", 0), ("output_padding", 0)):
        numbers = node.integer_list(name, None, missing)
        if name == "pads":
            numbers = numbers[: len(numbers) // 2]
        found.append([missing] * (2 - len(numbers)) + numbers)
    if any(size != 1 for size in node.integer_list("dilations", None, 1)):
        raise node.error("dilations of a transposed convolution are not supported")
    return found


def _bias(node: NodeContext, groups: int, phases: int) -> SSAValue | None:
    """The real bias of each filter, for each phase of its group."""
    if not node.has(BIAS):
        return None
    bias = node.array(BIAS, "bias").reshape(groups, 1, -1)
    repeated = np.tile(bias, (1, phases, 1)).reshape(-1)
    return node.builder.constant(repeated, f32, node.place(node.name(BIAS)))


def _spread(
    node: NodeContext, blocks: SSAValue, rows: Axis, columns: Axis, groups: int
) -> tuple[SSAValue, Slice]:
    """Each pixel's channels, of groups of phases, as a block of pixels, and what of
    them is the result."""
    element = element_type(blocks.type)
    split, turned, whole, cut = image_movements(
        shape_of(blocks), rows, columns, (groups,)
    )
    type = TensorType(element, split.shape)
    value = node.emit(qnn.ReshapeOp(blocks, type), "reshape")
    type = TensorType(element, turned.result_shape(split.shape))
    value = node.emit(qnn.TransposeOp(value, type, perm=turned.order), "transpose")
    reshape = qnn.ReshapeOp(value, TensorType(element, whole.shape))
    return node.emit(reshape, "whole"), cut


IMPORTERS = {(TORCH, "QuantizedTransposed"): takes(STORED, import_transposed)}
