"""Functions of one value, and SOFTMAX."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from qlower.dialects import qnn

from ...entry import Entry, takes
from ..context import OperatorContext
from ..types import LEAST_SCALE
from .plain import c_function, litert, map_elements, unary
from .quantized import quantized
from .real_norms import normalization


def _clamp(low: float, high: float | None) -> Entry[OperatorContext]:
    """Bounds of real numbers."""
    return unary(lambda steps, x: steps.clamp(x, low, high))


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


def import_fake_quant(op: OperatorContext) -> None:
    """Rounding to one of 2 ** num_bits codes, whose zero point is one of them, too
    (internal/reference/fake_quant.h, FakeQuantizeArray)."""
    scale, lowest, highest = map(float, _nudged_range(op))
    inverse = float(np.float32(1) / np.float32(scale))
    map_elements(op, litert("fake_quantize"), lowest, highest, scale, inverse)


def import_real_leaky_relu(op: OperatorContext) -> None:
    map_elements(op, litert("leaky_relu"), op.number("alpha"))


def _nudged_range(op: OperatorContext) -> tuple[np.float32, np.float32, np.float32]:
    """The scale, and the real values of the first and the last code
    (NudgeQuantizationRange)."""
    low, high = np.float32(op.number("min")), np.float32(op.number("max"))
    last = np.float32((1 << op.integer("num_bits")) - 1)
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
    "FAKE_QUANT": takes(
        "x: REAL; narrow_range: False, num_bits: 2..16", import_fake_quant
    ),
    "RELU": quantized(qnn.ReluOp) | _clamp(0.0, None),
    "RELU6": quantized(qnn.Relu6Op) | _clamp(0.0, 6.0),
    "RELU_N1_TO_1": quantized(partial(qnn.ClampOp, min=-1.0, max=1.0))
    | _clamp(-1.0, 1.0),
    "RELU_0_TO_1": quantized(partial(qnn.ClampOp, min=0.0, max=1.0)) | _clamp(0.0, 1.0),
    "LOGISTIC": quantized(qnn.SigmoidOp) | unary(litert("logistic")),
    "TANH": quantized(qnn.TanhOp) | unary(c_function("tanhf")),
    "HARD_SWISH": quantized(qnn.HardSwishOp) | unary(litert("hard_swish")),
    "ELU": quantized(qnn.EluOp) | unary(c_function("real_elu")),
    "LEAKY_RELU": quantized(qnn.LeakyReluOp, "x: STORED", "alpha")
    | takes("x: REAL", import_real_leaky_relu),
    "SOFTMAX": normalization("softmax") | takes("x: STORED", import_softmax),
    "LOG_SOFTMAX": normalization("log_softmax")
    | quantized(qnn.LogSoftmaxOp, "x: BYTE"),
}
