"""Transposed convolutions of real numbers, in the order of ONNX Runtime's kernel.

onnxruntime/core/providers/cpu/nn/conv_transpose.cc: each pixel's channels times all
weights, then what comes to lie at one place of the result is added, by the place in the
kernel, from 0; last the bias.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.arith import AddfOp
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.model.nests import Index, Nest
from qlower.operators.windows import window_extent

from ...entry import takes
from ...import_options import AS_WRITTEN
from ..context import NodeContext
from ..real_constants import Reals, real_bias, real_constant
from ..values import Value, real_value, slice_of
from ..window import MAX_DILATION, MAX_PAD, MAX_STRIDE
from .real import real_operand
from .real_layers import layer

BLOCK, WIDE = 128, 65
"""Products in a block of MLAS, and columns from which on blocks are so small. If a
factor is transposed they always are, and a row is no case of its own: rows and columns
of 0 make that."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """One dimension: sizes of image, kernel and result, and where these meet."""

    size: int
    taps: int
    stride: int
    dilation: int
    pad: int
    wanted: int

    @property
    def before(self) -> int:
        """Empty places before the first one, so that each tap of each place is one."""
        return max((self.taps - 1) * self.dilation - self.pad, 0)

    @property
    def places(self) -> int:
        spread = (self.size - 1) * self.stride + 1
        return self.before + max(spread, self.wanted + self.pad)


def import_conv_transpose(node: NodeContext) -> None:
    users = node.graph.users(node.result())
    is_fused = any(user.kind == "BatchNormalization" for user in users)
    if is_fused and node.is_constant(1) and node.importer.qdq != AS_WRITTEN:
        raise node.error(
            "ONNX Runtime multiplies its weights by the normalization behind it, which"
            " is not supported",
            help="fold the normalization into the weights, as"
            " onnxruntime.quantization.shape_inference.quant_pre_process does",
        )
    import_transposed(node)


def import_transposed(node: NodeContext) -> None:
    """Each pixel's channels times all weights, and sums by the place in the kernel."""
    value = real_operand(node, 0)
    rank = len(value.shape)
    value = node.in_order(value)
    weights = real_constant(node, 1)
    batch, channels, *sizes = value.shape
    if weights.ndim != rank or weights.shape[0] != channels:
        raise node.error(
            f"weights of shape {list(weights.shape)} for {list(value.shape)}; expected"
            f" {channels} channels of {rank - 2} dimensions"
        )
    axes = _axes(node, sizes, weights.shape[2:])
    groups = node.integer("group", 1, 1)
    if channels % groups:
        raise node.error(f"{channels} channels do not divide into {groups} groups")
    products = _products(node, value, weights, groups)
    count = weights.shape[1] * groups
    result = (batch, count, *(axis.wanted for axis in axes))
    node.check_elements(math.prod(result))
    sums = _gathered(node, products, batch * count, axes)
    flat = real_value(sums)
    whole = node.reshaped(flat, result)
    if not node.has(2):
        node.define(whole)
        return
    nest = node.nest(result)
    bias = nest.constant(real_bias(node, 2, count), f32, [1])
    x = nest.input(whole.ssa, range(rank))
    (moved,) = nest.build([nest.add(AddfOp(x, bias)).result])
    node.define(real_value(moved))


def _axes(
    node: NodeContext, sizes: Sequence[int], kernel: Sequence[int]
) -> list[_Axis]:
    """The attributes of each dimension (conv_transpose_attributes.h)."""
    rank = len(sizes)
    node.integer_list("kernel_shape", list(kernel), 1)
    strides = node.integer_list("strides", [1] * rank, 1, MAX_STRIDE)
    dilations = node.integer_list("dilations", [1] * rank, 1, MAX_DILATION)
    more = node.integer_list("output_padding", [0] * rank, 0, MAX_PAD)
    pads = node.integer_list("pads", [0] * (2 * rank), 0, MAX_PAD)
    mode = node.text("auto_pad", "NOTSET") or "NOTSET"
    if mode not in ("NOTSET", "VALID") or "output_shape" in node.node.attributes:
        raise node.error(
            f"auto_pad {mode} or an output_shape is not supported; expected pads"
        )
    axes: list[_Axis] = []
    for at, (size, taps) in enumerate(zip(sizes, kernel, strict=True)):
        extent = window_extent(taps, dilations[at])
        pad = pads[at] + pads[at + rank]
        wanted = (size - 1) * strides[at] + more[at] + extent - pad
        node.check_range("dimension of the result", wanted, 1, MAX_PAD)
        axes.append(_Axis(size, taps, strides[at], dilations[at], pads[at], wanted))
    return axes


def _products(node: NodeContext, value: Value, weights: Reals, groups: int) -> SSAValue:
    """Each weight of a group times its channels: [N, groups, outputs, pixels]."""
    batch, channels, *sizes = value.shape
    depth, pixels = channels // groups, math.prod(sizes)
    columns = weights.size // channels
    matrix = weights.reshape(groups, depth, columns)
    is_turned = node.is_constant(1) and 1 not in (depth, columns)
    # Where one factor is a column the library exchanges both, unless it turned the
    # weights before.
    is_exchanged = pixels == 1 and not is_turned
    if not is_exchanged:
        matrix = matrix.transpose(0, 2, 1)
        matrix = np.pad(matrix, ((0, 0), (0, int(columns == 1)), (0, 0)))
    factor = np.broadcast_to(matrix, (batch, *matrix.shape))
    constant = node.builder.constant(factor, f32, node.place(node.name(1)))
    images = (1, depth) if is_exchanged else (depth, pixels)
    image = (batch, groups, *images)
    x = node.reshaped(value, image).ssa
    if not (is_turned or is_exchanged) and depth > BLOCK and pixels < WIDE:
        emit = node.builder.emitter(node.place(), "wide")
        wide = emit.filled((*image[:3], WIDE), f32, 0)
        x = emit.inserted(x, wide, (0, 0, 0, 0))
    lhs, rhs = (x, constant) if is_exchanged else (constant, x)
    type = TensorType(f32, (*shape_of(lhs)[:3], shape_of(rhs)[3]))
    operation = qnn.RealMatMulOp(lhs, rhs, None, type)
    found = layer(node, operation, "products", is_computed=True)
    wanted = (batch, groups, columns, pixels)
    if is_exchanged or shape_of(found) == wanted:
        return found
    return node.emit(slice_of(found, [range(size) for size in wanted]), "wanted")


def _gathered(
    node: NodeContext, products: SSAValue, rows: int, axes: Sequence[_Axis]
) -> SSAValue:
    """The sums [rows, ...] of the products at each place, with 0 where a tap meets no
    pixel."""
    emit = node.builder.emitter(node.place(), "places")
    taps = [axis.taps for axis in axes]
    sizes = (rows, *taps, *(axis.size for axis in axes))
    node.check_elements(rows * math.prod(taps) * math.prod(a.places for a in axes))
    spread = emit.add(qnn.ReshapeOp(products, TensorType(f32, sizes))).result
    still = 1 + len(axes)
    insert = InsertSliceOp.from_static_parameters(
        spread,
        emit.filled((*sizes[:still], *(axis.places for axis in axes)), f32, 0),
        [0] * still + [axis.before for axis in axes],
        sizes,
        [1] * still + [axis.stride for axis in axes],
    )
    spread = emit.add(insert).result
    emit = node.builder.emitter(node.place(), "sums")
    bounds = (rows, *(axis.wanted for axis in axes), *taps)
    nest = Nest(emit, bounds, reductions=len(axes))
    nest.window(range(len(bounds)))
    loops: list[Index] = [0, *range(still, len(bounds))]
    for at, axis in enumerate(axes):
        place = AffineDimExpr(1 + at) + (axis.pad + axis.before)
        loops.append(place + AffineDimExpr(still + at) * -axis.dilation)
    element = nest.input(spread, loops)
    zeros = emit.filled(nest.output_shape, f32, 0)
    return nest.reduce([zeros], nest.adding(element))[0]


IMPORTERS = {("", "ConvTranspose"): takes("x, weights, bias?", import_conv_transpose)}
