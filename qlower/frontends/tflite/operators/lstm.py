"""UNIDIRECTIONAL_SEQUENCE_LSTM step by step, as LiteRT's lstm_eval.cc has it: gates
with peepholes and normalization, a cell, and a state that may be projected."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects import qnn
from qlower.dialects.types import element_type, shape_of
from qlower.files.arrays import Array
from qlower.model.nests import Nest

from ...graph.scanning import scan
from ..context import OperatorContext
from ..nests import start

INPUT_WEIGHTS, STATE_WEIGHTS, PEEPHOLE, BIASES, NORMALIZATION = 1, 5, 9, 12, 20
"""The first operand of each kind; each gate has one."""

PROJECTION, PROJECTION_BIAS, STATE, CELL = 16, 17, 18, 19

PEEPHOLE_GATES = ("input", "forget", "output")

Argument: TypeAlias = tuple[SSAValue, int]
"""A gate before its function: a tensor [B, ..., U], and its place along the middle."""


Form: TypeAlias = tuple[int, int, int, int, int, Sequence[str], bool]
"""The fields of `Lstm` behind the operator."""


def read_form(op: OperatorContext) -> Form:
    """The form of an operator, by the shapes of its input and of the weights of the
    output gate."""
    batch, steps, inputs = op.shape(0, rank=3)
    if op.flag("time_major"):
        batch, steps = steps, batch
    last = len(qnn.GATES) - 1
    units, _ = op.shape(INPUT_WEIGHTS + last, rank=2)
    _, outputs = op.shape(STATE_WEIGHTS + last, rank=2)
    if outputs != units and not op.has(PROJECTION):
        raise op.error(f"{outputs} outputs of {units} units, and no projection")
    op.check_shape(STATE, (batch, outputs))
    op.check_shape(CELL, (batch, units))
    gates = qnn.GATES if op.has(INPUT_WEIGHTS) else qnn.GATES[1:]
    return batch, steps, inputs, units, outputs, gates, op.flag("time_major")


@dataclass(frozen=True, slots=True)
class Lstm(ABC):
    """An operator with what its shapes and options say.

    The sizes are those of the input [batch, steps, inputs], of the cell (`units`) and
    of the state (`outputs`). `gates` are names in `qnn.GATES`, without the first where
    the input gate is 1 - forget.
    """

    op: OperatorContext
    batch: int
    steps: int
    inputs: int
    units: int
    outputs: int
    gates: Sequence[str]
    is_time_major: bool

    @abstractmethod
    def input_sums(self, x: SSAValue) -> SSAValue:
        """Return the sums [rows, gates U] of rows [rows, inputs]."""

    @abstractmethod
    def step_sums(self, of_inputs: SSAValue, state: SSAValue) -> SSAValue:
        """Add the sums of the state [B, outputs] to those of a step's inputs, both
        [B, gates U]."""

    @abstractmethod
    def with_peephole(
        self, nest: Nest, x: SSAValue, weights: int, cell: SSAValue
    ) -> SSAValue:
        """Add the product of the weights in an operand and the cell to a gate's sum, in
        a nest over [B, U]."""

    @abstractmethod
    def normalized(self, gate: str, argument: Argument) -> SSAValue:
        """Normalize the rows of a gate's sums, to [B, U]."""

    @abstractmethod
    def next_cell(self, arguments: dict[str, Argument], cell: SSAValue) -> SSAValue:
        """Return the cell after a step, [B, U], of all gates but the last."""

    @abstractmethod
    def hidden(
        self, argument: Argument, cell: SSAValue, arguments: dict[str, Argument]
    ) -> SSAValue:
        """Return `output * tanh(cell)`, [B, U]; `arguments` are those of the other
        gates."""

    @abstractmethod
    def projected(self, hidden: SSAValue) -> SSAValue:
        """Return the projection [B, outputs] of a hidden state [B, U]."""

    def run(
        self, x: SSAValue, state: SSAValue, cell: SSAValue
    ) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Return the states [..., outputs] in the file's order of steps and rows, the
        last state and the last cell."""
        op, rows = self.op, len(self.gates) * self.units
        first = op.reshaped(
            self._swapped(x, "input"), (self.steps * self.batch, self.inputs)
        )
        sums = op.reshaped(self.input_sums(first), (self.steps, self.batch, rows))

        def step(
            carried: Sequence[SSAValue], parts: Sequence[SSAValue]
        ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
            state, cell = carried
            sums = self.step_sums(parts[0], state)
            sums = op.reshaped(sums, (self.batch, len(self.gates), self.units))
            others = {
                gate: self._argument(gate, sums, cell) for gate in self.gates[:-1]
            }
            cell = self.next_cell(others, cell)
            state = self.hidden(self._argument("output", sums, cell), cell, others)
            if op.has(PROJECTION):
                state = self.projected(state)
            return (state, cell), (state,)

        (state, cell), (states,) = scan(
            op.graph.builder,
            op.place(),
            "steps",
            self.steps,
            (state, cell),
            (sums,),
            step,
        )
        return self._swapped(states, "states"), state, cell

    def numbers(self, first: int) -> list[int]:
        """The operands of a kind, one for each gate."""
        return [first + qnn.GATES.index(gate) for gate in self.gates]

    @property
    def is_normalized(self) -> bool:
        return self.op.has(NORMALIZATION + len(qnn.GATES) - 1)

    def read(self, nest: Nest, argument: Argument) -> SSAValue:
        tensor, place = argument
        return nest.input(tensor, [0, AffineConstantExpr(place), 1])

    def nest(self, reductions: int = 0) -> Nest:
        """A nest over [B, U]."""
        return start(self.op, (self.batch, self.units), reductions)

    def constant(self, number: int, shape: tuple[int, ...], type: str) -> Array:
        """A constant operand of this shape and type, as it is stored."""
        tensor = self.op.input(number)
        self.op.check_type(tensor, type)
        if self.op.shape(number) != shape:
            raise self.op.error(
                f"{tensor}: shape {list(self.op.shape(number))}, expected {list(shape)}"
            )
        if type not in ("INT8", "INT16"):
            return self.op.array(number)
        dtype = np.dtype(type.lower()).newbyteorder("<")
        return np.frombuffer(self.op.constant(number), dtype).reshape(shape)

    def _argument(self, gate: str, sums: SSAValue, cell: SSAValue) -> Argument:
        """A gate's sum with all that is added to it, normalized if it is."""
        argument = sums, self.gates.index(gate)
        weights = PEEPHOLE + PEEPHOLE_GATES.index(gate) if gate != "update" else -1
        if weights >= 0 and self.op.has(weights):
            nest = self.nest()
            x = self.read(nest, argument)
            argument = self._alone(
                nest.build([self.with_peephole(nest, x, weights, cell)])[0]
            )
        if self.is_normalized:
            argument = self._alone(self.normalized(gate, argument))
        return argument

    def _alone(self, value: SSAValue) -> Argument:
        return self.op.reshaped(value, (self.batch, 1, self.units)), 0

    def _swapped(self, value: SSAValue, suffix: str) -> SSAValue:
        """A sequence with steps first from the file's order, and back."""
        if self.is_time_major:
            return value
        first, second, *rest = shape_of(value)
        if 1 in (first, second):
            return self.op.reshaped(value, (second, first, *rest), suffix)
        type = TensorType(element_type(value.type), (second, first, *rest))
        return self.op.emit(qnn.TransposeOp(value, type, perm=[1, 0, 2]), suffix)
