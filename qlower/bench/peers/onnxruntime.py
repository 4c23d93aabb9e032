"""ONNX Runtime on the CPU, with all of its graph optimizations (its default)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from qlower.bench.peers import Prepared, import_peer
from qlower.model.signature import Array


class _Port(Protocol):
    name: str
    shape: list[int | str]
    type: str


class _Options(Protocol):
    intra_op_num_threads: int
    inter_op_num_threads: int


class _Binding(Protocol):
    def bind_cpu_input(self, name: str, array: Array) -> None: ...
    def bind_output(self, name: str) -> None: ...
    def copy_outputs_to_cpu(self) -> list[Array]: ...


class _Session(Protocol):
    def get_inputs(self) -> list[_Port]: ...
    def get_outputs(self) -> list[_Port]: ...
    def io_binding(self) -> _Binding: ...
    def run_with_iobinding(self, binding: _Binding) -> None: ...


_DTYPES = {"tensor(float)": "float32"}


def prepare(model: Path, inputs: Sequence[Array], threads: int) -> Prepared:
    """A run on bound inputs: qlower's where the model takes such. Else they are drawn
    here, for an ONNX model may take real numbers in another layout than the model that
    it is compared with."""
    module = import_peer("onnxruntime", "onnxruntime")
    options = cast(Callable[[], _Options], module.SessionOptions)()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    make = cast(Callable[..., _Session], module.InferenceSession)
    session = make(str(model), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    ports = session.get_inputs()
    has_our_inputs = len(ports) == len(inputs) and all(
        _takes(port, value) for port, value in zip(ports, inputs, strict=True)
    )
    values = list(inputs) if has_our_inputs else [_drawn(port) for port in ports]
    for port, value in zip(ports, values, strict=True):
        binding.bind_cpu_input(port.name, value)
    for port in session.get_outputs():
        binding.bind_output(port.name)

    def outputs() -> list[Array]:
        session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()

    call = partial(session.run_with_iobinding, binding)
    return Prepared(call, outputs if has_our_inputs else None)


def _dtype(port: _Port) -> str:
    return _DTYPES.get(port.type, port.type.removeprefix("tensor(").rstrip(")"))


def _takes(port: _Port, value: Array) -> bool:
    """Whether the value is of the port's type, and of a shape that it may have."""
    fits = len(port.shape) == value.ndim and all(
        extent == size
        for extent, size in zip(port.shape, value.shape, strict=True)
        if isinstance(extent, int)
    )
    return fits and value.dtype == _dtype(port)


def _drawn(port: _Port) -> Array:
    """Normally distributed numbers of the port's shape, 1 where it is open."""
    shape = [extent if isinstance(extent, int) else 1 for extent in port.shape]
    return np.random.default_rng(0).normal(size=shape).astype(_dtype(port))
