"""Running a `.tflite` model with LiteRT, the system that the `tflite` contract copies.

Needs the optional package `ai-edge-litert`; tests skip without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

KERNELS = {
    "ref": "BUILTIN_REF",
    "opt": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
    "xnn": "BUILTIN",
}
"""LiteRT's reference kernels, its optimized ones, and the default with XNNPACK."""


class _Detail(TypedDict):
    index: int
    shape: NDArray[np.int32]


class _Interpreter(Protocol):
    def resize_tensor_input(
        self, input_index: int, tensor_size: Sequence[int]
    ) -> None: ...
    def allocate_tensors(self) -> None: ...
    def get_input_details(self) -> list[_Detail]: ...
    def get_output_details(self) -> list[_Detail]: ...
    def set_tensor(self, tensor_index: int, value: NDArray[np.generic]) -> None: ...
    def get_tensor(self, tensor_index: int) -> NDArray[np.generic]: ...
    def invoke(self) -> None: ...


def run_litert(
    model: bytes, inputs: Sequence[NDArray[np.generic]], *, kernels: str = "ref"
) -> tuple[NDArray[np.generic], ...]:
    """The outputs of the model; raises what LiteRT raises when it refuses the model."""
    return run_litert_steps(model, [inputs], kernels=kernels)[0]


def run_litert_steps(
    model: bytes,
    steps: Sequence[Sequence[NDArray[np.generic]]],
    *,
    kernels: str = "ref",
    tensors: Sequence[int] = (),
) -> list[tuple[NDArray[np.generic], ...]]:
    """The outputs of each step, of which one takes what the last has left; then what
    other tensors have by then, variables for one."""
    module = import_module("ai_edge_litert.interpreter")
    make_interpreter = cast(Callable[..., _Interpreter], module.Interpreter)
    interpreter = make_interpreter(
        model_content=model,
        experimental_op_resolver_type=getattr(module.OpResolverType, KERNELS[kernels]),
        num_threads=1,
    )
    details = interpreter.get_input_details()
    for detail, value in zip(details, steps[0], strict=True):
        if tuple(detail["shape"]) != value.shape:
            interpreter.resize_tensor_input(detail["index"], value.shape)
    interpreter.allocate_tensors()
    read = [detail["index"] for detail in interpreter.get_output_details()]
    results: list[tuple[NDArray[np.generic], ...]] = []
    for inputs in steps:
        for detail, value in zip(details, inputs, strict=True):
            interpreter.set_tensor(detail["index"], value)
        interpreter.invoke()
        results.append(
            tuple(interpreter.get_tensor(index).copy() for index in (*read, *tensors))
        )
    return results
