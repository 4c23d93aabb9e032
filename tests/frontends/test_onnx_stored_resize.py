"""Images of stored integers that are interpolated give ONNX Runtime's integers, where
its optimizer lets channels lie last and where it doesn't."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import MICROSOFT, OnnxBuilder
from support.formats.onnx_models import contract_here, make_session

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import AS_WRITTEN, X86

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

CHANNELS, HEIGHT, WIDTH = 4, 6, 7
LEVELS = {AS_WRITTEN: "DISABLE_ALL", X86: "ENABLE_ALL"}


class Images(OnnxBuilder):
    def __init__(self, type: str) -> None:
        super().__init__(18)
        self.type = type
        self.zero = 120 if type == "u1" else -5
        self.random = np.random.default_rng(4)
        self.input("x", (1, CHANNELS, HEIGHT, WIDTH), type)

    def scale(self) -> list[str]:
        return self.parameters(0.1, self.zero, self.type)

    def convolved(self, x: str, group: int = 1) -> str:
        shape = (CHANNELS, CHANNELS // group, 3, 3)
        weights = self.constant(self.random.integers(-90, 90, shape).astype("i1"))
        inputs = [x, *self.scale(), weights, *self.parameters(0.01, 0, "i1")]
        options: dict[str, Any] = {"pads": [1] * 4, "group": group}
        return self.node("QLinearConv", [*inputs, *self.scale()], **options)

    def resized(self, x: str, mode: str = "half_pixel") -> str:
        sizes = self.constant(np.array([1, CHANNELS, 11, 5]))
        options = {"mode": "linear", "coordinate_transformation_mode": mode}
        return self.node("Resize", [x, "", "", sizes], **options)

    def added(self, x: str, y: str) -> str:
        inputs = [x, *self.scale(), y, *self.scale(), *self.scale()]
        return self.node("QLinearAdd", inputs, domain=MICROSOFT)


CHAINS: dict[str, Callable[[Images], str]] = {
    "alone": lambda build: build.resized("x", "align_corners"),
    "before": lambda build: build.convolved(build.resized("x")),
    "behind": lambda build: build.resized(build.convolved("x")),
    "between": lambda b: b.convolved(b.resized(b.convolved("x"), "align_corners")),
    "depthwise": lambda b: b.resized(b.convolved("x", CHANNELS), "asymmetric"),
    "sum": lambda b: b.resized(b.added(b.convolved("x"), b.convolved("x"))),
    "sum_of_images": lambda b: b.added(b.resized("x"), b.resized(b.convolved("x"))),
    "pool": lambda b: b.resized(
        b.node("MaxPool", [b.convolved("x")], kernel_shape=[2, 2])
    ),
    "pooled_input": lambda b: b.resized(
        b.node("MaxPool", ["x"], kernel_shape=[2, 2], strides=[1, 1])
    ),
    "twice": lambda b: b.resized(b.resized(b.convolved("x")), "align_corners"),
    "sum_before": lambda b: b.convolved(b.resized(b.added("x", "x"))),
}
"""What is before and behind the operator, by a name."""


@pytest.mark.parts(20)
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("qdq", LEVELS)
@pytest.mark.parametrize("type", ["u1", "i1"])
def test_interpolated_integers(type: str, qdq: str, chain: str, tmp_path: Path) -> None:
    build = Images(type)
    build.output(CHAINS[chain](build), type)
    path = build.save(tmp_path / "model.onnx")
    shape = (1, CHANNELS, HEIGHT, WIDTH)
    limits = np.iinfo(type)
    given = build.random.integers(limits.min, limits.max, shape, endpoint=True)
    x = given.astype(type)
    (expected,) = make_session(path, LEVELS[qdq], {}).run(None, {"x": x})
    model = qlower.load(path, qdq=qdq)
    contract = contract_here(model)
    for found in (
        qlower.jit(model, contract)(x),
        qlower.interpret(model, x, contract=contract),
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["sum", "transposed"])
def test_images_that_may_lie_in_either_way(kind: str, tmp_path: Path) -> None:
    build = Images("u1")
    image = build.convolved("x")
    if kind == "sum":
        image = build.added(image, "x")
    else:
        image = build.node("Transpose", [image], perm=[0, 1, 3, 2])
    build.output(build.resized(image), "u1")
    path = build.save(tmp_path / "model.onnx")
    with pytest.raises(QlowerError, match="decides how they lie in memory"):
        qlower.load(path, qdq=X86)
    qlower.load(path, qdq=AS_WRITTEN)
