"""StableHLO on plain integers, beside NumPy and whole numbers of Python."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from support.formats.stablehlo import has_interpreter, run_interpreter

import qlower
from qlower.interp.values import Array

INTEGERS = """
func.func @main(%x: tensor<2x6x6x3xi8>, %w: tensor<3x3x3x4xi8>, %m: tensor<4x5xi8>)
    -> (tensor<2x4x4x5xi32>, tensor<2x4x4x5xi8>) {
  %sums = stablehlo.convolution(%x, %w)
    dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[0, 0], [0, 0]], reverse = [false, false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x6x6x3xi8>, tensor<3x3x3x4xi8>) -> tensor<2x4x4x4xi32>
  %eight = stablehlo.constant dense<9> : tensor<2x4x4x4xi32>
  %down = stablehlo.shift_right_arithmetic %sums, %eight : tensor<2x4x4x4xi32>
  %codes = stablehlo.convert %down : (tensor<2x4x4x4xi32>) -> tensor<2x4x4x4xi8>
  %total = stablehlo.dot_general %codes, %m, contracting_dims = [3] x [0]
    : (tensor<2x4x4x4xi8>, tensor<4x5xi8>) -> tensor<2x4x4x5xi32>
  %real = stablehlo.convert %total : (tensor<2x4x4x5xi32>) -> tensor<2x4x4x5xf32>
  %scale = stablehlo.constant dense<0.0625> : tensor<2x4x4x5xf32>
  %scaled = stablehlo.multiply %real, %scale : tensor<2x4x4x5xf32>
  %rounded = stablehlo.round_nearest_even %scaled : tensor<2x4x4x5xf32>
  %least = stablehlo.constant dense<-128.0> : tensor<f32>
  %most = stablehlo.constant dense<127.0> : tensor<f32>
  %clamped = stablehlo.clamp %least, %rounded, %most
    : (tensor<f32>, tensor<2x4x4x5xf32>, tensor<f32>) -> tensor<2x4x4x5xf32>
  %stored = stablehlo.convert %clamped : (tensor<2x4x4x5xf32>) -> tensor<2x4x4x5xi8>
  return %total, %stored : tensor<2x4x4x5xi32>, tensor<2x4x4x5xi8>
}
"""


def test_plain_integers(tmp_path: Path) -> None:
    """A layer as JAX writes those of int8: products of plain integers, a shift, and a
    scale in float32."""
    path = tmp_path / "integers.mlir"
    path.write_text(INTEGERS)
    model, random = qlower.load(path), np.random.default_rng(0)
    x, w, m = (
        random.integers(-128, 128, shape).astype(np.int8)
        for shape in ((2, 6, 6, 3), (3, 3, 3, 4), (4, 5))
    )
    windows = np.lib.stride_tricks.sliding_window_view(x, (1, 3, 3, 1))[..., 0, :, :, 0]
    sums = np.einsum("byxchw,hwco->byxo", windows.astype(np.int32), w.astype(np.int32))
    total = (sums >> 9).astype(np.int8).astype(np.int32) @ m.astype(np.int32)
    stored = np.clip(np.rint(total.astype(np.float32) * np.float32(0.0625)), -128, 127)
    for found in (qlower.jit(model)(x, w, m), qlower.interpret(model, x, w, m)):
        np.testing.assert_array_equal(found[0], total)
        np.testing.assert_array_equal(found[1], stored)


WIDTHS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
REAL = [0.0, 1.0, -1.0, 2.5, -2.5, 127.0, 128.0, -129.0, 4e4, 3e9, -1e30]
WHOLE = [0, 1, -1, 127, 128, -128, -129, 255, 32768, -40000, 2**24 + 1, -(2**33)]


def array(values: Sequence[float], type: str) -> Array:
    """Numbers of a type, whole ones without their higher bits."""
    if type == "f32":
        return np.array(values, np.float32)
    if type == "i1":
        return np.array([int(value) & 1 for value in values], np.bool_)
    width = WIDTHS[type]
    wrapped = [int(value) % 2**width for value in values]
    return np.array(wrapped, f"u{width // 8}").view(f"i{width // 8}")


def check(path: Path, text: str, inputs: Sequence[Array], wanted: Array) -> None:
    path.write_text(text)
    model = qlower.load(path)
    for found in (qlower.jit(model)(*inputs), qlower.interpret(model, *inputs)):
        np.testing.assert_array_equal(np.asarray(found), wanted, text)


def converted(value: float, source: str, target: str) -> float:
    """Real numbers saturate, whole ones wrap."""
    if target == "i1":
        return int(value != 0)
    if source != "f32" or target == "f32":
        return value
    if math.isnan(value):
        return 0
    most = 2 ** (WIDTHS[target] - 1) - 1
    if math.isinf(value):
        return most if value > 0 else -most - 1
    return min(max(math.trunc(value), -most - 1), most)


@pytest.mark.parts(4)
@pytest.mark.parametrize("target", [*WIDTHS, "f32"])
@pytest.mark.parametrize("source", [*WIDTHS, "f32"])
def test_conversions(source: str, target: str, tmp_path: Path) -> None:
    reals = [*REAL, math.inf, -math.inf, math.nan]
    x = array(reals if source == "f32" else WHOLE, source)
    wanted = [converted(value, source, target) for value in x.tolist()]
    kinds = [f"tensor<{x.size}x{type}>" for type in (source, target)]
    text = (
        f"func.func @main(%x: {kinds[0]}) -> {kinds[1]} {{\n"
        f"  %y = stablehlo.convert %x : ({kinds[0]}) -> {kinds[1]}\n"
        f"  return %y : {kinds[1]}\n}}\n"
    )
    check(tmp_path / "convert.mlir", text, [x], array(wanted, target))


def shifted(x: int, places: int, width: int, *, left: bool) -> int:
    """By all bits or more, nothing is left."""
    whole = x % 2**width
    if places >= width:
        return 0
    return whole << places if left else whole >> places


BINARY: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda x, y, width: x + y,
    "subtract": lambda x, y, width: x - y,
    "multiply": lambda x, y, width: x * y,
    "maximum": lambda x, y, width: max(x, y),
    "minimum": lambda x, y, width: min(x, y),
    "shift_left": lambda x, y, width: shifted(x, y % 2**width, width, left=True),
    "shift_right_logical": lambda x, y, width: shifted(
        x, y % 2**width, width, left=False
    ),
    "shift_right_arithmetic": lambda x, y, width: x >> min(y % 2**width, width),
}


@pytest.mark.parametrize("type", ["i8", "i32"])
@pytest.mark.parametrize("name", BINARY)
def test_two_integers(name: str, type: str, tmp_path: Path) -> None:
    width = WIDTHS[type]
    others = [0, 1, 3, width - 1, width, width + 1, -1]
    pairs = [(x, y) for x in (*WHOLE, -(2 ** (width - 1))) for y in others]
    x, y = (array([pair[place] for pair in pairs], type) for place in (0, 1))
    wanted = [
        BINARY[name](a, b, width) for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    kind = f"tensor<{len(pairs)}x{type}>"
    text = (
        f"func.func @main(%x: {kind}, %y: {kind}) -> {kind} {{\n"
        f"  %z = stablehlo.{name} %x, %y : {kind}\n  return %z : {kind}\n}}\n"
    )
    check(tmp_path / "integers.mlir", text, [x, y], array(wanted, type))


def test_bounds_of_integers(tmp_path: Path) -> None:
    kind = "tensor<12xi32>"
    text = (
        f"func.func @main(%x: {kind}) -> {kind} {{\n"
        "  %least = stablehlo.constant dense<-128> : tensor<i32>\n"
        "  %most = stablehlo.constant dense<127> : tensor<i32>\n"
        "  %y = stablehlo.clamp %least, %x, %most"
        f" : (tensor<i32>, {kind}, tensor<i32>) -> {kind}\n"
        f"  return %y : {kind}\n}}\n"
    )
    x = array(WHOLE, "i32")
    check(tmp_path / "clamp.mlir", text, [x], np.clip(x, -128, 127))


DIRECTIONS: dict[str, Callable[[float, float], bool]] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "GE": operator.ge,
    "GT": operator.gt,
    "LE": operator.le,
    "LT": operator.lt,
}


@pytest.mark.parametrize("type", ["f32", "i1", "i8"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_choices(direction: str, type: str, tmp_path: Path) -> None:
    """What is compared, and chosen by that: each kind with all others."""
    values = [0, 1, -1, -128, 127, *([math.nan, math.inf] if type == "f32" else [])]
    pairs = [(x, y) for x in values for y in values]
    x, y = (array([pair[place] for pair in pairs], type) for place in (0, 1))
    kind, truth = (f"tensor<{len(pairs)}x{one}>" for one in (type, "i1"))
    text = (
        f"func.func @main(%x: {kind}, %y: {kind}) -> {kind} {{\n"
        f"  %p = stablehlo.compare {direction}, %x, %y : ({kind}, {kind}) -> {truth}\n"
        f"  %z = stablehlo.select %p, %x, %y : {truth}, {kind}\n"
        f"  return %z : {kind}\n}}\n"
    )
    holds = [
        DIRECTIONS[direction](*both)
        for both in zip(x.tolist(), y.tolist(), strict=True)
    ]
    check(tmp_path / "choice.mlir", text, [x, y], np.where(holds, x, y))


@pytest.mark.parts(16)
@pytest.mark.parametrize("step", ["add", "maximum", "minimum", "multiply"])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("width", [8, 32])
def test_reductions(
    step: str, axes: tuple[int, ...], width: int, tmp_path: Path
) -> None:
    """Sums and products wrap, and all begin with a number that is given."""
    shape = (3, 4, 5)
    kept = [size for axis, size in enumerate(shape) if axis not in axes]
    element = f"i{width}"
    result = "x".join([*map(str, kept), element])
    text = f"""
    func.func @main(%x: tensor<3x4x5x{element}>, %n: tensor<{element}>)
        -> tensor<{result}> {{
      %y = stablehlo.reduce(%x init: %n) applies stablehlo.{step}
        across dimensions = {list(axes)}
        : (tensor<3x4x5x{element}>, tensor<{element}>) -> tensor<{result}>
      return %y : tensor<{result}>
    }}"""
    random = np.random.default_rng(0)
    x = array(random.integers(-(2**31), 2**31, shape).reshape(-1).tolist(), element)
    x, n = x.reshape(shape), array([-3], element).reshape(())
    whole = np.moveaxis(x, axes, range(len(axes))).reshape(-1, *kept).astype(object)
    combine = {"add": np.add, "multiply": np.multiply}.get(
        step, np.maximum if step == "maximum" else np.minimum
    )
    total = combine(np.asarray(combine.reduce(whole, axis=0), object), int(n))
    wanted = array(np.asarray(total, object).reshape(-1).tolist(), element)
    check(tmp_path / "reduce.mlir", text, [x, n], wanted.reshape(kept))
    if has_interpreter():
        (theirs,) = run_interpreter(text, [x, n])
        np.testing.assert_array_equal(theirs, wanted.reshape(kept))


WINDOWS = {
    "pool": ([1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], [0] * 8),
    "same": (
        [1, 3, 3, 1],
        [1, 2, 1, 1],
        [1, 1, 1, 1],
        [1, 1, 1, 1],
        [0, 0, *[1] * 4, 0, 0],
    ),
    "dilated": ([2, 2, 1, 3], [1] * 4, [1, 2, 3, 1], [1, 3, 1, 2], [1, 0, *[2] * 6]),
    "one": ([1] * 4, [1, 3, 1, 2], [1] * 4, [1] * 4, [0] * 8),
}
"""Sizes, strides, dilations of the operand and of the window, and padding."""


def windowed(x: Array, init: int, step: str, window: Sequence[Sequence[int]]) -> Array:
    """StableHLO's definition, a window at a time."""
    sizes, strides, gaps, dilations, padding = window
    low, high = padding[::2], padding[1::2]
    spread = [(size - 1) * gap + 1 for size, gap in zip(x.shape, gaps, strict=True)]
    ends = zip(low, spread, high, strict=True)
    padded = np.full([sum(parts) for parts in ends], init, object)
    starts = zip(low, spread, gaps, strict=True)
    padded[tuple(slice(at, at + size, gap) for at, size, gap in starts)] = x
    spans = [(n - 1) * d + 1 for n, d in zip(sizes, dilations, strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(padded, spans)
    moves = [slice(None, None, stride) for stride in strides]
    views = views[(*moves, *(slice(None, None, d) for d in dilations))]
    combine = {"add": np.add, "maximum": np.maximum}[step]
    axes = range(4, 8)
    flat = np.moveaxis(views, axes, range(4)).reshape(-1, *views.shape[:4])
    return np.asarray(combine(combine.reduce(flat, axis=0), init), object)


@pytest.mark.parts(12)
@pytest.mark.parametrize("step", ["add", "maximum"])
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("element", ["i8", "i32"])
def test_windows(name: str, step: str, element: str, tmp_path: Path) -> None:
    """Pools: sums wrap, and the init counts around the operand, too."""
    shape, init = (2, 6, 5, 3), -7
    random = np.random.default_rng(0)
    x = array(random.integers(-(2**31), 2**31, 180).tolist(), element).reshape(shape)
    total = windowed(x, init, step, WINDOWS[name])
    wanted = array(total.reshape(-1).tolist(), element).reshape(total.shape)
    keys = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    lists = [
        f"{key} = array<i64: {str(list(numbers))[1:-1]}>"
        for key, numbers in zip(keys, WINDOWS[name], strict=False)
    ]
    pads = np.reshape(WINDOWS[name][-1], (4, 2)).tolist()
    given = f"tensor<2x6x5x3x{element}>"
    result = f"tensor<{'x'.join(map(str, total.shape))}x{element}>"
    text = f"""
    func.func @main(%x: {given}, %n: tensor<{element}>) -> {result} {{
      %y = "stablehlo.reduce_window"(%x, %n) <{{
        {", ".join(lists)}, padding = dense<{pads}> : tensor<4x2xi64>
      }}> ({{
      ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
        %m = stablehlo.{step} %a, %b : tensor<{element}>
        stablehlo.return %m : tensor<{element}>
      }}) : ({given}, tensor<{element}>) -> {result}
      return %y : {result}
    }}"""
    n = array([init], element).reshape(())
    check(tmp_path / "window.mlir", text, [x, n], wanted)
    if has_interpreter():
        (theirs,) = run_interpreter(text, [x, n])
        np.testing.assert_array_equal(theirs, wanted)


def test_positions(tmp_path: Path) -> None:
    text = """
    func.func @main(%x: tensor<2x3xi32>) -> tensor<2x3xi32> {
      %p = stablehlo.iota dim = 1 : tensor<2x3xi32>
      %y = stablehlo.add %x, %p : tensor<2x3xi32>
      return %y : tensor<2x3xi32>
    }"""
    x = np.arange(6, dtype=np.int32).reshape(2, 3) * 10
    check(tmp_path / "iota.mlir", text, [x], x + np.arange(3, dtype=np.int32))
