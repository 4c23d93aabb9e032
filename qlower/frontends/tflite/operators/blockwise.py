"""Weights in blocks, each with a scale: of FULLY_CONNECTED on float32, where they have
4 bits, and of EMBEDDING_LOOKUP.

The arithmetic of the first is that of EvalBlockwise4Bit in LiteRT's fully_connected.cc,
which its optimized kernels run; a fused activation function is left out there. The
reference kernels have none: they read no scale, and leave the bias alone.
"""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from qlower.diagnostics import warn
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function
from qlower.emit.quantized_rows import steps_of_rows
from qlower.emit.sums import multiply_accumulate
from qlower.files.arrays import Array
from qlower.model.nests import extract, narrow, widen

from ...scalars import Scalars, nearest
from ..context import OperatorContext
from ..nests import emitter, finish, read, start
from ..schema import Blocks
from ..types import checked_shape

CONTRACT = "tflite"

WEIGHTS, BIAS = 1, 2

LEAST_UNITS, LEAST_DEPTH = 4, 32
"""Smaller layers go to a kernel that knows no blocks (optimized_4bit::FilterWidth and
FilterDepth)."""

LARGEST_BLOCK = 1 << 14
"""Sums of a block are exact in float32, as which LiteRT adds them."""

CHANNELWISE = (
    "ask the quantizer for channelwise weights, such as dynamic_wi4c_afp32 of"
    " ai-edge-quantizer"
)

NOTHING = -0.0
"""A bias that leaves every number as it is."""


def blocks_of(op: OperatorContext) -> Blocks | None:
    """The blocks of a layer's weights, if they have any."""
    quantization = op.input(WEIGHTS).quantization
    return None if quantization is None else quantization.blocks


def import_blockwise(op: OperatorContext, blocks: Blocks) -> None:
    """Rows are quantized by their range; sums of blocks become real one by one."""
    weights, scales = _layer(op, blocks)
    units, count, size = weights.shape
    given = op.shape(0)
    rows, depth = math.prod(given) // (count * size), count * size
    op.check_range(f"columns of {op.input(0)}", given[-1], depth, depth)
    shape = (*given[:-1], units) if op.flag("keep_num_dims") else (rows, units)

    values = op.reshaped(op.value(0), (rows, depth))
    codes, steps, points = _coded(op, values)
    sums = _sums(op, op.reshaped(codes, (rows, count, size)), weights)

    emit = emitter(op)
    nest = start(op, (rows, units, count), reductions=1)
    given_sum = nest.input(sums, (0, 1, 2))
    scale = nest.input(emit.constant(scales, f32), (1, 2))
    init = emit.filled((rows, units), f32, 0)
    (totals,) = nest.reduce(
        [init],
        lambda before: [
            call_function(nest, CONTRACT, "block_sum", before[0], given_sum, scale)
        ],
    )

    nest = start(op, (rows, units))
    step, point = (nest.input(one, (0,)) for one in (steps, points))
    offset = nest.constant(_weight_sums(weights, scales), f32)
    bias: Array = np.full(units, NOTHING, np.float32)
    if op.has(BIAS):
        op.expect_type(BIAS, "FLOAT32")
        op.check_shape(BIAS, [units])
        bias = op.array(BIAS)
    total = nest.input(totals, (0, 1))
    real = call_function(
        nest, CONTRACT, "blockwise_linear", total, point, offset, step, bias
    )
    finish(op, op.reshaped(nest.build([real])[0], shape))


def import_rows_of_blocks(op: OperatorContext, blocks: Blocks) -> None:
    """Rows of a table, whose numbers are multiplied by the scale of their block
    (embedding_lookup.cc, EvalBlockwise). Indices out of range are brought into it."""
    codes, scales = _read(op, blocks)
    op.check_range(f"{op.input(WEIGHTS)}: block modulo 4", blocks.size % 4, 0, 0)
    (count,), (rows, *inner) = op.shape(0), codes.shape
    steps = Scalars(start(op, (count, *inner)))
    nest, emit = steps.nest, emitter(op)
    row = nearest(nest, read(op, nest, 0, [0]), rows)
    code = widen(nest, extract(nest, emit.constant(codes, i8), [row, 1, 2]), i32)
    scale = extract(nest, emit.constant(scales, f32), [row, 1])
    number = steps.multiply(steps.step(arith.SIToFPOp(code, f32)), scale)
    shape = (count, math.prod(inner))
    op.result_type(shape)
    finish(op, op.reshaped(nest.build([number])[0], shape))


def _layer(op: OperatorContext, blocks: Blocks) -> tuple[Array, Array]:
    """The weights and scales of a layer that LiteRT has a kernel for."""
    tensor = op.input(WEIGHTS)
    op.expect_type(0, "FLOAT32")
    if tensor.type != "INT8" or not tensor.is_narrow:
        raise op.error(
            f"{tensor}: {tensor.type} weights in blocks are not supported: all of"
            " LiteRT's kernels leave their products out, and give the bias; expected"
            " INT4",
            help=CHANNELWISE,
        )
    if (function := op.activation()) is not None:
        warn(
            f"operator {op.operator.index} {op.operator.name}: {function} is left out,"
            " as LiteRT's kernel for weights in blocks does; its XNNPACK delegate,"
            " which rounds otherwise, applies it",
            op.location,
        )
    weights, scales = _read(op, blocks)
    units, count, size = weights.shape
    if units < LEAST_UNITS or count * size < LEAST_DEPTH:
        raise op.error(
            f"{tensor}: {units}x{count * size} weights in blocks are not supported:"
            " LiteRT's kernels leave the products of such a small layer out; expected"
            f" {LEAST_UNITS}x{LEAST_DEPTH} at least",
            help=CHANNELWISE,
        )
    op.check_range(f"{tensor}: columns modulo 2", count * size % 2, 0, 0)
    return weights, scales


def _read(op: OperatorContext, blocks: Blocks) -> tuple[Array, Array]:
    """The constant numbers [rows, blocks, size], int8, and their scales [rows, blocks],
    float32."""
    tensor = op.input(WEIGHTS)
    shape = checked_shape(tensor, op)
    op.check_range(f"rank of {tensor}", len(shape), 2, 2)
    units, depth = shape
    op.check_range(f"{tensor}: size of a block", blocks.size, 1, LARGEST_BLOCK)
    op.check_range(f"{tensor}: columns modulo a block", depth % blocks.size, 0, 0)
    count = depth // blocks.size
    table = op.graph.tensor(blocks.scales, op)
    op.check_type(table, "FLOAT16")
    data = op.graph.constant(table, op) or b""
    if len(data) != 2 * units * count:
        raise op.error(
            f"{table}: {len(data)} bytes of scales, expected {2 * units * count}"
        )
    scales = np.frombuffer(data, "<f2").astype(np.float32).reshape(units, count)
    return op.stored_array(WEIGHTS).reshape(units, count, blocks.size), scales


def _coded(
    op: OperatorContext, values: SSAValue
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Codes, i8, of rows by their range, and scales and zero points of the rows."""
    scales, factors, points = steps_of_rows(emitter(op), CONTRACT, values)
    nest = start(op, shape_of(values))
    x = nest.input(values, (0, 1))
    factor, point = (nest.input(one, (0,)) for one in (factors, points))
    code = call_function(nest, CONTRACT, "hybrid_code", x, factor, point)
    return nest.build([narrow(nest, code, i8)])[0], scales, points


def _sums(op: OperatorContext, codes: SSAValue, weights: Array) -> SSAValue:
    """The sums [rows, units, blocks], i32, of codes [rows, blocks, size]."""
    emit = emitter(op)
    units, count, size = weights.shape
    nest = start(op, (shape_of(codes)[0], units, count, size), reductions=1)
    x = widen(nest, nest.input(codes, (0, 2, 3)), i32)
    w = widen(nest, nest.input(emit.constant(weights, i8), (1, 2, 3)), i32)
    init = emit.filled(nest.output_shape, i32, 0)
    return nest.reduce([init], multiply_accumulate(nest, x, w))[0]


def _weight_sums(weights: Array, scales: Array) -> Array:
    """The sums of weights times scales, float32, block after block."""
    sums = weights.astype(np.int32).sum(axis=2).astype(np.float32)
    total = np.zeros(len(weights), np.float32)
    for products in (sums * scales).T:
        total = total + products
    return total
