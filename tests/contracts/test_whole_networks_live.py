"""Whole networks by the readers, converters and quantizers of OpenVINO, MNN and ncnn.

ncnn's quantizer isn't in its package: it is the program `ncnn2int8`, where that exists.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.formats.ncnn_files import ncnn_answer
from support.machines.native import machine_levels
from support.systems.mnn_networks import (
    layers_of_codes,
    mnn_values,
    module_of,
    quantized_by_mnn,
)
from support.systems.phone_systems import channels_last, openvino_logits
from support.systems.real_networks import ncnn_resnet8, real_network

import qlower
from qlower.interp.values import Array

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        "avx512vnni" not in machine_levels(),
        reason="the contracts are those of a CPU with AVX-512 VNNI",
    ),
    pytest.mark.skipif(not models_directory().is_dir(), reason="no real models here"),
]

F = np.float32
NETWORK_RUNS = 200
IMAGE_SCALE = 0.0039215688593685627
"""A step of the pictures that the ONNX file takes as real numbers."""


def network_file(name: str) -> Path:
    (path,) = (models_directory() / name).glob("model.*")
    return path


def image(draw: np.random.Generator, size: int = 32) -> Array:
    """A smooth picture of bytes as real numbers, with channels first."""
    steps = draw.normal(0, 8, (1, 3, size, size)).cumsum(2).cumsum(3)
    return (steps.clip(-128, 127) + 128).astype(np.float32)


@pytest.mark.parametrize(
    ("network", "layer"),
    [("ic_resnet8_int8", "dense"), ("vww_qdq_onnx", "t87_q")],
)
def test_whole_network_on_openvino(network: str, layer: str) -> None:
    """By its own readers, up to the logits, whose softmax is of real numbers."""
    pytest.importorskip("openvino")
    path = network_file(network)
    model = qlower.load(path, outputs=[layer])
    run, live = qlower.jit(model, contract="openvino"), openvino_logits(path)
    (given,), (logits,) = run.inputs, run.outputs
    draw = np.random.default_rng(len(network))
    for _ in range(NETWORK_RUNS):
        codes = draw.integers(-128, 128, given.shape)
        if draw.integers(2):  # a smooth picture
            steps = draw.normal(0, 8, given.shape).cumsum(1).cumsum(2)
            codes = steps.clip(-128, 127).round()
        x = codes.astype(given.dtype)
        if given.dtype == np.float32:
            x = (codes + 128).astype(np.float32) * np.float32(IMAGE_SCALE)
        steps = live(x) / logits.scale
        assert abs(steps - np.rint(steps)).max() < 1e-3
        expected = np.rint(steps) + logits.zero_point
        np.testing.assert_array_equal(run(x), expected.reshape(logits.shape))


@pytest.mark.parametrize(
    ("network", "layers", "size", "runs"),
    [
        ("ic_resnet8_int8", 14, 32, NETWORK_RUNS),
        ("mobilenet_v2_1.0_224_int8", 64, 224, 10),
    ],
)
def test_whole_network_on_mnn(
    network: str, layers: int, size: int, runs: int, tmp_path: Path
) -> None:
    """By its own converter and quantizer, all values that it has as codes."""
    pytest.importorskip("_tools")
    path = real_network(network_file(network)).save(tmp_path / "network.onnx")
    draw = np.random.default_rng(8)

    def picture() -> Array:
        pixels = image(draw, size)
        # MobileNetV2 takes numbers from -1 to 1
        return pixels if size == 32 else pixels / F(127.5) - F(1)

    graph = quantized_by_mnn(path, [picture() for _ in range(8)])
    names = layers_of_codes(graph)
    assert len(names) == layers
    run = qlower.jit(module_of(graph, names, (1, size, size, 3)), contract="mnn")
    for _ in range(runs):
        x = picture()
        found = run(np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
        expected = mnn_values(path.with_suffix(".mnn"), x, names)
        for spec, codes, real in zip(run.outputs, found, expected, strict=True):
            assert spec.scale is not None
            steps = channels_last(real.astype(np.float64) / spec.scale)
            expected_codes = np.rint(steps) + spec.zero_point
            np.testing.assert_array_equal(codes, expected_codes, spec.name)


@pytest.mark.skipif(not shutil.which("ncnn2int8"), reason="no ncnn2int8 here")
def test_whole_network_on_ncnn(tmp_path: Path) -> None:
    """By its own quantizer, all values: codes, and the real numbers between them."""
    pytest.importorskip("ncnn")
    file, scales = ncnn_resnet8(network_file("ic_resnet8_int8"))
    real = file.save(tmp_path / "real.param")
    path, table = tmp_path / "codes.param", tmp_path / "table"
    table.write_text(scales)
    given = [real, real.with_suffix(".bin"), path, path.with_suffix(".bin"), table]
    subprocess.run(["ncnn2int8", *given], check=True, capture_output=True)
    layers = [line.split() for line in path.read_text().splitlines()[2:]]
    names = [words[4 + int(words[2])] for words in layers if words[3] == "1"][1:]
    assert len(names) == 17
    run = qlower.jit(qlower.load(path, outputs=names))
    draw = np.random.default_rng(8)
    for _ in range(NETWORK_RUNS):
        x = image(draw)
        for name, found, live in zip(
            names, run(x), ncnn_answer(path, x, names), strict=True
        ):
            np.testing.assert_array_equal(found, live.reshape(found.shape), name)
