"""Weights of 4 and 2 bits, beside LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_builder import Option, TFLiteBuilder
from support.formats.tflite_cases import random_inputs
from support.machines.native import levels, run_object
from support.systems.litert import run_litert

import qlower
from qlower.codegen.skeletons.products.nibbles import Nibbles, SelectedNibbles
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_code import generate_code
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.diagnostics import QlowerError

WINDOW: dict[str, Option] = {
    "padding": 0,
    "stride_h": 1,
    "stride_w": 1,
    "dilation_h_factor": 1,
    "dilation_w_factor": 1,
}
Shapes: TypeAlias = Mapping[str, tuple[tuple[int, ...], ...]]
BIAS = {"int8": "int32", "int16": "int64", "float32": "float32"}
SHAPES = {
    "CONV_2D": ((1, 4, 5, 3), (5, 3, 3, 3), (1, 4, 5, 5)),
    "DEPTHWISE_CONV_2D": ((1, 4, 5, 3), (1, 3, 3, 3), (1, 4, 5, 3)),
    "FULLY_CONNECTED": ((2, 9), (5, 9), (2, 5)),
}
LARGE = {
    "CONV_2D": ((1, 5, 5, 16), (24, 3, 3, 16), (1, 5, 5, 24)),
    "FULLY_CONNECTED": ((1, 130), (64, 130), (1, 64)),
}


def packed(weights: NDArray[np.int8], bits: int = 4) -> bytes:
    """Several weights a byte, the first in the lowest bits."""
    count = 8 // bits
    flat = np.append(weights, np.zeros(-weights.size % count, np.int8)).view(np.uint8)
    places = bits * np.arange(count)
    fields = (flat.reshape(-1, count) & ((1 << bits) - 1)) << places
    return fields.sum(axis=1).astype(np.uint8).tobytes()


def layer(operator: str, dtype: str, shapes: Shapes = SHAPES, bits: int = 4) -> bytes:
    random = np.random.default_rng(3)
    given, shape, result = shapes[operator]
    axis = 3 if operator == "DEPTHWISE_CONV_2D" else 0
    most = 1 << bits - 1
    weights = random.integers(-most, most, shape).astype(np.int8)
    builder = TFLiteBuilder()

    def activation(name: str, sizes: Sequence[int], scale: float) -> int:
        if dtype == "float32":
            return builder.tensor(name, sizes, dtype)
        zero_point = 3 if dtype == "int8" else 0
        return builder.tensor(name, sizes, dtype, scale=scale, zero_point=zero_point)

    x = activation("x", given, 0.05)
    scales = [0.05 + 0.01 * n for n in range(shape[axis])]
    data = packed(weights, bits)
    w = builder.tensor("w", shape, f"int{bits}", scale=scales, axis=axis, data=data)
    bias = random.integers(-500, 500, result[-1]).astype(BIAS[dtype])
    b = builder.tensor("b", bias.shape, BIAS[dtype], data=bias)
    y = activation("y", result, 0.3)
    options = {} if operator == "FULLY_CONNECTED" else WINDOW
    builder.operator(operator, [x, w, b], [y], options)
    return builder.build([x], [y])


needs_litert = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)


@pytest.mark.parts(8)
@needs_litert
@pytest.mark.parametrize(
    ("operator", "dtype", "bits"),
    [
        *(("CONV_2D", dtype, 4) for dtype in BIAS),
        *(("FULLY_CONNECTED", dtype, bits) for dtype in BIAS for bits in (2, 4)),
        ("DEPTHWISE_CONV_2D", "int8", 4),
    ],
)
def test_bits(operator: str, dtype: str, bits: int, tmp_path: Path) -> None:
    path = tmp_path / "layer.tflite"
    path.write_bytes(layer(operator, dtype, bits=bits))
    model = qlower.load(path)
    for module in (model.module, lower_to_arith(model.module)):
        constants = (op for op in module.walk() if op.name.endswith(".constant"))
        assert sum("xi4>" in str(op) for op in constants) == 1
    function = qlower.jit(model)
    for seed in range(3):
        (x,) = random_inputs([(model.inputs[0].shape, dtype)], seed)
        (expected,) = run_litert(path.read_bytes(), [x])
        for found in (function(x), qlower.interpret(model, x, at="qnn")):
            np.testing.assert_array_equal(found, expected)


@needs_litert
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("scales", [[0.3], [0.1, 0.2, 0.3, 0.4, 0.7]], ids=len)
def test_lookup(bits: int, scales: list[float], tmp_path: Path) -> None:
    """Rows of a table as real numbers."""
    most = 1 << bits - 1
    table = np.random.default_rng(1).integers(-most, most, (5, 4, 7)).astype(np.int8)
    builder = TFLiteBuilder()
    data = packed(table, bits)
    rows = builder.tensor("rows", (4,), "int32")
    w = builder.tensor("w", table.shape, f"int{bits}", scale=scales, axis=0, data=data)
    y = builder.tensor("y", (4, *table.shape[1:]), "float32")
    builder.operator("EMBEDDING_LOOKUP", [rows, w], [y])
    path = tmp_path / "lookup.tflite"
    path.write_bytes(builder.build([rows], [y]))
    model = qlower.load(path)
    inputs = [np.array([4, 0, 2, 4], np.int32)]
    (expected,) = run_litert(path.read_bytes(), inputs)
    for found in (
        qlower.jit(model)(*inputs),
        qlower.interpret(model, *inputs, at="qnn"),
    ):
        np.testing.assert_array_equal(found, expected)


@needs_litert
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(("axis", "zero_points"), [(0, 0), (1, [0, 3, -5])])
def test_weights_alone(
    bits: int, axis: int, zero_points: int | list[int], tmp_path: Path
) -> None:
    """Weights that a DEQUANTIZE makes real, and an odd number of them."""
    most = 1 << bits - 1
    shape = (5, 3)
    weights = np.random.default_rng(1).integers(-most, most, shape).astype(np.int8)
    builder = TFLiteBuilder()
    scales = [0.1 + 0.07 * n for n in range(shape[axis])]
    stored = builder.tensor(
        "stored",
        shape,
        f"int{bits}",
        scale=scales,
        zero_point=zero_points,
        axis=axis,
        data=packed(weights, bits),
    )
    x = builder.tensor("x", (2, 3), "float32")
    w = builder.tensor("w", shape, "float32")
    y = builder.tensor("y", (2, 5), "float32")
    builder.operator("DEQUANTIZE", [stored], [w])
    builder.operator("FULLY_CONNECTED", [x, w, -1], [y])
    path = tmp_path / "layer.tflite"
    path.write_bytes(builder.build([x], [y]))
    model = qlower.load(path)
    inputs = random_inputs([((2, 3), "float32")], 1)
    (expected,) = run_litert(path.read_bytes(), inputs)
    for found in (
        qlower.jit(model)(*inputs),
        qlower.interpret(model, *inputs, at="qnn"),
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parts(2)
@needs_litert
@pytest.mark.parametrize("operator", LARGE)
def test_every_target(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layers whose weights lie two in a byte wherever there are products for that."""
    monkeypatch.setattr(Nibbles, "least_count", 0)
    monkeypatch.setattr(SelectedNibbles, "least_count", 0)
    path = tmp_path / "layer.tflite"
    path.write_bytes(layer(operator, "int8", LARGE))
    model = qlower.load(path)
    inputs = random_inputs([(model.inputs[0].shape, "int8")], 5)
    (expected,) = run_litert(path.read_bytes(), inputs)
    arith = lower_to_arith(model.module)
    for level, target in levels().items():
        code = generate_code(lower_to_kernel(arith, target), target)
        (found,) = run_object(code, inputs)
        np.testing.assert_array_equal(found, expected, level)


def test_epilogue(tmp_path: Path) -> None:
    """Requantization is proved on the sums that such weights give."""
    path = tmp_path / "layer.tflite"
    path.write_bytes(layer("FULLY_CONNECTED", "int8"))
    arith = lower_to_arith(qlower.load(path).module)
    kernel = lower_to_kernel(arith, resolve_target(cpu="x86-64-v3"))
    names = {op.name for op in kernel.walk()}
    assert "math.fma" in names
    assert "fixed.multiply_high" not in names


@pytest.mark.parametrize(
    ("operator", "dtype", "bits"),
    [
        ("DEPTHWISE_CONV_2D", "int16", 4),
        ("DEPTHWISE_CONV_2D", "float32", 4),
        ("DEPTHWISE_CONV_2D", "int8", 2),
        ("CONV_2D", "int8", 2),
        ("CONV_2D", "float32", 2),
    ],
)
def test_refusals(operator: str, dtype: str, bits: int, tmp_path: Path) -> None:
    """LiteRT refuses these or reads the packed bytes as something else."""
    path = tmp_path / "layer.tflite"
    path.write_bytes(layer(operator, dtype, bits=bits))
    message = f"tensor 1 'w': type INT{bits} is not supported here: LiteRT unpacks it"
    with pytest.raises(QlowerError, match=message):
        qlower.load(path)
