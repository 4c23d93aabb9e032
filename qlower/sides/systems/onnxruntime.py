"""ONNX Runtime on an `.onnx` file, with all tensors of its optimized graph as outputs.

The session is the one that the model was read like, with one thread. The graph is
optimized first and then given more outputs: the other way round they would keep it from
fusing, and it would have other arithmetic. Optimizations of the layout are left out,
which give tensors other names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, cast

from xdsl.dialects.builtin import StringAttr

from qlower.dialects.qnn.attributes import QDQ
from qlower.frontends.import_options import AS_WRITTEN, INTEGER
from qlower.interp.values import Array
from qlower.model import Model
from qlower.sides.live import Run, file_of


class _Port(Protocol):
    name: str


class _Session(Protocol):
    def get_inputs(self) -> list[_Port]: ...
    def get_outputs(self) -> list[_Port]: ...
    def run(self, names: list[str], feed: Mapping[str, Array]) -> list[Array]: ...


class _Options(Protocol):
    intra_op_num_threads: int
    optimized_model_filepath: str
    graph_optimization_level: object

    def add_session_config_entry(self, key: str, value: str) -> None: ...


class _Node(Protocol):
    output: list[str]


class _Graph(Protocol):
    node: list[_Node]
    output: list[_Port]


class _Proto(Protocol):
    graph: _Graph

    def SerializeToString(self) -> bytes: ...


def prepare(model: Model, kernels: str) -> Run:
    """The CPU provider with its fusions; the `.onnx` file may lie next to the model's
    own."""
    onnx, ort = import_module("onnx"), import_module("onnxruntime")
    file = file_of(model, ".onnx")
    load = cast(Callable[[str], _Proto], onnx.load)
    port = cast(Callable[..., _Port], onnx.ValueInfoProto)
    make = cast(Callable[..., _Session], ort.InferenceSession)
    make_options = cast(Callable[[], _Options], ort.SessionOptions)
    levels, providers = ort.GraphOptimizationLevel, ["CPUExecutionProvider"]
    qdq = model.module.attributes.get(QDQ)
    with TemporaryDirectory() as folder:
        options = make_options()
        options.optimized_model_filepath = str(Path(folder, "optimized.onnx"))
        options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED
        if qdq == StringAttr(AS_WRITTEN):
            options.graph_optimization_level = levels.ORT_DISABLE_ALL
        if qdq == StringAttr(INTEGER):
            options.add_session_config_entry("session.qdqisint8allowed", "1")
        make(str(file), options, providers=providers)
        graph = load(options.optimized_model_filepath)
    known = {output.name for output in graph.graph.output}
    names = (name for node in graph.graph.node for name in node.output)
    graph.graph.output.extend(port(name=n) for n in names if n and n not in known)
    options = make_options()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = levels.ORT_DISABLE_ALL
    session = make(graph.SerializeToString(), options, providers=providers)
    inputs = [one.name for one in session.get_inputs()]
    outputs = [one.name for one in session.get_outputs()]

    def run(arrays: Sequence[Array]) -> dict[str, Array]:
        feed = dict(zip(inputs, arrays, strict=True))
        return dict(zip(outputs, session.run(outputs, feed), strict=True))

    return run
