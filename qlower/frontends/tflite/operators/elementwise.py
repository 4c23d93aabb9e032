"""ADD, SUB, MUL, and the borders between real numbers and quantizations."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qlower.dialects import qnn

from ..context import OperatorContext
from ..importer import Importer
from ..scalars import Scalars
from .plain import NUMBERS, Binary, is_plain, map_two

POWER_WITHIN = 1e-3
"""How far from a whole number the logarithm of a power of 2 may be."""


def _import_binary(
    binary: type[qnn.AddOp | qnn.SubOp | qnn.MulOp], compute: Binary
) -> Callable[[OperatorContext], None]:
    """On quantized operands, or the same on plain ones."""

    def build(op: OperatorContext) -> None:
        if is_plain(op):
            map_two(op, compute, NUMBERS)
            return
        if op.input(0).type == "INT16" and op.options.get("pot_scale_int16"):
            _check_scales(op)
        lhs, rhs = op.quantized(0), op.quantized(1)
        type = op.quantized_result_type(op.broadcast_shape(0, 1))
        op.finish(binary(lhs, rhs, type, activation=op.activation()))

    return build


def _check_scales(op: OperatorContext) -> None:
    """Refuse scales that are different powers of 2, or what LiteRT takes for some
    (kernel_util.cc, CheckedLog2), which it shifts by. Others are rescaled, and so may
    one scale be, whose shift is 0."""
    tensors = (op.input(0), op.input(1), op.output())
    logarithms = [math.log2(op.per_tensor(tensor).scale) for tensor in tensors]
    powers = [round(logarithm) for logarithm in logarithms]
    are_powers = all(
        abs(logarithm - power) < POWER_WITHIN
        for logarithm, power in zip(logarithms, powers, strict=True)
    )
    are_one = len({op.per_tensor(tensor).scale for tensor in tensors}) == 1
    if are_powers and not are_one:
        raise op.error(
            "INT16 with scales of different powers of 2 (pot_scale_int16) is not"
            " supported; expected one scale, or scales as the converter chooses them"
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
    element = op.per_tensor(op.input(0))
    if _are_weights(op):
        codes = op.stored_array(0).astype(np.int32) - element.zero_point
        real = codes.astype(np.float32) * np.float32(element.scale)
        op.graph.know(op.output(), real.tobytes(), real.shape, op)
        return
    op.finish(qnn.DequantizeOp(op.value(0), op.result_type(op.shape(0))))


def _are_weights(op: OperatorContext) -> bool:
    """Whether a constant becomes the weights of a TRANSPOSE_CONV, which are laid out
    anew when the model is read."""
    users = op.graph.users.get(op.output().index, ())
    return (
        op.input(0).type in ("INT8", "UINT8")
        and op.is_constant(0)
        and any(user.name == "TRANSPOSE_CONV" for user in users)
    )


IMPORTERS = {
    "ADD": Importer(_import_binary(qnn.AddOp, Scalars.add), (2, 2), "AddOptions"),
    "SUB": Importer(_import_binary(qnn.SubOp, Scalars.subtract), (2, 2), "SubOptions"),
    "MUL": Importer(_import_binary(qnn.MulOp, Scalars.multiply), (2, 2), "MulOptions"),
    "QUANTIZE": Importer(import_quantize, (1, 1)),
    "DEQUANTIZE": Importer(import_dequantize, (1, 1)),
}
