"""Ops that go along a sequence step by step, and carry a state."""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from ..types import shape_of
from .base import QnnOp, check_shape
from .constraints import (
    Integral,
    Quantized,
    Weight,
    operand_of,
)
from .fields import number_field

GATES = ("input", "forget", "update", "output")
"""The gates of an LSTM, as their weights lie one after the other."""


class LstmOp(QnnOp, name="qnn.lstm"):
    """
    A long short-term memory over a sequence [B, T, I], with U units. At each step the
    gates are `a[g*U + u] = bias[g*U + u] + sum(i) of x[t, i] * input_weight[g*U + u, i]
    + sum(k) of state[k] * state_weight[g*U + u, k]`, g being input, forget, update and
    output; then

    - `cell = sigmoid(forget) * cell + sigmoid(input) * tanh(update)`, within
      [-cell_clip, cell_clip] unless cell_clip is 0,
    - `state = sigmoid(output) * tanh(cell)`, which is also the step's result.

    The bias is in steps of `input scale * input weight scale`, of 64 bits where input
    and state have 16. Results are all states [B, T, U], the last state and the last
    cell. States are stored by the quantization
    of the result, and read at the next step by that of `state`: a model may have two.

    ```mlir
    %y, %h, %c = qnn.lstm %x, %h0, %c0, %wx, %wh, %b {cell_clip = 10.0}
        : (tensor<1x6x8x!in>, tensor<1x4x!out>,
           tensor<1x4x!quant.uniform<i16:f32, 0.00048828125>>, tensor<16x8x!w>,
           tensor<16x4x!w>, tensor<16xi32>)
        -> (tensor<1x6x4x!out>, tensor<1x4x!out>,
            tensor<1x4x!quant.uniform<i16:f32, 0.00048828125>>)
    ```
    """

    input = operand_of(Quantized(rank=3, widths=(8, 16)))
    state = operand_of(Quantized(rank=2, widths=(8, 16)))
    cell = operand_of(Quantized(rank=2, widths=(16,)))
    input_weight = operand_of(Weight(rank=2, axis=0, widths=(8,)))
    state_weight = operand_of(Weight(rank=2, axis=0, widths=(8,)))
    bias = operand_of(Integral((32, 64), rank=1))
    result = result_def(Quantized(rank=3, widths=(8, 16)))
    last_state = result_def(Quantized(rank=2, widths=(8, 16)))
    last_cell = result_def(Quantized(rank=2, widths=(16,)))

    cell_clip = number_field(default=0.0)

    @property
    def rules(self) -> tuple[str, ...]:
        gate = "lstm_wide_gate" if self.is_wide else "lstm_gate"
        return ("lstm_output", "lstm_cell", gate)

    @property
    def is_wide(self) -> bool:
        """Whether sums have 64 bits, as they have of inputs and states of 16."""
        return self.input.type.element_type.storage_width == 16

    def verify_(self) -> None:
        batch, steps, inputs = self.input.type.get_shape()
        units = self.state.type.get_shape()[1]
        rows = len(GATES) * units
        for name, value, shape in (
            ("state", self.state, (batch, units)),
            ("cell", self.cell, (batch, units)),
            ("input_weight", self.input_weight, (rows, inputs)),
            ("state_weight", self.state_weight, (rows, units)),
            ("bias", self.bias, (rows,)),
            ("result", self.result, (batch, steps, units)),
            ("last_state", self.last_state, (batch, units)),
            ("last_cell", self.last_cell, (batch, units)),
        ):
            check_shape(name, shape_of(value), shape)
        of_state = self.state.type.element_type
        of_result = self.result.type.element_type
        if of_result.storage_type != of_state.storage_type or (
            of_result.signed != of_state.signed
        ):
            raise VerifyException(
                f"storage {of_result.data.storage.name} of result differs from the "
                f"{of_state.data.storage.name} of state"
            )
        width = self.state.type.element_type.storage_width
        if (width == 16) != self.is_wide:
            raise VerifyException(
                f"state of {width} bits, expected as many as the input's"
            )
        bits, expected = self.bias.type.element_type, i64 if self.is_wide else i32
        if bits != expected:
            raise VerifyException(f"bias of {bits}, expected {expected} for such input")
        for name, value, given in (
            ("last_state", self.last_state, self.state),
            ("last_cell", self.last_cell, self.cell),
        ):
            if value.type.element_type != given.type.element_type:
                raise VerifyException(
                    f"quantization {value.type.element_type} of {name} differs from "
                    f"the {given.type.element_type} that it begins with"
                )
        if not self.cell_clip >= 0:
            raise VerifyException(f"cell_clip {self.cell_clip} is not at least 0")


class SvdfOp(QnnOp, name="qnn.svdf"):
    """
    A layer over the last M calls, whose weights along inputs and time are separated: F
    filters, R of them for each of the U units. Of each call it remembers
    `a[f] = sum(i) of x[i] * weight[f, i]`, quantized as the state is, in the last
    place; the result is `y[u] = bias[u] + sum(r, m) of state[u*R + r, m] *
    time_weight[u*R + r, m]`. The second result is the state with all places moved
    towards the first, and 0 in the last one.

    The bias is in steps of `state scale * time_weight scale`.

    ```mlir
    %y, %next = qnn.svdf %x, %state, %w, %time, %b
        : (tensor<1x8x!in>, tensor<1x4x5x!quant.uniform<i16:f32, 0.015625>>,
           tensor<4x8x!w>, tensor<4x5x!quant.uniform<i16:f32, 0.0009765625>>,
           tensor<2xi32>)
        -> (tensor<1x2x!out>, tensor<1x4x5x!quant.uniform<i16:f32, 0.015625>>)
    ```
    """

    input = operand_of(Quantized(rank=2, widths=(8,)))
    state = operand_of(Quantized(rank=3, widths=(16,)))
    weight = operand_of(Quantized(rank=2, widths=(8,)))
    time_weight = operand_of(Quantized(rank=2, widths=(16,)))
    bias = operand_of(Integral((32,), rank=1))
    result = result_def(Quantized(rank=2, widths=(8,)))
    next_state = result_def(Quantized(rank=3, widths=(16,)))

    @property
    def rules(self) -> tuple[str, ...]:
        return ("svdf", "svdf_state")

    def verify_(self) -> None:
        batch, inputs = shape_of(self.input)
        filters, places = shape_of(self.time_weight)
        units = shape_of(self.bias)[0]
        if filters % units:
            raise VerifyException(
                f"{filters} filters are no multiple of the {units} elements of bias"
            )
        for name, value, shape in (
            ("state", self.state, (batch, filters, places)),
            ("weight", self.weight, (filters, inputs)),
            ("result", self.result, (batch, units)),
            ("next_state", self.next_state, (batch, filters, places)),
        ):
            check_shape(name, shape_of(value), shape)
        for name, value in (("state", self.state), ("time_weight", self.time_weight)):
            (zero_point,) = value.type.element_type.zero_points
            if zero_point:
                raise VerifyException(f"zero point {zero_point} of {name}, expected 0")
        if self.next_state.type != self.state.type:
            raise VerifyException(
                f"quantization {self.next_state.type.element_type} of next_state "
                f"differs from the {self.state.type.element_type} of state"
            )
