"""LiteRT with its default kernels: the XNNPACK delegate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypedDict, cast

from qlower.bench.peers import Prepared, import_peer
from qlower.model.signature import Array


class _Detail(TypedDict):
    index: int


class _Interpreter(Protocol):
    def allocate_tensors(self) -> None: ...
    def get_input_details(self) -> list[_Detail]: ...
    def get_output_details(self) -> list[_Detail]: ...
    def get_tensor(self, tensor_index: int) -> Array: ...
    def set_tensor(self, tensor_index: int, value: Array) -> None: ...
    def invoke(self) -> None: ...


def prepare(model: Path, inputs: Sequence[Array], threads: int) -> Prepared:
    """`invoke` alone: inputs are set before, outputs not fetched."""
    module = import_peer("litert", "ai_edge_litert.interpreter")
    make = cast(Callable[..., _Interpreter], module.Interpreter)
    interpreter = make(model_path=str(model), num_threads=threads)
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], value)

    def outputs() -> list[Array]:
        interpreter.invoke()
        details = interpreter.get_output_details()
        return [interpreter.get_tensor(detail["index"]) for detail in details]

    return Prepared(interpreter.invoke, outputs)
