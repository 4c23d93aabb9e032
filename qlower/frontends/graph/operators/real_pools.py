"""Pools of real numbers. ONNX Runtime has several kernels for averages."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.operators.windows import Window

from ...entry import takes
from ...scalars import Scalars, mapped, square
from ..context import NodeContext
from ..values import Value
from ..window import as_image, define_image, from_image, image_step, read_window
from .real import body_of, elementwise, real_operand
from .real_layers import FALLBACK

MAX_KERNEL = 1 << 16

LARGEST_STEP, LARGEST_SIDE, WIDEST = 2, 32, 2045
"""Up to these steps, sides of a window and columns of a padded volume, sums are over
rows first."""

LOOPS_SINCE = 19
"""The opset from which on average pools are loops of ONNX Runtime's own."""


def import_average_pool(node: NodeContext) -> None:
    image = as_image(node, real_operand(node, 0), False)
    sizes = image.type.get_shape()[1:3]
    window = read_pool(node, image)
    is_new = node.graph.model.opset >= LOOPS_SINCE
    has_loops = is_new or node.importer.blocks.starts(node)
    if window.dilation != (1, 1) and not is_new:
        raise node.error(
            f"dilations {list(window.dilation)} are not supported; expected 1"
        )
    if window == Window.of(sizes, sizes) and not has_loops:
        import_global_average_pool(node)
        return
    includes = node.flag("count_include_pad", False)
    if includes and node.flag("ceil_mode", False):
        raise node.error(
            "ceil_mode with count_include_pad is not supported; expected one"
        )
    has_loops = has_loops or len(node.shape(0)) == 3
    function = "loop_average_pool" if has_loops else "average_pool"
    pool = pool_of(image, window, function)
    pool.count_include_pad = includes
    from_image(node, pool, image, False)


def _import_lp_pool(node: NodeContext) -> None:
    """The root of the sum of powers of a window (nn/pool_functors.h); powers above 2
    are computed in float64."""
    power = node.integer("p", 2, 1, 2)
    term = Scalars.absolute if power == 1 else square
    terms = elementwise(node, [real_operand(node, 0)], body_of(term))
    image = as_image(node, terms, False)
    pool = pool_of(image, read_pool(node, image), "sum_pool")
    if power == 1:
        from_image(node, pool, image, False)
        return
    sums = node.emit(pool, "sums")
    emit = node.builder.emitter(node.place(), image_step(node))
    define_image(node, mapped(emit, _root, sums), image, False)


def _root(steps: Scalars, x: SSAValue) -> SSAValue:
    return steps.c("powf", x, steps.constant(0.5, f32))


def read_pool(node: NodeContext, image: Value) -> Window:
    """The window of a pool over an image."""
    rank = len(node.shape(0)) - 2
    if rank not in (1, 2):
        raise node.error(f"an input of rank {rank + 2} is not supported; expected 4")
    sizes = node.integer_list("kernel_shape", None, 1, MAX_KERNEL)
    if len(sizes) != rank:
        raise node.error(f"kernel_shape {sizes}: expected {rank} numbers")
    kernel = [1] * (2 - rank) + sizes
    return read_window(node, image.type.get_shape()[1:3], kernel, is_pool=True)


def pool_of(
    image: Value,
    window: Window,
    function: str,
    fallback: str = FALLBACK,
) -> qnn.RealPool2DOp:
    """A pool over an image of real numbers."""
    batch, _, _, channels = image.type.get_shape()
    return qnn.RealPool2DOp(
        image.ssa,
        TensorType(f32, (batch, *window.sizes, channels)),
        function=function,
        kernel=window.kernel,
        stride=window.stride,
        pad=window.pad,
        dilation=window.dilation,
        fallback=fallback,
    )


def import_global_average_pool(node: NodeContext) -> None:
    """The mean of the image; in blocks a pool."""
    image = as_image(node, real_operand(node, 0), False, is_whole=True)
    sizes = image.type.get_shape()[1:-1]
    if node.importer.blocks.pools(node):
        pool = pool_of(image, Window.of(sizes, sizes), "loop_average_pool")
        from_image(node, pool, image, False)
        return
    from_image(node, global_average(image), image, False)


def global_average(image: Value, fallback: str = FALLBACK) -> qnn.RealReduceOp:
    """The mean of each channel of an image [N, H, W, C] of real numbers."""
    batch, *_, channels = image.type.get_shape()
    return qnn.RealReduceOp(
        image.ssa,
        TensorType(f32, (batch, 1, 1, channels)),
        function="global_average",
        axes=[1, 2],
        keep_dims=True,
        fallback=fallback,
    )


IMPORTERS = {
    ("", "GlobalAveragePool"): takes("x", import_global_average_pool),
    ("", "LpPool"): takes("x", _import_lp_pool),
}
