"""Meaning of ops that go along a sequence."""

from __future__ import annotations

import numpy as np
from xdsl.interpreter import PythonValues
from xdsl.ir import SSAValue

from qlower.contracts.recurrent_values import (
    lstm_gate_values,
    lstm_state_values,
    svdf_state_values,
    svdf_values,
)
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.interp.engine import implement, register_implementations
from qlower.interp.values import Array

from .rules import RuleFunctions, centred


@register_implementations
class RecurrentFunctions(RuleFunctions):
    """Step after step: sums for each gate, then the rules of gates, cell and state."""

    @implement(qnn.LstmOp)
    def run_lstm(self, op: qnn.LstmOp, args: PythonValues) -> PythonValues:
        inputs, state, cell, input_weight, state_weight, bias = args
        of_inputs = _sums(inputs, op.input, input_weight, op.input_weight) + bias
        constants = lstm_state_values(self.contract(op), op)
        states: list[Array] = []
        for step in range(inputs.shape[1]):
            of_state = _sums(state, op.state, state_weight, op.state_weight)
            values = {**constants, **self._gates(op, of_inputs[:, step], of_state)}
            values["cell"] = cell.astype(np.int32)
            (cell,) = self.finish(op, "lstm_cell", values, op.last_cell)
            values["cell"] = cell.astype(np.int32)
            (state,) = self.finish(op, "lstm_output", values, op.last_state)
            states.append(state)
        return np.stack(states, axis=1), state, cell

    def _gates(
        self, op: qnn.LstmOp, of_input: Array, of_state: Array
    ) -> dict[str, Array]:
        """Each gate [B, U], of sums [B, G*U], which wrap at 32 bits or have 64."""
        shape = (of_input.shape[0], len(qnn.GATES), shape_of(op.state)[1])
        bits = np.int64 if op.is_wide else np.int32
        values = {
            "input_sum": of_input.astype(bits).reshape(shape),
            "state_sum": of_state.astype(bits).reshape(shape),
            **lstm_gate_values(op),
        }
        gates = self.evaluate(op, op.rules[-1], values, shape)
        return {
            f"{name}_gate": gates[:, number] for number, name in enumerate(qnn.GATES)
        }

    @implement(qnn.SvdfOp)
    def run_svdf(self, op: qnn.SvdfOp, args: PythonValues) -> PythonValues:
        inputs, state, weight, time_weight, bias = args
        contract, (batch, filters, _) = self.contract(op), state.shape
        sums = _sums(inputs, op.input, weight, op.weight).astype(np.int32)
        values = {**svdf_state_values(contract, op), "accumulator": sums}
        last = self.evaluate(op, "svdf_state", values, (batch, filters))
        memory = state.astype(np.int64)
        memory[:, :, -1] = last
        products = (memory * time_weight).sum(axis=2)
        units = products.reshape(batch, len(bias), -1).sum(axis=2) + bias
        values = {**svdf_values(contract, op), "accumulator": units.astype(np.int32)}
        (result,) = self.finish(op, "svdf", values, op.result)
        after = np.concatenate([memory[:, :, 1:], np.zeros_like(memory[:, :, :1])], 2)
        return result, after.astype(np.int16)


def _sums(stored: Array, value: SSAValue, weight: Array, weights: SSAValue) -> Array:
    """Rows times weights [O, K], exact."""
    rows = centred(stored, value).astype(np.int64)
    return rows @ centred(weight, weights).astype(np.int64).T
