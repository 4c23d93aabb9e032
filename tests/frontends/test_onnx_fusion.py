"""What is fused is what ONNX Runtime fuses, by its dump of the graph that it runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support import models_directory
from support.onnx_models import operators, optimized_graph
from support.random_qdq import RandomGraph

from qlower.frontends.onnx.fusing import fuse
from qlower.frontends.onnx.graph import Graph, hoist_constants
from qlower.frontends.onnx.reader import read_model

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

MODELS = sorted(models_directory().glob("*_q*_onnx/model.onnx"))

GRAPHS = 100
MANY_GRAPHS = 400

NOT_FUSED_HERE = {"com.microsoft.MatMulNBits", "com.microsoft.MatMulIntegerToFloat"}
"""What is made of real operands, which are refused in any case."""

UNPREDICTED = {143, 199, 257, 326}
"""Seeds with three conversions in a row, of which ONNX Runtime removes some later."""


def predicted(path: Path) -> Counter[str]:
    """How many nodes of each operator there are after the rewriting."""
    model = read_model(path.read_bytes(), str(path), path.parent)
    graph = Graph(model, [port.name for port in model.outputs])
    hoist_constants(graph, list(graph.nodes))
    fuse(graph)
    return Counter(node.operator for node in graph.nodes)


def check(path: Path, folder: Path) -> bool:
    """Whether the graph is one of those that are compared."""
    found, dumped = predicted(path), operators(optimized_graph(path, folder))
    if NOT_FUSED_HERE & dumped.keys():
        return False
    # Transposes are moved and cancelled, which changes no value.
    del found["Transpose"], dumped["Transpose"]
    assert found == dumped
    return True


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.parent.name)
def test_models(path: Path, tmp_path: Path) -> None:
    assert check(path, tmp_path)


def check_random(seeds: range, folder: Path) -> None:
    compared = 0
    for seed in seeds:
        if seed in UNPREDICTED:
            continue
        path = RandomGraph(seed).builder.save(folder / f"seed_{seed}.onnx")
        compared += check(path, folder)
    assert compared > 0.8 * len(seeds)


def test_random_graphs(tmp_path: Path) -> None:
    check_random(range(GRAPHS), tmp_path)


@pytest.mark.long
def test_many_random_graphs(tmp_path: Path) -> None:
    check_random(range(GRAPHS, MANY_GRAPHS), tmp_path)
