"""What is fused is what ONNX Runtime fuses, by its dump of the graph that it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import models_directory
from support.formats.onnx_builder import OnnxBuilder
from support.formats.onnx_models import INT8_ALLOWED, operators, optimized_graph
from support.formats.random_qdq import RandomGraph

from qlower.frontends.graph.nodes import Graph, hoist_constants
from qlower.frontends.import_options import INTEGER, X86
from qlower.frontends.onnx.fusing import fuse
from qlower.frontends.onnx.reader import read_model

runtime: Any = pytest.importorskip(
    "onnxruntime.capi.onnxruntime_pybind11_state",
    reason="onnxruntime is not installed",
)
Failure: type[Exception] = runtime.Fail

MODELS = sorted(models_directory().glob("*_q*_onnx/model.onnx"))

GRAPHS = 60
MANY_GRAPHS = 400

NOT_FUSED_HERE = {"com.microsoft.MatMulNBits", "com.microsoft.MatMulIntegerToFloat"}
"""What is made of real operands, which are refused in any case."""

UNPREDICTED = {326}
"""A seed with transposes that cancel: ONNX Runtime moves a conversion before them."""


SESSIONS = {INTEGER: INT8_ALLOWED, X86: {}}
"""Entries of the sessions that read groups in each way."""


def predicted(path: Path, qdq: str) -> Counter[str]:
    """How many nodes of each operator there are after the rewriting."""
    model = read_model(path.read_bytes(), str(path), path.parent)
    graph = Graph(model, [port.name for port in model.outputs])
    hoist_constants(graph, list(graph.nodes))
    fuse(graph, qdq)
    return Counter(name for node in graph.nodes for name in parts(node.operator))


def parts(operator: str) -> list[str]:
    """A convolution whose sums start from something is fused at a later level."""
    return ["Conv", "Add"] if operator.endswith("FusedConv") else [operator]


def check(path: Path, folder: Path, qdq: str) -> bool:
    """Whether the graph is one of those that are compared."""
    found = predicted(path, qdq)
    try:
        dumped = operators(optimized_graph(path, folder, SESSIONS[qdq]))
    except Failure:
        # It gives nodes of opset 21 a type of zero points that they don't say.
        return False
    if NOT_FUSED_HERE & dumped.keys():
        return False
    # Transposes are moved and cancelled, which changes no value.
    del found["Transpose"], dumped["Transpose"]
    assert found == dumped
    return True


@pytest.mark.parametrize("qdq", SESSIONS)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.parent.name)
def test_models(path: Path, qdq: str, tmp_path: Path) -> None:
    assert check(path, tmp_path, qdq)


@pytest.mark.parametrize("qdq", SESSIONS)
@pytest.mark.parametrize("opset", [11, 12])
def test_largest_integers_since_opset_12(opset: int, qdq: str, tmp_path: Path) -> None:
    build = OnnxBuilder(opset)
    value = build.pair(build.input("x", (1, 3, 6, 6)), 0.1, 3)
    value = build.node("MaxPool", [value], kernel_shape=[2, 2])
    build.output(build.pair(value, 0.1, 3))
    path = build.save(tmp_path / "model.onnx")
    assert check(path, tmp_path, qdq)


@pytest.mark.parametrize("qdq", SESSIONS)
@pytest.mark.parametrize("also", ["", "returned", "Relu", "Softmax", "Quantize"])
@pytest.mark.parametrize(
    "between", [(), ("Relu",), ("Softmax",), ("Relu", "Softmax")], ids="-".join
)
def test_real_weights_are_quantized_where_the_result_is(
    between: Sequence[str], also: str, qdq: str, tmp_path: Path
) -> None:
    build = OnnxBuilder()
    random = np.random.default_rng(0)
    filters = build.constant(random.normal(size=(4, 3, 3, 3)).astype(np.float32))
    operands = [build.pair(build.input("x", (1, 3, 6, 6)), 0.1, 3), filters]
    value = build.node("Conv", operands)
    for kind in between:
        value = build.node(kind, [value])
    if also == "Quantize":
        build.output(build.pair(value, 0.07, 9))
    elif also:
        build.output(value if also == "returned" else build.node(also, [value]))
    build.output(build.pair(value, 0.05, 3))
    path = build.save(tmp_path / "model.onnx")
    assert check(path, tmp_path, qdq)


def check_random(seeds: range, folder: Path, qdq: str) -> None:
    compared = 0
    for seed in seeds:
        if seed in UNPREDICTED:
            continue
        path = RandomGraph(seed).builder.save(folder / f"seed_{seed}.onnx")
        compared += check(path, folder, qdq)
    assert compared > 0.8 * len(seeds)


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", SESSIONS)
def test_random_graphs(qdq: str, tmp_path: Path) -> None:
    check_random(range(GRAPHS), tmp_path, qdq)


@pytest.mark.long
@pytest.mark.parametrize("qdq", SESSIONS)
def test_many_random_graphs(qdq: str, tmp_path: Path) -> None:
    check_random(range(GRAPHS, MANY_GRAPHS), tmp_path, qdq)
