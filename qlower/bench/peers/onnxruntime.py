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


class _Session(Protocol):
    def get_inputs(self) -> list[_Port]: ...
    def get_outputs(self) -> list[_Port]: ...
    def io_binding(self) -> _Binding: ...
    def run_with_iobinding(self, binding: _Binding) -> None: ...


_DTYPES = {"tensor(float)": "float32"}


def prepare(model: Path, inputs: Sequence[Array], threads: int) -> Prepared:
    """A run on bound inputs. They are drawn here: an ONNX model may take real numbers
    in another layout than the model that it is compared with."""
    module = import_peer("onnxruntime", "onnxruntime")
    options = cast(Callable[[], _Options], module.SessionOptions)()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    make = cast(Callable[..., _Session], module.InferenceSession)
    session = make(str(model), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for port in session.get_inputs():
        shape = [extent if isinstance(extent, int) else 1 for extent in port.shape]
        dtype = _DTYPES.get(port.type, port.type.removeprefix("tensor(").rstrip(")"))
        values = np.random.default_rng(0).normal(size=shape)
        binding.bind_cpu_input(port.name, values.astype(dtype))
    for port in session.get_outputs():
        binding.bind_output(port.name)
    return Prepared(partial(session.run_with_iobinding, binding))
