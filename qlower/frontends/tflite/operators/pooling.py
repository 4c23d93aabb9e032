"""AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D and MEAN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from qlower.dialects import qnn

from ...entry import takes
from ..context import OperatorContext
from ..types import Element
from ..window import read_pool
from .plain import real_reduction
from .quantized import reduced
from .real import import_plain_mean

SCALE_TOLERANCE = 1e-6
"""The difference that TFLite allows in scales of an average pool's input and result."""


POOLS = {
    "AVERAGE_POOL_2D": "average_pool",
    "L2_POOL_2D": "l2_pool",
    "MAX_POOL_2D": "max_pool",
}


def import_real_pool(op: OperatorContext) -> None:
    """The largest element, the mean of those inside the image, or the root of the mean
    of their squares."""
    op.check_type(op.output(), "FLOAT32")
    function = POOLS[op.operator.name]
    pool = partial(qnn.RealPool2DOp, function=function, fallback="tflite")
    _import_pool(op, pool, op.value(0), op.result_type)


def import_avg_pool2d(op: OperatorContext) -> None:
    """The kernel averages stored integers: it can't change scale or zero point."""
    before, after = op.per_tensor(op.input(0)), op.per_tensor(op.output())
    if before.zero_point != after.zero_point or (
        abs(before.scale - after.scale) > SCALE_TOLERANCE
    ):
        raise op.error(f"quantization {after} of the result, expected {before}")
    _import_pool(op, qnn.AvgPool2DOp, op.quantized(0), op.quantized_result_type)


def import_max_pool2d(op: OperatorContext) -> None:
    """The kernel looks at the result's quantization only."""
    _import_pool(op, qnn.MaxPool2DOp, op.moved(0), op.quantized_result_type)


def _import_pool(
    op: OperatorContext,
    pool: Callable[..., qnn.QnnOp],
    value: SSAValue,
    result_type: Callable[[Sequence[int]], TensorType[Element]],
) -> None:
    batch, _, _, channels = op.shape(0)
    window = read_pool(op)
    op.finish(
        pool(
            value,
            result_type((batch, *window.sizes, channels)),
            kernel=window.kernel,
            stride=window.stride,
            pad=window.pad,
            activation=op.activation(),
        )
    )


IMPORTERS = {
    "AVERAGE_POOL_2D": takes("x[4]: REAL", import_real_pool)
    | takes("x[4]: STORED", import_avg_pool2d),
    "MAX_POOL_2D": takes("x[4]: REAL", import_real_pool)
    | takes("x[4]: STORED", import_max_pool2d),
    "L2_POOL_2D": takes("x[4]: REAL", import_real_pool),
    "MEAN": real_reduction("mean")
    | takes("x: INDEX, axes", import_plain_mean)
    | takes("x: STORED, axes", reduced(qnn.MeanOp)),
}
