"""ADD, SUB, MUL, and the borders between real numbers and quantizations."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i16, i32

from qlower.dialects import qnn
from qlower.dialects.fixed import RoundingMode, ShiftRightOp
from qlower.dialects.quant import QuantizedType
from qlower.files.arrays import Array
from qlower.interp.math import round_half_away

from ...entry import Entry, takes
from ...scalars import Binary, Scalars
from ..context import OperatorContext
from ..nests import finish, finish_map, read
from ..types import quantized_type
from .plain import binary, scalars
from .quantized import quantized

POWER_WITHIN = 1e-3
"""The largest distance of a power of 2's logarithm from a whole number."""

WITH_LONG = {("INT32", "INT8"), ("INT32", "INT16"), ("INT16", "INT32")}
"""Types between which the kernel of QUANTIZE goes; one of each two has 32 bits."""

MOST_PLACES = 15
"""Beyond, LiteRT's rounding shift of int16 is none."""


def _binary(
    kind: type[qnn.AddOp | qnn.SubOp | qnn.MulOp], compute: Binary
) -> Entry[OperatorContext]:
    """On quantized operands, or the same on plain ones."""
    of_stored = quantized(kind, "x: STORED, y", activates=True)

    def build(op: OperatorContext) -> None:
        powers = None
        if op.input(0).type == "INT16" and op.options.get("pot_scale_int16"):
            powers = _different_powers(op)
        if powers is None:
            of_stored.build(op)
        else:
            _import_shifted(op, compute, powers)

    return binary(compute, "NUMBER") | takes("x: STORED, y", build)


def _different_powers(op: OperatorContext) -> list[int] | None:
    """The logarithms of scales that are different powers of 2, or what LiteRT takes
    for some (kernel_util.cc, CheckedLog2), which it shifts by. Others are rescaled, and
    so may one scale be, whose shift is 0."""
    tensors = (op.input(0), op.input(1), op.output())
    scales = [op.per_tensor(tensor).scale for tensor in tensors]
    powers = [round(math.log2(scale)) for scale in scales]
    are_powers = all(
        abs(math.log2(scale) - power) < POWER_WITHIN
        for scale, power in zip(scales, powers, strict=True)
    )
    return powers if are_powers and len(set(scales)) > 1 else None


def _import_shifted(op: OperatorContext, compute: Binary, powers: list[int]) -> None:
    """One operand has the result's scale, the other is shifted to it, half away
    (internal/reference/add.h, Add of int16; sub.h, Sub16)."""
    shifts = [powers[2] - power for power in powers[:2]]
    if 0 not in shifts or min(shifts) < 0 or max(shifts) > MOST_PLACES:
        listed = ", ".join(f"2^{power}" for power in powers)
        raise op.error(
            f"INT16 with pot_scale_int16 and scales of {listed}; expected the result's"
            f" for one operand, and up to 2^{MOST_PLACES} times less for the other"
        )
    if op.operator.name == "ADD" and op.shape(0) != op.shape(1):
        raise op.error(
            "INT16 with pot_scale_int16 and operands that broadcast, which LiteRT reads"
            " beyond their ends; expected equal shapes"
        )
    steps = scalars(op, op.broadcast_shape(0, 1))
    x, y = (
        steps.step(
            ShiftRightOp(
                steps.cast(read(op, steps.nest, number), i32),
                steps.constant(places, i32),
                RoundingMode.HALF_AWAY,
            )
        )
        for number, places in enumerate(shifts)
    )
    total = compute(steps, x, y)
    for bound, clamp in zip(_bounds(op), (arith.MaxSIOp, arith.MinSIOp), strict=True):
        total = steps.step(clamp(total, steps.constant(bound, i32)))
    finish_map(op, steps.nest, steps.cast(total, i16))


def _bounds(op: OperatorContext) -> list[int]:
    """The range of stored numbers that the activation allows (kernel_util.cc,
    CalculateActivationRangeQuantized)."""
    scale = np.float32(op.per_tensor(op.output()).scale)
    limits = np.iinfo(np.int16)
    return [
        stored
        if real is None
        else int(
            np.clip(round_half_away(np.array(real / scale)), limits.min, limits.max)
        )
        for real, stored in zip(
            qnn.ACTIVATION_BOUNDS[op.activation()],
            (limits.min, limits.max),
            strict=True,
        )
    ]


def import_quantize(op: OperatorContext) -> None:
    """Import a quantization of float32, or a change of a quantized value's scale and
    zero point."""
    if op.is_float(0):
        result_type = op.quantized_result_type(op.shape(0))
        op.finish(qnn.QuantizeOp(op.value(0), result_type))
        return
    if "INT32" not in (op.input(0).type, op.output().type):
        op.per_tensor(op.input(0))
        result_type = op.quantized_result_type(op.shape(0))
        op.finish(qnn.RequantizeOp(op.value(0), result_type))
        return
    if (op.input(0).type, op.output().type) not in WITH_LONG:
        raise op.error(
            f"LiteRT has no QUANTIZE from {op.input(0).type} to {op.output().type};"
            " expected INT16 for one of them, or INT8 for the result"
        )
    given = op.retyped(op.value(0), quantized_type(op.input(0), op))
    op.result_type(op.shape(0))
    result = op.emit(
        qnn.RequantizeOp(given, quantized_type(op.output(), op)), "requantize"
    )
    finish(op, op.stored(result))


def import_dequantize(op: OperatorContext) -> None:
    """Constant weights become real when the model is read, as LiteRT makes them real
    before the first call: those that have scales along a dimension, or few bits."""
    op.check_type(op.output(), "FLOAT32")
    if _are_weights(op):
        real = _real_weights(op)
        op.graph.know(op.output(), real.tobytes(), real.shape, op)
        return
    op.per_tensor(op.input(0))
    op.finish(qnn.DequantizeOp(op.value(0), op.result_type(op.shape(0))))


def _are_weights(op: OperatorContext) -> bool:
    """Whether it is a constant of bytes that no `qnn.dequantize` takes, or becomes the
    weights of a TRANSPOSE_CONV, which are laid out anew when the model is read."""
    if op.input(0).type not in ("INT8", "UINT8") or not op.is_constant(0):
        return False
    element = op.input_type(0).element_type
    assert isinstance(element, QuantizedType)
    users = op.graph.users.get(op.output().index, ())
    return (
        element.is_per_axis
        or op.input(0).is_narrow
        or any(user.name == "TRANSPOSE_CONV" for user in users)
    )


def _real_weights(op: OperatorContext) -> Array:
    """The numbers that LiteRT makes of constant weights (internal/reference/
    dequantize.h, Dequantize; PerChannelDequantize)."""
    element = op.input_type(0).element_type
    assert isinstance(element, QuantizedType)
    codes = op.stored_array(0)
    along = [1] * codes.ndim
    if element.axis is not None:
        along[element.axis] = -1
    points = np.array(element.zero_points, np.int32).reshape(along)
    scales = np.array(element.scales, np.float32).reshape(along)
    return (codes - points).astype(np.float32) * scales


IMPORTERS = {
    "ADD": _binary(qnn.AddOp, Scalars.add),
    "SUB": _binary(qnn.SubOp, Scalars.subtract),
    "MUL": _binary(qnn.MulOp, Scalars.multiply),
    "QUANTIZE": takes("x", import_quantize),
    "DEQUANTIZE": takes("x", import_dequantize),
}
