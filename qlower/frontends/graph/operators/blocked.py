"""Weights of few bits with a scale for each block: products, and rows by index."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType, f32

from qlower.dialects import qnn

from ...entry import takes
from ...scalars import Scalars
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..real_constants import Reals, scaled
from ..values import real_value
from .real import body_of, elementwise, real_operand
from .real_layers import layer, real_tensor
from .selection import gather

MOST_UNITS = 1 << 24

KERNEL_BLOCKS = (16, 32, 64, 128, 256)
"""Sizes of blocks for which MLAS has kernels of 4 bits."""

QUANTIZING_LEVEL = 4
"""The accuracy level at which ONNX Runtime quantizes activations, too."""


def import_matmul_nbits(node: NodeContext) -> None:
    """Rows of real numbers times dequantized weights [N, K], and a bias."""
    level = node.integer("accuracy_level", 0, 0, QUANTIZING_LEVEL)
    if level == QUANTIZING_LEVEL:
        is_made = "block_size" not in node.node.attributes
        raise node.error(
            "ONNX Runtime quantizes what it multiplies by these weights, block by block"
            f" (accuracy level {level}), and adds in an order that isn't known",
            help="--qdq as-written reads the model so"
            if is_made
            else "MatMulNBitsQuantizer(..., accuracy_level=0) keeps activations real",
        )
    if node.has(4):
        raise node.error("an operand that orders groups (g_idx) is not supported")
    bits, size = _block(node, None)
    weights = _weights(node, bits, size)
    units, depth = weights.shape
    x = real_operand(node, 0)
    x = node.in_order(x)
    if x.shape[-1:] != (depth,):
        raise node.error(
            f"an input of shape {list(x.shape)} with weights for {depth} numbers"
        )
    constant = node.builder.constant(weights, f32, node.place(node.name(1)))
    has_kernel = bits == 4 and size in KERNEL_BLOCKS
    bias = real_tensor(node, 5) if node.has(5) else None
    shape = (*x.shape[:-1], units)
    node.check_elements(math.prod(shape))
    operation = qnn.RealLinearOp(
        x.ssa,
        constant,
        None if has_kernel or bias is None else bias.ssa,
        TensorType(f32, shape),
        narrow_weights=has_kernel,
    )
    is_last = bias is None or not has_kernel
    suffix = None if is_last else "product"
    sums = layer(node, operation, suffix, is_computed=True)
    result = real_value(sums)
    if bias is not None and has_kernel:
        result = elementwise(node, [result, bias], body_of(Scalars.add))
    node.define(result)


def _block(node: NodeContext, default: int | None) -> tuple[int, int]:
    """The bits of a code, and how many codes have one scale."""
    bits = node.integer("bits", 4, 4, 8)
    if bits not in (4, 8):
        raise node.unsupported("bits", bits, 4, 8)
    return bits, node.integer("block_size", default, 16, 1 << 20)


def _weights(node: NodeContext, bits: int, size: int) -> Reals:
    """The weights [N, K] as float32, `F((q - z) s)`."""
    units = node.integer("N", None, 1, MOST_UNITS)
    depth = node.integer("K", None, 1, MOST_UNITS)
    node.check_elements(units * depth)
    blocks = -(-depth // size)
    stored = _codes(node, 1, bits, (units, blocks * size))[:, :depth]
    scales = _reals(node, 2, (units, blocks))
    points = np.full((units, blocks), 1 << bits - 1, np.uint8)
    if node.has(3):
        points = _codes(node, 3, bits, (units, blocks))
    places = np.arange(depth) // size
    return scaled(stored, points[:, places], scales[:, places])


def _codes(
    node: NodeContext, number: int, bits: int, shape: tuple[int, int]
) -> NDArray[np.uint8]:
    """The codes in an operand of bytes; each row begins a byte of its own, and the
    first code in a byte is the lowest one."""
    array = node.array(number, "codes")
    rows, columns = shape
    row = -(-columns * bits // 8)
    if array.dtype != np.uint8 or array.size != rows * row:
        raise node.error(
            f"{node.name(number)!r} has {array.size} elements of {array.dtype};"
            f" expected {rows * row} of uint8, for {columns} codes of {bits} bits in"
            f" {rows} rows"
        )
    packed = array.astype(np.uint8).reshape(rows, row, 1)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (packed >> shifts) & np.uint8((1 << bits) - 1)
    return codes.reshape(rows, -1)[:, :columns]


def _reals(node: NodeContext, number: int, shape: tuple[int, ...]) -> Reals:
    """The scales in an operand, which may be flat."""
    array = node.array(number, "scales")
    if array.dtype != np.float32 or array.size != math.prod(shape):
        raise node.error(
            f"{node.name(number)!r} has {array.size} scales of {array.dtype}; expected"
            f" {math.prod(shape)} of float32"
        )
    return array.astype(np.float32).reshape(shape)


def import_gather_block_quantized(node: NodeContext) -> None:
    """Rows of a dequantized table, whose blocks lie along its last dimension."""
    given = node.constant(0, "table")
    bits, size = _block(node, 128)
    node.expect("gather_axis", 0)
    array, (rows, *inner) = node.array(0, "table"), given.shape
    is_packed = given.type == "UINT8" and bits == 4
    if len(inner) != 1 or given.type not in ("UINT8", "UINT4", "INT4"):
        raise node.error(
            f"a table of {given.type} of shape {list(given.shape)} is not supported;"
            " expected UINT8, UINT4 or INT4, and 2 dimensions"
        )
    node.expect("quantize_axis", 1, -1)
    depth = inner[0] * (2 if is_packed else 1)
    blocks = -(-depth // size)
    codes = _codes(node, 0, bits, (rows, depth)) if is_packed else array
    middle = 1 << bits - 1 if given.type == "UINT8" else 0
    points = np.full((rows, blocks), middle, np.int32)
    if node.has(3):
        zeros = node.array(3, "zero points")
        points = _codes(node, 3, bits, (rows, blocks)) if is_packed else zeros
    places = np.arange(depth) // size
    scales = _reals(node, 2, (rows, blocks))
    points = points.reshape(rows, blocks)
    table = scaled(codes, points[:, places], scales[:, places])
    ssa = node.builder.constant(table, f32, node.place(node.name(0)))
    gather(node, real_value(ssa), 0)


IMPORTERS = {
    (MICROSOFT, "MatMulNBits"): takes(
        "x, weights, scales, zero_points?, groups?, bias?", import_matmul_nbits
    ),
    (MICROSOFT, "GatherBlockQuantized"): takes(
        "table, indices, scales, zero_points?", import_gather_block_quantized
    ),
}
