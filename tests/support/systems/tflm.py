"""Running a `.tflite` model with TensorFlow Lite for Microcontrollers.

Needs the optional package `tflite-micro`; tests skip without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

ARENA_BYTES = 1 << 22


class _Interpreter(Protocol):
    def print_allocations(self) -> None: ...
    def set_input(self, input_data: NDArray[np.generic], index: int) -> None: ...
    def get_output(self, index: int) -> NDArray[np.generic]: ...
    def invoke(self) -> None: ...


def run_tflm(
    model: bytes, inputs: Sequence[NDArray[np.generic]]
) -> tuple[NDArray[np.generic], ...]:
    """The output of a model with one; raises what TFLM raises when it refuses it."""
    return run_tflm_steps(model, [inputs])[0]


def run_tflm_steps(
    model: bytes, steps: Sequence[Sequence[NDArray[np.generic]]]
) -> list[tuple[NDArray[np.generic], ...]]:
    """The output of each step, of which one takes what the last has left."""
    interpreter = _make_interpreter(model)
    results: list[tuple[NDArray[np.generic], ...]] = []
    for inputs in steps:
        for index, value in enumerate(inputs):
            interpreter.set_input(value, index)
        interpreter.invoke()
        results.append((interpreter.get_output(0).copy(),))
    return results


def print_allocations(model: bytes) -> None:
    """Write to the process's error stream what TFLM needs of its arena.

    The head has the tensors of a call, with its inputs and outputs, the tail what lives
    as long as the interpreter.
    """
    _make_interpreter(model).print_allocations()


def _make_interpreter(model: bytes) -> _Interpreter:
    module = import_module("tflite_micro").runtime
    make_interpreter = cast(Callable[..., _Interpreter], module.Interpreter.from_bytes)
    return make_interpreter(model, arena_size=ARENA_BYTES)
