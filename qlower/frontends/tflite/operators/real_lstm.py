"""UNIDIRECTIONAL_SEQUENCE_LSTM of float32, with weights of float32 or of 8 bits.

It follows LiteRT's lstm_eval.cc step by step, whose kernel is the same for all
resolvers. That computes gates in packets, and the place of the gates decides which
elements are in none: one gate behind the other, each [batch, units].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.files.arrays import Array
from qlower.model.nests import Index

from ...scalars import PACKET, Scalars
from ..context import OperatorContext
from ..nests import emitter, finish, start
from ..operands import ACTIVATION_NAMES
from .matrix_products import Product, hybrid_product, real_product
from .real import reshaped

INPUT_WEIGHTS, STATE_WEIGHTS, PEEPHOLE, BIASES, NORMALIZATION = 1, 5, 9, 12, 20
"""The first operand of each kind, of which there is one a gate."""

PROJECTION, PROJECTION_BIAS, STATE, CELL = 16, 17, 18, 19

PEEPHOLE_GATES = ("input", "forget", "output")

BUFFER = ("input", "update", "forget", "output")
"""The gates as they lie in memory."""

GUARD = 1e-8
"""What is added to a variance."""

Activation = Callable[[Scalars, SSAValue], SSAValue]

T = TypeVar("T")


def _relu(steps: Scalars, x: SSAValue) -> SSAValue:
    """`std::max(0, x)`, which is 0 of NaN."""
    return steps.larger(x, steps.constant(0.0, f32))


ACTIVATIONS: Mapping[int, Activation] = {
    1: _relu,
    3: lambda steps, x: steps.clamp(_relu(steps, x), None, 6.0),
    4: lambda steps, x: steps.eigen("ptanh", x),
}
"""By the number in the schema: RELU, RELU6, TANH. With NONE the kernel takes what is in
its buffer."""


def import_real_lstm(op: OperatorContext) -> None:
    """Import the layer: first the products of all inputs, then step after step."""
    batch, steps, inputs = op.shape(0, rank=3)
    if op.flag("time_major"):
        batch, steps = steps, batch
    lstm = _read(op, batch)
    rows = len(lstm.gates) * lstm.units
    of_input, of_state = (
        lstm.product(lstm.numbers(first), (lstm.units, columns))
        for first, columns in ((INPUT_WEIGHTS, inputs), (STATE_WEIGHTS, lstm.outputs))
    )

    x = reshaped(op, op.value(0), (batch * steps, inputs))
    bias = emitter(op).constant(lstm.biases(), f32)
    sums = _added(op, of_input(x), bias, (1,))
    of_inputs = reshaped(op, sums, (*lstm.ordered(steps, batch), rows))

    state, cell = op.state(STATE), op.state(CELL)
    emit = emitter(op)
    result = emit.empty((*lstm.ordered(steps, batch), lstm.outputs), f32)
    for step in range(steps):
        place = lstm.ordered(AffineConstantExpr(step), AffineDimExpr(0))
        sums = _added(op, of_state(state), of_inputs, (*place, 1))
        sums = reshaped(op, sums, (batch, len(lstm.gates), lstm.units))
        cell = lstm.next_cell(sums, cell)
        state = lstm.next_state(sums, cell)
        part = reshaped(op, state, (*lstm.ordered(1, batch), lstm.outputs))
        result = emit.inserted(part, result, (*lstm.ordered(step, 0), 0))
    finish(op, result)
    op.keep(STATE, state)
    op.keep(CELL, cell)


def _added(
    op: OperatorContext, sums: SSAValue, other: SSAValue, places: Sequence[Index]
) -> SSAValue:
    """Sums [rows, outputs] and the elements at these places of another tensor."""
    steps = Scalars(start(op, shape_of(sums)))
    one, more = steps.nest.input(sums, (0, 1)), steps.nest.input(other, places)
    return steps.nest.build([steps.add(one, more)])[0]


def _read(op: OperatorContext, batch: int) -> _Lstm:
    if op.flag("diagonal_recurrent_tensors"):
        raise op.error("diagonal_recurrent_tensors is not supported; expected false")
    number = op.option("fused_activation_function", 0, len(ACTIVATION_NAMES) - 1)
    if number not in ACTIVATIONS:
        expected = ", ".join(ACTIVATION_NAMES[known] for known in ACTIVATIONS)
        raise op.error(
            f"fused activation function {ACTIVATION_NAMES[number]} is not supported by"
            f" an LSTM of float32; expected one of {expected}"
        )
    is_hybrid = op.input(INPUT_WEIGHTS + 1).type == "INT8"
    units, _ = op.shape(INPUT_WEIGHTS + len(qnn.GATES) - 1, rank=2)
    _, outputs = op.shape(STATE_WEIGHTS + len(qnn.GATES) - 1, rank=2)
    if outputs != units and not op.has(PROJECTION):
        raise op.error(f"{outputs} outputs of {units} units, and no projection")
    gates = qnn.GATES if op.has(INPUT_WEIGHTS) else qnn.GATES[1:]
    return _Lstm(
        op,
        batch,
        units,
        outputs,
        gates,
        is_hybrid,
        op.flag("time_major"),
        ACTIVATIONS[number],
    )


@dataclass(frozen=True, slots=True)
class _Lstm:
    """An operator with what its shapes and options say."""

    op: OperatorContext
    batch: int
    units: int
    outputs: int
    gates: Sequence[str]
    """The names in `qnn.GATES`, without the first where it is 1 - forget."""
    is_hybrid: bool
    is_time_major: bool
    activation: Activation

    def ordered(self, step: T, row: T) -> tuple[T, T]:
        """Both in the order of the first operand's dimensions."""
        return (step, row) if self.is_time_major else (row, step)

    def numbers(self, first: int) -> list[int]:
        return [first + qnn.GATES.index(gate) for gate in self.gates]

    def product(self, numbers: Sequence[int], shape: tuple[int, ...]) -> Product:
        """The products of matrices and rows, all of a step together where steps come
        first."""
        matrices = [self._weights(number, shape) for number in numbers]
        if not self.is_hybrid:
            together = self.batch if self.is_time_major else 1
            return real_product(self.op, matrices, together)
        scales = [self._scale(number) for number in numbers]
        symmetric = not self.op.flag("asymmetric_quantize_inputs")
        return hybrid_product(self.op, matrices, scales, symmetric=symmetric)

    def biases(self) -> Array:
        """The values that the sums of all gates begin with: 0 for normalized ones."""
        numbers = self.numbers(BIASES)
        biases = [self._real(number, (self.units,)) for number in numbers]
        joined = np.concatenate(biases)
        return np.zeros_like(joined) if self._is_normalized else joined

    def next_cell(self, sums: SSAValue, cell: SSAValue) -> SSAValue:
        """`forget * cell + update * input`, of the sums [B, gates, U] of a step."""
        arguments = {gate: self._argument(gate, sums, cell) for gate in self.gates[:-1]}
        steps = Scalars(start(self.op, (self.batch, self.units)))
        forget = self._gate(steps, "forget", arguments["forget"])
        update = self.activation(steps, self._read(steps, *arguments["update"]))
        if "input" in self.gates:
            share = self._gate(steps, "input", arguments["input"])
        else:
            share = steps.subtract(steps.constant(1.0, f32), forget)
        kept = steps.multiply(forget, steps.nest.input(cell, (0, 1)))
        value = steps.add(kept, steps.multiply(update, share))
        return steps.nest.build([self._clipped(steps, value, "cell_clip")])[0]

    def next_state(self, sums: SSAValue, cell: SSAValue) -> SSAValue:
        """`output * activation(cell)`, projected where there are weights for it."""
        argument = self._argument("output", sums, cell)
        steps = Scalars(start(self.op, (self.batch, self.units)))
        output = self._gate(steps, "output", argument)
        inner = self.activation(steps, steps.nest.input(cell, (0, 1)))
        (hidden,) = steps.nest.build([steps.multiply(output, inner)])
        if not self.op.has(PROJECTION):
            return hidden
        shape = (self.outputs, self.units)
        sums = self.product([PROJECTION], shape)(hidden)
        bias: Array = np.zeros(self.outputs, np.float32)
        if self.op.has(PROJECTION_BIAS):
            bias = self._real(PROJECTION_BIAS, (self.outputs,))
        steps = Scalars(start(self.op, (self.batch, self.outputs)))
        value = steps.add(
            steps.nest.input(sums, (0, 1)), steps.nest.constant(bias, f32)
        )
        return steps.nest.build([self._clipped(steps, value, "proj_clip")])[0]

    def _argument(
        self, gate: str, sums: SSAValue, cell: SSAValue
    ) -> tuple[SSAValue, int]:
        """A gate before its function: a tensor [B, ..., U], and its place there."""
        place = self.gates.index(gate)
        weight = PEEPHOLE + PEEPHOLE_GATES.index(gate) if gate != "update" else -1
        if weight >= 0 and self.op.has(weight):
            steps = Scalars(start(self.op, (self.batch, self.units)))
            factor = steps.nest.constant(self._peephole(weight), f32)
            product = steps.multiply(factor, steps.nest.input(cell, (0, 1)))
            value = steps.add(self._read(steps, sums, place), product)
            sums, place = self._alone(steps, value), 0
        if self._is_normalized:
            sums, place = self._normalized(gate, sums, place), 0
        return sums, place

    def _alone(self, steps: Scalars, value: SSAValue) -> SSAValue:
        """The tensor [B, 1, U] of a nest over [B, U]."""
        (sums,) = steps.nest.build([value])
        return reshaped(self.op, sums, (self.batch, 1, self.units))

    @property
    def _is_normalized(self) -> bool:
        return self.op.has(NORMALIZATION + len(qnn.GATES) - 1)

    def _normalized(self, gate: str, sums: SSAValue, place: int) -> SSAValue:
        """`(x - mean) / sqrt(variance) * weight + bias` of each row."""
        shape = (self.batch, self.units)

        def total(element: Activation) -> SSAValue:
            nest = start(self.op, shape, reductions=1)
            steps = Scalars(nest)
            value = element(steps, self._read(steps, sums, place))
            init = nest.emitter.filled((self.batch,), f32, 0.0)
            return nest.reduce([init], lambda before: [steps.add(before[0], value)])[0]

        def mean(steps: Scalars, totals: SSAValue) -> SSAValue:
            count = steps.constant(float(self.units), f32)
            return steps.divide(steps.nest.input(totals, [0]), count)

        def square(steps: Scalars, x: SSAValue) -> SSAValue:
            distance = steps.subtract(x, mean(steps, of_all))
            return steps.multiply(distance, distance)

        of_all = total(lambda steps, x: x)
        of_squares = total(square)
        steps = Scalars(start(self.op, shape))
        x = self._read(steps, sums, place)
        guarded = steps.add(mean(steps, of_squares), steps.constant(GUARD, f32))
        inverse = steps.divide(steps.constant(1.0, f32), steps.sqrt(guarded))
        distance = steps.subtract(x, mean(steps, of_all))
        value = steps.multiply(distance, inverse)
        number = qnn.GATES.index(gate)
        weight, bias = (
            steps.nest.constant(self._real(kind + number, (self.units,)), f32)
            for kind in (NORMALIZATION, BIASES)
        )
        return self._alone(steps, steps.add(steps.multiply(weight, value), bias))

    def _gate(
        self, steps: Scalars, gate: str, argument: tuple[SSAValue, int]
    ) -> SSAValue:
        """The logistic function of an argument [B, U]."""
        is_alone = self._outside_packets(gate)
        x = self._read(steps, *argument)
        result = steps.eigen("plogistic", x)
        if is_alone.any():
            mask = steps.nest.constant(is_alone.astype(np.int8), i8)
            alone = steps.compare("ne", mask, steps.constant(0, i8))
            result = steps.select(alone, steps.eigen("logistic_alone", x), result)
        return result

    def _outside_packets(self, gate: str) -> Array:
        """The elements [B, U] of a gate that are in no packet: of each row, or of all
        rows together where steps come first."""
        rows, size = self.batch, self.units
        if self.is_time_major:
            rows, size = 1, rows * size
        buffer = [name for name in BUFFER if name in self.gates]
        first = buffer.index(gate) * self.batch * self.units
        first = first + size * np.arange(rows).reshape(-1, 1)
        begin = np.minimum(-first % PACKET, size)
        end = begin + (size - begin) // PACKET * PACKET
        place = np.arange(size)
        outside = (place < begin) | (place >= end)
        return outside.reshape(self.batch, self.units)

    def _read(self, steps: Scalars, tensor: SSAValue, place: int) -> SSAValue:
        return steps.nest.input(tensor, [0, AffineConstantExpr(place), 1])

    def _clipped(self, steps: Scalars, value: SSAValue, option: str) -> SSAValue:
        """A value within both sides of an option, if that is positive."""
        limit = self.op.number(option)
        if limit <= 0:
            return value
        low, high = (steps.constant(sign * limit, f32) for sign in (-1, 1))
        return steps.larger(steps.smaller(value, high), low)

    def _weights(self, number: int, shape: tuple[int, ...]) -> Array:
        """Constant weights as they are stored."""
        if not self.is_hybrid:
            return self._real(number, shape)
        self._check(number, shape, "INT8")
        element = self.op.per_tensor(self.op.input(number))
        self.op.check_range("zero point", element.zero_points[0], 0, 0)
        return self.op.stored_array(number)

    def _scale(self, number: int) -> float:
        return self.op.per_tensor(self.op.input(number)).scales[0]

    def _peephole(self, number: int) -> Array:
        weights = self._weights(number, (self.units,))
        if self.is_hybrid:
            weights = weights.astype(np.float32) * np.float32(self._scale(number))
        return weights

    def _real(self, number: int, shape: tuple[int, ...]) -> Array:
        self._check(number, shape, "FLOAT32")
        return self.op.array(number)

    def _check(self, number: int, shape: tuple[int, ...], type: str) -> None:
        tensor = self.op.input(number)
        self.op.check_type(tensor, type)
        if self.op.shape(number) != shape:
            raise self.op.error(
                f"{tensor}: shape {list(self.op.shape(number))}, expected {list(shape)}"
            )
