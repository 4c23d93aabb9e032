"""Sums of real numbers: the contract says in which order, and every tool sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.onnx_builder import OnnxBuilder
from support.formats.onnx_models import make_session
from support.formats.tflite_builder import TFLiteBuilder
from support.systems.litert import run_litert

import qlower
from qlower.frontends.load import load
from qlower.model import Model
from qlower.runtime.executors import Level
from qlower.verification.equal import equal

WINDOW = {
    "padding": 0,
    "stride_h": 2,
    "stride_w": 1,
    "dilation_h_factor": 1,
    "dilation_w_factor": 1,
}
LAYERS = {
    "CONV_2D": ((1, 7, 6, 5), (8, 3, 2, 5), (1, 4, 6, 8)),
    "CONV_2D in groups": ((1, 7, 6, 6), (8, 3, 2, 3), (1, 4, 6, 8)),
    "DEPTHWISE_CONV_2D": ((1, 7, 6, 5), (1, 3, 3, 5), (1, 4, 6, 5)),
    "DEPTHWISE_CONV_2D of several filters": ((1, 7, 6, 2), (1, 3, 3, 6), (1, 4, 6, 6)),
    "DEPTHWISE_CONV_2D of many taps": ((1, 7, 6, 3), (1, 7, 5, 3), (1, 4, 6, 3)),
    "FULLY_CONNECTED": ((5, 37), (16, 37), (5, 16)),
    "FULLY_CONNECTED of a row": ((1, 39), (19, 39), (1, 19)),
    "FULLY_CONNECTED of three": ((1, 3), (19, 3), (1, 19)),
    "BATCH_MATMUL": ((2, 5, 37), (1, 37, 16), (2, 5, 16)),
}
"""Operators with the shapes of what they take and give."""

KERNELS = {"tflite": "ref", "tflite-ruy": "opt", "tflite-xnnpack": "xnn"}
CONTRACTS = [*KERNELS, "onnxruntime"]
REORDERED = """
module attributes {contract.base = "tflite"} {
func.func @real_linear(%sum: f32, %real_bias: f32) -> f32
    serves real_conv2d, real_depthwise_conv2d, real_linear
    attributes {contract.product = "fused"} {
  %y = arith.addf %sum, %real_bias : f32
  %result = func.call @clamp_real(%y) : (f32) -> f32
}
}
"""
"""The reference kernels', with FMAs."""

SMALLER_BLOCKS = """
module attributes {contract.base = "onnxruntime"} {
func.func @real_linear_block() -> i32 { %result = arith.constant 8 : i32 }
}
"""
"""ONNX Runtime's, in blocks of 8."""


def cancelling(shape: tuple[int, ...], seed: int) -> NDArray[np.float32]:
    """Numbers of many sizes, of which large ones cancel, and ties of sums."""
    draw = np.random.default_rng(seed)
    values = draw.standard_normal(shape) * np.exp2(draw.integers(-12, 12, shape))
    halves = draw.integers(-(1 << 12), 1 << 12, shape) * 2.0**-12
    values = np.where(draw.random(shape) < 0.4, halves, values).reshape(-1)
    values[1::4] = -values[: len(values[1::4]) * 4 : 4]
    return values.reshape(shape).astype(np.float32)


def layer(name: str, seed: int = 0) -> bytes:
    """A model of one layer on float32, with constant weights and a bias."""
    builder = TFLiteBuilder()
    source, filters, result = LAYERS[name]
    name = name.split()[0]
    options = dict(WINDOW) if "CONV" in name else {}
    if name == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = result[-1] // source[-1]
    x = builder.tensor("x", source, "float32")
    taken = [x, builder.tensor("w", filters, "float32", data=cancelling(filters, seed))]
    if name != "BATCH_MATMUL":
        bias = cancelling(result[-1:], seed + 1)
        taken.append(builder.tensor("b", result[-1:], "float32", data=bias))
    y = builder.tensor("y", result, "float32")
    builder.operator(name, taken, [y], options)
    return builder.build([x], [y])


def loaded(folder: Path, content: bytes) -> Model:
    path = folder / "model.tflite"
    path.write_bytes(content)
    return load(path)


@pytest.mark.parts(4)
@pytest.mark.parametrize("contract", KERNELS)
@pytest.mark.parametrize("name", LAYERS)
def test_litert_sums_in_this_order(name: str, contract: str, tmp_path: Path):
    pytest.importorskip("ai_edge_litert", reason="needs LiteRT (ai-edge-litert)")
    for seed in range(3):
        content = layer(name, seed)
        model = loaded(tmp_path, content)
        (spec,) = model.inputs
        x = cancelling(tuple(spec.shape), seed + 2)
        (expected,) = run_litert(content, [x], kernels=KERNELS[contract])
        given = qlower.interpret(model, x, contract=contract)
        np.testing.assert_array_equal(_bits(given), _bits(expected))


def _bits(values: object) -> NDArray[np.int32]:
    return np.asarray(values, np.float32).view(np.int32)


@pytest.mark.parts(5)
def test_a_planted_order_is_named(tmp_path: Path):
    """Sums in another order are found, told apart by their order, and not called
    equal."""
    model = loaded(tmp_path, layer("FULLY_CONNECTED"))
    mine = tmp_path / "mine.mlir"
    mine.write_text(REORDERED)
    x = cancelling((5, 37), 2)
    found = str(qlower.diff("tflite", str(mine), model, x))
    assert "tflite has the sequential sum from 0" in found
    assert "mine.mlir has the fused sum from 0" in found
    (verdict,) = equal("tflite", str(mine), model, native=False).layers
    assert verdict.verdict == "differs"
    (same,) = equal("tflite", "tflm", model, native=False).layers
    assert same.verdict == "equal"


def test_blocks_of_another_size_are_not_called_equal(tmp_path: Path):
    model = loaded(tmp_path, layer("FULLY_CONNECTED"))
    mine = tmp_path / "mine.mlir"
    mine.write_text(SMALLER_BLOCKS)
    (verdict,) = equal("onnxruntime", str(mine), model, native=False).layers
    assert verdict.verdict == "differs"
    found = str(qlower.diff("onnxruntime", str(mine), model, cancelling((5, 37), 2)))
    assert "onnxruntime has the fused blocks of 256 sum from the bias" in found
    assert "mine.mlir has the fused blocks of 8 sum from the bias" in found


def test_a_contract_without_the_rule_leaves_it_to_the_fallback(tmp_path: Path):
    """The order is that of the file's system, unless a contract or a layer says
    otherwise."""
    model = loaded(tmp_path, layer("CONV_2D"))
    x = cancelling((1, 7, 6, 5), 2)
    by_litert, by_exact, by_xnnpack = (
        _bits(qlower.interpret(model, x, contract=name))
        for name in ("tflite", "exact", "tflite-xnnpack")
    )
    np.testing.assert_array_equal(by_litert, by_exact)
    assert (by_litert != by_xnnpack).any()
    chosen = {"real_conv2d": "tflite-xnnpack"}
    given = qlower.interpret(model, x, contract="tflite", layer_contracts=chosen)
    np.testing.assert_array_equal(_bits(given), by_xnnpack)


@pytest.mark.parts(135)
@pytest.mark.parametrize("level", ["qnn", "arith", "kernel"])
@pytest.mark.parametrize("name", LAYERS)
def test_levels_agree(name: str, level: Level, tmp_path: Path):
    model = loaded(tmp_path, layer(name))
    (spec,) = model.inputs
    x = cancelling(tuple(spec.shape), 2)
    for contract in CONTRACTS:
        native = qlower.jit(model, contract=contract)(x)
        given = qlower.interpret(model, x, contract=contract, at=level)
        np.testing.assert_array_equal(_bits(given), _bits(native))


def island() -> bytes:
    """A convolution and a linear layer of a row on float32, behind quantized input."""
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 7, 6, 5), "int8", scale=0.05, zero_point=3)
    real = builder.tensor("real", (1, 7, 6, 5), "float32")
    builder.operator("DEQUANTIZE", [x], [real])
    w = builder.tensor("w", (8, 3, 2, 5), "float32", data=cancelling((8, 3, 2, 5), 0))
    b = builder.tensor("b", (8,), "float32", data=cancelling((8,), 1))
    image = builder.tensor("image", (1, 4, 6, 8), "float32")
    builder.operator("CONV_2D", [real, w, b], [image], dict(WINDOW))
    u = builder.tensor("u", (11, 192), "float32", data=cancelling((11, 192), 3))
    c = builder.tensor("c", (11,), "float32", data=cancelling((11,), 4))
    y = builder.tensor("y", (1, 11), "float32")
    builder.operator("FULLY_CONNECTED", [image, u, c], [y], {})
    return builder.build([x], [y])


@pytest.mark.parts(4)
@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_kernels_of_an_island_are_identified(contract: str, tmp_path: Path):
    """Each kind of LiteRT's kernels is named alone, and ONNX Runtime, from what each
    gives."""
    model = loaded(tmp_path, island())
    x = np.random.default_rng(0).integers(-128, 128, (1, 7, 6, 5)).astype(np.int8)
    if contract == "onnxruntime":
        pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")
        y = run_island(x, tmp_path / "island.onnx")
    else:
        pytest.importorskip("ai_edge_litert", reason="needs LiteRT (ai-edge-litert)")
        (y,) = run_litert(island(), [x], kernels=KERNELS[contract])
    found = qlower.identify({"y": y}, model, x, contracts=CONTRACTS, verify=False)
    assert found.names == [contract]


def run_island(x: NDArray[np.int8], path: Path) -> NDArray[np.float32]:
    """What ONNX Runtime gives for the layers of the island, each as it is written."""
    build = OnnxBuilder()
    image = build.node("Transpose", [build.input("real", x.shape)], perm=[0, 3, 1, 2])
    filters = cancelling((8, 3, 2, 5), 0).transpose(0, 3, 1, 2)
    constants = [np.ascontiguousarray(filters), cancelling((8,), 1)]
    inputs = [image, *map(build.constant, constants)]
    window: dict[str, Any] = {"strides": [2, 1], "pads": [1, 0, 1, 1]}
    image = build.node("Conv", inputs, kernel_shape=[3, 2], **window)
    image = build.node("Transpose", [image], perm=[0, 2, 3, 1])
    row = build.node("Reshape", [image, build.constant(np.array([1, 192]))])
    constants = [cancelling((11, 192), 3), cancelling((11,), 4)]
    build.output(build.node("Gemm", [row, *map(build.constant, constants)], transB=1))
    session = make_session(build.save(path), "DISABLE_ALL")
    real = (x.astype(np.int32) - 3).astype(np.float32) * np.float32(0.05)
    return session.run(None, {"real": real})[0]
