"""LSTM and GRU whose weights `torch.ao.quantization.quantize_dynamic` stored.

aten/src/ATen/native/RNN.cpp: a layer quantizes the inputs of all steps by one range,
and its state by its own in each step. Gates lie one behind the other in rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ...entry import takes
from ...graph.context import NodeContext
from ...graph.operators.real import real_operand
from ...graph.operators.real_layers import real_tensor
from ...graph.operators.recurrent_layers import Layer
from ...graph.scanning import ScanStep
from ...graph.values import real_value
from ...scalars import Scalars, text
from ..translating import TORCH
from .real import in_vectors, tanh
from .real_layers import RANGED as CONTRACT
from .real_layers import hybrid_linear, rows_of, stored_weights

INPUT, OF_INPUT, OF_STATE, INITIAL = 0, 1, 4, 7
"""Operands; weights are followed by their scales and a bias."""

SIGMOID = in_vectors("sigmoid", of_rows=True)
"""Gates are parts of rows, and ATen's loops go through one row after the other."""

KEPT_AND_NEW = text("_sleef", "kept_and_new")
BETWEEN_STATES = text("_sleef", "between_states")

Product = Callable[[SSAValue, str], SSAValue]


def _product(node: NodeContext, operand: int) -> Product:
    """Rows by their range, times stored weights, and a bias."""

    def product(matrix: SSAValue, name: str) -> SSAValue:
        weights = stored_weights(node, operand, f"{name}_weights")
        bias = real_tensor(node, operand + 2).ssa
        return node.emit(hybrid_linear(matrix, weights, bias, CONTRACT), name)

    return product


def _read(node: NodeContext, gates: str) -> tuple[Layer, SSAValue, Product]:
    """The layer, the sums of all inputs, and the product of a state."""
    value = real_operand(node, INPUT)
    steps, batch, inputs = value.shape
    (rows, depth), (_, units) = (
        node.array(operand, "weights").shape for operand in (OF_INPUT, OF_STATE)
    )
    if (rows, depth) != (len(gates) * units, inputs):
        raise node.error(
            f"an input of shape {list(value.shape)} with weights of shape"
            f" {[rows, depth]}"
        )
    node.check_elements(steps * batch * rows)
    is_reverse = node.text("direction", "forward", ("forward", "reverse")) == "reverse"
    layer = Layer(node, gates, 0, is_reverse, steps, batch, units)
    sums = _product(node, OF_INPUT)(rows_of(node, value, inputs), "inputs")
    return layer, sums, _product(node, OF_STATE)


def import_lstm(node: NodeContext) -> None:
    layer, inputs, of_state = _read(node, "ifgo")

    def step(
        carried: Sequence[SSAValue], sums: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        state, cell = carried
        given = layer.apart(sums[0], "given")
        passed = layer.apart(of_state(state, "passed"), "gates")
        nest = layer.nest("cell")
        steps = Scalars(nest)
        i, f, g, o = (
            steps.add(*(layer.gate(nest, part, name, None) for part in (passed, given)))
            for name in layer.gates
        )
        i, f, o = (SIGMOID(steps, gate) for gate in (i, f, o))
        before = nest.input(cell, (0, 1))
        now = KEPT_AND_NEW(steps, i, f, tanh(steps, g), before)
        shown = steps.multiply(o, tanh(steps, now))
        cell, state = nest.build([now, shown])
        return [state, cell], [state]

    _finish(layer, 2, inputs, step)


def import_gru(node: NodeContext) -> None:
    layer, inputs, of_state = _read(node, "rzn")

    def step(
        carried: Sequence[SSAValue], sums: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        (state,) = carried
        given = layer.apart(sums[0], "given")
        passed = layer.apart(of_state(state, "passed"), "gates")
        nest = layer.nest("state")
        steps = Scalars(nest)
        (reset, update, hidden), (more, most, new) = (
            [layer.gate(nest, part, name, None) for name in layer.gates]
            for part in (passed, given)
        )
        reset = SIGMOID(steps, steps.add(reset, more))
        update = SIGMOID(steps, steps.add(update, most))
        new = tanh(steps, steps.add(new, steps.multiply(hidden, reset)))
        before = nest.input(state, (0, 1))
        (state,) = nest.build([BETWEEN_STATES(steps, before, new, update)])
        return [state], [state]

    _finish(layer, 1, inputs, step)


def _finish(layer: Layer, count: int, inputs: SSAValue, step: ScanStep) -> None:
    """Define the states of all steps [S, B, U], and those after the last [1, B, U]."""
    initial = [layer.initial(INITIAL + at) for at in range(count)]
    left, states = layer.run(initial, inputs, step)
    shape = (1, layer.batch, layer.units)
    ends = [layer.reshaped(end, shape, f"end_{at}") for at, end in enumerate(left)]
    for number, value in enumerate((states, *ends)):
        if layer.node.has_result(number):
            layer.node.define(real_value(value), number)


OPERANDS = "x, weights, scales, bias, state_weights, state_scales, state_bias, state?"

IMPORTERS = {
    (TORCH, "RangedLSTM"): takes(f"{OPERANDS}, cell?", import_lstm, (1, 3)),
    (TORCH, "RangedGRU"): takes(OPERANDS, import_gru, (1, 2)),
}
