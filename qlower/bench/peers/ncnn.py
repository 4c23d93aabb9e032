"""ncnn on the CPU, which has no batch: one image or row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from qlower.bench.peers import Prepared, import_peer
from qlower.model.signature import Array


class _Options(Protocol):
    num_threads: int


class _Extractor(Protocol):
    def input(self, name: str, value: object) -> int: ...
    def extract(self, name: str) -> tuple[int, Array]: ...


class _Net(Protocol):
    opt: _Options

    def load_param(self, path: str) -> int: ...
    def load_model(self, path: str) -> int: ...
    def input_names(self) -> list[str]: ...
    def output_names(self) -> list[str]: ...
    def create_extractor(self) -> _Extractor: ...


def prepare(model: Path, inputs: Sequence[Array], threads: int) -> Prepared:
    """A run from inputs to outputs, of a `.param` file and the `.bin` file next to it.

    Real inputs are qlower's. Instead of codes real numbers are drawn here, with
    channels first.
    """
    module = import_peer("ncnn", "ncnn")
    net = cast(Callable[[], _Net], module.Net)()
    net.opt.num_threads = threads
    if net.load_param(str(model)) or net.load_model(str(model.with_suffix(".bin"))):
        raise ValueError("ncnn doesn't read this file and its .bin file")
    names = net.input_names()
    if len(names) != len(inputs):
        raise ValueError(f"it has {len(names)} inputs, the model {len(inputs)}")
    values = [np.ascontiguousarray(_one(value)) for value in inputs]
    matrices = [cast(Callable[[Array], object], module.Mat)(value) for value in values]

    def outputs() -> list[Array]:
        run = net.create_extractor()
        for name, matrix in zip(names, matrices, strict=True):
            run.input(name, matrix)
        # ncnn owns what it gives; a batch of 1 is qlower's
        return [np.array(run.extract(name)[1])[None] for name in net.output_names()]

    are_ours = all(value.dtype == np.float32 for value in inputs)
    return Prepared(outputs, outputs if are_ours else None)


def _one(value: Array) -> Array:
    """The first of a batch: real numbers as they are, or drawn for codes."""
    if value.dtype == np.float32:
        return value[0]
    shape = value.shape[1:]
    shape = (*shape[2:], *shape[:2])
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)
