"""Convolutions and products of matrices that stay real, in ONNX Runtime's order.

That is known of one thread, on x86-64 with FMA; another number of threads may give
other bits (`products`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.operators.windows import Window

from ...entry import takes
from ...import_options import AS_WRITTEN
from ...scalars import Scalars, text
from .. import volumes
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..orders import channels_last
from ..real_constants import is_real_constant, real_bias, real_constant
from ..values import Value, real_value
from ..window import as_image, read_window
from .contraction import filters_of, group_count
from .real import activation, body_of, elementwise, real_operand, sum_of

FALLBACK = "onnxruntime"
"""The contract that gives layers on real numbers their arithmetic where another has no
rule for them."""


def import_conv(node: NodeContext) -> None:
    """Columns of the image's windows times the filters, and the bias."""
    _check_order(node)
    node.define(convolved(node))


def import_fused_conv(node: NodeContext) -> None:
    """Sums that start from another image, and what bounds the result."""
    added = real_operand(node, 3) if node.has(3) else None
    _check_order(node)
    value = convolved(node, added)
    name = node.text("activation", "")
    if name:
        factors = node.node.attributes.get("activation_params", ())
        value = elementwise(node, [value], activation(node, name, factors))
    node.define(value)


def _check_order(node: NodeContext) -> None:
    if node.is_constant(1) and node.importer.qdq != AS_WRITTEN:
        raise node.error(
            "the order of a real convolution whose weights aren't quantized is known"
            " only where nothing is fused",
            help="--qdq as-written reads the model so",
        )


def convolved(node: NodeContext, added: Value | None = None) -> Value:
    """The convolution; what is added and doesn't have its shape is added at last."""
    value = real_operand(node, 0)
    rank = len(value.shape)
    volume = None
    if rank == volumes.RANK and added is None:
        volume = volumes.read_volume(node, value.shape, node.shape(1, rank)[2:])
        image = volume.seen(value, 0.0, taps_last=True)
    else:
        image = as_image(node, value, False)
    batch, *places, channels = image.type.get_shape()
    filters = real_constant(node, 1)
    if volume is None:
        filters = filters_of(node, filters)
    else:
        filters = filters.reshape(len(filters), 1, 1, -1)
    count, *kernel, depth = filters.shape
    groups = group_count(node, channels, count, depth)
    window = Window.of(places, kernel)
    if volume is None:
        window = read_window(node, places, kernel)
    sizes = (batch, *window.sizes, count)
    node.check_elements(math.prod(sizes) * depth * math.prod(kernel))
    weights = node.builder.constant(filters, f32, node.place(node.name(1)))
    bias = _bias(node, count)
    shape = (batch, count, *(volume.window if volume else window).sizes[-(rank - 2) :])
    order = channels_last(rank)
    start = None
    if added is not None and added.shape == shape:
        start = node.in_order(added, order)
    operation = qnn.RealConv2DOp(
        image.ssa,
        weights,
        bias if start is None else _reshaped(node, start.ssa, sizes),
        TensorType(f32, sizes),
        stride=window.stride,
        pad=window.pad,
        dilation=window.dilation,
        groups=groups,
    )
    more = [added] if added is not None and start is None else []
    if start is not None and bias is not None:
        along = (count, *[1] * (rank - 2))
        more = [real_value(_reshaped(node, bias, along))]
    is_last = not more and not node.text("activation", "")
    suffix = None if is_last else "convolution"
    sums = layer(node, operation, suffix if rank == 4 else "image", is_computed=False)
    result = Value(sums, order, True)
    if rank != 4:
        type = node.typed(f32, shape, order)
        result = Value(node.emit(qnn.ReshapeOp(sums, type), suffix), order, True)
    for value in more:
        result = elementwise(node, [result, value], sum_of)
    return result


def layer(
    node: NodeContext,
    operation: qnn.RealOp,
    suffix: str | None = None,
    *,
    is_computed: bool,
) -> SSAValue:
    """Add a layer, which has ONNX Runtime's arithmetic unless a contract has its own.

    Weights that a node dequantizes are computed: they aren't packed before the model
    runs."""
    operation.fallback = FALLBACK
    operation.computed_weights = is_computed
    return node.emit(operation, suffix)


def _bias(node: NodeContext, count: int) -> SSAValue | None:
    if not node.has(2):
        return None
    bias = real_bias(node, 2, count)
    return node.builder.constant(bias, f32, node.place(node.name(2)))


def _reshaped(node: NodeContext, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    if shape_of(value) == tuple(shape):
        return value
    return node.emit(qnn.ReshapeOp(value, TensorType(f32, shape)), "reshape")


def import_matmul(node: NodeContext) -> None:
    lhs = real_operand(node, 0)
    node.define(product(node, lhs, real_tensor(node, 1), not node.is_constant(1)))


def product(
    node: NodeContext,
    lhs: Value,
    rhs: Value,
    is_computed: bool = True,
    suffix: str | None = None,
    alpha: float = 1.0,
) -> Value:
    """Multiply by a constant matrix, or two values of equal leading dimensions. The
    result is to be multiplied by `alpha`, which decides the order of its sums."""
    lhs = node.in_order(lhs)
    rhs = _matrix(node, rhs, lhs)
    shapes = lhs.shape, rhs.shape
    shared = len(rhs.shape) == 2
    if (
        min(map(len, shapes)) < 2
        or shapes[0][-1] != shapes[1][-2]
        or not (shared or shapes[0][:-2] == shapes[1][:-2])
    ):
        raise node.error(
            f"a product of shapes {list(shapes[0])} and {list(shapes[1])} is not"
            " supported; expected equal leading dimensions, or a constant matrix"
        )
    if alpha != 1.0 and shapes[0][-1] > LARGEST_BLOCK:
        raise node.error(
            f"a factor {alpha:.9g} of sums of {shapes[0][-1]} products is not"
            f" supported; expected up to {LARGEST_BLOCK}, which ONNX Runtime adds in"
            " one block"
        )
    shape = (*lhs.shape[:-1], rhs.shape[-1])
    operation = qnn.RealMatMulOp(
        lhs.ssa, rhs.ssa, None, TensorType(f32, shape), scaled=alpha != 1.0
    )
    sums = layer(node, operation, suffix, is_computed=is_computed)
    return real_value(sums)


LARGEST_BLOCK = 128
"""Products that MLAS adds before it multiplies them by a factor, at least."""


def import_scaled_matmul(node: NodeContext) -> None:
    """A product and one factor for all of it, which is rounded last."""
    alpha = node.number("alpha", 1.0)
    lhs, rhs = real_operand(node, 0), real_tensor(node, 1)
    flags = node.flag("transA", False), node.flag("transB", False)
    if any(flags):
        lhs, rhs = (
            _transposed(value) if flag else value
            for value, flag in zip((lhs, rhs), flags, strict=True)
        )
        _check_transposed(node, lhs.shape, rhs.shape, alpha)
    sums = product(node, lhs, rhs, not node.is_constant(1), "product", alpha)
    node.define(elementwise(node, [sums], body_of(Scalars.multiply, alpha)))


def _check_transposed(
    node: NodeContext, rows: Sequence[int], columns: Sequence[int], alpha: float
) -> None:
    """Refuse products of transposed matrices that MLAS adds in another order: long
    ones, and those of one row or column without a factor."""
    is_line = 1 in (*rows[-2:-1], *columns[-1:])
    if rows[-1] > LARGEST_BLOCK or (is_line and alpha == 1.0):
        raise node.error(
            f"a transposed factor of a product of {list(rows)} and {list(columns)} is"
            f" not supported; expected sums of up to {LARGEST_BLOCK} products, and more"
            " than one row and column"
        )


def _transposed(value: Value) -> Value:
    """A value whose last two dimensions change places, as it is stored."""
    rank = len(value.order)
    if rank < 2:
        return value
    dims = [*range(rank - 2), rank - 1, rank - 2]
    return replace(value, order=tuple(dims[place] for place in value.order))


SCALED_SUM = text("_mlas", "scaled_sum")
"""The sum of two numbers, each times a factor of its own."""


def import_gemm(node: NodeContext) -> None:
    """`x w + c`, which the sums start from; of a MatMul and an Add, whose rows may lie
    in several dimensions."""
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    lhs = node.in_order(real_operand(node, 0))
    rhs = _matrix(node, real_tensor(node, 1), lhs)
    transposed = node.flag("transB", False)
    columns, depth = rhs.shape if transposed else reversed(rhs.shape)
    if len(lhs.shape) < 2 or lhs.shape[-1] != depth:
        raise node.error(
            f"an input of shape {list(lhs.shape)} with weights of {depth} rows"
        )
    bias = None
    if node.has(2):
        bias = node.in_order(real_tensor(node, 2)).ssa
        if shape_of(bias) == (1,):
            bias = _reshaped(node, bias, (1, 1))
    shape = (*lhs.shape[:-1], columns)
    make = qnn.RealLinearOp if transposed else qnn.RealMatMulOp
    if (alpha, beta) != (1.0, 1.0):
        is_packed = node.is_constant(1)
        if depth > LARGEST_BLOCK:
            raise node.error(
                f"factors {alpha:.9g} and {beta:.9g} of sums of {depth} products are"
                f" not supported; expected up to {LARGEST_BLOCK}, which ONNX Runtime"
                " adds at once"
            )
        has_term = bias is not None and beta not in (0.0, 1.0)
        is_scaled = alpha != 1.0 or has_term
        operation = make(
            lhs.ssa, rhs.ssa, None, TensorType(f32, shape), scaled=is_scaled
        )
        sums = layer(node, operation, "sums", is_computed=not is_packed)
        operands = [real_value(sums)]
        if bias is None:
            body = body_of(Scalars.multiply, alpha)
            node.define(elementwise(node, operands, body))
            return
        operands.append(real_value(bias))
        node.define(elementwise(node, operands, body_of(SCALED_SUM, alpha, beta)))
        return
    operation = make(lhs.ssa, rhs.ssa, bias, TensorType(f32, shape))
    node.define(real_value(layer(node, operation, is_computed=not node.is_constant(1))))


def _matrix(node: NodeContext, value: Value, lhs: Value) -> Value:
    value = node.in_order(value)
    if len(value.shape) < 2:
        raise node.error(
            f"a factor of shape {list(value.shape)} is not supported; expected 2"
            " dimensions or more"
        )
    node.check_elements(math.prod((*lhs.shape[:-1], value.shape[-1])))
    return value


def real_tensor(node: NodeContext, number: int) -> Value:
    """An operand as float32, which may be a dequantized constant."""
    if not is_real_constant(node, number):
        return real_operand(node, number)
    array = real_constant(node, number)
    ssa = node.builder.constant(array, f32, node.place(node.name(number)))
    return real_value(ssa)


IMPORTERS = {
    ("", "Conv"): takes("x, weights, bias?", import_conv),
    (MICROSOFT, "FusedConv"): takes("x, weights, bias?, added?", import_fused_conv),
    (MICROSOFT, "FusedMatMul"): takes(
        "x, y; transBatchA: 0, transBatchB: 0",
        import_scaled_matmul,
    ),
    ("", "MatMul"): takes("x, y", import_matmul),
    ("", "Gemm"): takes("x, y, bias?; transA: 0", import_gemm),
}
