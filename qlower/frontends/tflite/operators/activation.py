"""Functions of one value, SOFTMAX and ARG_MAX."""

from __future__ import annotations

from qlower.dialects import qnn

from ..context import OperatorContext
from ..importer import Importer


def import_relu(op: OperatorContext) -> None:
    op.finish(qnn.ReluOp(op.quantized(0), op.quantized_result_type(op.shape(0))))


def import_relu6(op: OperatorContext) -> None:
    op.finish(qnn.Relu6Op(op.quantized(0), op.quantized_result_type(op.shape(0))))


def import_relu_n1_to_1(op: OperatorContext) -> None:
    _import_clamp(op, -1.0, 1.0)


def import_relu_0_to_1(op: OperatorContext) -> None:
    _import_clamp(op, 0.0, 1.0)


def _import_clamp(op: OperatorContext, low: float, high: float) -> None:
    op.finish(
        qnn.ClampOp(
            op.quantized(0), op.quantized_result_type(op.shape(0)), min=low, max=high
        )
    )


def import_logistic(op: OperatorContext) -> None:
    op.finish(qnn.SigmoidOp(op.quantized(0), op.quantized_result_type(op.shape(0))))


def import_tanh(op: OperatorContext) -> None:
    op.finish(qnn.TanhOp(op.quantized(0), op.quantized_result_type(op.shape(0))))


def import_hard_swish(op: OperatorContext) -> None:
    op.finish(qnn.HardSwishOp(op.quantized(0), op.quantized_result_type(op.shape(0))))


def import_elu(op: OperatorContext) -> None:
    op.finish(qnn.EluOp(op.quantized(0), op.quantized_result_type(op.shape(0))))


def import_leaky_relu(op: OperatorContext) -> None:
    alpha = op.real("alpha")
    op.finish(
        qnn.LeakyReluOp(
            op.quantized(0), op.quantized_result_type(op.shape(0)), alpha=alpha
        )
    )


SOFTMAX_SCALE = 1 / 256
SOFTMAX_TOLERANCE = SOFTMAX_SCALE / 1000
"""The kernel's result has this scale, whatever the file says."""


def import_softmax(op: OperatorContext) -> None:
    """Along the last dimension, which is the only one that TFLite has."""
    result = op.per_tensor(op.output())
    if result.zero_point != result.storage_min or (
        abs(result.scale - SOFTMAX_SCALE) > SOFTMAX_TOLERANCE
    ):
        raise op.error(
            f"{op.output()}: quantization {result}, expected scale {SOFTMAX_SCALE} and"
            f" zero point {result.storage_min}"
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


OUTPUT_TYPES = {"INT32": 2, "INT64": 4}
"""What ARG_MAX can give, by the schema's numbers of element types."""


def import_arg_max(op: OperatorContext) -> None:
    """The kernel gives what the option says, so the tensor must be of that type."""
    shape = op.shape(0)
    (axis,) = op.integers(1, "axis", count=1)
    axis = op.axis("axis", axis, len(shape))
    op.per_tensor(op.input(0))
    result = op.output()
    if result.type not in OUTPUT_TYPES:
        raise op.error(
            f"{result}: type {result.type} is not supported; expected INT32 or INT64"
        )
    expected = OUTPUT_TYPES[result.type]
    op.option("output_type", expected, expected)
    type = op.result_type((*shape[:axis], *shape[axis + 1 :]))
    op.finish(qnn.ArgMaxOp(op.value(0), type, axis=axis))


IMPORTERS = {
    "RELU": Importer(import_relu, (1, 1)),
    "RELU6": Importer(import_relu6, (1, 1)),
    "RELU_N1_TO_1": Importer(import_relu_n1_to_1, (1, 1)),
    "RELU_0_TO_1": Importer(import_relu_0_to_1, (1, 1)),
    "LOGISTIC": Importer(import_logistic, (1, 1)),
    "TANH": Importer(import_tanh, (1, 1)),
    "HARD_SWISH": Importer(import_hard_swish, (1, 1)),
    "ELU": Importer(import_elu, (1, 1)),
    "LEAKY_RELU": Importer(import_leaky_relu, (1, 1), "LeakyReluOptions"),
    "SOFTMAX": Importer(import_softmax, (1, 1), "SoftmaxOptions"),
    "ARG_MAX": Importer(import_arg_max, (2, 2), "ArgMaxOptions"),
}
