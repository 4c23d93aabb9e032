"""MNN and ncnn as peers, on ResNet8 in their forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.formats.ncnn_files import ncnn_answer
from support.systems.mnn_networks import mnn_values, quantized_by_mnn
from support.systems.real_networks import ncnn_resnet8, real_network

from qlower.bench.peers import Unavailable, prepare_peer
from qlower.interp.values import Array

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not models_directory().is_dir(), reason="no real models here"),
]


def resnet8() -> Path:
    (path,) = (models_directory() / "ic_resnet8_int8").glob("model.*")
    return path


def image() -> Array:
    draw = np.random.default_rng(3)
    return draw.uniform(0, 255, (1, 3, 32, 32)).astype(np.float32)


def test_mnn(tmp_path: Path) -> None:
    pytest.importorskip("_tools")
    path, x = real_network(resnet8()).save(tmp_path / "model.onnx"), image()
    quantized_by_mnn(path, [x])
    file = path.with_suffix(".mnn")
    (expected,) = mnn_values(file, x, ["y"])
    ran = prepare_peer("mnn", path, None, [x], 1)
    assert ran.outputs
    (found,) = ran.outputs()
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(Unavailable, match="Invalid model file"):
        prepare_peer("mnn", path, path, [x], 1)
    # codes aren't what it takes
    assert prepare_peer("mnn", path, None, [x.astype(np.int8)], 1).outputs is None


def test_ncnn(tmp_path: Path) -> None:
    pytest.importorskip("ncnn")
    file, _ = ncnn_resnet8(resnet8())
    path, x = file.save(tmp_path / "model.param"), image()
    name = path.read_text().split("\n")[-2].split()[5]
    (expected,) = ncnn_answer(path, x, [name])
    ran = prepare_peer("ncnn", path, None, [x], 1)
    assert ran.outputs
    (found,) = ran.outputs()
    # other layouts add in other orders
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    codes = x.transpose(0, 2, 3, 1).astype(np.int8)
    assert prepare_peer("ncnn", path, None, [codes], 1).outputs is None
    with pytest.raises(Unavailable, match="1 inputs, the model 2"):
        prepare_peer("ncnn", path, None, [x, x], 1)
