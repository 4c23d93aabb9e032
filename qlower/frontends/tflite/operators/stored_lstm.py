"""UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with what one of Keras hasn't: peepholes, a
projection, normalized gates, or an input gate that is 1 - forget.

The arithmetic is LiteRT's by every contract; no other system has these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i8, i16, i32, i64
from xdsl.ir import SSAValue

from qlower.contracts import load_contract
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import inline_rule
from qlower.emit.sums import Factor, sum_products
from qlower.files.arrays import Array
from qlower.model.nests import Nest, narrow, widen
from qlower.operators.sums import Sums, matrix_rows

from ..context import OperatorContext
from ..nests import emitter, finish, start
from .lstm import (
    BIASES,
    CELL,
    INPUT_WEIGHTS,
    NORMALIZATION,
    PEEPHOLE,
    PEEPHOLE_GATES,
    PROJECTION,
    PROJECTION_BIAS,
    STATE,
    STATE_WEIGHTS,
    Argument,
    Lstm,
    read_form,
)

CONTRACT = "tflite"

VARIANTS = (*range(PEEPHOLE, BIASES), PROJECTION, *range(NORMALIZATION, 24))
"""The operands that an LSTM of Keras hasn't."""

HIDDEN = 4
"""The intermediate tensor that has the scale of the hidden state; those before it have
the scales of normalized gates."""

GATE_STEP = 2.0**-12
"""The step of the sums of gates that aren't normalized."""

SUMS: Sequence[str] = ("sum", "squares")
ROWS: Sequence[str] = ("mean", "multiplier", "exponent")
"""The numbers of each row that normalize it, of these sums."""

BYTES = {"output_min": np.array(-128), "output_max": np.array(127)}

TANH_CELLS = (2.0**-15, 2.0**-9)
"""The smallest and the largest step of a cell for which the kernel has a tanh."""


def is_variant(op: OperatorContext) -> bool:
    """Whether an LSTM on integers differs in form from one of Keras."""
    return not op.has(INPUT_WEIGHTS) or any(op.has(number) for number in VARIANTS)


def import_stored_lstm(op: OperatorContext) -> None:
    """Import the layer, whose options and types have been checked."""
    lstm = _StoredLstm(op, *read_form(op))
    lstm.check()
    state, cell = (op.stored(op.state(number)) for number in (STATE, CELL))
    states, state, cell = lstm.run(op.stored(op.quantized(0)), state, cell)
    finish(op, states)
    for number, value in ((STATE, state), (CELL, cell)):
        op.keep(number, op.as_stored(value, op.input_type(number)))


def _rule(
    nest: Nest, name: str, runtime: Mapping[str, SSAValue], **known: Array | float
) -> tuple[SSAValue, ...]:
    """Append a function of LiteRT's contract to a nest; floats are float32, integers
    i32."""
    rule = load_contract(CONTRACT).definition.function(name)
    constants = {
        key: np.asarray(value, np.float32 if isinstance(value, float) else None)
        for key, value in known.items()
    }
    return inline_rule(rule, runtime, constants, nest)


@dataclass(frozen=True, slots=True)
class _StoredLstm(Lstm):
    """Sums of gates are i32, in steps of 2^-12 or those of normalized gates; states are
    stored integers."""

    def check(self) -> None:
        """Refuse forms for which LiteRT reads what isn't there."""
        peepholes = [
            PEEPHOLE + PEEPHOLE_GATES.index(one)
            for one in PEEPHOLE_GATES
            if one in self.gates
        ]
        has_peephole = any(self.op.has(number) for number in peepholes)
        for number in peepholes if has_peephole else ():
            self.op.input(number)
        if has_peephole and self.outputs > self.units:
            raise self.op.error(
                f"peephole weights of {self.units} units with {self.outputs} outputs"
                " are not supported: LiteRT reads them beyond their end"
            )
        step = self._element(CELL).scales[0]
        if "input" not in self.gates and not TANH_CELLS[0] <= step <= TANH_CELLS[1]:
            raise self.op.error(
                f"a cell in steps of {step} without an input gate is not supported:"
                " LiteRT's kernel reads memory that it didn't write; expected"
                f" {TANH_CELLS[0]} to {TANH_CELLS[1]}"
            )

    def input_sums(self, x: SSAValue) -> SSAValue:
        """The products with the biases, which a normalized gate adds later."""
        bias = [self._bias(number) for number in self.numbers(BIASES)]
        biases = np.zeros_like(bias) if self.is_normalized else np.array(bias)
        sums = self._sums(x, INPUT_WEIGHTS, self._element(0), biases.reshape(-1))
        nest = start(self.op, shape_of(sums))
        zero = nest.constant(np.array(0), i32)
        return nest.build([self._added(nest, sums, zero, INPUT_WEIGHTS, 0)])[0]

    def step_sums(self, of_inputs: SSAValue, state: SSAValue) -> SSAValue:
        none = np.zeros(len(self.gates) * self.units, np.int32)
        sums = self._sums(state, STATE_WEIGHTS, self._element(STATE), none)
        nest = start(self.op, shape_of(sums))
        before = nest.input(of_inputs, (0, 1))
        return nest.build([self._added(nest, sums, before, STATE_WEIGHTS, STATE)])[0]

    def with_peephole(
        self, nest: Nest, x: SSAValue, weights: int, cell: SSAValue
    ) -> SSAValue:
        """The kernel takes the rows of the cell to have as many elements as the output,
        so that with a projection those behind have no peephole."""
        stored = self.constant(weights, (self.units,), "INT16")
        rows, size = self.batch, self.units
        if self.is_time_major:
            rows, size = 1, rows * size
        factors = np.zeros((rows, size), np.int32)
        reached = self.outputs * (self.batch // rows)
        factors[:, :reached] = np.resize(stored[: self.outputs], reached)
        gate = PEEPHOLE_GATES[weights - PEEPHOLE]
        values = {"weight": factors.reshape(self.batch, self.units)}
        cell = widen(nest, nest.input(cell, (0, 1)), i32)
        (sum,) = _rule(
            nest,
            "lstm_peephole",
            {"cell": cell, "before": x},
            **values,
            weight_scale=self._element(weights).scales[0],
            cell_scale=self._element(CELL).scales[0],
            gate_scale=self._gate_scale(gate),
        )
        return sum

    def normalized(self, gate: str, argument: Argument) -> SSAValue:
        number = qnn.GATES.index(gate)
        weights = NORMALIZATION + number
        scale = self._element(weights).scales[0]
        count = np.array(self.units, np.int32)
        nest = self.nest(reductions=1)
        x = widen(nest, self.read(nest, argument), i64)
        (square,) = _rule(nest, "lstm_square", {"x": x})
        inits = [nest.emitter.filled((self.batch,), i64, 0) for _ in range(2)]
        totals = nest.reduce(
            inits,
            lambda before: [
                nest.adding(value)([total])[0]
                for total, value in zip(before, (x, square), strict=True)
            ],
        )
        nest = start(self.op, (self.batch,))
        given = {
            name: nest.input(total, [0])
            for name, total in zip(SUMS, totals, strict=True)
        }
        rows = nest.build(_rule(nest, "lstm_rows", given, count=count, scale=scale))
        nest = self.nest()
        values = {
            name: nest.input(row, [0]) for name, row in zip(ROWS, rows, strict=True)
        }
        (result,) = _rule(
            nest,
            "lstm_normalized",
            {"x": self.read(nest, argument), **values},
            weight=self.constant(weights, (self.units,), "INT16").astype(np.int32),
            bias=self._bias(BIASES + number),
            scale=scale,
        )
        return nest.build([result])[0]

    def next_cell(self, arguments: dict[str, Argument], cell: SSAValue) -> SSAValue:
        nest = self.nest()
        gates = {
            f"{gate}_gate": self._gate(nest, gate, argument)
            for gate, argument in arguments.items()
        }
        if "input" not in self.gates:
            forget = {"forget_gate": gates["forget_gate"]}
            (gates["input_gate"],) = _rule(nest, "lstm_coupled_gate", forget)
        gates["cell"] = widen(nest, nest.input(cell, (0, 1)), i32)
        (value,) = _rule(
            nest,
            "lstm_cell",
            gates,
            cell_scale=self._element(CELL).scales[0],
            cell_clip=max(self.op.number("cell_clip"), 0.0),
        )
        return nest.build([narrow(nest, value, i16)])[0]

    def hidden(
        self, argument: Argument, cell: SSAValue, arguments: dict[str, Argument]
    ) -> SSAValue:
        """A projection takes the zero point to be on the other side of 0."""
        element = self._hidden_element()
        point = element.zero_points[0]
        nest = self.nest()
        output = self._gate(nest, "output", argument)
        other = arguments.get("input", argument)
        given = {
            "cell": widen(nest, nest.input(cell, (0, 1)), i32),
            "input_gate": self._gate(nest, "input", other),
            "output_gate": output,
        }
        (value,) = _rule(
            nest,
            "lstm_output",
            given,
            cell_scale=self._element(CELL).scales[0],
            output_scale=element.scales[0],
            output_zero_point=np.array(-point if self.op.has(PROJECTION) else point),
            **BYTES,
        )
        return nest.build([narrow(nest, value, i8)])[0]

    def projected(self, hidden: SSAValue) -> SSAValue:
        weights, element = self._matrix(PROJECTION, self.units), self._hidden_element()
        bias: Array = np.zeros(self.outputs, np.int32)
        if self.op.has(PROJECTION_BIAS):
            bias = self.constant(PROJECTION_BIAS, (self.outputs,), "INT32")
        sums = self._products(hidden, weights, -element.zero_points[0], bias)
        state = self._element(STATE)
        nest = start(self.op, shape_of(sums))
        (value,) = _rule(
            nest,
            "lstm_projection",
            {"sum": nest.input(sums, (0, 1))},
            weight_scale=self._element(PROJECTION).scales[0],
            hidden_scale=element.scales[0],
            state_scale=state.scales[0],
            state_zero_point=np.array(state.zero_points[0]),
            output_scale=self.op.per_tensor(self.op.output()).scales[0],
            proj_clip=max(self.op.number("proj_clip"), 0.0),
        )
        return nest.build([narrow(nest, value, i8)])[0]

    def _gate(self, nest: Nest, gate: str, argument: Argument) -> SSAValue:
        x = self.read(nest, argument)
        is_update = np.array(gate == "update")
        (value,) = _rule(nest, "lstm_gate_function", {"x": x}, is_update=is_update)
        return value

    def _added(
        self, nest: Nest, sums: SSAValue, before: SSAValue, weights: int, factor: int
    ) -> SSAValue:
        """A sum of products of all gates in the steps of those, added to another."""
        scales = [self._element(number).scales[0] for number in self.numbers(weights)]
        steps = [self._gate_scale(gate) for gate in self.gates]
        (value,) = _rule(
            nest,
            "lstm_sum",
            {"sum": nest.input(sums, (0, 1)), "before": before},
            weight_scale=np.repeat(np.array(scales, np.float32), self.units),
            scale=self._element(factor).scales[0],
            gate_scale=np.repeat(np.array(steps, np.float32), self.units),
        )
        return value

    def _sums(
        self, x: SSAValue, weights: int, element: QuantizedType, bias: Array
    ) -> SSAValue:
        """The sums of all gates and rows of stored integers."""
        columns = shape_of(x)[1]
        matrix = np.concatenate(
            [self._matrix(number, columns) for number in self.numbers(weights)]
        )
        return self._products(x, matrix, element.zero_points[0], bias)

    def _products(
        self, x: SSAValue, matrix: Array, zero_point: int, bias: Array
    ) -> SSAValue:
        """The sums of rows less a zero point and a matrix [outputs, columns], which
        start from a bias and wrap at 32 bits."""
        emit = emitter(self.op)
        nest = start(self.op, (shape_of(x)[0], len(matrix)))
        (init,) = nest.build([nest.constant(bias.astype(np.int32), i32)])
        return sum_products(
            emit,
            Sums(matrix_rows(2)),
            (
                Factor(x, np.array(zero_point, np.int32)),
                Factor(emit.constant(matrix, i8)),
            ),
            lambda shape, channels: init,
        )

    def _matrix(self, number: int, columns: int) -> Array:
        rows = self.outputs if number == PROJECTION else self.units
        weights = self.constant(number, (rows, columns), "INT8")
        self.op.check_range(
            f"{self.op.input(number)}: zero point",
            self._element(number).zero_points[0],
            0,
            0,
        )
        return weights

    def _bias(self, number: int) -> Array:
        return self.constant(number, (self.units,), "INT32")

    def _element(self, number: int) -> QuantizedType:
        return self.op.per_tensor(self.op.input(number))

    def _hidden_element(self) -> QuantizedType:
        return self.op.per_tensor(self.op.intermediate(HIDDEN))

    def _gate_scale(self, gate: str) -> float:
        """The step of the sums of a gate."""
        if not self.is_normalized:
            return GATE_STEP
        return self.op.per_tensor(self.op.intermediate(qnn.GATES.index(gate))).scales[0]
