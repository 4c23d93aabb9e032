"""LSTM and GRU, step after step, as ONNX Runtime's kernels have them.

DynamicQuantizeLSTM quantizes all inputs by one range, and each state by its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from qlower.emit.inline_rule import call_function
from qlower.model.nests import Nest

from ...entry import takes
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..real_constants import Reals, real_constant
from .recurrent_layers import (
    Layer,
    Product,
    finish,
    read_biases,
    read_layers,
    real_product,
    stored_product,
)

LSTM_GATES, GRU_GATES = "iofc", "zrh"


def import_lstm(node: NodeContext, *, is_stored: bool = False) -> None:
    inputs, layers = read_layers(
        node, LSTM_GATES, ("Sigmoid", "Tanh", "Tanh"), is_stored=is_stored
    )
    all_states: list[SSAValue] = []
    finals: list[Sequence[SSAValue]] = []
    for one in layers:
        if is_stored:
            products = [
                stored_product(node, operand, 6 + 2 * operand, one.direction)
                for operand in (1, 2)
            ]
        else:
            products = [
                real_product(node, operand, one.direction, slice(None))
                for operand in (1, 2)
            ]
        left, states = _run_lstm(one, inputs, *products)
        finals.append(left)
        all_states.append(states)
    finish(layers, all_states, finals)


def _run_lstm(
    layer: Layer, inputs: SSAValue, of_input: Product, of_state: Product
) -> tuple[Sequence[SSAValue], SSAValue]:
    """The last state and cell of a direction, and all states."""
    given = read_biases(layer)
    biases = dict(zip(LSTM_GATES, given[0] + given[1], strict=True)) if given else {}
    peepholes: dict[str, Reals] = {}
    if layer.node.has(7):
        table = real_constant(layer.node, 7)[layer.direction]
        peepholes = dict(zip("iof", table.reshape(3, layer.units), strict=True))

    def argument(nest: Nest, gates: SSAValue, name: str, before: SSAValue) -> SSAValue:
        if name not in peepholes:
            return layer.gate(nest, gates, name, biases.get(name))
        x = layer.gate(nest, gates, name, None)
        factor = nest.constant(peepholes[name], f32)
        seen = nest.add(arith.MulfOp(before, factor)).result
        x = nest.add(arith.AddfOp(x, seen)).result
        if name not in biases:
            return x
        return nest.add(arith.AddfOp(x, nest.constant(biases[name], f32))).result

    def step(
        carried: Sequence[SSAValue], sums: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        state, cell = carried
        gates = layer.apart(of_state(state, sums[0], "step"), "gates")
        nest = layer.nest("cell")
        before = nest.input(cell, (0, 1))
        taken = [argument(nest, gates, name, before) for name in "ifc"]
        now = call_function(nest, "_mlas", "lstm_cell", *taken, before)
        output = argument(nest, gates, "o", now)
        shown = call_function(nest, "_mlas", "lstm_state", output, now)
        cell, state = nest.build([now, shown])
        return [state, cell], [state]

    start = [layer.initial(5), layer.initial(6)]
    return layer.run(start, of_input(inputs, None, "inputs"), step)


def import_gru(node: NodeContext) -> None:
    inputs, layers = read_layers(node, GRU_GATES, ("Sigmoid", "Tanh"), is_stored=False)
    is_linear = node.flag("linear_before_reset", False)
    found = [_run_gru(one, inputs, is_linear=is_linear) for one in layers]
    finish(layers, [states for _, states in found], [left for left, _ in found])


def _run_gru(
    layer: Layer, inputs: SSAValue, *, is_linear: bool
) -> tuple[Sequence[SSAValue], SSAValue]:
    """The last state of a direction, and all. With `is_linear` the state goes through
    its weights first, then through the gate."""
    node, units = layer.node, layer.units
    of_input = real_product(node, 1, layer.direction, slice(None))
    of_gates = real_product(node, 2, layer.direction, slice(0, 2 * units))
    of_hidden = real_product(node, 2, layer.direction, slice(2 * units, None))
    given = read_biases(layer)
    update = reset = hidden = own = None
    if given is not None:
        update, reset, hidden = given[0] + given[1]
        if is_linear:
            hidden, own = given[0][2], given[1][2]

    def passed_through(state: SSAValue) -> SSAValue:
        bias = None
        if own is not None:
            bias = node.builder.constant(own, f32, node.place(node.name(3)))
        return of_hidden(state, bias, "passed")

    def step(
        carried: Sequence[SSAValue], sums: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        (state,) = carried
        start = layer.of_gates(sums[0], "zr", "start")
        gates = layer.apart(of_gates(state, start, "step"), "both")
        rest = layer.of_gates(sums[0], "h", "rest")
        passed = passed_through(state) if is_linear else state
        nest = layer.nest("reset")
        through = nest.input(passed, (0, 1))
        gate = layer.gate(nest, gates, "r", reset)
        x = call_function(nest, "_mlas", "gru_reset", gate, through)
        if is_linear:
            x = nest.add(arith.AddfOp(nest.input(rest, (0, 1)), x)).result
        (total,) = nest.build([x])
        if not is_linear:
            total = of_hidden(total, rest, "hidden")
        total = layer.apart(total, "total")
        nest = layer.nest("state")
        before = nest.input(state, (0, 1))
        taken = [
            layer.gate(nest, gates, "z", update),
            layer.gate(nest, total, "h", hidden),
        ]
        x = call_function(nest, "_mlas", "gru_state", *taken, before)
        (state,) = nest.build([x])
        return [state], [state]

    return layer.run([layer.initial(5)], of_input(inputs, None, "inputs"), step)


RNN = "x[3], weights, state_weights, bias?, lengths?, state?"

IMPORTERS = {
    ("", "LSTM"): takes(f"{RNN}, cell?, peepholes?", import_lstm, (1, 3)),
    ("", "GRU"): takes(RNN, import_gru, (1, 2)),
    (MICROSOFT, "DynamicQuantizeLSTM"): takes(
        f"{RNN}, cell?, peepholes?, weight_scale, weight_zero_point, state_scale,"
        " state_zero_point",
        partial(import_lstm, is_stored=True),
        (1, 3),
    ),
}
