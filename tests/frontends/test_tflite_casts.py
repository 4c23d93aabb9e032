"""Casts, and integers that have no scale, beside LiteRT's reference kernels."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from support.formats.tflite_builder import TFLiteBuilder
from support.systems.litert import run_litert
from support.values.same_numbers import assert_same

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite

pytestmark = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)

REAL = [-5, 300, 128.7, -0.5, 255.9, -129, 70000, 3e9, 1e10, -1e10]
EDGES = np.array([*REAL, np.inf, -np.inf, np.nan], np.float32)


@pytest.mark.parts(2)
@pytest.mark.parametrize("type", ["int8", "uint8", "int16", "int32", "int64", "bool"])
def test_edges_of_real_numbers(type: str) -> None:
    builder = TFLiteBuilder()
    x = builder.tensor("x", EDGES.shape, "float32")
    y = builder.tensor("y", EDGES.shape, type)
    builder.operator("CAST", [x], [y])
    data = builder.build([x], [y])
    model = qlower.Model(import_tflite(data, name="model.tflite"))
    (wanted,) = run_litert(data, [EDGES])
    assert_same(qlower.jit(model)(EDGES), wanted)
    assert_same(qlower.interpret(model, EDGES), wanted)


@pytest.mark.parametrize("type", ["int8", "uint8", "int16"])
def test_integers_without_a_scale(type: str) -> None:
    """They can be moved and cast; arithmetic needs a scale."""
    builder = TFLiteBuilder()
    x, y = (builder.tensor(n, (4,), type) for n in "xy")
    real = builder.tensor("real", (4,), "float32")
    back = builder.tensor("back", (4,), type)
    axis = builder.tensor("axis", (1,), "int32", data=[0])
    builder.operator("REVERSE_V2", [x, axis], [y])
    builder.operator("CAST", [y], [real])
    builder.operator("CAST", [real], [back])
    data = builder.build([x], [y, real, back])
    model = qlower.Model(import_tflite(data, name="model.tflite"))
    given = (
        np.array([100, -128, 3, 127], np.int8)
        .view(type if type == "uint8" else "int8")
        .astype(type)
    )
    found = qlower.jit(model)(given)
    for one, wanted in zip(found, run_litert(data, [given]), strict=True):
        assert_same(one, wanted)
    builder.operator("ADD", [x, x], [total := builder.tensor("t", (4,), type)])
    with pytest.raises(QlowerError, match="without a scale is not supported by ADD"):
        import_tflite(builder.build([x], [total]), name="model.tflite")
