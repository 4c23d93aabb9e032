"""UNIDIRECTIONAL_SEQUENCE_LSTM of float32, with weights of float32 or of 8 bits.

LiteRT's kernel is the same for all resolvers. It computes gates in packets, and the
place of the gates decides which elements are in none: one gate behind the other, each
[batch, units].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.files.arrays import Array
from qlower.model.nests import Nest

from ...scalars import PACKET, Scalars
from ..context import OperatorContext
from ..nests import finish, start
from ..operands import ACTIVATION_NAMES
from .lstm import (
    BIASES,
    CELL,
    INPUT_WEIGHTS,
    NORMALIZATION,
    PROJECTION,
    PROJECTION_BIAS,
    STATE,
    STATE_WEIGHTS,
    Argument,
    Lstm,
    read_form,
)
from .matrix_products import Product, hybrid_product, real_product

BUFFER = ("input", "update", "forget", "output")
"""The gates as they lie in memory."""

GUARD = 1e-8
"""What is added to a variance."""

Activation = Callable[[Scalars, SSAValue], SSAValue]


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
    states, state, cell = _read(op).run(op.value(0), op.state(STATE), op.state(CELL))
    finish(op, states)
    op.keep(STATE, state)
    op.keep(CELL, cell)


def _read(op: OperatorContext) -> _RealLstm:
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
    return _RealLstm(op, *read_form(op), is_hybrid, ACTIVATIONS[number])


@dataclass(frozen=True, slots=True)
class _RealLstm(Lstm):
    is_hybrid: bool
    activation: Activation

    def input_sums(self, x: SSAValue) -> SSAValue:
        """The products with the biases, which a normalized gate adds later."""
        product = self._gates_of(INPUT_WEIGHTS, self.inputs)
        sums = product(x)
        steps = Scalars(start(self.op, shape_of(sums)))
        numbers = self.numbers(BIASES)
        biases = np.concatenate([self._real(number, self.units) for number in numbers])
        if self.is_normalized:
            biases = np.zeros_like(biases)
        bias = steps.nest.emitter.constant(biases, f32)
        one, more = steps.nest.input(sums, (0, 1)), steps.nest.input(bias, (1,))
        return steps.nest.build([steps.add(one, more)])[0]

    def step_sums(self, of_inputs: SSAValue, state: SSAValue) -> SSAValue:
        sums = self._gates_of(STATE_WEIGHTS, self.outputs)(state)
        steps = Scalars(start(self.op, shape_of(sums)))
        one, more = (steps.nest.input(each, (0, 1)) for each in (sums, of_inputs))
        return steps.nest.build([steps.add(one, more)])[0]

    def with_peephole(
        self, nest: Nest, x: SSAValue, weights: int, cell: SSAValue
    ) -> SSAValue:
        steps = Scalars(nest)
        factors = self._weights(weights, (self.units,))
        if self.is_hybrid:
            factors = factors.astype(np.float32) * np.float32(self._scale(weights))
        factor = nest.constant(factors, f32)
        return steps.add(x, steps.multiply(factor, nest.input(cell, (0, 1))))

    def normalized(self, gate: str, argument: Argument) -> SSAValue:
        """`(x - mean) / sqrt(variance) * weight + bias` of each row."""

        def total(element: Activation) -> SSAValue:
            nest = self.nest(reductions=1)
            steps = Scalars(nest)
            value = element(steps, self.read(nest, argument))
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
        steps = Scalars(self.nest())
        x = self.read(steps.nest, argument)
        guarded = steps.add(mean(steps, of_squares), steps.constant(GUARD, f32))
        inverse = steps.divide(steps.constant(1.0, f32), steps.sqrt(guarded))
        distance = steps.subtract(x, mean(steps, of_all))
        value = steps.multiply(distance, inverse)
        number = qnn.GATES.index(gate)
        weight, bias = (
            steps.nest.constant(self._real(kind + number, self.units), f32)
            for kind in (NORMALIZATION, BIASES)
        )
        return steps.nest.build([steps.add(steps.multiply(weight, value), bias)])[0]

    def next_cell(self, arguments: dict[str, Argument], cell: SSAValue) -> SSAValue:
        """`forget * cell + update * input`, within the clip."""
        steps = Scalars(self.nest())
        forget = self._gate(steps, "forget", arguments["forget"])
        update = self.activation(steps, self.read(steps.nest, arguments["update"]))
        if "input" in self.gates:
            share = self._gate(steps, "input", arguments["input"])
        else:
            share = steps.subtract(steps.constant(1.0, f32), forget)
        kept = steps.multiply(forget, steps.nest.input(cell, (0, 1)))
        value = steps.add(kept, steps.multiply(update, share))
        return steps.nest.build([self._clipped(steps, value, "cell_clip")])[0]

    def hidden(
        self, argument: Argument, cell: SSAValue, arguments: dict[str, Argument]
    ) -> SSAValue:
        steps = Scalars(self.nest())
        output = self._gate(steps, "output", argument)
        inner = self.activation(steps, steps.nest.input(cell, (0, 1)))
        return steps.nest.build([steps.multiply(output, inner)])[0]

    def projected(self, hidden: SSAValue) -> SSAValue:
        sums = self._product([PROJECTION], (self.outputs, self.units))(hidden)
        bias: Array = np.zeros(self.outputs, np.float32)
        if self.op.has(PROJECTION_BIAS):
            bias = self._real(PROJECTION_BIAS, self.outputs)
        steps = Scalars(start(self.op, (self.batch, self.outputs)))
        value = steps.add(
            steps.nest.input(sums, (0, 1)), steps.nest.constant(bias, f32)
        )
        return steps.nest.build([self._clipped(steps, value, "proj_clip")])[0]

    def _gates_of(self, first: int, columns: int) -> Product:
        """The products of all gates' matrices with rows of this size."""
        return self._product(self.numbers(first), (self.units, columns))

    def _product(self, numbers: Sequence[int], shape: tuple[int, ...]) -> Product:
        """The products of matrices and rows, all of a step together where steps come
        first."""
        matrices = [self._weights(number, shape) for number in numbers]
        if not self.is_hybrid:
            together = self.batch if self.is_time_major else 1
            return real_product(self.op, matrices, together)
        scales = [self._scale(number) for number in numbers]
        symmetric = not self.op.flag("asymmetric_quantize_inputs")
        return hybrid_product(self.op, matrices, scales, symmetric=symmetric)

    def _gate(self, steps: Scalars, gate: str, argument: Argument) -> SSAValue:
        """The logistic function of an argument [B, U]."""
        is_alone = self._outside_packets(gate)
        x = self.read(steps.nest, argument)
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
            return self.constant(number, shape, "FLOAT32")
        stored = self.constant(number, shape, "INT8")
        element = self.op.per_tensor(self.op.input(number))
        self.op.check_range("zero point", element.zero_points[0], 0, 0)
        return stored

    def _scale(self, number: int) -> float:
        return self.op.per_tensor(self.op.input(number)).scales[0]

    def _real(self, number: int, size: int) -> Array:
        return self.constant(number, (size,), "FLOAT32")
