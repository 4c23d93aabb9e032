"""UNIDIRECTIONAL_SEQUENCE_LSTM of float32, with weights of float32 or of 8 bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .tflite_builder import Option, TFLiteBuilder

TANH = 4


@dataclass
class RealLstm:
    """A file with one LSTM, [batch, steps, inputs] to [batch, steps, outputs].

    All operands are drawn from the seed, weights with the deviation `spread`; those in
    `missing` are left out. Without `outputs` there is no projection. States begin as 0,
    as constants of float16 that a DEQUANTIZE widens (`is_widened`), or are given with
    each call (`is_given`).
    """

    seed: int = 0
    batch: int = 1
    steps: int = 2
    inputs: int = 5
    units: int = 4
    outputs: int | None = None
    spread: float = 0.5
    is_hybrid: bool = False
    has_peephole: bool = False
    is_normalized: bool = False
    missing: tuple[int, ...] = ()
    is_widened: bool = False
    is_given: bool = False
    state_shapes: Mapping[int, tuple[int, ...]] = field(
        default_factory=dict[int, tuple[int, ...]]
    )
    options: Mapping[str, Option] = field(default_factory=dict[str, Option])
    cell: int = -1
    """The tensor that is the cell, once the file is built."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """That of an input."""
        first, second = self.batch, self.steps
        if self.options.get("time_major"):
            first, second = second, first
        return first, second, self.inputs

    def build(self) -> bytes:
        random = np.random.default_rng(self.seed)
        builder = TFLiteBuilder()
        outputs = self.outputs or self.units
        x = builder.tensor("x", self.shape, "float32")
        operands = [-1] * 24
        operands[0] = x

        def drawn(number: int, *shape: int, is_weight: bool = True) -> None:
            data = (random.standard_normal(shape) * self.spread).astype(np.float32)
            if number in self.missing:
                return
            if self.is_hybrid and is_weight:
                operands[number] = _quantized(builder, f"w{number}", data)
            else:
                operands[number] = builder.tensor(
                    f"w{number}", shape, "float32", data=data
                )

        for gate in range(4):
            drawn(1 + gate, self.units, self.inputs)
            drawn(5 + gate, self.units, outputs)
            drawn(12 + gate, self.units, is_weight=False)
            if self.is_normalized:
                drawn(20 + gate, self.units, is_weight=False)
        for number in range(9, 12) if self.has_peephole else ():
            drawn(number, self.units)
        if self.outputs:
            drawn(16, outputs, self.units)
            drawn(17, outputs, is_weight=False)
        for number, name, size in ((18, "h", outputs), (19, "c", self.units)):
            shape = self.state_shapes.get(number, (self.batch, size))
            operands[number] = builder.tensor(name, shape, "float32", is_variable=True)
            if self.is_widened:
                data = random.standard_normal(shape).astype(np.float16)
                half = builder.tensor(f"{name}0", shape, "float16", data=data)
                builder.operator("DEQUANTIZE", [half], [operands[number]])
        self.cell = operands[19]
        y = builder.tensor("y", (*self.shape[:2], outputs), "float32")
        builder.operator(
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
            operands,
            [y],
            {"fused_activation_function": TANH, **self.options},
        )
        given = operands[18:20] if self.is_given else []
        return builder.build([x, *given], [y])


def _quantized(builder: TFLiteBuilder, name: str, data: NDArray[np.float32]) -> int:
    """A constant of int8 with one scale."""
    scale = float(np.abs(data).max() / np.float32(127))
    stored = np.clip(np.rint(data / scale), -127, 127).astype(np.int8)
    return builder.tensor(name, data.shape, scale=scale, data=stored)
