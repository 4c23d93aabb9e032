"""The layers of ncnn that give real numbers or move elements."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from xdsl.dialects.arith import MaxSIOp

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.operators.windows import Window, WindowAxis

from ..entry import takes
from ..graph.context import NodeContext
from ..graph.operators.joining import import_concat
from ..graph.operators.layout import import_identity, reshape
from ..graph.operators.real import (
    activation,
    body_of,
    elementwise,
    import_bounded,
    real_operand,
)
from ..graph.operators.real_pools import global_average, pool_of
from ..graph.operators.rearranging import padded
from ..graph.window import as_image, from_image, read_window
from ..scalars import Binary, Scalars, in_turn
from ..signature import UNLIMITED
from .quantized import CONTRACT

BINARY: dict[int, Binary] = {
    0: Scalars.add,
    1: Scalars.subtract,
    2: Scalars.multiply,
    3: Scalars.divide,
    4: Scalars.maximum,
    5: Scalars.minimum,
}
ELTWISE: dict[int, Binary] = {
    0: Scalars.multiply,
    1: Scalars.add,
    2: Scalars.maximum,
}


def _import_pooling(node: NodeContext) -> None:
    """The largest of a window or its mean, which ncnn computes in three ways."""
    node.shape(0, rank=4)
    image = as_image(node, real_operand(node, 0), False)
    batch, height, width, channels = image.type.get_shape()
    is_mean = bool(node.integer("pooling_type", 0, 0, 1))
    make = partial(pool_of, image, fallback=CONTRACT)
    if node.flag("global_pooling", False):
        whole = Window.of((height, width), (height, width))
        mean = partial(global_average, image, CONTRACT)
        pool = mean() if is_mean else make(whole, "max_pool")
        pooled = replace(image, ssa=node.emit(pool, "pool"))
        node.define(node.reshaped(pooled, (batch, channels)))
        return
    mode = node.integer("pad_mode", 0, 0, 3)
    kernel = node.integer_list("kernel_shape", None, 1)
    window = read_window(node, (height, width), kernel)
    window = Window(tuple(_pooled(node, axis, mode) for axis in window.axes))
    pool = make(window, "loop_average_pool" if is_mean else "max_pool")
    if is_mean and node.flag("avgpool_count_include_pad", False):
        pool = make(window, "average_pool")
    # With the padding that sizes decide ncnn counts all of a window, too.
    pool.count_include_pad = is_mean and (pool.function == "average_pool" or mode >= 2)
    from_image(node, pool, image, False)


def _pooled(node: NodeContext, axis: WindowAxis, mode: int) -> WindowAxis:
    """A window with the padding of a mode: 0 is as much more behind as a last one
    needs, 1 what is given, 2 and 3 are SAME_UPPER and SAME_LOWER."""
    if mode == 0:
        axis = replace(axis, after=axis.after + -axis.room % axis.stride)
    elif mode == 2:
        axis = axis.in_same()
    elif mode == 3:
        same = axis.in_same()
        axis = replace(same, before=same.after, after=same.before)
    first, last = axis.extent, (axis.results - 1) * axis.stride
    if axis.before >= first or last >= axis.before + axis.size:
        raise node.error("a window that lies in the padding alone is not supported")
    return axis


def _import_relu(node: NodeContext) -> None:
    slope = node.number("slope", 0.0)
    value = node.value(0)
    if value.is_real and slope == 0:
        import_bounded(node, 0.0, math.inf)
    elif value.is_real:
        body = activation(node, "LeakyRelu", (slope,))
        node.define(elementwise(node, [real_operand(node, 0)], body))
    elif slope == 0:
        nest = node.nest(shape_of(value.ssa))
        code = nest.input(node.plain(value), range(nest.parallel))
        zero = Scalars(nest).constant(0, code.type)
        codes = nest.build_one(nest.add(MaxSIOp(code, zero)).result)
        node.define(replace(value, ssa=node.meant(codes, value.element, "codes")))
    else:
        raise node.unsupported("slope of int8", slope, 0)


def _import_clip(node: NodeContext) -> None:
    low = node.number("min", qnn.LOWEST)
    import_bounded(node, low, node.number("max", -qnn.LOWEST))


def _import_binary(node: NodeContext) -> None:
    kind = node.integer("op_type", 0)
    if kind not in BINARY:
        raise node.unsupported("op_type", kind, *BINARY)
    if node.flag("with_scalar", False):
        body = body_of(BINARY[kind], node.number("b", 0.0))
        node.define(elementwise(node, [real_operand(node, 0)], body))
        return
    if node.count != 2:
        raise node.error("expected two operands, or with_scalar")
    _of_all(node, BINARY[kind])


def _import_eltwise(node: NodeContext) -> None:
    kind = node.integer("op_type", 0)
    if kind not in ELTWISE:
        raise node.unsupported("op_type", kind, *ELTWISE)
    _of_all(node, ELTWISE[kind])


def _of_all(node: NodeContext, compute: Binary) -> None:
    """A function of operands of the same shape, one after the other."""
    shapes = [node.shape(number) for number in range(node.count)]
    if len(set(shapes)) > 1:
        raise node.error(
            f"operands of shapes {[list(shape) for shape in shapes]} are not"
            " supported; expected the same shape"
        )
    operands = [real_operand(node, number) for number in range(node.count)]
    node.define(elementwise(node, operands, body_of(in_turn(compute))))


def _import_concat(node: NodeContext) -> None:
    """ncnn's axes don't count the batch."""
    axis = node.integer("axis", 0)
    node.node.attributes = {"axis": axis + (axis >= 0)}
    import_concat(node)


def _import_flatten(node: NodeContext) -> None:
    batch, *sizes = node.shape(0)
    reshape(node, (batch, math.prod(sizes)))


def _import_reshape(node: NodeContext) -> None:
    """0 is a size of the input, -1 what is left over."""
    batch, *sizes = node.shape(0)
    names = [name for name in ("c", "h", "w") if name in node.attributes]
    before = [1] * (3 - len(sizes)) + sizes
    wanted: list[int] = []
    for name, size in zip(names, before[3 - len(names) :], strict=True):
        wanted.append(node.integer(name, None, -1) or size)
    if wanted.count(-1) > 1 or names != ["c", "h", "w"][3 - len(names) :]:
        raise node.error(f"{', '.join(names)} of {wanted}; expected one -1 at most")
    known = math.prod(size for size in wanted if size > 0)
    left = math.prod(sizes) // known
    reshape(node, [batch, *(left if size < 0 else size for size in wanted)])


def _import_split(node: NodeContext) -> None:
    for number in range(node.result_count):
        node.define(node.value(0), number)


def _import_padding(node: NodeContext) -> None:
    """Constant rows and columns around an image."""
    shape = node.shape(0, 4)
    low, high = (
        [0] * (len(shape) - 2) + [node.integer(name, 0, 0, 1 << 16) for name in pair]
        for pair in (("top", "left"), ("bottom", "right"))
    )
    node.define(padded(node, low, high, node.number("value", 0.0)))


LAYERS = {
    "BinaryOp": takes("x, y?", _import_binary),
    "Clip": takes("x", _import_clip),
    "Concat": takes("x, more*", _import_concat),
    "Dropout": takes("x; scale: 1", import_identity),
    "Eltwise": takes("x, more*; coeffs: ()", _import_eltwise),
    "Flatten": takes("x", _import_flatten),
    "Noop": takes("x", import_identity),
    "Padding": takes(
        "x; type: 0, per_channel_pad_data_size: 0, front: 0, behind: 0",
        _import_padding,
    ),
    "Pooling": takes("x; adaptive_pooling: 0", _import_pooling),
    "ReLU": takes("x", _import_relu),
    "Reshape": takes("x", _import_reshape),
    "Split": takes("x", _import_split, (1, UNLIMITED)),
}
