"""UNIDIRECTIONAL_SEQUENCE_LSTM of int8, as the converter has it, and of int16."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .tflite_builder import Option, TFLiteBuilder

TANH = 4
PEEPHOLE, PROJECTION, LAYER_NORMALIZATION = 9, 16, 20
"""The first of the operands that an LSTM of Keras leaves out."""


@dataclass
class Lstm:
    """A file with one LSTM, [batch, steps, inputs] to [batch, steps, units]; steps come
    first with the option `time_major`.

    Weights and biases are drawn from the seed, but for those operands in `constants`,
    whose weights have the scale `weight_scale`; those in `missing` are left out. With
    `outputs` states are projected to that size. Weights that are `is_exact` have no
    other scale than that, or 2^-12. With `is_wide` inputs and states are int16, biases
    int64.
    """

    seed: int = 0
    batch: int = 1
    steps: int = 3
    inputs: int = 5
    units: int = 4
    input_scale: float = 0.02
    weight_scale: float = 0.005
    state_scale: float = 2.0**-7
    state_zero_point: int = -3
    hidden_scale: float | None = None
    result_scale: float | None = None
    cell_scale: float = 2.0**-12
    cell_clip: float = 10.0
    bias_range: int = 5000
    constants: Mapping[int, NDArray[np.generic]] = field(
        default_factory=dict[int, NDArray[np.generic]]
    )
    options: Mapping[str, Option] = field(default_factory=dict[str, Option])
    outputs: int | None = None
    has_peephole: bool = False
    is_normalized: bool = False
    is_exact: bool = False
    gate_scale: float = 2.0**-12
    hidden_zero_point: int | None = None
    missing: tuple[int, ...] = ()
    intermediates: int = 5
    is_wide: bool = False
    state_shapes: Mapping[int, tuple[int, ...]] = field(
        default_factory=dict[int, tuple[int, ...]]
    )
    cell: int = -1
    """The tensor that is the cell, once the file is built."""

    def shape(self, size: int) -> tuple[int, int, int]:
        """That of a sequence in the file."""
        if self.options.get("time_major"):
            return self.steps, self.batch, size
        return self.batch, self.steps, size

    def build(self) -> bytes:
        random = np.random.default_rng(self.seed)
        builder = TFLiteBuilder()
        point = self.state_zero_point
        narrow, bias = ("int16", "int64") if self.is_wide else ("int8", "int32")
        x = builder.tensor("x", self.shape(self.inputs), narrow, scale=self.input_scale)
        operands = [-1] * 24
        operands[0] = x
        outputs = self.outputs or self.units
        for first, columns in ((1, self.inputs), (5, outputs)):
            for number in range(first, first + 4):
                scale = self.weight_scale
                if not self.is_exact:
                    scale *= float(random.uniform(0.5, 2))
                data = random.integers(-127, 128, (self.units, columns)).astype(np.int8)
                if number in self.constants:
                    scale, data = self.weight_scale, self.constants[number]
                operands[number] = builder.tensor(
                    f"w{number}", data.shape, scale=scale, data=data
                )
        limit = self.bias_range
        for number in range(12, 16):
            data = random.integers(-limit, limit + 1, self.units).astype(bias)
            data = self.constants.get(number, data)
            operands[number] = builder.tensor(f"b{number}", data.shape, bias, data=data)
        peepholes = range(PEEPHOLE, 12) if self.has_peephole else ()
        weights = range(LAYER_NORMALIZATION, 24) if self.is_normalized else ()
        for number in (*peepholes, *weights):
            scale = 2.0**-12
            if not self.is_exact:
                scale *= float(random.uniform(0.3, 3))
            data = random.integers(-32767, 32768, self.units).astype(np.int16)
            operands[number] = builder.tensor(
                f"w{number}", data.shape, "int16", scale=scale, data=data
            )
        if self.outputs:
            data = random.integers(-127, 128, (outputs, self.units)).astype(np.int8)
            operands[PROJECTION] = builder.tensor(
                "p", data.shape, scale=self.weight_scale, data=data
            )
            data = random.integers(-limit, limit + 1, outputs).astype(bias)
            operands[PROJECTION + 1] = builder.tensor("pb", data.shape, bias, data=data)
        shape = self.state_shapes.get(19, (self.batch, self.units))
        operands[18] = builder.tensor(
            "h",
            self.state_shapes.get(18, (self.batch, outputs)),
            narrow,
            scale=self.state_scale,
            zero_point=point,
            is_variable=True,
        )
        operands[19] = self.cell = builder.tensor(
            "c", shape, "int16", scale=self.cell_scale, is_variable=True
        )
        for number in self.missing:
            operands[number] = -1
        hidden = self.hidden_scale or self.state_scale
        hidden_point = self.hidden_zero_point
        intermediates = [
            builder.tensor(f"i{number}", (0,), "int16", scale=self.gate_scale)
            for number in range(min(self.intermediates, 4))
        ]
        for number in range(4, self.intermediates):
            last = builder.tensor(
                f"i{number}",
                (0,),
                narrow,
                scale=hidden,
                zero_point=point if hidden_point is None else hidden_point,
            )
            intermediates.append(last)
        y = builder.tensor(
            "y",
            self.shape(outputs),
            narrow,
            scale=self.result_scale or self.state_scale,
            zero_point=point,
        )
        options: dict[str, Option] = {
            "fused_activation_function": TANH,
            "cell_clip": self.cell_clip,
            **self.options,
        }
        builder.operator(
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
            operands,
            [y],
            options,
            intermediates=intermediates,
        )
        return builder.build([x], [y])
