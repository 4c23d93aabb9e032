"""Pools of real numbers, in the order in which ONNX Runtime adds them.

onnxruntime/core/mlas/lib/pooling.cpp has three: pools over the whole image in four
lanes, those of narrow steps over rows first, all others in raster order. Since opset 19
average pools are loops of ONNX Runtime's own, in raster order. So is what lies in
blocks of channels (`blocks`).
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.arith import AddfOp, DivfOp, MaximumfOp
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qlower.dialects.types import shape_of
from qlower.emit.reductions import reduced_by, window_nest
from qlower.files.arrays import Array
from qlower.model.nests import Emitter, Nest
from qlower.model.windows import taps_inside
from qlower.operators.sums import POOL_2D, Sums, slides

from ...entry import takes
from ..context import NodeContext
from ..values import Value
from ..window import Pair, Window, as_image, define_image, image_step, read_window
from .real import number, real_operand
from .sums import add_in_turn

LANES = 4
LARGEST_STEP, LARGEST_SIDE, WIDEST = 2, 32, 2045
"""Up to these steps, sides of a window and columns of a padded image, sums are over
rows first."""

RASTER_SINCE = 19


def import_average_pool(node: NodeContext, kernel: Pair) -> None:
    image = as_image(node, real_operand(node, 0), False)
    sizes = image.type.get_shape()[1:3]
    window = read_window(node, (sizes[0], sizes[1]), kernel, has_ceil_mode=True)
    emit = node.builder.emitter(node.place(), "sums")
    is_row = len(node.shape(0)) == 3
    is_plain = not any(window.pad) and window.stride == (1, 1)
    is_new = node.graph.model.opset >= RASTER_SINCE
    is_blocked = node.importer.blocks.starts(node)
    if window.dilation != (1, 1) and not is_new:
        raise node.error(
            f"dilations {list(window.dilation)} are not supported; expected 1"
        )
    if kernel == sizes and is_plain and not is_new and not is_blocked:
        import_global_average_pool(node)
        return
    if (
        is_row
        or is_new
        or is_blocked
        or window.stride[1] > LARGEST_STEP
        or max(kernel) > LARGEST_SIDE
        or sizes[1] + sum(window.pad[2:]) > WIDEST
    ):
        sums = pooled(emit, image.ssa, window, kernel, AddfOp, 0.0)
    else:
        rows = pooled(emit, image.ssa, _along(window, 0), (kernel[0], 1), AddfOp, 0.0)
        sums = pooled(emit, rows, _along(window, 1), (1, kernel[1]), AddfOp, 0.0)
    counts = taps_inside(
        sizes, window.sizes, kernel, window.stride, window.pad, window.dilation
    )
    if node.integer("count_include_pad", 0, 0, 1):
        if node.integer("ceil_mode", 0, 0, 1):
            raise node.error(
                "ceil_mode with count_include_pad is not supported; expected one"
            )
        counts = np.full((1, 1, 1), kernel[0] * kernel[1], np.int32)
    _define_quotients(node, image, sums, counts)


def _define_quotients(
    node: NodeContext, image: Value, sums: SSAValue, counts: Array
) -> None:
    nest = Nest(node.builder.emitter(node.place(), image_step(node)), shape_of(sums))
    divisor = nest.constant(counts, f32)
    mean = nest.add(DivfOp(nest.input(sums, range(4)), divisor)).result
    define_image(node, nest.build([mean])[0], image, False)


def _along(window: Window, axis: int) -> Window:
    """The window's steps along rows (1) or columns (0) alone."""

    def pair(values: Pair) -> Pair:
        return (values[0], 1) if axis == 0 else (1, values[1])

    top, bottom, left, right = window.pad
    pad = (top, bottom, 0, 0) if axis == 0 else (0, 0, left, right)
    return Window(pair(window.stride), pad, pair(window.dilation), window.sizes)


def pooled(
    emit: Emitter,
    image: SSAValue,
    window: Window,
    kernel: Pair,
    operation: type[AddfOp | MaximumfOp],
    start: float,
) -> SSAValue:
    """What an operation makes of each window in raster order."""
    windows = Sums(POOL_2D, slides(window.stride, window.pad, window.dilation))
    nest, element = window_nest(emit, windows, image, kernel, start)
    return reduced_by(nest, operation, element, start)


def import_global_average_pool(node: NodeContext) -> None:
    """Lanes of every fourth element, the first two with those two after them, then what
    is left over one by one."""
    image = as_image(node, real_operand(node, 0), False, is_whole=True)
    batch, height, width, channels = image.type.get_shape()
    size = height * width
    if node.importer.blocks.holds(node):
        emit = node.builder.emitter(node.place(), "sums")
        whole = Window((1, 1), (0, 0, 0, 0), (1, 1), (1, 1))
        sums = pooled(emit, image.ssa, whole, (height, width), AddfOp, 0.0)
        _define_quotients(node, image, sums, np.full((1, 1, 1), size, np.int32))
        return
    flat = Value(image.ssa, (0, 1, 2, 3), True)
    rows = (batch, size, channels)
    matrix = node.builder.reshape(flat, rows, (0, 1, 2), node.place()).ssa
    emit = node.builder.emitter(node.place(), "sums")
    lanes: SSAValue | None = None
    if size >= LANES:
        nest = Nest(emit, (batch, LANES, channels, size // LANES), reductions=1)
        nest.window((1, 3))
        place = AffineDimExpr(3) * LANES + AffineDimExpr(1)
        element = nest.input(matrix, [0, place, 2])
        zeros = emit.filled(nest.output_shape, f32, 0)
        (lanes,) = nest.reduce([zeros], nest.adding(element))
    step = node.builder.emitter(node.place(), image_step(node))
    nest = Nest(step, (batch, 1, 1, channels))
    numbers: list[SSAValue] = []
    if lanes is not None:
        found = [
            nest.input(lanes, [0, AffineConstantExpr(lane), 3]) for lane in range(LANES)
        ]
        halves = [add_in_turn(nest, found[at::2]) for at in (0, 1)]
        numbers.append(add_in_turn(nest, halves))
    numbers += [
        nest.input(matrix, [0, AffineConstantExpr(at), 3])
        for at in range(size - size % LANES, size)
    ]
    total = add_in_turn(nest, numbers)
    mean = nest.add(DivfOp(total, number(nest, size))).result
    define_image(node, nest.build([mean])[0], image, False)


def import_max_pool(
    node: NodeContext, image: Value, window: Window, kernel: Pair
) -> None:
    """The order doesn't show."""
    emit = node.builder.emitter(node.place(), image_step(node))
    lowest = float(np.finfo(np.float32).min)
    largest = pooled(emit, image.ssa, window, kernel, MaximumfOp, lowest)
    define_image(node, largest, image, False)


IMPORTERS = {
    ("", "GlobalAveragePool"): takes("x", import_global_average_pool),
}
