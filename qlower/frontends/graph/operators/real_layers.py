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
from xdsl.ir.affine import AffineDimExpr

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.model.nests import Index, Nest
from qlower.model.windows import padded_image

from ...import_options import AS_WRITTEN
from ..context import NodeContext
from ..entry import Entry
from ..nodes import MICROSOFT
from ..orders import channels_last, identity
from ..real_constants import is_real_constant, real_constant
from ..values import Value
from ..window import Window, as_image, read_window
from .contraction import filters_of, group_count
from .products import DEPTH, PACKED_BLOCK, Operand, Product, block_of
from .real import activation, elementwise, real_operand, sum_of


def import_conv(node: NodeContext) -> None:
    """Columns of the image's windows times the filters, and the bias."""
    node.define(_convolved(node, None))


def import_fused_conv(node: NodeContext) -> None:
    """Sums that start from another image, and what bounds the result."""
    added = real_operand(node, 3) if node.has(3) else None
    value = _convolved(node, added)
    name = node.text("activation", "")
    if name:
        factors = node.node.attributes.get("activation_params", ())
        value = elementwise(node, [value], activation(node, name, factors))
    node.define(value)


def _convolved(node: NodeContext, added: Value | None) -> Value:
    """The convolution; what is added and doesn't have its shape is added at last."""
    rank = len(node.shape(0))
    image = as_image(node, real_operand(node, 0), False)
    batch, height, width, channels = image.type.get_shape()
    if node.is_constant(1) and node.importer.qdq != AS_WRITTEN:
        raise node.error(
            "the order of a real convolution whose weights aren't quantized is known"
            " only where nothing is fused",
            help="--qdq as-written reads the model so",
        )
    filters = filters_of(node, real_constant(node, 1))
    count, *kernel, depth = filters.shape
    groups = group_count(node, channels, count, depth)
    window = read_window(node, (height, width), (kernel[0], kernel[1]))
    share, places = count // groups, math.prod(window.sizes)
    size = depth * math.prod(kernel)
    node.check_elements(batch * places * groups * size)
    matrix = filters.transpose(0, 3, 1, 2).reshape(groups, share, size)
    columns = _columns(node, image, window, kernel, groups, deep=share > 1)
    emit = node.builder.emitter(node.place(), "conv")
    bounds = (batch * places, groups, share)
    before = after = None
    if node.has(2):
        bias = real_constant(node, 2)
        if bias.shape != (count,):
            raise node.error(f"a bias of shape {list(bias.shape)}; expected [{count}]")
        after = Operand(emit.constant(bias.reshape(groups, share), f32), (1, 2))
    shape = (batch, count, *window.sizes[4 - rank :])
    if added is not None and added.shape == shape:
        start = node.builder.in_order(added, channels_last(rank), node.place())
        before = Operand(_reshaped(node, start.ssa, bounds), (0, 1, 2))
    is_column = places == 1 < share
    weights = emit.constant(matrix if is_column else matrix.transpose(2, 0, 1), f32)
    product = Product(
        emit,
        bounds,
        Operand(columns, (0, 1, DEPTH) if share > 1 else (0, DEPTH, 1)),
        Operand(weights, (1, 2, DEPTH) if is_column else (DEPTH, 1, 2)),
        size,
        before,
        after,
    )
    if is_column:
        sums = product.of_column()
    elif share == 1:
        sums = product.of_row()
    else:
        sums = product.in_blocks(block_of(places, size))
    order = channels_last(rank)
    type = node.typed(f32, shape, order)
    is_last = (added is None or before is not None) and not node.text("activation", "")
    ssa = node.emit(qnn.ReshapeOp(sums, type), None if is_last else "convolution")
    result = Value(ssa, order, True)
    if added is None or before is not None:
        return result
    return elementwise(node, [result, added], sum_of)


def _columns(
    node: NodeContext,
    image: Value,
    window: Window,
    kernel: Sequence[int],
    groups: int,
    *,
    deep: bool,
) -> SSAValue:
    """What a filter meets, for each place of the result: [places, groups, K] where
    `deep`, else [places, K, groups], with K = (channel, row, column)."""
    batch, _, _, channels = image.type.get_shape()
    depth = channels // groups
    places, size = batch * math.prod(window.sizes), depth * math.prod(kernel)
    if size == depth and window.stride == (1, 1) and not any(window.pad):
        shape = (places, groups, size)
        columns = _reshaped(node, image.ssa, shape)
        if deep or size == 1:
            return _reshaped(node, columns, shape if deep else (places, size, groups))
    sizes = {"group": groups, "channel": depth, "row": kernel[0], "column": kernel[1]}
    names = ["channel", "row", "column"]
    names = ["group", *names] if deep else [*names, "group"]
    bounds = (batch, *window.sizes, *(sizes[name] for name in names))
    nest = Nest(node.builder.emitter(node.place(), "columns"), bounds)
    nest.window(range(1, len(bounds)))
    loop = {name: AffineDimExpr(3 + at) for at, name in enumerate(names)}
    taps: list[Index] = [
        AffineDimExpr(1 + axis) * window.stride[axis]
        + loop[name] * window.dilation[axis]
        for axis, name in enumerate(("row", "column"))
    ]
    channel = loop["group"] * depth + loop["channel"]
    element = nest.input(padded(node, image.ssa, window), [0, *taps, channel])
    (columns,) = nest.build([element])
    return _reshaped(
        node, columns, (places, groups, size) if deep else (places, size, groups)
    )


def padded(node: NodeContext, image: SSAValue, window: Window) -> SSAValue:
    """The image [N, H, W, C] with zeros around it."""
    if not any(window.pad):
        return image
    return node.emit(padded_image(image, window.pad), "pad")


def _reshaped(node: NodeContext, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    if shape_of(value) == tuple(shape):
        return value
    return node.emit(qnn.ReshapeOp(value, TensorType(f32, shape)), "reshape")


def import_matmul(node: NodeContext) -> None:
    """Multiply by a constant matrix, or two values of equal leading dimensions."""
    lhs = _in_order(node, real_operand(node, 0))
    packed = node.is_constant(1)
    rhs = _matrix(node, 1, lhs)
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
    *outer, rows, depth = lhs.shape
    columns = rhs.shape[-1]
    batch = math.prod(outer)
    if shared:
        batch, rows = 1, batch * rows
    left = _reshaped(node, lhs.ssa, (batch, rows, depth))
    right = _reshaped(node, rhs.ssa, (batch, depth, columns))
    emit = node.builder.emitter(node.place(), "product")
    sums = _product(
        Product(
            emit,
            (batch, rows, columns),
            Operand(left, (0, 1, DEPTH)),
            Operand(right, (0, DEPTH, 2)),
            depth,
        ),
        packed=packed and shared,
    )
    shape = (*lhs.shape[:-1], columns)
    type = node.typed(f32, shape, identity(len(shape)))
    node.define(Value(node.emit(qnn.ReshapeOp(sums, type)), identity(len(shape)), True))


def _product(product: Product, *, packed: bool, transposed: bool = False) -> SSAValue:
    """The sums [batch, rows, columns] in the order of their shape; `packed` where the
    right factor is a constant, `transposed` where it is stored so."""
    _, rows, columns = product.sizes
    if packed:
        return product.in_blocks(PACKED_BLOCK)
    if rows == 1:
        return product.of_column() if transposed else product.of_row()
    if columns == 1 and not transposed:
        return _of_one_column(product)
    return product.in_blocks(block_of(columns, product.depth))


def _of_one_column(product: Product) -> SSAValue:
    """The rows are the last loop then."""
    batch, rows, _ = product.sizes

    def moved(operand: Operand) -> Operand:
        exchanged = {1: 2, 2: 1}
        loops = tuple(
            loop if loop is None else exchanged.get(loop, loop)
            for loop in operand.loops
        )
        return Operand(operand.value, loops)

    return replace(
        product,
        sizes=(batch, 1, rows),
        lhs=moved(product.lhs),
        rhs=moved(product.rhs),
        before=product.before and moved(product.before),
    ).of_column()


def refuse_stored_weights(node: NodeContext) -> None:
    """Real numbers times weights of few bits: sums of blocks, or of integers."""
    raise node.error(
        "ONNX Runtime multiplies real numbers by stored weights in an order that isn't"
        " known",
        help="quantize what is multiplied, too",
    )


def import_gemm(node: NodeContext) -> None:
    """`x w + c`, which the sums start from; of a MatMul and an Add, whose rows may lie
    in several dimensions."""
    node.expect("transA", 0)
    for factor in ("alpha", "beta"):
        value = node.number(factor, 1.0)
        if value != 1.0:
            raise node.error(f"{factor} {value} is not supported; expected 1")
    lhs = _in_order(node, real_operand(node, 0))
    packed = node.is_constant(1)
    rhs = _matrix(node, 1, lhs)
    transposed = node.flag("transB", False)
    columns, depth = rhs.shape if transposed else reversed(rhs.shape)
    if len(lhs.shape) < 2 or lhs.shape[-1] != depth:
        raise node.error(
            f"an input of shape {list(lhs.shape)} with weights of {depth} rows"
        )
    *outer, _ = lhs.shape
    rows = math.prod(outer)
    emit = node.builder.emitter(node.place(), "product")
    before = None
    if node.has(2):
        before = _broadcast(
            node, _in_order(node, real_tensor(node, 2)), (rows, columns)
        )
    sums = _product(
        Product(
            emit,
            (1, rows, columns),
            Operand(_reshaped(node, lhs.ssa, (rows, depth)), (1, DEPTH)),
            Operand(rhs.ssa, (2, DEPTH) if transposed else (DEPTH, 2)),
            depth,
            before,
        ),
        packed=packed,
        transposed=transposed,
    )
    order = identity(len(lhs.shape))
    type = node.typed(f32, (*outer, columns), order)
    node.define(Value(node.emit(qnn.ReshapeOp(sums, type)), order, True))


def _broadcast(node: NodeContext, value: Value, shape: tuple[int, int]) -> Operand:
    """What is added to a matrix, with the loops (batch, row, column)."""
    if len(value.shape) > 2 or any(
        size not in (1, whole)
        for size, whole in zip(reversed(value.shape), reversed(shape), strict=False)
    ):
        raise node.error(f"a bias of shape {list(value.shape)} for {list(shape)}")
    first = 3 - len(value.shape)
    loops = [None if n == 1 else first + d for d, n in enumerate(value.shape)]
    return Operand(value.ssa, tuple(loops))


def _in_order(node: NodeContext, value: Value) -> Value:
    return node.builder.in_order(value, identity(len(value.order)), node.place())


def _matrix(node: NodeContext, number: int, lhs: Value) -> Value:
    value = _in_order(node, real_tensor(node, number))
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
    return Value(ssa, identity(array.ndim), True)


IMPORTERS = {
    ("", "Conv"): Entry(import_conv, (2, 3)),
    (MICROSOFT, "FusedConv"): Entry(import_fused_conv, (2, 4)),
    (MICROSOFT, "MatMulNBits"): Entry(refuse_stored_weights, (3, 6)),
    ("", "MatMul"): Entry(import_matmul, (2, 2)),
    ("", "Gemm"): Entry(import_gemm, (2, 3)),
}
