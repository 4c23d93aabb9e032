"""Pools and means."""

from __future__ import annotations

import math
from functools import partial

from xdsl.dialects.builtin import Float32Type

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.operators.windows import Window

from ...entry import RESULT, quantized, takes
from .. import volumes
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..values import Value, real_value
from ..volumes import Volume
from ..window import as_image, from_image
from . import real_pools
from .real import real_operand


def import_average_pool(node: NodeContext) -> None:
    if len(node.shape(0)) == volumes.RANK:
        _import_average_of_volume(node, real_operand(node, 0))
        return
    real_pools.import_average_pool(node)


def _averages(node: NodeContext, volume: Volume, image: Value) -> Value:
    """The windows of a volume as windows of images: all taps in raster order; before
    opset 19, with narrow steps, the taps of each column first."""
    *sides, columns = volume.window.kernel
    last = volume.window.axes[-1]
    has_loops = (
        node.graph.model.opset >= real_pools.LOOPS_SINCE
        or last.stride > real_pools.LARGEST_STEP
        or max(*sides, columns) > real_pools.LARGEST_SIDE
        or last.room + last.extent > real_pools.WIDEST
    )
    function = "loop_average_pool" if has_loops else "volume_average_pool"
    kernel = (math.prod(sides), columns)
    batch, places, _, channels = image.type.get_shape()
    shape = (batch * places, *kernel, channels)
    windows = node.reshaped(image, shape)
    pool = real_pools.pool_of(windows, Window.of(kernel, kernel), function)
    means = real_value(node.emit(pool, "mean"))
    return node.reshaped(means, (batch, places, 1, channels))


def _import_average_of_volume(node: NodeContext, value: Value) -> None:
    """The mean of all taps, those in the padding among them if there is one."""
    sizes = node.integer_list("kernel_shape", None, 1, real_pools.MAX_KERNEL)
    volume = volumes.read_volume(node, value.shape, sizes)
    if volume.is_padded and not node.flag("count_include_pad", False):
        raise node.error(
            "an average over what lies inside of a padded volume is not supported;"
            " expected no pads, or count_include_pad"
        )
    element = value.element
    filler = element.zero_point if isinstance(element, QuantizedType) else 0.0
    image = volume.seen(value, filler, taps_last=False)
    batch, places, taps, channels = image.type.get_shape()
    if isinstance(element, QuantizedType):
        type = node.quantization(3, 4)
        type = node.typed(type, (batch, places, 1, channels), image.order)
        volume.define(qnn.AvgPool2DOp(image.ssa, type, kernel=(1, taps)), image)
        return
    volume.define(_averages(node, volume, image).ssa, image)


def import_qlinear_average_pool(node: NodeContext) -> None:
    is_last = node.flag("channels_last", False)
    value = node.stored(0, 1, 2)
    if len(value.shape) == volumes.RANK and not is_last:
        _import_average_of_volume(node, value)
        return
    image = as_image(node, value, is_last)
    includes = node.flag("count_include_pad", False)
    operation = average_of_stored(node, image, _window(node, image), includes)
    from_image(node, operation, image, is_last)


def average_of_stored(
    node: NodeContext,
    image: Value,
    window: Window,
    includes: bool,
    contract: str | None = None,
) -> qnn.AvgPool2DOp:
    """The means of an image's stored integers, with the node's scale and zero point;
    padding counts if the pool `includes` it."""
    batch, _, _, channels = image.type.get_shape()
    shape = (batch, *window.sizes, channels)
    return qnn.AvgPool2DOp(
        image.ssa,
        node.typed(node.quantization(3, 4), shape, image.order),
        kernel=window.kernel,
        stride=window.stride,
        pad=window.pad,
        count_include_pad=includes,
        contract=contract,
    )


def _window(node: NodeContext, image: Value) -> Window:
    """The window of a pool, whose taps lie together."""
    window = real_pools.read_pool(node, image)
    if window.dilation != (1, 1):
        raise node.unsupported("dilations", list(window.dilation), 1)
    return window


def _import_max_pool(node: NodeContext, is_last: bool) -> None:
    """On stored integers; of dequantized ones the largest is that of the largest."""
    value = node.value(0)
    if len(value.shape) == volumes.RANK and not is_last:
        sizes = node.integer_list("kernel_shape", None, 1, real_pools.MAX_KERNEL)
        volume = volumes.read_volume(node, value.shape, sizes)
        element = value.element
        lowest: float = qnn.LOWEST
        if isinstance(element, QuantizedType):
            lowest = element.storage_min
        image = volume.seen(value, lowest, taps_last=False)
        batch, height, width, channels = image.type.get_shape()
        if isinstance(element, Float32Type):
            window = Window.of((height, width), (1, width))
            largest = real_pools.pool_of(image, window, "max_pool")
            volume.define(largest, image)
            return
        type = node.typed(element, (batch, height, 1, channels), image.order)
        volume.define(qnn.MaxPool2DOp(image.ssa, type, kernel=(1, width)), image)
        return
    image = as_image(node, value, is_last)
    batch, _, _, channels = image.type.get_shape()
    window = _window(node, image)
    if isinstance(image.element, Float32Type):
        pool = real_pools.pool_of(image, window, "max_pool")
        from_image(node, pool, image, False)
        return
    shape = (batch, *window.sizes, channels)
    operation = qnn.MaxPool2DOp(
        image.ssa,
        node.typed(image.element, shape, image.order),
        kernel=window.kernel,
        stride=window.stride,
        pad=window.pad,
    )
    from_image(node, operation, image, is_last)


def import_global_average_pool(node: NodeContext) -> None:
    """The mean over rows and columns, which stay with size 1."""
    is_last = node.flag("channels_last", False)
    image = as_image(node, node.stored(0, 1, 2), is_last, is_whole=True)
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
