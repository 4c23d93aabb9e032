"""Convolutions and pools over three dimensions give ONNX Runtime's bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_layers import LEVELS, Layers
from support.machines.vnni import needs_vnni

import qlower
from qlower.diagnostics import QlowerError

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

SHAPE = (2, 4, 4, 5, 3)

WINDOWS: list[dict[str, Any]] = [
    {"strides": [2, 1, 1], "pads": [1, 0, 1, 0, 2, 1]},
    {"group": 2, "dilations": [1, 2, 1]},
    {"group": 4, "pads": [1] * 6},
]


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_convolutions(qdq: str, tmp_path: Path) -> None:
    """With groups, padding and dilation; stored integers and real numbers."""
    build = Layers()
    for attributes in WINDOWS:
        depth = 4 // attributes.get("group", 1)
        for kernel in ((2, 3, 2), (1, 1, 1)):
            x = build.value(*SHAPE)
            weights = build.weights((8, depth, *kernel))
            bias = build.weights((8,), "i4", 0)
            inputs = [build.pair(x, 0.02, 120), weights, bias]
            y = build.node("Conv", inputs, kernel_shape=kernel, **attributes)
            build.returned(build.pair(y, 0.05, 120))
    build.check(tmp_path, qdq)


@needs_vnni
def test_dynamic_convolutions(tmp_path: Path) -> None:
    """Padding holds the zero point, which is known, or only run time knows."""
    build = Layers()
    codes = [build.value(*SHAPE), "scale", "zero"]
    build.node("DynamicQuantizeLinear", [codes[0]], ["codes", *codes[1:]])
    for attributes in WINDOWS:
        depth = 4 // attributes.get("group", 1)
        for zero in ("zero", build.constant(np.array(7, np.uint8))):
            shape = (8, depth, 2, 3, 2)
            stored = build.random.integers(-128, 128, shape).astype(np.int8)
            points = build.constant(np.array(3 * (depth == 4), np.int8))
            inputs = ["codes", build.constant(stored), zero, points]
            build.output(build.node("ConvInteger", inputs, **attributes), "i4")
    build.check(tmp_path)


@pytest.mark.parts(4)
@pytest.mark.parametrize("qdq", LEVELS)
@pytest.mark.parametrize("type", ["u1", "i1"])
def test_pools(qdq: str, type: str, tmp_path: Path) -> None:
    build = Layers()
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("MaxPool", {"kernel_shape": [2, 3, 2], "pads": [1, 0, 1, 0, 1, 0]}),
        ("MaxPool", {"kernel_shape": [2, 2, 2], "strides": [2, 1, 1]}),
        ("AveragePool", {"kernel_shape": [2, 3, 2]}),
        (
            "AveragePool",
            {"kernel_shape": [2, 2, 2], "pads": [1] * 6, "count_include_pad": 1},
        ),
        ("GlobalAveragePool", {}),
        ("GlobalMaxPool", {}),
    ]
    for kind, attributes in kinds:
        x = build.value(*SHAPE)
        y = build.node(kind, [build.pair(x, 0.02, 5, type)], **attributes)
        build.returned(build.pair(y, 0.021, 5, type))
        if qdq == "as-written":
            build.returned(build.node(kind, [x], **attributes))
    build.check(tmp_path, qdq)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"ceil_mode": 1}, "ceil_mode 1 is not supported; expected 0"),
        ({"kernel_shape": [9, 2, 2]}, "a window of 9 is larger than the padded image"),
        ({"pads": [1] * 6}, "padded volume is not supported; expected no pads"),
    ],
)
def test_refusals(attributes: dict[str, Any], said: str, tmp_path: Path) -> None:
    build = Layers()
    given: dict[str, Any] = {"kernel_shape": [2, 2, 2], **attributes}
    build.returned(build.node("AveragePool", [build.value(*SHAPE)], **given))
    with pytest.raises(QlowerError, match=said):
        qlower.load(build.save(tmp_path / "model.onnx"), qdq="as-written")
