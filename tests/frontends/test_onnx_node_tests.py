"""ONNX's own tests of single nodes, those that concern quantization.

Only the first input is left to run time: scales, zero points and weights are constants.
The contract is that of the evaluator which made the expected outputs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
numpy_helper = pytest.importorskip("onnx.numpy_helper")

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"
KINDS = (
    *("convinteger", "matmulinteger", "qlinearconv", "qlinearmatmul"),
    *("dynamicquantizelinear", "quantizelinear", "dequantizelinear"),
)
NAMES = sorted(
    path.name
    for path in FOLDER.glob("test_*")
    if path.name.removeprefix("test_").split("_")[0] in KINDS
)

REFUSED = {
    "e4m3fn": "FLOAT8E4M3FN",
    "e5m2": "FLOAT8E5M2",
    "float4e2m1": "FLOAT4E2M1",
}
"""A part of the name of a test that isn't supported, and what the refusal names."""


def tensor(path: Path) -> Any:
    found = onnx.TensorProto()
    found.ParseFromString(path.read_bytes())
    return found


def held(values: Array) -> Array:
    """Elements of less than 8 bits as bytes."""
    narrow = {"int2": np.int8, "int4": np.int8, "uint2": np.uint8, "uint4": np.uint8}
    return values.astype(narrow.get(values.dtype.name, values.dtype))


def refusal(name: str) -> str | None:
    return next((what for part, what in REFUSED.items() if f"_{part}" in name), None)


def test_how_many_there_are() -> None:
    assert len(NAMES) == 45
    assert sum(refusal(name) is None for name in NAMES) >= 37


@pytest.mark.parts(6)
@pytest.mark.parametrize("name", NAMES)
def test_node(name: str, tmp_path: Path) -> None:
    folder = FOLDER / name
    recorded = folder / "test_data_set_0"
    model: Any = onnx.load(str(folder / "model.onnx"))
    graph = model.graph
    for index, port in list(enumerate(graph.input))[1:]:
        constant = tensor(recorded / f"input_{index}.pb")
        constant.name = port.name
        graph.initializer.append(constant)
    del graph.input[1:]
    path = tmp_path / "node.onnx"
    onnx.save(model, str(path))
    input = held(numpy_helper.to_array(tensor(recorded / "input_0.pb")))
    what = refusal(name)
    if what is not None:
        with pytest.raises(QlowerError, match=what):
            qlower.load(path)
        return
    loaded = qlower.load(path)
    for found in (
        qlower.jit(loaded, contract="onnx-reference")(input),
        qlower.interpret(loaded, input, contract="onnx-reference", at="qnn"),
    ):
        arrays = found if isinstance(found, tuple) else (found,)
        for index, array in enumerate(arrays):
            wanted = held(
                numpy_helper.to_array(tensor(recorded / f"output_{index}.pb"))
            )
            np.testing.assert_array_equal(array, wanted)
            assert array.dtype == wanted.dtype
