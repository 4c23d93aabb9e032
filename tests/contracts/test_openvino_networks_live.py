"""Whole networks in QDQ form through OpenVINO, by the bits of their real outputs.

OpenVINO makes a real number of the last codes by one FMA where the zero point is one
constant of two DequantizeLinear whose difference it keeps, and else by two operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import models_directory
from support.machines.native import machine_levels
from support.systems.openvino_networks import (
    TWO_PAIRS,
    drawn_image,
    drawn_network,
    two_pairs,
)
from support.systems.real_networks import real_network

import qlower
from qlower.interp.values import Array

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        "avx512vnni" not in machine_levels(),
        reason="the contracts are those of a CPU with AVX-512 VNNI",
    ),
]

F = np.float32
IMAGES = 100
MOBILE = "mobilenet_v2_1.0_224_int8"


def openvino_of(path: Path) -> Callable[[Array], Array]:
    """OpenVINO's session of a file, in one thread, with float32."""
    openvino: Any = pytest.importorskip("openvino")
    core = openvino.Core()
    options = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    session = core.compile_model(core.read_model(path), "CPU", options)
    return lambda x: np.asarray(session([x])[0])


@pytest.mark.parametrize("seed", range(10))
def test_drawn_networks(seed: int, tmp_path: Path) -> None:
    path = drawn_network(seed, tmp_path / "network.onnx")
    live, run = openvino_of(path), qlower.jit(path, contract="openvino")
    draw = np.random.default_rng(seed)
    for _ in range(IMAGES):
        x = drawn_image(draw)
        np.testing.assert_array_equal(run(x), live(x))


def picture(draw: np.random.Generator) -> Array:
    """A smooth picture of numbers from -1 to 1."""
    steps = draw.normal(0, 8, (1, 3, 224, 224)).cumsum(2).cumsum(3)
    return ((steps.clip(-128, 127) + 128) / 127.5 - 1).astype(F)


def quantized_by_onnxruntime(path: Path, quantized: Path) -> None:
    """Write a network quantized by channel, with activations of uint8, in QDQ form."""
    quantization: Any = import_module("onnxruntime.quantization")
    draw = np.random.default_rng(1)

    class Pictures(quantization.CalibrationDataReader):
        left: Iterator[int] = iter(range(8))

        def get_next(self) -> dict[str, Array] | None:
            return None if next(self.left, None) is None else {"x": picture(draw)}

    quantization.quantize_static(
        path,
        quantized,
        Pictures(),
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        per_channel=True,
    )


def test_mobilenet_v2(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With its real weights. Its last pair of quantizers shares the zero point with the
    one before it; a warning says so: codes are equal, real numbers by the FMA."""
    pytest.importorskip("onnxruntime")
    files = [*(models_directory() / MOBILE).glob("model.*")]
    if not files:
        pytest.skip("no real models here")
    real = real_network(files[0]).save(tmp_path / "real.onnx")
    path = tmp_path / "quantized.onnx"
    quantized_by_onnxruntime(real, path)
    live, run = openvino_of(path), qlower.jit(path, contract="openvino")
    assert "'y'" in caplog.text
    scale, zero_point = steps_of_output(path)
    draw = np.random.default_rng(9)
    for _ in range(6):
        x = picture(draw)
        expected = live(x)
        np.testing.assert_array_equal(by_fma(run(x), scale, zero_point), expected)


def steps_of_output(path: Path) -> tuple[np.float32, int]:
    """The scale and zero point of the last DequantizeLinear of a file."""
    onnx: Any = import_module("onnx")
    graph = onnx.load(path).graph
    arrays = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    last = [node for node in graph.node if node.op_type == "DequantizeLinear"][-1]
    return F(arrays[last.input[1]]), int(arrays[last.input[2]])


def by_fma(found: Array, scale: np.float32, zero_point: int) -> Array:
    """The same codes of uint8 as real numbers: fma(q, F(F(hi - lo) / 255), lo)."""
    low, high = F(F(-zero_point) * scale), F(F(255 - zero_point) * scale)
    step = np.float64(F(F(high - low) / F(255)))
    codes = np.rint(found / np.float64(scale)) + zero_point
    return (codes * step + np.float64(low)).astype(F)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("operator", ["Flatten", "MaxPool"])
def test_zero_points_of_two_pairs(
    operator: str, shared: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = two_pairs(operator, tmp_path / "network.onnx", shared=shared)
    live, run = openvino_of(path), qlower.jit(path, contract="openvino")
    assert ("'y'" in caplog.text) == shared
    x = np.random.default_rng(3).normal(0, 3, (1, 4, 8, 8)).astype(F)
    found, expected = run(x), live(x)
    assert (found != expected).any() == shared
    if shared:
        found = by_fma(found, *TWO_PAIRS)
    np.testing.assert_array_equal(found, expected)
