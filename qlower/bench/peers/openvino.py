"""OpenVINO on the CPU, with the hint that it recommends for single requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from qlower.bench.peers import Prepared, import_peer
from qlower.model.signature import Array


class _ElementType(Protocol):
    def to_dtype(self) -> np.dtype[np.generic]: ...


class _Port(Protocol):
    @property
    def partial_shape(self) -> Sequence[object]: ...
    def get_element_type(self) -> _ElementType: ...


class _Model(Protocol):
    @property
    def inputs(self) -> list[_Port]: ...
    def reshape(self, shapes: Mapping[int, Sequence[int]]) -> None: ...


class _Tensor(Protocol):
    @property
    def data(self) -> Array: ...


class _Request(Protocol):
    @property
    def output_tensors(self) -> list[_Tensor]: ...
    def set_input_tensor(self, index: int, tensor: object) -> None: ...
    def infer(self) -> object: ...


class _Compiled(Protocol):
    def create_infer_request(self) -> _Request: ...


class _Core(Protocol):
    def read_model(self, path: str) -> _Model: ...
    def compile_model(
        self, model: _Model, device: str, options: Mapping[str, object]
    ) -> _Compiled: ...


def prepare(model: Path, inputs: Sequence[Array], threads: int) -> Prepared:
    """`infer` alone, with inputs set before. For a model in another form than qlower's
    they are drawn here."""
    module = import_peer("openvino", "openvino")
    core = cast(Callable[[], _Core], module.Core)()
    read = core.read_model(str(model))
    has_our_inputs = model.suffix == ".tflite"
    if has_our_inputs:
        # a batch that the file leaves open is the one that it was traced with
        read.reshape({index: array.shape for index, array in enumerate(inputs)})
        values = list(inputs)
    else:
        random = np.random.default_rng(0)
        values = [
            random.normal(size=_shape(port)).astype(port.get_element_type().to_dtype())
            for port in read.inputs
        ]
    options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    request = core.compile_model(read, "CPU", options).create_infer_request()
    for index, value in enumerate(values):
        request.set_input_tensor(index, module.Tensor(value))

    def outputs() -> list[Array]:
        request.infer()
        return [tensor.data.copy() for tensor in request.output_tensors]

    return Prepared(request.infer, outputs if has_our_inputs else None)


def _shape(port: _Port) -> list[int]:
    """The port's shape, 1 where it is open."""
    sizes = (str(extent) for extent in port.partial_shape)
    return [int(size) if size.isdecimal() else 1 for size in sizes]
