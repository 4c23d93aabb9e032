"""Pools and means."""

from __future__ import annotations

from functools import partial

from xdsl.dialects.builtin import Float32Type

from qlower.dialects import qnn

from ...entry import RESULT, quantized, takes
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..window import Pair, Window, as_image, from_image, read_window
from . import real_pools

MAX_KERNEL = 1 << 16


def kernel_of(node: NodeContext) -> tuple[int, int]:
    """Rows and columns of a pool's window."""
    rank = len(node.shape(0)) - 2
    if rank not in (1, 2):
        raise node.error(f"an input of rank {rank + 2} is not supported; expected 4")
    sizes = node.integer_list("kernel_shape", None, 1, MAX_KERNEL)
    if len(sizes) != rank:
        raise node.error(f"kernel_shape {sizes}: expected {rank} numbers")
    return (1, sizes[0]) if rank == 1 else (sizes[0], sizes[1])


def import_average_pool(node: NodeContext) -> None:
    real_pools.import_average_pool(node, kernel_of(node))


def import_qlinear_average_pool(node: NodeContext) -> None:
    is_last = node.flag("channels_last", False)
    kernel = kernel_of(node)
    image = as_image(node, node.stored(0, 1, 2), is_last)
    batch, height, width, channels = image.type.get_shape()
    window = _window(node, (height, width), kernel)
    shape = (batch, *window.sizes, channels)
    operation = qnn.AvgPool2DOp(
        image.ssa,
        node.typed(node.quantization(3, 4), shape, image.order),
        kernel=kernel,
        stride=window.stride,
        pad=window.pad,
        count_include_pad=node.flag("count_include_pad", False),
    )
    from_image(node, operation, image, is_last)


def _window(node: NodeContext, image: Pair, kernel: Pair) -> Window:
    """That of a pool, whose taps lie together."""
    window = read_window(node, image, kernel, has_ceil_mode=True)
    if window.dilation != (1, 1):
        raise node.unsupported("dilations", list(window.dilation), 1)
    return window


def _import_max_pool(node: NodeContext, is_last: bool) -> None:
    """On stored integers; of dequantized ones the largest is that of the largest."""
    kernel = kernel_of(node)
    image = as_image(node, node.value(0), is_last)
    batch, height, width, channels = image.type.get_shape()
    window = _window(node, (height, width), kernel)
    if isinstance(image.element, Float32Type):
        real_pools.import_max_pool(node, image, window, kernel)
        return
    shape = (batch, *window.sizes, channels)
    operation = qnn.MaxPool2DOp(
        image.ssa,
        node.typed(image.element, shape, image.order),
        kernel=kernel,
        stride=window.stride,
        pad=window.pad,
    )
    from_image(node, operation, image, is_last)


def import_global_average_pool(node: NodeContext) -> None:
    """The mean over rows and columns, which stay with size 1."""
    is_last = node.flag("channels_last", False)
    image = as_image(node, node.stored(0, 1, 2), is_last)
    batch, _, _, channels = image.type.get_shape()
    type = node.typed(node.quantization(3, 4), (batch, 1, 1, channels), image.order)
    operation = qnn.MeanOp(image.ssa, type, axes=[1, 2], keep_dims=True)
    from_image(node, operation, image, is_last)


LARGEST = "x; storage_order: 0"

IMPORTERS = {
    ("", "AveragePool"): takes("x", import_average_pool),
    (MICROSOFT, "QLinearAveragePool"): takes(
        f"{quantized('x')}, {RESULT}", import_qlinear_average_pool
    ),
    (MICROSOFT, "QLinearGlobalAveragePool"): takes(
        f"{quantized('x')}, {RESULT}", import_global_average_pool
    ),
    ("", "MaxPool"): takes(LARGEST, partial(_import_max_pool, is_last=False)),
    (MICROSOFT, "NhwcMaxPool"): takes(LARGEST, partial(_import_max_pool, is_last=True)),
}
