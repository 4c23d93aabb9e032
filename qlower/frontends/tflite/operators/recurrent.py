"""UNIDIRECTIONAL_SEQUENCE_LSTM, of which integers have a cell of 16 bits, and SVDF."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    TensorType,
    i32,
    i64,
)
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.interp.values import Array
from qlower.model.nests import dense

from ...entry import takes
from ..context import OperatorContext
from ..weights import check_bias, check_weights
from .lstm import BIASES, CELL, INPUT_WEIGHTS, STATE, STATE_WEIGHTS
from .real_lstm import import_real_lstm
from .stored_lstm import HIDDEN, import_stored_lstm, is_variant

LSTM = ", ".join(f"x{number}{'?' * (number > CELL)}" for number in range(24))
"""The signature: the last operands normalize layers."""

TANH = 4

SVDF_TIME_WEIGHTS, SVDF_STATE = 2, 4


def import_lstm(op: OperatorContext) -> None:
    """Weights of the gates are joined: [4 units, inputs] and [4 units, units].

    States are stored by the scale of the intermediate tensor; the kernel takes them to
    have that of the variable when it reads them, and of the result when others do.
    LiteRT has no kernel for states of 16 bits, TFLite Micro doesn't look at that scale.
    """
    if op.is_float(0):
        import_real_lstm(op)
        return
    _check_form(op)
    if is_variant(op):
        if op.input(0).type == "INT16":
            raise op.error(
                "an LSTM of INT16 with peepholes, a projection, normalized gates or"
                " without an input gate is not supported; expected INT8"
            )
        import_stored_lstm(op)
        return
    *sequence, inputs = op.shape(0, rank=3)
    units = op.shape(INPUT_WEIGHTS, rank=2)[0]
    state, cell = op.state(STATE), op.state(CELL)
    type = op.quantized_result_type((*sequence, units))
    hidden = type.element_type
    if op.input(0).type == "INT8":
        hidden = op.per_tensor(op.intermediate(HIDDEN))
    lstm = qnn.LstmOp(
        _rows_first(op, op.quantized(0), "input"),
        state,
        cell,
        _joined_weights(op, INPUT_WEIGHTS, (units, inputs), "input_weights"),
        _joined_weights(op, STATE_WEIGHTS, (units, units), "state_weights"),
        _joined_biases(op, units),
        TensorType(hidden, (*_ordered(op, *sequence), units)),
        state.type,
        cell.type,
        cell_clip=max(op.number("cell_clip"), 0.0),
    )
    states = _rows_first(op, op.emit(lstm), "states")
    op.graph.define(op.output(), op.retyped(states, type), op)
    op.keep(STATE, lstm.last_state)
    op.keep(CELL, lstm.last_cell)


def _ordered(op: OperatorContext, first: int, second: int) -> tuple[int, int]:
    """The other way round where steps come first in the file."""
    return (second, first) if op.flag("time_major") else (first, second)


def _rows_first(op: OperatorContext, value: SSAValue, suffix: str) -> SSAValue:
    """A sequence [B, T, ...] from the file's order, and back."""
    if not op.flag("time_major"):
        return value
    return op.permuted(value, (1, 0, 2), suffix)


def _check_form(op: OperatorContext) -> None:
    types = [op.input(number).type for number in (0, INPUT_WEIGHTS + 1)]
    if types not in (["INT8", "INT8"], ["INT16", "INT8"]):
        raise op.error(
            f"an LSTM of {types[0]} with weights of {types[1]} is not supported;"
            " expected FLOAT32, INT8 or INT16 with INT8"
        )
    count = len(op.operator.intermediates)
    if types[0] == "INT8" and count > HIDDEN + 1:
        raise op.error(
            f"an LSTM with {count} intermediate tensors, whose sums of gates have 8"
            f" bits, is not supported; expected {HIDDEN + 1}"
        )
    op.expect("diagonal_recurrent_tensors", False)
    op.expect("fused_activation_function", TANH)


def _joined_weights(
    op: OperatorContext, first: int, shape: tuple[int, int], suffix: str
) -> SSAValue:
    """Constant weights of all gates, [4 rows, columns], with a scale for each row."""
    scales: list[float] = []
    arrays: list[Array] = []
    for number in range(first, first + len(qnn.GATES)):
        op.check_shape(number, shape)
        op.per_tensor(op.input(number))
        element = check_weights(op, number, 0, "INT8")
        scales += np.broadcast_to(element.scales, shape[0]).tolist()
        arrays.append(op.stored_array(number))
    rows = len(scales)
    element = QuantizedType.per_axis(8, True, 0, scales, [0] * rows)
    type = TensorType(element, (rows, shape[1]))
    stored = dense(np.concatenate(arrays), element.storage_type)
    return op.emit(qnn.ConstantOp(stored, type), suffix)


def _joined_biases(op: OperatorContext, units: int) -> SSAValue:
    numbers = range(BIASES, BIASES + len(qnn.GATES))
    for number in numbers:
        op.input(number)
        check_bias(op, number, units)
    joined = np.concatenate([op.array(number).reshape(-1) for number in numbers])
    bits = i64 if op.input(0).type == "INT16" else i32
    return op.emit(arith.ConstantOp(dense(joined, bits)), "biases")


def import_svdf(op: OperatorContext) -> None:
    """The state is [batch, filters * places] in the file. LiteRT's kernel takes no
    other activation function than RELU, and leaves its bound to the zero point."""
    batch, _ = op.shape(0)
    filters, places = op.shape(SVDF_TIME_WEIGHTS)
    _check_svdf(op, batch, filters, places)
    units = filters // op.option("rank", 1, filters)
    state = op.state(SVDF_STATE)
    shaped = TensorType(op.per_tensor(op.input(SVDF_STATE)), (batch, filters, places))
    svdf = qnn.SvdfOp(
        op.value(0),
        op.emit(qnn.ReshapeOp(state, shaped), "state"),
        op.value(1),
        op.value(SVDF_TIME_WEIGHTS),
        _svdf_bias(op, units),
        op.quantized_result_type((batch, units)),
        shaped,
    )
    op.finish_part(0, svdf)
    flat = qnn.ReshapeOp(svdf.next_state, state.type)
    op.keep(SVDF_STATE, op.emit(flat, "next_state"))


def _check_svdf(op: OperatorContext, batch: int, filters: int, places: int) -> None:
    expected = (*("INT8", "INT8", "INT16"), "INT32" if op.has(3) else None)
    types = tuple(op.input(n).type if op.has(n) else None for n in range(4))
    if types != expected or op.input(SVDF_STATE).type != "INT16":
        raise op.error(
            f"an SVDF of {types[0]} with weights of {types[1]}, {types[2]} along time,"
            f" and a state of {op.input(SVDF_STATE).type} is not supported; expected"
            " INT8, INT8, INT16 and INT16"
        )
    for number in (1, SVDF_TIME_WEIGHTS):
        zero_point = op.per_tensor(op.input(number)).zero_points[0]
        op.check_range(f"{op.input(number)}: zero point", zero_point, 0, 0)
    op.check_shape(SVDF_STATE, (batch, filters * places))
    op.check_range("filters modulo rank", filters % op.option("rank", 1, filters), 0, 0)


def _svdf_bias(op: OperatorContext, units: int) -> SSAValue:
    if op.has(3):
        return op.graph.value(op.input(3), TensorType(i32, (units,)), op)
    return op.emit(arith.ConstantOp(dense(np.zeros(units), i32)), "bias")


IMPORTERS = {
    "UNIDIRECTIONAL_SEQUENCE_LSTM": takes(LSTM, import_lstm),
    "SVDF": takes(
        "x[2], weights, time_weights[2], bias?, state[2]; fused_activation_function: 1",
        import_svdf,
    ),
}
