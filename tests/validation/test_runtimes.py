"""Outputs of LiteRT and ONNX Runtime, and of other files, are references."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.formats.onnx_builder import OnnxBuilder
from support.formats.onnx_cases import weights_as_floats
from support.machines.vnni import needs_vnni

import qlower
from qlower.codegen.llvm.binding import BINDING
from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array
from qlower.validation.validate import prepare


def test_litert_is_a_reference(images: Array, tmp_path: Path):
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    folder = models_directory() / "kws_dscnn_int8"
    if not folder.is_dir():
        pytest.skip("the shared models are not there")
    path = folder / "model.tflite"
    found = qlower.validate(
        path,
        folder / "inputs.npz",
        labels=str(folder / "inputs.json"),
        against="litert",
    )
    assert found.counts["tflite"].output.differing == 0
    assert found.counts["tflite"].agreeing == 15
    assert found.counts["tflite"].top1 == 13


def test_onnx_runtime_is_a_reference(tmp_path: Path):
    """Of a model that takes real pictures whose channels come first."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnx", reason="onnx is not installed")
    build = weights_as_floats(0)
    build.dequantize("y", 0.1, 128, output="real")
    build.outputs.clear()
    build.output("real")
    path = build.save(tmp_path / "model.onnx")
    random = np.random.default_rng(1)
    x = random.normal(size=(12, 1, 3, 5, 4)).astype(np.float32)
    found = qlower.validate(path, {"x": x}, against="onnxruntime")
    assert found.examples == 12
    assert found.counts["onnxruntime"].output.differing == 0


@pytest.mark.parametrize(
    ("features", "is_said"),
    [
        ({"avx2": True}, True),
        ({"avx2": True, "avxvnni": True}, False),
        ({"avx512f": True, "avx512vnni": True}, False),
        ({"avx512f": True, "avx512vnni": False}, True),
    ],
)
@pytest.mark.parametrize("contract", ["onnxruntime", "onnxruntime-avx2"])
def test_a_processor_with_other_arithmetic_is_named(
    contract: str,
    features: dict[str, bool],
    is_said: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    for name in ("onnxruntime", "onnx"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    build = weights_as_floats(0)
    path = build.save(tmp_path / "model.onnx")
    x = np.zeros((1, 1, 3, 5, 4), np.float32)
    monkeypatch.setattr(BINDING, "get_process_triple", lambda: "x86_64-linux-gnu")
    monkeypatch.setattr(BINDING, "get_host_cpu_features", lambda: features)
    prepare(path, {"x": x}, contracts=[contract], against="onnxruntime")
    said = "as the contract onnxruntime-avx2 states" in caplog.text
    assert said == (is_said and contract == "onnxruntime")


@pytest.fixture
def products(tmp_path: Path) -> Callable[..., Path]:
    """ONNX files of a product of stored bytes, which are equal up to how they store its
    input and its result."""
    for name in ("onnxruntime", "onnx"):
        pytest.importorskip(name, reason=f"{name} is not installed")

    def save(
        name: str,
        in_scale: float = 0.02,
        zero: int = 120,
        out_scale: float = 0.2,
        operator: str = "",
    ) -> Path:
        build = OnnxBuilder()
        build.input("x", (1, 5), "u1")
        weights = np.random.default_rng(4).integers(-127, 127, (5, 4)).astype("i1")
        operands = [
            "x",
            *build.parameters(in_scale, zero, "u1"),
            build.constant(weights),
            *build.parameters(0.02, 0, "i1"),
            *build.parameters(out_scale, 128, "u1"),
        ]
        build.node("QLinearMatMul", operands, "s" if operator else "y")
        if operator:
            build.node(operator, ["s"], "y")
        build.output("y", "u1")
        return build.save(tmp_path / name)

    return save


ROWS = np.random.default_rng(5).integers(60, 180, (30, 1, 5)).astype("u1")


@needs_vnni
def test_onnx_runtime_gives_stored_integers(products: Callable[..., Path]):
    """A session says their type alone."""
    found = qlower.validate(products("a.onnx"), {"x": ROWS}, against="onnxruntime")
    assert found.counts["onnxruntime"].output.differing == 0
    assert found.counts["onnxruntime"].output.power > 0


@needs_vnni
def test_another_file_stores_other_integers(products: Callable[..., Path]):
    """The same real numbers go in and come out, to a step of either."""
    own, other = products("a.onnx"), products("b.onnx", 0.01, 128, 0.4)
    output = qlower.validate(own, {"x": ROWS}, against=str(other)).counts
    (counts,) = output.values()
    assert counts.output.differing > 0
    assert counts.output.largest_steps <= 1.5
    output = qlower.validate(other, {"x": ROWS}, against=str(own)).counts
    (counts,) = output.values()
    assert counts.output.largest_steps <= 0.75


def test_integers_that_nothing_explains(products: Callable[..., Path]):
    own, other = products("a.onnx"), products("b.onnx", operator="Shrink")
    with pytest.raises(QlowerError, match="takes or gives stored integers"):
        qlower.validate(own, {"x": ROWS}, against=str(other))


@needs_vnni
def test_a_reference_has_its_own_accuracy(products: Callable[..., Path]):
    """Also where it is no contract; the loss is what lies between."""
    own, other = products("a.onnx"), products("b.onnx", 0.01, 128, 0.4)
    rows = [(row, 2) for row in ROWS]
    found = qlower.validate(own, rows, against=str(other))
    first, reference = found.contracts
    (port,), (taken,) = (qlower.load(path).inputs for path in (own, other))
    same = [(taken.quantize(port.dequantize(row)), 2) for row in ROWS]
    wanted = qlower.validate(other, same, contracts=["onnxruntime"])
    (alone,) = wanted.counts.values()
    assert reference.contract == found.against
    assert reference.counts.top1 == alone.top1
    assert reference.counts.labelled == first.counts.labelled == len(ROWS)
    assert first.loss == reference.counts.top1 / 30 - first.counts.top1 / 30
    assert found.table.records()[0]["loss"] == first.loss
    assert "reference" in found.to_dict()


def test_real_outputs_are_compared_in_real_units(tmp_path: Path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    build = OnnxBuilder()
    build.input("x", (1, 5), "f4")
    parameters = build.parameters(0.5, 3, "i1")
    build.node("QuantizeLinear", ["x", *parameters], "q")
    build.node("DequantizeLinear", ["q", *parameters], "y")
    build.output("y", "f4")
    path = build.save(tmp_path / "real.onnx")
    exact = OnnxBuilder()
    exact.input("x", (1, 5), "f4")
    exact.node("Identity", ["x"], "y")
    exact.output("y", "f4")
    other = exact.save(tmp_path / "exact.onnx")
    rows = np.full((4, 1, 5), 0.625, np.float32)
    found = qlower.validate(path, {"x": rows}, against=str(other))
    assert found.is_real
    (record, _) = found.table.records()
    assert record["mean_real"] == record["largest_real"] == 0.125
    assert "in real numbers" in str(found)
    assert record["differing"] == 4 * 5


TWO_OUTPUTS = """
!x = !quant.uniform<i8:f32, 0.5:0>
!y = !quant.uniform<i8:f32, 1.0:0>
func.func @main(%x: tensor<1x4x!x>) -> (tensor<1x4x!y>, tensor<1x4x!x>) {
  %y = qnn.requantize %x : (tensor<1x4x!x>) -> tensor<1x4x!y>
  %z = qnn.relu %x : (tensor<1x4x!x>) -> tensor<1x4x!x>
  return %y, %z : tensor<1x4x!y>, tensor<1x4x!x>
}"""


def test_the_first_of_two_outputs_is_counted_in_its_own_scale(tmp_path: Path) -> None:
    """TVM rounds half up: a quarter of the numbers are ties below 0, 1.0 apart."""
    path = tmp_path / "two.mlir"
    path.write_text(TWO_OUTPUTS)
    x = np.arange(-128, 128).astype(np.int8).reshape(64, 1, 4)
    found = qlower.validate(path, x, contracts="tvm", against="exact")
    text = json.dumps(found.to_dict())
    row = next(r for r in json.loads(text)["contracts"] if r["contract"] == "tvm")
    assert (row["mean_steps"], row["mean_real"], row["largest_real"]) == (0.25, 0.25, 1)
