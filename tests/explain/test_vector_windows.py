"""Where vectors put inputs: windows that don't overlap, and what is drawn."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.explain import vectors as module
from qlower.model.layers import layers
from qlower.model.signature import TensorSpec
from qlower.text.parsing import parse_module

TYPES = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8<-127:127>:f32, 0.25>
!y = !quant.uniform<i8:f32, 4.0:7>
"""


def convolution(
    image: str,
    kernel: str,
    result: str,
    stride: str,
    pad: str,
    dilation: str,
    more: str,
) -> str:
    return f"""{TYPES}
func.func @main(%x: tensor<{image}x!x>) -> tensor<{result}x!y> {{
  %w = qnn.constant dense<3> : tensor<{kernel}xi8> -> tensor<{kernel}x!w>
  %y = qnn.conv2d %x, %w {{stride = [{stride}], pad = [{pad}], dilation = [{dilation}]
    {more}}} : (tensor<{image}x!x>, tensor<{kernel}x!w>) -> tensor<{result}x!y> loc("y")
  return %y : tensor<{result}x!y>
}}"""


PLAIN = ("2x5x6x2", "3x2x2x2", "2x4x5x3", "1, 1", "0, 0, 0, 0", "1, 1", "")
CASES: dict[str, tuple[tuple[str, ...], list[list[int]]]] = {
    "plain": (PLAIN, [[0, 2], [0, 2, 4]]),
    "strided": (
        ("2x5x6x2", "3x2x2x2", "2x2x2x3", "2, 3", "0, 0, 0, 0", "1, 1", ""),
        [[0, 2], [0, 3]],
    ),
    "padded": (
        ("1x5x6x2", "3x2x2x2", "1x6x7x3", "1, 1", "1, 1, 1, 1", "1, 1", ""),
        [[0, 2], [0, 2, 4]],
    ),
    "dilated": (
        ("1x5x6x2", "3x2x2x2", "1x3x3x3", "1, 1", "0, 0, 0, 0", "2, 3", ""),
        [[0], [0]],
    ),
    "none inside": (
        ("1x1x6x2", "3x2x2x2", "1x2x5x3", "1, 1", "1, 1, 0, 0", "1, 1", ""),
        [[], [0, 2, 4]],
    ),
}


def op_of(text: str) -> Any:
    model = qlower.Model(parse_module(text, "m.mlir"))
    *_, op = layers(model.module)
    return op


def inner(name: str) -> Any:
    return vars(module)[name]


@pytest.mark.parametrize("name", CASES)
def test_windows(name: str) -> None:
    given, (rows, columns) = CASES[name]
    found = list(inner("_windows")(op_of(convolution(*given))))
    images = int(given[0][0])
    assert found == [(n, y, x) for n in range(images) for y in rows for x in columns]


def test_inputs_of_a_window() -> None:
    """Of the channels that an output channel reads, at the places of the taps."""
    op = op_of(convolution(*CASES["dilated"][0]))
    image = np.zeros((1, 5, 6, 2), np.int8)
    taps = np.arange(1, 9)
    inner("_write")(op, image, (0, 1, 2), 2, taps)
    assert image[0, 1::2, 2::3][:2, :2].reshape(-1).tolist() == taps.tolist()
    assert np.count_nonzero(image) == 8
    grouped = convolution(
        "1x2x2x4",
        "6x2x2x2",
        "1x1x1x6",
        "1, 1",
        "0, 0, 0, 0",
        "1, 1",
        ", groups = 2 : i64",
    )
    for channel in range(6):
        image = np.zeros((1, 2, 2, 4), np.int8)
        inner("_write")(op_of(grouped), image, (0, 0, 0), channel, taps)
        first = 0 if channel < 3 else 2
        assert image[0, :, :, first : first + 2].reshape(-1).tolist() == taps.tolist()
        assert np.count_nonzero(image) == 8
    weights = np.arange(48).reshape(6, 2, 2, 2)
    assert inner("_taps_of")(op_of(grouped), weights, 4).tolist() == [*range(32, 40)]


DEPTHWISE = f"""{TYPES}
func.func @main(%x: tensor<1x3x3x2x!x>) -> tensor<1x3x3x4x!y> {{
  %w = qnn.constant dense<3> : tensor<1x1x2x4xi8> -> tensor<1x1x2x4x!w>
  %y = qnn.depthwise_conv2d %x, %w {{stride = [1, 1], pad = [0, 0, 0, 1],
    dilation = [1, 1]}} : (tensor<1x3x3x2x!x>, tensor<1x1x2x4x!w>) -> tensor<1x3x3x4x!y>
    loc("y")
  return %y : tensor<1x3x3x4x!y>
}}"""
LINEAR = f"""{TYPES}
func.func @main(%x: tensor<2x3x5x!x>) -> tensor<2x3x2x!y> {{
  %w = qnn.constant dense<3> : tensor<2x5xi8> -> tensor<2x5x!w>
  %y = qnn.linear %x, %w : (tensor<2x3x5x!x>, tensor<2x5x!w>) -> tensor<2x3x2x!y>
    loc("y")
  return %y : tensor<2x3x2x!y>
}}"""


def test_inputs_of_other_layers() -> None:
    op = op_of(DEPTHWISE)
    assert list(inner("_windows")(op)) == [(0, y, 0) for y in range(3)]
    for channel in range(4):
        image = np.zeros((1, 3, 3, 2), np.int8)
        inner("_write")(op, image, (0, 2, 1), channel, np.array([5, 6]))
        assert image[0, 2, 1:, channel // 2].tolist() == [5, 6]
        assert np.count_nonzero(image) == 2
    weights = np.arange(8).reshape(1, 1, 2, 4)
    assert inner("_taps_of")(op, weights, 3).tolist() == [3, 7]
    op = op_of(LINEAR)
    assert list(inner("_windows")(op)) == list(np.ndindex(2, 3))
    image = np.zeros((2, 3, 5), np.int8)
    inner("_write")(op, image, (1, 2), 0, np.arange(1, 6))
    assert image[1, 2].tolist() == [1, 2, 3, 4, 5]
    assert np.count_nonzero(image) == 5
    assert inner("_taps_of")(op, np.arange(10).reshape(2, 5), 1).tolist() == [
        *range(5, 10)
    ]


def test_sums_at_which_results_change() -> None:
    """Halves of codes, in steps of the sums."""
    layer = SimpleNamespace(op=op_of(LINEAR))
    edges = inner("_Layer")._edges(layer, {}, 2)
    assert edges.shape == (255, 2)
    assert edges[0].tolist() == [(-128 + 0.5 - 7) * 4 / 0.125] * 2
    assert edges[-1].tolist() == [(126 + 0.5 - 7) * 4 / 0.125] * 2


@pytest.mark.parametrize("name", ["plain", "none inside", "linear", "depthwise"])
def test_each_wanted_sum_has_a_window_of_its_own(name: str) -> None:
    """Where windows are inside of the image; other inputs are drawn."""
    texts = {"linear": LINEAR, "depthwise": DEPTHWISE}
    text = texts.get(name) or convolution(*CASES[name][0])
    found = qlower.vectors(qlower.Model(parse_module(text, "m.mlir")), "tflite")
    (layer,) = found.layers
    inputs = layer.arrays["input"]
    if name == "none inside":
        assert layer.count == module.RANDOM_RUNS
        assert (inputs[0] == -128).all()
        assert (inputs[1] == 127).all()
        return
    assert layer.coverage is not None
    assert layer.coverage.is_exhaustive
    shown, possible = layer.coverage.total
    assert shown == possible > 0
    assert layer.looked_at == "all sums"


def test_inputs_that_are_drawn() -> None:
    """The least and the greatest codes first."""
    layer: Any = SimpleNamespace(random=np.random.default_rng(0))
    drawn = inner("_Layer")._drawn
    spec = TensorSpec("x", (50,), "uint8")
    assert set(drawn(layer, spec, 0).tolist()) == {0}
    assert set(drawn(layer, spec, 1).tolist()) == {255}
    assert len(set(drawn(layer, spec, 2).tolist())) > 10
    real = TensorSpec("x", (50,), "float32")
    assert len(set(drawn(layer, real, 0).tolist())) == 50


@pytest.mark.parametrize(
    ("sizes", "dtypes", "count"),
    [
        ((64,), ("int8",), 4),
        ((256,), ("uint8",), 1),
        ((100,), ("int8",), 3),
        ((4096, 4096), ("int8", "int8"), 16),
        ((64, 32), ("int8", "int8"), 0),
        ((64,), ("int16",), 0),
    ],
)
def test_all_codes(sizes: tuple[int, ...], dtypes: tuple[str, ...], count: int) -> None:
    pairs = zip("xy", sizes, dtypes, strict=False)
    specs = [TensorSpec(name, (size,), dtype) for name, size, dtype in pairs]
    op = object.__new__(module.ELEMENTWISE[0])
    layer: Any = SimpleNamespace(specs=specs, op=op)
    found = inner("_Layer")._all_codes(layer)
    assert len(found) == count
    if count:
        met = [np.concatenate([run[n] for run in found]) for n in range(len(sizes))]
        codes = {*zip(*(one.tolist() for one in met), strict=True)}
        assert len(codes) == 256 ** len(sizes)


def test_most_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    op = object.__new__(module.ELEMENTWISE[0])
    for most, count in ((3, 0), (4, 4)):
        monkeypatch.setattr(module, "MOST_RUNS", most)
        layer: Any = SimpleNamespace(specs=[TensorSpec("x", (64,), "int8")], op=op)
        assert len(inner("_Layer")._all_codes(layer)) == count
    other: Any = SimpleNamespace(specs=[TensorSpec("x", (64,), "int8")], op=object())
    assert inner("_Layer")._all_codes(other) == []
    assert import_module("qlower.explain.vectors") is module
