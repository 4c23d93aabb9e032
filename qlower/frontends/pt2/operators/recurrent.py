"""LSTM, GRU and plain recurrent layers, whose weights are real, or stored by
`torch.ao.quantization.quantize_dynamic`.

aten/src/ATen/native/RNN.cpp: a layer takes the inputs of all steps times their weights,
then in each step its state. Where weights are stored, it quantizes the inputs of all
steps by one range, and each state by its own. Gates lie one behind the other in rows.

PyTorch leaves an LSTM with real weights to oneDNN, whose functions aren't SLEEF's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.ir import SSAValue

from ...entry import takes
from ...graph.context import NodeContext
from ...graph.operators.real import real_operand
from ...graph.operators.real_layers import real_tensor
from ...graph.operators.recurrent_layers import Layer
from ...graph.scanning import ScanStep
from ...graph.values import real_value
from ...scalars import Scalars, Steps, text
from ..translating import TORCH
from .real import in_vectors, tanh
from .real_layers import RANGED as CONTRACT
from .real_layers import hybrid_linear, real_linear, rows_of, stored_weights

INPUT, OF_INPUT, OF_STATE, INITIAL = 0, 1, 4, 7
"""Operands; weights are followed by their scales and a bias."""

SIGMOID = in_vectors("sigmoid", of_rows=True)
"""Gates are parts of rows, and ATen's loops go through one row after the other."""


def _relu(steps: Scalars, x: SSAValue) -> SSAValue:
    return steps.clamp(x, 0.0, None)


KEPT_AND_NEW = text("_sleef", "kept_and_new")
BETWEEN_STATES = text("_sleef", "between_states")

Product = Callable[[SSAValue, str], SSAValue]


def _product(node: NodeContext, operand: int) -> Product:
    """Rows times weights, and a bias; where weights are stored, rows by their range."""

    def product(matrix: SSAValue, name: str) -> SSAValue:
        has_bias = node.has(operand + 2)
        bias = real_tensor(node, operand + 2).ssa if has_bias else None
        if not node.has(operand + 1):
            weights = real_tensor(node, operand).ssa
            return node.emit(real_linear(matrix, weights, bias), name)
        weights = stored_weights(node, operand, f"{name}_weights")
        return node.emit(hybrid_linear(matrix, weights, bias, CONTRACT), name)

    return product


def _read(node: NodeContext, gates: str) -> tuple[Layer, SSAValue, Product]:
    """The layer, the sums of all inputs, and the product of a state."""
    value = real_operand(node, INPUT)
    sizes, of_state = (node.shape(operand) for operand in (OF_INPUT, OF_STATE))
    units = of_state[-1] if of_state else 0
    rows = len(gates) * units
    expected = [(rows, *value.shape[2:]), (rows, units)]
    if len(value.shape) != 3 or [tuple(sizes), tuple(of_state)] != expected:
        raise node.error(
            f"an input of shape {list(value.shape)} with weights of shapes"
            f" {list(sizes)} and {list(of_state)}"
        )
    steps, batch, inputs = value.shape
    node.check_elements(steps * batch * rows)
    is_reverse = node.text("direction", "forward", ("forward", "reverse")) == "reverse"
    number, count = (node.integer(name) for name in ("number", "directions"))
    layer = Layer(node, gates, number, count, is_reverse, steps, batch, units)
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
        state = nest.build_one(BETWEEN_STATES(steps, before, new, update))
        return [state], [state]

    _finish(layer, 1, inputs, step)


def _import_plain(node: NodeContext, activation: Steps) -> None:
    """A state that is a function of the sum of both products."""
    layer, inputs, of_state = _read(node, "h")

    def step(
        carried: Sequence[SSAValue], sums: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        passed = layer.apart(of_state(carried[0], "passed"), "gates")
        nest = layer.nest("state")
        steps = Scalars(nest)
        both = passed, layer.apart(sums[0], "given")
        new = steps.add(*(layer.gate(nest, part, "h", None) for part in both))
        states = nest.build([activation(steps, new)])
        return states, states

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


OPERANDS = (
    "x, weights, scales?, bias?, state_weights, state_scales?, state_bias?, state?"
)

IMPORTERS = {
    (TORCH, "LSTM"): takes(f"{OPERANDS}, cell?", import_lstm, (1, 3)),
    (TORCH, "GRU"): takes(OPERANDS, import_gru, (1, 2)),
    **{
        (TORCH, f"{name}RNN"): takes(
            OPERANDS, partial(_import_plain, activation=activation), (1, 2)
        )
        for name, activation in (("Tanh", tanh), ("Relu", _relu))
    },
}
