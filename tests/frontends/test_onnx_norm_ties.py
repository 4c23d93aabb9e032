"""Normalized numbers next to a tie of the codes that they become give ONNX Runtime's
codes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_layers import Layers
from support.formats.onnx_models import make_session

from qlower.interp.values import Array

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

ROWS, CHANNELS = 5, 96
KINDS: dict[str, tuple[Sequence[int], int, dict[str, Any]]] = {
    "LayerNormalization": ((ROWS, CHANNELS), 2, {"epsilon": 1e-6}),
    "RMSNormalization": ((ROWS, CHANNELS), 1, {"epsilon": 1e-5}),
    "InstanceNormalization": ((1, CHANNELS, ROWS, 1), 2, {"epsilon": 1e-4}),
    "GroupNormalization": ((1, CHANNELS, ROWS, 1), 2, {"num_groups": 4}),
}
"""The shape, the number of parameters and the attributes of each kind."""


def normalized(kind: str) -> tuple[Layers, str]:
    shape, count, attributes = KINDS[kind]
    build = Layers(23)
    x = build.value(*shape)
    parameters = [
        build.constant(build.random.normal(size=CHANNELS).astype(np.float32))
        for _ in range(count)
    ]
    return build, build.node(kind, [x, *parameters], **attributes)


def near_ties(kind: str, given: Array, folder: Path) -> Array:
    """A scale for each channel by which ONNX Runtime's number for one of its rows is
    half a code from others, or a few units in the last place from that."""
    build, result = normalized(kind)
    build.returned(result)
    path = build.save(folder / "real.onnx")
    (found,) = make_session(path, "DISABLE_ALL", {}).run(None, {"x0": given})
    rows = np.asarray(found).reshape(
        (ROWS, CHANNELS) if given.ndim == 2 else (CHANNELS, ROWS)
    )
    rows = rows if given.ndim == 2 else rows.T
    random = np.random.default_rng(7)
    columns = np.arange(CHANNELS)
    chosen = np.abs(rows[random.integers(0, ROWS, CHANNELS), columns])
    halves = random.integers(2, 60, CHANNELS).astype(np.float32) + np.float32(0.5)
    scales = (chosen / halves).astype(np.float32)
    steps = random.integers(-2, 3, CHANNELS).astype(np.int32)
    return (scales.view(np.int32) + steps).view(np.float32)


@pytest.mark.parts(4)
@pytest.mark.parametrize("kind", KINDS)
def test_normalized_numbers_at_ties(kind: str, tmp_path: Path) -> None:
    shape, _, _ = KINDS[kind]
    given = np.random.default_rng(3).normal(0, 2, shape).astype(np.float32)
    scales = near_ties(kind, given, tmp_path)
    build, result = normalized(kind)
    points = build.constant(np.zeros(CHANNELS, np.int8))
    operands = [result, build.constant(scales), points]
    build.output(build.node("QuantizeLinear", operands, axis=1), "i1")
    build.check(tmp_path, given={"x0": given})
