"""The values that the parts of recurrent layers pass to their rules, by name."""

from __future__ import annotations

import numpy as np

from qlower.contracts import Contract
from qlower.contracts.values import Values, operand_values, output_values
from qlower.dialects import qnn


def lstm_gate_values(op: qnn.LstmOp) -> Values:
    """All that is constant about the gates of an LSTM, [G, U] where it varies."""
    values = {
        **operand_values("input", op.input.type),
        **operand_values("state", op.state.type),
        "is_update": np.array([[gate == "update"] for gate in qnn.GATES]),
    }
    for name, weight in (
        ("input_weight", op.input_weight),
        ("state_weight", op.state_weight),
    ):
        for key, value in operand_values(name, weight.type).items():
            values[key] = value.reshape(len(qnn.GATES), -1) if value.ndim else value
    return values


def lstm_state_values(contract: Contract, op: qnn.LstmOp) -> Values:
    """All that is constant about the cell and the state of an LSTM."""
    return {
        **operand_values("cell", op.cell.type),
        **operand_values("state", op.state.type),
        **output_values(contract, op.result.type),
        "cell_clip": np.array(op.cell_clip, np.float32),
    }


def svdf_state_values(contract: Contract, op: qnn.SvdfOp) -> Values:
    """All that is constant about what an SVDF remembers of a call."""
    return {
        **operand_values("input", op.input.type),
        **operand_values("weight", op.weight.type),
        **output_values(contract, op.state.type),
    }


def svdf_values(contract: Contract, op: qnn.SvdfOp) -> Values:
    """All that is constant about the result of an SVDF."""
    return {
        **operand_values("state", op.state.type),
        **operand_values("time_weight", op.time_weight.type),
        **output_values(contract, op.result.type),
    }
