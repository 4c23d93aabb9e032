"""Real functions of operations, against their exact arithmetic on stored integers."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.dialects.quant import quantized_element
from qlower.frontends.load import named
from qlower.interp.values import Array
from qlower.model.layers import layers
from qlower.text.parsing import parse_module

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
surrogate: Any = import_module("qlower.torch.surrogates").surrogate

TYPES = """
!x = !quant.uniform<i8:f32, 0.0625:5>
!y = !quant.uniform<i8:f32, 0.09375:-7>
!n = !quant.uniform<i8:f32, 7.8125e-03:0>
!p = !quant.uniform<i8:f32, 1.0:-20>
"""
BY_TFLM = ("sum", "l2_normalize", "squared_difference", "prelu")
"""Operations that `exact` has no rule for."""

IMAGE = "2x5x4x3"
WINDOW = "kernel = [2, 3], stride = [2, 1], pad = [1, 0, 1, 1]"

OPERATIONS = [
    f"avg_pool2d|{{{WINDOW}}}|2x3x4x3x!x",
    f"avg_pool2d|{{{WINDOW}, count_include_pad}}|2x3x4x3x!x",
    "avg_pool2d|{kernel = [2, 2], stride = [1, 2], pad = [1, 1, 1, 1]}|2x6x3x3x!x",
    f"max_pool2d|{{{WINDOW}}}|2x3x4x3x!x",
    "max_pool2d|{kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]}|2x2x2x3x!x",
    "adaptive_avg_pool2d||2x2x3x3x!x",
    "mean|{axes = [1, 2]}|2x3x!y",
    "mean|{axes = [3, 1], keep_dims}|2x1x4x1x!y",
    "sum|{axes = [3]}|2x5x4x!p",
    "l2_normalize||2x5x4x3x!n",
    "pad|{low = [0, 1, 0, 2], high = [0, 0, 3, 0], value = 9 : i32}|2x6x7x5x!x",
    "slice|{offsets = [0, 1, 0, 1], sizes = [2, 2, 4, 1], strides = [1, 2, 1, 1]}|"
    "2x2x4x1x!x",
    "transpose|{perm = [0, 3, 1, 2]}|2x3x5x4x!x",
    "reshape||2x60x!x",
    "clamp|{min = -1.0 : f64, max = 2.5 : f64}|2x5x4x3x!x",
    "relu||2x5x4x3x!x",
    "relu6||2x5x4x3x!x",
    "leaky_relu|{alpha = 0.25 : f64}|2x5x4x3x!x",
    "elu||2x5x4x3x!y",
    "sigmoid||2x5x4x3x!n",
    "tanh||2x5x4x3x!n",
    "hard_swish||2x5x4x3x!y",
    "softmax|{beta = 0.5 : f64}|2x5x4x3x!n",
    "requantize||2x5x4x3x!y",
]


def check(text: str, shapes: list[str]) -> None:
    """Results differ by half a step at most, by one where TFLM rounds twice."""
    model = named(parse_module(text), None)
    random = np.random.default_rng(0)
    stored: list[Array] = [
        random.integers(-128, 128, [*map(int, shape.split("x"))]).astype(np.int8)
        for shape in shapes
    ]
    (op,) = layers(model.module)
    types = [quantized_element(value.type) for value in (*op.operands, *op.results)]
    given = [
        torch.from_numpy((array.astype(np.float64) - type.zero_point) * type.scale)
        for array, type in zip(stored, types, strict=False)
    ]
    (found,) = surrogate(op, given)
    is_exact = op.name.removeprefix("qnn.") not in BY_TFLM
    contract = "exact" if is_exact else "tflm"
    result = np.asarray(qlower.interpret(model, *stored, contract=contract))
    steps = found.numpy() / types[-1].scale + types[-1].zero_point
    assert steps.shape == result.shape
    assert np.abs(steps.clip(-128, 127) - result).max() < (0.502 if is_exact else 1.01)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_of_one_operand(operation: str) -> None:
    name, attributes, result = operation.split("|")
    check(
        f"""{TYPES}func.func @main(%x: tensor<{IMAGE}x!x>) -> tensor<{result}> {{
  %y = qnn.{name} %x {attributes} : (tensor<{IMAGE}x!x>) -> tensor<{result}>
  return %y : tensor<{result}>
}}""",
        [IMAGE],
    )


PAIRS = {
    **{name: (IMAGE, "2x1x4x3", "!y") for name in ("add", "sub", "mul")},
    "squared_difference": (IMAGE, IMAGE, "!p"),
    "prelu": (IMAGE, "3", "!y"),
    "linear": ("4x6", "5x6", "!p"),
    "matmul": ("4x6", "6x5", "!p"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_of_two_operands(name: str) -> None:
    *shapes, element = PAIRS[name]
    result = "4x5" if shapes[0] == "4x6" else IMAGE
    a, b, y = (
        f"tensor<{s}x{t}>"
        for s, t in zip((*shapes, result), ("!x", "!x", element), strict=True)
    )
    check(
        f"""{TYPES}func.func @main(%a: {a}, %b: {b}) -> {y} {{
  %y = qnn.{name} %a, %b : ({a}, {b}) -> {y}
  return %y : {y}
}}""",
        list(shapes),
    )
