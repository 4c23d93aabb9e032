"""ADD, SUB, MUL, and the borders between real numbers and quantizations."""

from __future__ import annotations

from qlower.dialects import qnn

from ..context import OperatorContext
from ..importer import Importer


def import_add(op: OperatorContext) -> None:
    _import_binary(op, qnn.AddOp)


def import_sub(op: OperatorContext) -> None:
    _import_binary(op, qnn.SubOp)


def import_mul(op: OperatorContext) -> None:
    _import_binary(op, qnn.MulOp)


def _import_binary(
    op: OperatorContext,
    binary: type[qnn.AddOp | qnn.SubOp | qnn.MulOp],
) -> None:
    op.finish(
        binary(
            op.quantized(0),
            op.quantized(1),
            op.quantized_result_type(op.broadcast_shape(0, 1)),
            activation=op.activation(),
        )
    )


def import_quantize(op: OperatorContext) -> None:
    """From float32 or, as a change of scale and zero point, from quantized."""
    result_type = op.quantized_result_type(op.shape(0))
    if op.is_float(0):
        op.finish(qnn.QuantizeOp(op.value(0), result_type))
    else:
        op.per_tensor(op.input(0))
        op.finish(qnn.RequantizeOp(op.value(0), result_type))


def import_dequantize(op: OperatorContext) -> None:
    if op.output().type != "FLOAT32":
        raise op.error(
            f"{op.output()}: type {op.output().type} is not supported; expected FLOAT32"
        )
    op.per_tensor(op.input(0))
    op.finish(qnn.DequantizeOp(op.value(0), op.result_type(op.shape(0))))


IMPORTERS = {
    "ADD": Importer(import_add, (2, 2), "AddOptions"),
    "SUB": Importer(import_sub, (2, 2), "SubOptions"),
    "MUL": Importer(import_mul, (2, 2), "MulOptions"),
    "QUANTIZE": Importer(import_quantize, (1, 1)),
    "DEQUANTIZE": Importer(import_dequantize, (1, 1)),
}
