"""AVERAGE_POOL_2D, MAX_POOL_2D and MEAN."""

from __future__ import annotations

from qlower.dialects import qnn

from ..context import OperatorContext
from ..importer import Importer
from ..window import MAX_KERNEL, read_window

SCALE_TOLERANCE = 1e-6
"""What TFLite allows between the scales of an average pool's input and result."""


def import_avg_pool2d(op: OperatorContext) -> None:
    """The kernel averages stored integers: it can't change scale or zero point."""
    before, after = op.per_tensor(op.input(0)), op.per_tensor(op.output())
    if before.zero_point != after.zero_point or (
        abs(before.scale - after.scale) > SCALE_TOLERANCE
    ):
        raise op.error(f"quantization {after} of the result, expected {before}")
    _import_pool(op, qnn.AvgPool2DOp)


def import_max_pool2d(op: OperatorContext) -> None:
    _import_pool(op, qnn.MaxPool2DOp)


def _import_pool(
    op: OperatorContext, pool: type[qnn.AvgPool2DOp | qnn.MaxPool2DOp]
) -> None:
    batch, height, width, channels = op.shape(0, rank=4)
    kernel = (
        op.option("filter_height", 1, MAX_KERNEL),
        op.option("filter_width", 1, MAX_KERNEL),
    )
    window = read_window(op, (height, width), kernel, has_dilation=False)
    op.finish(
        pool(
            op.moved(0),
            op.quantized_result_type((batch, *window.size, channels)),
            kernel=kernel,
            stride=window.stride,
            pad=window.pad,
            activation=op.activation(),
        )
    )


def import_mean(op: OperatorContext) -> None:
    shape = op.shape(0)
    axes = {op.axis("axis", value, len(shape)) for value in op.integers(1, "axes")}
    keep_dims = op.flag("keep_dims")
    reduced = [
        1 if dim in axes else size
        for dim, size in enumerate(shape)
        if keep_dims or dim not in axes
    ]
    op.finish(
        qnn.MeanOp(
            op.quantized(0),
            op.quantized_result_type(reduced),
            axes=sorted(axes),
            keep_dims=keep_dims,
        )
    )


IMPORTERS = {
    "AVERAGE_POOL_2D": Importer(import_avg_pool2d, (1, 1), "Pool2DOptions"),
    "MAX_POOL_2D": Importer(import_max_pool2d, (1, 1), "Pool2DOptions"),
    "MEAN": Importer(import_mean, (2, 2), "ReducerOptions"),
}
