"""ONNX's own tests of single nodes, those that concern quantization.

Once only the first input is left to run time, and scales, zero points and weights are
constants, by the contract of the evaluator which made the expected outputs; once the
files are read as they are, by that contract, and by ONNX Runtime's against its session
where that runs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qlower
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


def tensor(path: Path) -> Any:
    found = onnx.TensorProto()
    found.ParseFromString(path.read_bytes())
    return found


BYTES = {"int2": np.int8, "int4": np.int8, "uint2": np.uint8, "uint4": np.uint8}


def held(values: Array) -> Array:
    """Elements as a model takes and gives them: of less than 8 bits as bytes, floats of
    8 and 4 bits as their codes, float16 as float32."""
    name = values.dtype.name
    if name.startswith(("float8", "float4")):
        return values.view(np.uint8)
    kind = np.float32 if name == "float16" else BYTES.get(name, values.dtype)
    return values.astype(kind)


def test_how_many_there_are() -> None:
    assert len(NAMES) == 45


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


def arrays(folder: Path, kind: str, count: int) -> list[Array]:
    names = (f"{kind}_{index}.pb" for index in range(count))
    return [numpy_helper.to_array(tensor(folder / name)) for name in names]


def by_onnx_runtime(path: Path, inputs: Sequence[Array]) -> list[Array] | None:
    """Its results; None where it doesn't run the file or can't be given its types."""
    runtime: Any = pytest.importorskip("onnxruntime")
    try:
        session = runtime.InferenceSession(str(path))
        ports = [port.name for port in session.get_inputs()]
        return session.run(None, dict(zip(ports, inputs, strict=True)))
    except Exception:  # its errors have no class of their own
        return None


@pytest.mark.parts(6)
@pytest.mark.parametrize("name", NAMES)
def test_node_as_it_is(name: str) -> None:
    folder = FOLDER / name
    path, recorded = folder / "model.onnx", folder / "test_data_set_0"
    model = qlower.load(path)
    inputs = arrays(recorded, "input", len(model.inputs))
    sides = {
        "onnxruntime": by_onnx_runtime(path, inputs),
        "onnx-reference": arrays(recorded, "output", len(model.outputs)),
    }
    for contract, wanted in sides.items():
        if wanted is not None:
            given = [held(array) for array in inputs]
            found = qlower.jit(model, contract=contract).run(given, {})[0]
            for array, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(array, held(other), contract)
