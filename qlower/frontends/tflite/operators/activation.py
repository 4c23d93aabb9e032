"""Functions of one value, and SOFTMAX."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.qnn import QnnOp

from ..context import OperatorContext
from ..hyperbolic import hyperbolic_tangent
from ..importer import Importer
from ..scalars import Scalars
from ..types import Element
from .plain import (
    REAL,
    Unary,
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
    beta = op.real("beta")
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
    if op.input(0).type != "INT8":
        raise op.error(
            f"{op.input(0)}: LOG_SOFTMAX of {op.input(0).type} is not supported;"
            " expected INT8"
        )
    type = op.quantized_result_type(op.shape(0))
    op.finish(qnn.LogSoftmaxOp(op.quantized(0), type))


IMPORTERS = {
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
            lambda op, x, type: qnn.TanhOp(x, type), lambda op: hyperbolic_tangent
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
        _activation(lambda op, x, type: qnn.EluOp(x, type), lambda op: Scalars.elu),
        (1, 1),
    ),
    "LEAKY_RELU": Importer(
        _activation(
            lambda op, x, type: qnn.LeakyReluOp(x, type, alpha=op.real("alpha")),
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
