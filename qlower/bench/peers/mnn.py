"""MNN on the CPU. Its extension module is used alone: the package's tools install
packages and report to a server as they are imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from qlower.bench.peers import Prepared, import_peer
from qlower.model.signature import Array


class _Tensor(Protocol):
    def getShape(self) -> tuple[int, ...]: ...
    def getData(self) -> Sequence[float]: ...
    def copyFrom(self, other: _Tensor) -> object: ...
    def copyToHostTensor(self, other: _Tensor) -> object: ...


class _Interpreter(Protocol):
    def createSession(self, options: Mapping[str, object]) -> object: ...
    def runSession(self, session: object) -> object: ...
    def getSessionInputAll(self, session: object) -> Mapping[str, _Tensor]: ...
    def getSessionOutputAll(self, session: object) -> Mapping[str, _Tensor]: ...


def prepare(model: Path, inputs: Sequence[Array], threads: int) -> Prepared:
    """A run of a `.mnn` file on inputs set before: qlower's if they are real and have
    the file's shapes, else drawn here."""
    module = import_peer("mnn", "_mnncengine")
    read = cast(Callable[[str], _Interpreter], module.Interpreter)
    try:
        net = read(str(model))
    except Exception as error:  # MNN raises no other kind
        raise ValueError(str(error)) from error
    session = net.createSession({"numThread": threads})
    make = cast(Callable[..., _Tensor], module.Tensor)

    def host(values: Array) -> _Tensor:
        real, layout = module.Halide_Type_Float, module.Tensor_DimensionType_Caffe
        return make(values.shape, real, np.ascontiguousarray(values), layout)

    entries = list(net.getSessionInputAll(session).values())
    shapes = [entry.getShape() for entry in entries]
    ours = [value.shape for value in inputs if value.dtype == np.float32]
    random = np.random.default_rng(0)
    values = list(inputs)
    if ours != shapes:
        values = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    for entry, value in zip(entries, values, strict=True):
        entry.copyFrom(host(value))

    def outputs() -> list[Array]:
        net.runSession(session)
        found: list[Array] = []
        for tensor in net.getSessionOutputAll(session).values():
            shape = tensor.getShape()
            given = host(np.zeros(shape, np.float32))
            tensor.copyToHostTensor(given)
            found.append(np.array(given.getData(), np.float32).reshape(shape))
        return found

    call = partial(net.runSession, session)
    return Prepared(call, outputs if ours == shapes else None)
