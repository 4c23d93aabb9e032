"""Layers on real numbers with stored weights ("dynamic range"): contracts say how."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.onnx_builder import MICROSOFT, OnnxBuilder
from support.formats.onnx_models import make_session
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_hybrid_cases import HYBRID, WINDOW
from support.machines.vnni import LACKS_VNNI
from support.systems.litert import run_litert

import qlower
from qlower.verification.equal import equal

KERNELS = {"tflite": "ref", "tflite-ruy": "opt", "tflite-xnnpack": "xnn"}
CONTRACTS = [*KERNELS, "onnxruntime"]
LAYERS = [name for name in HYBRID if "transpose_conv" not in name]

ONE_RANGE = """
module attributes {contract.base = "tflite"} {
func.func @linear_of_one_range(%accumulator: i32, %input_scale: f32) -> f32
    serves hybrid_linear attributes {contract.product = "tensor_range"} {
  %result = func.call @hybrid_linear(%accumulator, %input_scale) : (i32, f32) -> f32
}
}
"""
"""The reference kernels', but for one range for all rows."""

REORDERED = """
module attributes {contract.base = "tflite"} {
func.func @hybrid_conv2d(%accumulator: i32, %input_scale: f32) -> f32 {
  %real = arith.sitofp %accumulator : i32 to f32
  %result = func.call @hybrid_by_scales(%real, %input_scale) : (f32, f32) -> f32
}
}
"""
"""The reference kernels', but for the order of the factors of a convolution."""


def bits(values: object) -> NDArray[np.int32]:
    return np.asarray(values, np.float32).view(np.int32)


@pytest.mark.parts(16)
@pytest.mark.parametrize("contract", KERNELS)
@pytest.mark.parametrize("name", LAYERS)
def test_litert_has_this_arithmetic(name: str, contract: str, tmp_path: Path):
    pytest.importorskip("ai_edge_litert", reason="needs LiteRT (ai-edge-litert)")
    content = HYBRID[name]()
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    model = qlower.load(path)
    native = qlower.jit(model, contract=contract)
    for seed in range(4):
        draw = np.random.default_rng(seed)
        (spec,) = model.inputs
        x = draw.normal(seed, 2.0 ** (2 * seed - 3), spec.shape).astype(np.float32)
        (expected,) = run_litert(content, [x], kernels=KERNELS[contract])
        given = qlower.interpret(model, x, contract=contract)
        np.testing.assert_array_equal(bits(given), bits(expected))
        np.testing.assert_array_equal(bits(native(x)), bits(expected))


IMAGE, ROW = (2, 5, 6, 3), 72
FILTERS, UNITS = (4, 3, 2, 3), 9


class Network:
    """A convolution and a linear layer with stored weights, in both formats."""

    def __init__(self) -> None:
        draw = np.random.default_rng(5)
        self.filters = draw.integers(-127, 128, FILTERS)
        self.filter_scales = draw.uniform(0.01, 0.1, FILTERS[0]).astype(np.float32)
        self.units = draw.integers(-127, 128, (UNITS, ROW))
        self.bias = draw.normal(0, 1, FILTERS[0]).astype(np.float32)
        self.offset = draw.normal(0, 1, UNITS).astype(np.float32)
        self.x = draw.normal(0.3, 1, IMAGE).astype(np.float32)

    def tflite(self) -> bytes:
        build = TFLiteBuilder()
        x = build.tensor("x", IMAGE, "float32")
        scales = self.filter_scales.tolist()
        w = build.tensor("w", FILTERS, scale=scales, axis=0, data=self.filters)
        b = build.tensor("b", self.bias.shape, "float32", data=self.bias)
        image = build.tensor("image", (2, 3, 6, 4), "float32")
        build.operator("CONV_2D", [x, w, b], [image], dict(WINDOW))
        u = build.tensor("u", (UNITS, ROW), scale=0.03, data=self.units)
        c = build.tensor("c", (UNITS,), "float32", data=self.offset)
        y = build.tensor("y", (2, UNITS), "float32")
        build.operator("FULLY_CONNECTED", [image, u, c], [y], {})
        return build.build([x], [y])

    def onnx(self, path: Path) -> Path:
        build = OnnxBuilder()
        x = build.node("Transpose", [build.input("x", IMAGE)], perm=[0, 3, 1, 2])
        filters = np.ascontiguousarray(self.filters.transpose(0, 3, 1, 2), np.int8)
        zero = build.constant(np.zeros((), np.int8))
        codes = build.node("DynamicQuantizeLinear", [x], ["q", "s", "z"])
        sums = build.node(
            "ConvInteger",
            [codes, build.constant(filters), "z", zero],
            kernel_shape=[3, 2],
            strides=[2, 1],
            pads=[1, 0, 1, 1],
        )
        scales = build.constant(self.filter_scales.reshape(4, 1, 1))
        scale = build.node("Mul", ["s", scales])
        real = build.node("Mul", [build.node("Cast", [sums], to=1), scale])
        bias = build.constant(self.bias.reshape(4, 1, 1))
        image = build.node("Add", [real, bias])
        image = build.node("Transpose", [image], perm=[0, 2, 3, 1])
        rows = build.node("Reshape", [image, build.constant(np.array([2, ROW]))])
        units = build.constant(np.ascontiguousarray(self.units.T, np.int8))
        step = build.constant(np.array(0.03, np.float32))
        taken = [rows, units, step, zero, build.constant(self.offset)]
        build.output(build.node("DynamicQuantizeMatMul", taken, domain=MICROSOFT))
        return build.save(path)


@pytest.mark.parts(4)
@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_system_of_a_dynamic_range_model_is_identified(
    contract: str, tmp_path: Path
):
    """LiteRT's kernels and ONNX Runtime are named, each alone."""
    network = Network()
    path = tmp_path / "model.tflite"
    path.write_bytes(network.tflite())
    model = qlower.load(path)
    if contract == "onnxruntime":
        pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")
        if LACKS_VNNI:
            pytest.skip("the contract is that of CPUs with VNNI")
        session = make_session(network.onnx(tmp_path / "m.onnx"), "ENABLE_ALL")
        (y,) = session.run(None, {"x": network.x})
    else:
        pytest.importorskip("ai_edge_litert", reason="needs LiteRT (ai-edge-litert)")
        kernels = KERNELS[contract]
        (y,) = run_litert(network.tflite(), [network.x], kernels=kernels)
    found = qlower.identify(
        {"y": y}, model, network.x, contracts=CONTRACTS, verify=False
    )
    assert found.names == [contract]


def test_another_range_is_not_called_equal(tmp_path: Path):
    """Which numbers share a range is no step of a rule, but changes its values."""
    path = tmp_path / "model.tflite"
    path.write_bytes(HYBRID["fully_connected_hybrid"]())
    mine = tmp_path / "mine.mlir"
    mine.write_text(ONE_RANGE)
    (verdict,) = equal("tflite", str(mine), qlower.load(path), native=False).layers
    assert verdict.verdict != "equal"
    (same,) = equal("tflite", "tflm", qlower.load(path), native=False).layers
    assert same.verdict == "equal"


@pytest.mark.long
def test_a_planted_order_of_factors_is_named(tmp_path: Path):
    network = Network()
    path = tmp_path / "model.tflite"
    path.write_bytes(network.tflite())
    mine = tmp_path / "mine.mlir"
    mine.write_text(REORDERED)
    found = str(qlower.diff("tflite", str(mine), qlower.load(path), network.x))
    assert "the first layer that differs by itself is image" in found
    assert "%weighted | %scale" in found
