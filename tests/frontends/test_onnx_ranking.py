"""Ranks, running sums and constant places give ONNX Runtime's values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_layers import LEVELS, Layers

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_ranks(qdq: str, tmp_path: Path) -> None:
    """Of numbers some of which are equal, along any axis."""
    build = Layers()
    for axis, largest in ((0, 1), (1, 0), (-1, 1)):
        x = build.pair(build.value(4, 5, 6), 0.5, 3)
        count = build.constant(np.array([3]))
        names = [f"top{axis}", f"place{axis}"]
        build.node("TopK", [x, count], names, axis=axis, largest=largest)
        build.returned(names[0])
        build.output(build.node("Identity", [names[1]]), "i8")
        build.returned(build.node("Hardmax", [x], axis=axis))
    build.check(tmp_path, qdq)


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_places_of_extremes(qdq: str, tmp_path: Path) -> None:
    """Of equal numbers the first; largest and least of stored integers."""
    build = Layers(18)
    x = build.value(4, 5, 6)
    stored = build.pair(x, 0.5, 3)
    for kind in ("ArgMax", "ArgMin"):
        for value, axis, keepdims in ((x, 1, 0), (stored, -1, 1), (stored, 0, 0)):
            place = build.node(kind, [value], axis=axis, keepdims=keepdims)
            build.output(build.node("Identity", [place]), "i8")
    for kind in ("ReduceMax", "ReduceMin"):
        for axes, keepdims in (([1], 0), ([0, 2], 1)):
            along = build.constant(np.array(axes))
            extreme = build.node(kind, [stored, along], keepdims=keepdims)
            build.returned(build.pair(extreme, 0.5, 3))
    build.check(tmp_path, qdq)


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_running_sums(qdq: str, tmp_path: Path) -> None:
    build = Layers()
    for axis in (0, 1, -1):
        for exclusive in (0, 1):
            for reverse in (0, 1):
                x = build.value(4, 5, 6)
                operands = [x, build.constant(np.array(axis))]
                options: dict[str, Any] = {"exclusive": exclusive, "reverse": reverse}
                build.returned(build.node("CumSum", operands, **options))
    build.check(tmp_path, qdq)


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_constant_places(qdq: str, tmp_path: Path) -> None:
    """Of two updates at one place the last one counts."""
    build = Layers(18)
    indices = build.constant(np.array([[1, -1], [0, 2], [1, -1]]))
    x = build.value(3, 4, 5)
    build.returned(build.node("GatherND", [x, indices]))
    stored = build.node("GatherND", [build.pair(x, 0.03, 5), indices])
    build.returned(build.pair(stored, 0.03, 5))
    updates = build.value(3, 5)
    build.returned(build.node("ScatterND", [x, indices, updates]))
    axes = build.constant(np.array([1]))
    build.returned(build.node("ReduceLogSumExp", [x, axes]))
    build.check(tmp_path, qdq)


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_chosen_elements(qdq: str, tmp_path: Path) -> None:
    """Along an axis and of all elements; of updates at one place the
    last counts."""
    build = Layers(18)
    x = build.value(3, 4, 5)
    stored = build.pair(x, 0.03, 5)
    condition = build.constant(np.array([True, False, True, True]))
    build.returned(build.node("Compress", [x, condition], axis=1))
    build.returned(build.pair(build.node("Compress", [stored, condition]), 0.03, 5))
    lengths = build.constant(np.array([3, 1, 0, 2]))
    axes: dict[str, Any] = {"time_axis": 0, "batch_axis": 1}
    for value in (x, stored):
        build.returned(build.node("ReverseSequence", [value, lengths], **axes))
    steps = build.constant(np.array([4, 0, 3]))
    axes = {"time_axis": 1, "batch_axis": 0}
    build.returned(build.node("ReverseSequence", [x, steps], **axes))
    indices = build.constant(np.array([[[1, -1, 1]], [[0, 3, 2]]]))
    updates = build.value(2, 1, 3)
    for value in (x, stored):
        operands = [value, indices, updates]
        build.returned(build.node("ScatterElements", operands, axis=1))
    quotient = build.node("Div", [x, build.constant(0.0)])
    product = build.node("Mul", [quotient, build.constant(0.0)])
    build.output(nan := build.node("IsNaN", [product]), "b1")
    for sign in ("detect_positive", "detect_negative"):
        one_sign: dict[str, Any] = {sign: 0}
        endless = build.node("IsInf", [quotient], **one_sign)
        build.output(build.node("Xor", [nan, endless]), "b1")
    build.check(tmp_path, qdq)
