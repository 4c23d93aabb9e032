"""Transposed convolutions give ONNX Runtime's bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_layers import LEVELS, Layers

import qlower
from qlower.diagnostics import QlowerError

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

LAYERS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "strides": ((2, 4, 5, 6), (4, 3, 3, 3), {"strides": [2, 2]}),
    "groups": ((2, 4, 5, 6), (4, 2, 3, 2), {"group": 2, "pads": [1, 0, 1, 1]}),
    "depthwise": ((1, 4, 5, 6), (4, 1, 3, 3), {"group": 4, "strides": [2, 3]}),
    "dilated": (
        (1, 3, 5, 4),
        (3, 2, 2, 3),
        {"dilations": [2, 3], "strides": [2, 1], "output_padding": [1, 0]},
    ),
    "latent": ((2, 150, 1, 1), (150, 5, 4, 4), {}),
    "deep": ((1, 300, 3, 3), (300, 3, 2, 2), {"strides": [2, 2]}),
    "single": ((1, 300, 3, 3), (300, 1, 1, 1), {}),
    "row": ((2, 4, 9), (4, 3, 5), {"strides": [3], "pads": [2, 1]}),
    "volume": ((1, 2, 3, 4, 2), (2, 3, 2, 2, 3), {"strides": [2, 1, 2]}),
}


@pytest.mark.parts(18)
@pytest.mark.parametrize("qdq", LEVELS)
@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str, qdq: str, tmp_path: Path) -> None:
    """Of weights as they are, of dequantized ones, and between quantizations."""
    shape, filters, attributes = LAYERS[name]
    build = Layers()
    x = build.value(*shape)
    count = filters[1] * attributes.get("group", 1)
    real = build.random.normal(size=filters).astype(np.float32)
    given = [build.constant(real), build.weights(filters)]
    if qdq == "as-written":
        for weights in given:
            build.returned(build.node("ConvTranspose", [x, weights], **attributes))
    bias = build.weights((count,), "i4", 0)
    inputs = [build.pair(x, 0.02, 120), given[1], bias]
    y = build.node("ConvTranspose", inputs, **attributes)
    build.returned(build.pair(y, 0.03, 120))
    build.check(tmp_path, qdq)


def test_a_normalization_behind_it(tmp_path: Path) -> None:
    """ONNX Runtime changes the weights by it, unless it runs what is written."""
    build = Layers()
    x = build.pair(build.value(1, 2, 4, 4), 0.02, 120)
    weights = build.constant(build.random.normal(size=(2, 3, 3, 3)))
    parameters = [build.constant(np.array([0.5, 1, 2])) for _ in range(4)]
    y = build.node("ConvTranspose", [x, weights])
    build.returned(build.node("BatchNormalization", [y, *parameters]))
    build.check(tmp_path)
    with pytest.raises(QlowerError, match="by the normalization behind it"):
        qlower.load(tmp_path / "model.onnx")


def test_refusal(tmp_path: Path) -> None:
    build = Layers()
    x, weights = build.value(1, 2, 4, 4), build.weights((2, 2, 3, 3))
    build.returned(build.node("ConvTranspose", [x, weights], output_shape=[9, 9]))
    with pytest.raises(QlowerError, match="output_shape is not supported"):
        qlower.load(build.save(tmp_path / "model.onnx"))
