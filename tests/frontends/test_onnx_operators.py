"""Every operator that is imported gives ONNX Runtime's values, in every executor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_cases import CASES, unary
from support.formats.onnx_models import compare

import qlower

onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@pytest.mark.parts(64)
@pytest.mark.parametrize("name", CASES)
def test_operator(name: str, tmp_path: Path) -> None:
    path = CASES[name]().save(tmp_path / "model.onnx")
    found = compare(path, tmp_path, count=2)
    assert found.is_equal, found
    assert found.outputs > 0


@pytest.mark.parametrize(("opset", "axis"), [(11, 1), (12, 1), (13, -1)])
def test_the_axis_of_a_softmax_that_names_none(
    opset: int, axis: int, tmp_path: Path
) -> None:
    texts: list[str] = []
    named: dict[str, Any] = {"axis": axis}
    for given in ({}, named):
        path = tmp_path / "model.onnx"
        unary("QLinearSoftmax", (2, 3, 4), opset=opset, **given).save(path)
        texts.append(str(qlower.load(path).module))
    assert texts[0] == texts[1]


def test_shapes_that_the_graph_computes(tmp_path: Path) -> None:
    """Each operator on a shape is the one on a tensor: a 0 is the operand's size."""
    helper = onnx.helper
    numbers = {"copied": [0, 1], "first": [0], "from": [2], "to": [-4], "back": [-1]}
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Reshape", ["shape", "copied"], ["column"]),
        helper.make_node("Flatten", ["column"], ["row"], axis=0),
        helper.make_node("Squeeze", ["row", "first"], ["sizes"]),
        helper.make_node("Slice", ["sizes", "from", "to", "first", "back"], ["turned"]),
        helper.make_node("Reshape", ["x", "turned"], ["y"]),
    ]
    real = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "shapes",
        [helper.make_tensor_value_info("x", real, [2, 3, 4])],
        [helper.make_tensor_value_info("y", real, [4, 3, 2])],
        [
            onnx.numpy_helper.from_array(np.array(values, np.int64), name)
            for name, values in numbers.items()
        ],
    )
    path = tmp_path / "shapes.onnx"
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets), str(path))
    assert qlower.load(path).outputs[0].shape == (4, 3, 2)
