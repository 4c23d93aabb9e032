"""LSTM and GRU, step after step, as ONNX Runtime's kernels have them.

onnxruntime/core/providers/cpu/rnn: first the products of all inputs, then in each step
those of the state, which are added to them. A layer in reverse takes the last step
first. DynamicQuantizeLSTM quantizes all inputs by one range, and each state by its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function
from qlower.model.nests import Nest

from ...entry import takes
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..orders import identity
from ..real_constants import Reals, real_constant
from ..values import Value, slice_of
from .dynamic import quantize_dynamically, real_sums, times_constant, weights_type
from .real import real_operand
from .real_layers import layer, real_tensor

Product: TypeAlias = Callable[[SSAValue, SSAValue | None, str], SSAValue]
"""Rows times a matrix, added to sums where there are some; the last is a name."""

LSTM_GATES, GRU_GATES = "iofc", "zrh"

ACTIVATIONS: Mapping[str, tuple[str, ...]] = {
    LSTM_GATES: ("Sigmoid", "Tanh", "Tanh"),
    GRU_GATES: ("Sigmoid", "Tanh"),
}

DIRECTIONS = ("forward", "reverse", "bidirectional")


@dataclass(frozen=True, slots=True)
class Weights:
    """The numbers of operands that both kinds of LSTM have at different places."""

    input: int = 1
    state: int = 2
    peepholes: int = 7


@dataclass(frozen=True)
class Layer:
    """One direction of a node, whose gates lie one behind the other in its weights."""

    node: NodeContext
    gates: str
    direction: int
    is_reverse: bool
    steps: int
    batch: int
    units: int
    results: list[SSAValue] = field(default_factory=list[SSAValue])

    def gate(
        self, nest: Nest, sums: SSAValue, name: str, bias: Reals | None
    ) -> SSAValue:
        """A gate's sum with its bias, of sums [B, gates, U] of some of the gates."""
        place = self.gates.index(name) if shape_of(sums)[1] > 1 else 0
        x = nest.input(sums, (0, AffineConstantExpr(place), 1))
        if bias is not None:
            x = nest.add(arith.AddfOp(x, nest.constant(bias, f32))).result
        return x

    def nest(self, step: str) -> Nest:
        place = self.node.place()
        emit = self.node.builder.emitter(place, f"{step}_{self.direction}")
        return Nest(emit, (self.batch, self.units))

    def initial(self, operand: int) -> SSAValue:
        """The state [B, U] before the first step: 0, or what is given."""
        place, shape = self.node.place(), (self.batch, self.units)
        if not self.node.has(operand):
            return self.node.builder.constant(np.zeros(shape, np.float32), f32, place)
        value = real_tensor(self.node, operand)
        value = self.node.builder.in_order(value, identity(3), place)
        ranges = [range(self.direction, self.direction + 1), *map(range, shape)]
        return self.part(value.ssa, ranges, shape, f"initial_{operand}")

    def part(
        self,
        tensor: SSAValue,
        ranges: Sequence[range],
        shape: Sequence[int],
        name: str,
    ) -> SSAValue:
        """These elements of a tensor, in a shape."""
        name = f"{name}_{self.direction}"
        found = self.node.emit(slice_of(tensor, ranges), name)
        return self.node.emit(qnn.ReshapeOp(found, TensorType(f32, shape)), name)

    def of_step(self, sums: SSAValue, step: int, gates: str, name: str) -> SSAValue:
        """What inputs add to some neighbouring gates [B, gates U] in a step."""
        first = self.gates.index(gates[0]) * self.units
        width = len(gates) * self.units
        rows = range(step * self.batch, (step + 1) * self.batch)
        ranges = [rows, range(first, first + width)]
        found = slice_of(sums, ranges)
        return self.node.emit(found, f"{name}_{step}_{self.direction}")

    def apart(self, sums: SSAValue, name: str) -> SSAValue:
        """Sums [B, gates U] as [B, gates, U]."""
        shape = (self.batch, shape_of(sums)[1] // self.units, self.units)
        operation = qnn.ReshapeOp(sums, TensorType(f32, shape))
        return self.node.emit(operation, f"{name}_{self.direction}")

    def order(self) -> Sequence[int]:
        return range(self.steps)[:: -1 if self.is_reverse else 1]


def _layers(node: NodeContext, gates: str) -> tuple[SSAValue, list[Layer]]:
    """The inputs [S B, I], and the directions of a node."""
    value = real_operand(node, 0)
    value = node.builder.in_order(value, identity(3), node.place())
    steps, batch, inputs = value.shape
    units = node.integer("hidden_size", None, 1)
    direction = node.text("direction", "forward", DIRECTIONS)
    count = 1 + (direction == "bidirectional")
    wanted = ACTIVATIONS[gates] * count
    given = node.node.attributes.get("activations", wanted)
    if not isinstance(given, tuple) or [str(one).lower() for one in given] != [
        one.lower() for one in wanted
    ]:
        raise node.error(f"activations {given} are not supported; expected {wanted}")
    for name in ("clip", "input_forget", "layout"):
        if node.node.attributes.get(name):
            raise node.error(f"attribute {name} is not supported; expected none")
    if node.has(4) and set(node.integers(4, "sequence_lens", batch)) != {steps}:
        raise node.error(
            f"sequences that are shorter than {steps} steps are not supported"
        )
    node.check_elements(steps * batch * len(gates) * units)
    rows = node.builder.reshape(
        value, (steps * batch, inputs), identity(2), node.place()
    )
    return rows.ssa, [
        Layer(node, gates, at, direction == "reverse" or at == 1, steps, batch, units)
        for at in range(count)
    ]


def _biases(layer: Layer) -> tuple[Reals, Reals] | None:
    """The biases of inputs and of the state [gates, U], or none."""
    if not layer.node.has(3):
        return None
    count = len(layer.gates)
    array = real_constant(layer.node, 3)[layer.direction]
    both = array.reshape(2, count, layer.units)
    return both[0], both[1]


def _real_product(
    node: NodeContext, operand: int, direction: int, rows: slice
) -> Product:
    weights = real_constant(node, operand)[direction][rows]
    matrix = node.builder.constant(weights, f32, node.place(node.name(operand)))

    def product(x: SSAValue, start: SSAValue | None, name: str) -> SSAValue:
        type = TensorType(f32, (shape_of(x)[0], len(weights)))
        operation = qnn.RealLinearOp(x, matrix, start, type)
        name = f"{name}_{direction}"
        return layer(node, operation, name, is_computed=not node.is_constant(operand))

    return product


def _stored_product(
    node: NodeContext, operand: int, scale: int, direction: int
) -> Product:
    """Weights [K, outputs] of 8 bits, with one scale or one for each output."""
    matrix = node.array(operand, "weights")[direction].T
    element = weights_type(node, operand, scale + 1, 0, len(matrix), direction)
    scales = real_constant(node, scale)[direction].reshape(-1)
    step = node.builder.constant(scales, f32, node.place(node.name(scale)))
    of_weights = Value(step, (0,), is_real=True)

    def product(x: SSAValue, start: SSAValue | None, name: str) -> SSAValue:
        name = f"{name}_{direction}"
        names = [f"{node.place().name}/{name}_{one}" for one in ("codes", "scale", "z")]
        codes, of_input, zero = quantize_dynamically(node, Value(x, (0, 1)), names)
        sums = times_constant(node, (codes, zero), (operand, matrix), element, name)
        more = [] if start is None else [Value(start, (0, 1), is_real=True)]
        return real_sums(node, sums, [of_input, of_weights], more).ssa

    return product


def import_lstm(node: NodeContext, *, is_stored: bool = False) -> None:
    inputs, layers = _layers(node, LSTM_GATES)
    finals: list[tuple[SSAValue, ...]] = []
    for one in layers:
        if is_stored:
            products = [
                _stored_product(node, operand, 6 + 2 * operand, one.direction)
                for operand in (1, 2)
            ]
        else:
            products = [
                _real_product(node, operand, one.direction, slice(None))
                for operand in (1, 2)
            ]
        finals.append(_run_lstm(one, inputs, *products))
    _finish(layers, finals)


def _run_lstm(
    layer: Layer, inputs: SSAValue, of_input: Product, of_state: Product
) -> tuple[SSAValue, SSAValue]:
    """The last state and cell of a direction."""
    sums = of_input(inputs, None, "inputs")
    state, cell = layer.initial(5), layer.initial(6)
    given = _biases(layer)
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

    for step in layer.order():
        start = layer.of_step(sums, step, LSTM_GATES, "part")
        gates = layer.apart(of_state(state, start, f"step_{step}"), f"gates_{step}")
        nest = layer.nest(f"cell_{step}")
        before = nest.input(cell, (0, 1))
        taken = [argument(nest, gates, name, before) for name in "ifc"]
        now = call_function(nest, "_mlas", "lstm_cell", *taken, before)
        output = argument(nest, gates, "o", now)
        shown = call_function(nest, "_mlas", "lstm_state", output, now)
        cell, state = nest.build([now, shown])
        layer.results.append(state)
    return state, cell


def import_gru(node: NodeContext) -> None:
    inputs, layers = _layers(node, GRU_GATES)
    is_linear = node.flag("linear_before_reset", False)
    finals = [(_run_gru(one, inputs, is_linear=is_linear),) for one in layers]
    _finish(layers, finals)


def _run_gru(layer: Layer, inputs: SSAValue, *, is_linear: bool) -> SSAValue:
    """The last state of a direction. With `is_linear` the state goes through its
    weights first, then through the gate."""
    node, units = layer.node, layer.units
    of_input = _real_product(node, 1, layer.direction, slice(None))
    of_gates = _real_product(node, 2, layer.direction, slice(0, 2 * units))
    of_hidden = _real_product(node, 2, layer.direction, slice(2 * units, None))
    given = _biases(layer)
    update = reset = hidden = own = None
    if given is not None:
        update, reset, hidden = given[0] + given[1]
        if is_linear:
            hidden = given[0][2]
            own = node.builder.constant(given[1][2], f32, node.place(node.name(3)))
    sums = of_input(inputs, None, "inputs")
    state = layer.initial(5)
    for step in layer.order():
        start = layer.of_step(sums, step, "zr", "gates")
        gates = layer.apart(of_gates(state, start, f"step_{step}"), f"both_{step}")
        rest = layer.of_step(sums, step, "h", "rest")
        passed = of_hidden(state, own, f"passed_{step}") if is_linear else state
        nest = layer.nest(f"reset_{step}")
        through = nest.input(passed, (0, 1))
        gate = layer.gate(nest, gates, "r", reset)
        x = call_function(nest, "_mlas", "gru_reset", gate, through)
        if is_linear:
            x = nest.add(arith.AddfOp(nest.input(rest, (0, 1)), x)).result
        (total,) = nest.build([x])
        if not is_linear:
            total = of_hidden(total, rest, f"hidden_{step}")
        total = layer.apart(total, f"total_{step}")
        nest = layer.nest(f"state_{step}")
        before = nest.input(state, (0, 1))
        taken = [
            layer.gate(nest, gates, "z", update),
            layer.gate(nest, total, "h", hidden),
        ]
        x = call_function(nest, "_mlas", "gru_state", *taken, before)
        (state,) = nest.build([x])
        layer.results.append(state)
    return state


def _finish(layers: Sequence[Layer], finals: Sequence[tuple[SSAValue, ...]]) -> None:
    """All states [S, directions, B, U], then what is left of each direction."""
    node, first = layers[0].node, layers[0]
    shape = (first.batch, first.units)
    tensors: list[tuple[tuple[int, ...], list[tuple[SSAValue, tuple[int, ...]]]]] = [
        (
            (first.steps, len(layers), *shape),
            [
                (state, (step, one.direction, 0, 0))
                for one in layers
                for step, state in zip(one.order(), one.results, strict=True)
            ],
        )
    ]
    for states in zip(*finals, strict=True):
        parts = [(state, (at, 0, 0)) for at, state in enumerate(states)]
        tensors.append(((len(layers), *shape), parts))
    for at, (whole, parts) in enumerate(tensors[: len(node.node.outputs)]):
        name = node.node.outputs[at]
        if not name:
            continue
        emit = node.builder.emitter(node.place(name))
        result = emit.filled(whole, f32, 0)
        single = TensorType(f32, (*[1] * (len(whole) - 2), *shape))
        for state, offsets in parts:
            part = emit.add(qnn.ReshapeOp(state, single)).result
            result = emit.inserted(part, result, offsets)
        node.define(Value(result, identity(len(whole)), is_real=True), at)


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
