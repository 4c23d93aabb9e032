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
from support.mnn_networks import (
    layers_of_codes,
    mnn_values,
    module_of,
    quantized_by_mnn,
)
from support.native import machine_levels
from support.ncnn_files import ncnn_answer
from support.phone_systems import channels_last, openvino_logits
from support.real_networks import ncnn_resnet8, real_resnet8

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

NETWORK_RUNS = 200
IMAGE_SCALE = 0.0039215688593685627
"""A step of the pictures that the ONNX file takes as real numbers."""


def resnet8() -> Path:
    (path,) = (models_directory() / "ic_resnet8_int8").glob("model.*")
    return path


def image(draw: np.random.Generator) -> Array:
    """A smooth picture of bytes as real numbers, with channels first."""
    steps = draw.normal(0, 8, (1, 3, 32, 32)).cumsum(2).cumsum(3)
    return (steps.clip(-128, 127) + 128).astype(np.float32)


@pytest.mark.parametrize(
    ("network", "layer"),
    [("ic_resnet8_int8", "dense"), ("vww_qdq_onnx", "t87_q")],
)
def test_whole_network_on_openvino(network: str, layer: str) -> None:
    """By its own readers, up to the logits, whose softmax is of real numbers."""
    pytest.importorskip("openvino")
    (path,) = (models_directory() / network).glob("model.*")
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


def test_whole_network_on_mnn(tmp_path: Path) -> None:
    """By its own converter and quantizer, all values that it has as codes."""
    pytest.importorskip("_tools")
    path = real_resnet8(resnet8()).save(tmp_path / "resnet8.onnx")
    draw = np.random.default_rng(8)
    graph = quantized_by_mnn(path, [image(draw) for _ in range(8)])
    names = layers_of_codes(graph)
    assert len(names) == 14
    run = qlower.jit(module_of(graph, names, (1, 32, 32, 3)), contract="mnn")
    for _ in range(NETWORK_RUNS):
        x = image(draw)
        found = run(np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
        expected = mnn_values(path.with_suffix(".mnn"), x, names)
        for spec, codes, real in zip(run.outputs, found, expected, strict=True):
            assert spec.scale is not None
            steps = channels_last(real.astype(np.float64) / spec.scale)
            np.testing.assert_array_equal(codes, np.rint(steps), spec.name)


@pytest.mark.skipif(not shutil.which("ncnn2int8"), reason="no ncnn2int8 here")
def test_whole_network_on_ncnn(tmp_path: Path) -> None:
    """By its own quantizer, all values: codes, and the real numbers between them."""
    pytest.importorskip("ncnn")
    file, scales = ncnn_resnet8(resnet8())
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
