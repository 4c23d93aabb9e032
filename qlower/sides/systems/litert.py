"""LiteRT on a `.tflite` file, all of whose tensors are made outputs.

The file is changed rather than asked to keep its tensors, because that would turn its
delegates off. Kernels give the same bits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, TypedDict, cast

import numpy as np

from qlower.frontends.tflite.reader import read_model
from qlower.frontends.tflite.variables import keeps_state
from qlower.interp.values import Array
from qlower.model import Model
from qlower.sides.live import Run, file_of

SUBGRAPHS, OUTPUTS = 2, 2
"""Fields of the tables Model and SubGraph (schema.fbs)."""


class _Detail(TypedDict):
    index: int
    name: str


class _Interpreter(Protocol):
    def allocate_tensors(self) -> None: ...
    def get_input_details(self) -> list[_Detail]: ...
    def get_output_details(self) -> list[_Detail]: ...
    def set_tensor(self, tensor_index: int, value: Array) -> None: ...
    def get_tensor(self, tensor_index: int) -> Array: ...
    def invoke(self) -> None: ...


def prepare(model: Model, kernels: str) -> Run:
    """LiteRT with the kernels of an op resolver, with one thread."""
    litert = import_module("ai_edge_litert.interpreter")
    path = file_of(model, ".tflite")
    data = path.read_bytes()
    file = read_model(data, str(path))
    computed = {index for op in file.operators for index in op.outputs}
    # LiteRT gives no array for a handle of a variable.
    outputs = sorted(i for i in computed if file.tensors[i].type != "RESOURCE")
    make = cast(Callable[..., _Interpreter], litert.Interpreter)

    def start() -> _Interpreter:
        started = make(
            model_content=with_outputs(data, outputs),
            experimental_op_resolver_type=getattr(litert.OpResolverType, kernels),
            num_threads=1,
        )
        started.allocate_tensors()
        return started

    first, is_stream = start(), keeps_state(file)
    inputs = [detail["index"] for detail in first.get_input_details()]
    names = {index: file.tensors[index].name for index in outputs}

    def run(arrays: Sequence[Array]) -> dict[str, Array]:
        interpreter = start() if is_stream else first
        for index, array in zip(inputs, arrays, strict=True):
            interpreter.set_tensor(index, array)
        interpreter.invoke()
        return {name: np.array(interpreter.get_tensor(i)) for i, name in names.items()}

    return run


def with_outputs(data: bytes, outputs: Sequence[int]) -> bytes:
    """The file with other tensors as outputs of its first subgraph: their numbers are
    appended, and the subgraph's table points to them."""
    model = _follow(data, 0)
    subgraphs = _follow(data, _field(data, model, SUBGRAPHS))
    subgraph = _follow(data, subgraphs + 4)
    place = _field(data, subgraph, OUTPUTS)
    padded = data + bytes(-len(data) % 4)
    vector = struct.pack(f"<I{len(outputs)}i", len(outputs), *outputs)
    offset = struct.pack("<I", len(padded) - place)
    return padded[:place] + offset + padded[place + 4 :] + vector


def _follow(data: bytes, place: int) -> int:
    """The target of the offset at a place."""
    (offset,) = struct.unpack_from("<I", data, place)
    return place + offset


def _field(data: bytes, table: int, number: int) -> int:
    """The position of a table's field."""
    (back,) = struct.unpack_from("<i", data, table)
    (offset,) = struct.unpack_from("<H", data, table - back + 4 + 2 * number)
    return table + offset
