"""Pools of real numbers. ONNX Runtime has several kernels for averages."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32

from qlower.dialects import qnn

from ...entry import takes
from ..context import NodeContext
from ..values import Value
from ..window import Pair, Window, as_image, from_image, read_window
from .real import real_operand
from .real_layers import FALLBACK

LARGEST_STEP, LARGEST_SIDE, WIDEST = 2, 32, 2045
"""Up to these steps, sides of a window and columns of a padded volume, sums are over
rows first."""

LOOPS_SINCE = 19
"""The opset from which on average pools are loops of ONNX Runtime's own."""


def import_average_pool(node: NodeContext, kernel: Pair) -> None:
    image = as_image(node, real_operand(node, 0), False)
    sizes = image.type.get_shape()[1:3]
    window = read_window(node, (sizes[0], sizes[1]), kernel, has_ceil_mode=True)
    is_plain = not any(window.pad) and window.stride == (1, 1)
    is_new = node.graph.model.opset >= LOOPS_SINCE
    has_loops = is_new or node.importer.blocks.starts(node)
    if window.dilation != (1, 1) and not is_new:
        raise node.error(
            f"dilations {list(window.dilation)} are not supported; expected 1"
        )
    if kernel == sizes and is_plain and not has_loops:
        import_global_average_pool(node)
        return
    includes = node.flag("count_include_pad", False)
    if includes and node.flag("ceil_mode", False):
        raise node.error(
            "ceil_mode with count_include_pad is not supported; expected one"
        )
    has_loops = has_loops or len(node.shape(0)) == 3
    function = "loop_average_pool" if has_loops else "average_pool"
    pool = pool_of(image, window, kernel, function)
    pool.count_include_pad = includes
    from_image(node, pool, image, False)


def pool_of(
    image: Value,
    window: Window,
    kernel: Pair,
    function: str,
    fallback: str = FALLBACK,
) -> qnn.RealPool2DOp:
    """A pool over an image of real numbers."""
    batch, _, _, channels = image.type.get_shape()
    return qnn.RealPool2DOp(
        image.ssa,
        TensorType(f32, (batch, *window.sizes, channels)),
        function=function,
        kernel=kernel,
        stride=window.stride,
        pad=window.pad,
        dilation=window.dilation,
        fallback=fallback,
    )


def import_global_average_pool(node: NodeContext) -> None:
    """The mean of the image; in blocks a pool."""
    image = as_image(node, real_operand(node, 0), False, is_whole=True)
    batch, height, width, channels = image.type.get_shape()
    if node.importer.blocks.holds(node):
        whole = Window((1, 1), (0, 0, 0, 0), (1, 1), (1, 1))
        pool = pool_of(image, whole, (height, width), "loop_average_pool")
        from_image(node, pool, image, False)
        return
    mean = qnn.RealReduceOp(
        image.ssa,
        TensorType(f32, (batch, 1, 1, channels)),
        function="global_average",
        axes=[1, 2],
        keep_dims=True,
        fallback=FALLBACK,
    )
    from_image(node, mean, image, False)


def import_max_pool(
    node: NodeContext, image: Value, window: Window, kernel: Pair
) -> None:
    """The order doesn't show."""
    from_image(node, pool_of(image, window, kernel, "max_pool"), image, False)


IMPORTERS = {
    ("", "GlobalAveragePool"): takes("x", import_global_average_pool),
}
