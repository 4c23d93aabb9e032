"""Functions of one value, and SOFTMAX."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.qnn import QnnOp

from ...scalars import Scalars
from ..context import OperatorContext
from ..importer import Importer
from ..types import LEAST_SCALE, Element
from .plain import (
    REAL,
    Unary,
    c_function,
    check_type,
    hard_swish,
    is_plain,
    leaky_relu,
    map_one,
)
from .real import either
from .real_norms import import_real_log_softmax, import_real_softmax


def _activation(
    quantized: Callable[[OperatorContext, SSAValue, TensorType[Element]], QnnOp],
    real: Callable[[OperatorContext], Unary],
) -> Callable[[OperatorContext], None]:
    """An operation of quantized values, or steps of float32."""

    def build(op: OperatorContext) -> None:
        if is_plain(op):
            check_type(op, REAL)
            map_one(op, real(op))
            return
        type = op.quantized_result_type(op.shape(0))
        op.finish(quantized(op, op.quantized(0), type))

    return build


def _clamp(low: float, high: float | None) -> Callable[[OperatorContext], Unary]:
    return lambda op: lambda steps, x: steps.clamp(x, low, high)


def _clamp_op(
    low: float, high: float
) -> Callable[[OperatorContext, SSAValue, TensorType[Element]], QnnOp]:
    return lambda op, x, type: qnn.ClampOp(x, type, min=low, max=high)


SOFTMAX_SCALES = {"INT8": 1 / 256, "UINT8": 1 / 256, "INT16": 1 / 32768}
"""The kernel's result has this scale, whatever the file says."""

SOFTMAX_TOLERANCE = 1 / 1000


def import_softmax(op: OperatorContext) -> None:
    """Along the last dimension, which is the only one that TFLite has."""
    result = op.per_tensor(op.output())
    scale = SOFTMAX_SCALES[op.output().type]
    zero_point = 0 if result.storage_width == 16 else result.storage_min
    if result.zero_point != zero_point or (
        abs(result.scale - scale) > SOFTMAX_TOLERANCE * scale
    ):
        raise op.error(
            f"{op.output()}: quantization {result}, expected scale {scale} and"
            f" zero point {zero_point}"
        )
    beta = op.number("beta")
    if beta <= 0:
        raise op.error(f"beta {beta} is out of range: above 0")
    op.finish(
        qnn.SoftmaxOp(
            op.quantized(0),
            op.quantized_result_type(op.shape(0)),
            axis=len(op.shape(0)) - 1,
            beta=beta,
        )
    )


def import_log_softmax(op: OperatorContext) -> None:
    if is_plain(op):
        import_real_log_softmax(op)
        return
    if op.input(0).type not in ("INT8", "UINT8"):
        raise op.error(
            f"{op.input(0)}: LOG_SOFTMAX of {op.input(0).type} is not supported;"
            " expected INT8 or UINT8"
        )
    type = op.quantized_result_type(op.shape(0))
    op.finish(qnn.LogSoftmaxOp(op.quantized(0), type))


def import_fake_quant(op: OperatorContext) -> None:
    """Rounding to one of 2 ** num_bits codes, whose zero point is one of them, too
    (internal/reference/fake_quant.h, FakeQuantizeArray)."""
    check_type(op, REAL)
    if op.flag("narrow_range"):
        raise op.error("narrow_range is not supported by LiteRT; expected false")
    scale, lowest, highest = _nudged_range(op)

    def compute(steps: Scalars, x: SSAValue) -> SSAValue:
        low, high, step, inverse = (
            steps.constant(float(value), x.type)
            for value in (lowest, highest, scale, np.float32(1) / scale)
        )
        clamped = steps.smaller(steps.larger(x, low), high)
        codes = steps.multiply(steps.subtract(clamped, low), inverse)
        floor = steps.floor(codes)
        rest = steps.subtract(codes, floor)
        is_up = steps.compare("ge", rest, steps.constant(0.5, x.type))
        above = steps.add(floor, steps.constant(1.0, x.type))
        rounded = steps.select(is_up, above, floor)
        return steps.add(steps.multiply(rounded, step), low)

    map_one(op, compute)


def _nudged_range(op: OperatorContext) -> tuple[np.float32, np.float32, np.float32]:
    """The scale, and what the first code and the last stand for
    (NudgeQuantizationRange)."""
    low, high = np.float32(op.number("min")), np.float32(op.number("max"))
    last = np.float32((1 << op.option("num_bits", 2, 16)) - 1)
    if not low < high:
        raise op.error(f"a range from {low} to {high}; expected min below max")
    with np.errstate(over="ignore"):
        scale = (high - low) / last
    if not LEAST_SCALE <= scale < np.inf:
        raise op.error(f"a range from {low} to {high}, whose scale is {scale}")
    nearest = math.floor(float(-low / scale) + 0.5)
    zero_point = np.float32(min(max(nearest, 0), int(last)))
    return scale, (np.float32(0) - zero_point) * scale, (last - zero_point) * scale


IMPORTERS = {
    "FAKE_QUANT": Importer(import_fake_quant, (1, 1), "FakeQuantOptions"),
    "RELU": Importer(
        _activation(lambda op, x, type: qnn.ReluOp(x, type), _clamp(0.0, None)), (1, 1)
    ),
    "RELU6": Importer(
        _activation(lambda op, x, type: qnn.Relu6Op(x, type), _clamp(0.0, 6.0)), (1, 1)
    ),
    "RELU_N1_TO_1": Importer(
        _activation(_clamp_op(-1.0, 1.0), _clamp(-1.0, 1.0)), (1, 1)
    ),
    "RELU_0_TO_1": Importer(_activation(_clamp_op(0.0, 1.0), _clamp(0.0, 1.0)), (1, 1)),
    "LOGISTIC": Importer(
        _activation(
            lambda op, x, type: qnn.SigmoidOp(x, type), lambda op: Scalars.logistic
        ),
        (1, 1),
    ),
    "TANH": Importer(
        _activation(
            lambda op, x, type: qnn.TanhOp(x, type), lambda op: c_function("tanhf")
        ),
        (1, 1),
    ),
    "HARD_SWISH": Importer(
        _activation(
            lambda op, x, type: qnn.HardSwishOp(x, type), lambda op: hard_swish
        ),
        (1, 1),
    ),
    "ELU": Importer(
        _activation(
            lambda op, x, type: qnn.EluOp(x, type),
            lambda op: c_function("elu"),
        ),
        (1, 1),
    ),
    "LEAKY_RELU": Importer(
        _activation(
            lambda op, x, type: qnn.LeakyReluOp(x, type, alpha=op.number("alpha")),
            leaky_relu,
        ),
        (1, 1),
        "LeakyReluOptions",
    ),
    "SOFTMAX": Importer(
        either(import_real_softmax, import_softmax), (1, 1), "SoftmaxOptions"
    ),
    "LOG_SOFTMAX": Importer(import_log_softmax, (1, 1)),
}
