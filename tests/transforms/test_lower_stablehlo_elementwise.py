"""Elements of StableHLO by the steps of its reference interpreter, in float32."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.text.parsing import parse_module


@dataclass(frozen=True)
class Codes:
    """A quantization, with one scale or one for each of the last dimension."""

    storage: str
    scales: tuple[float, ...]
    points: tuple[int, ...]

    def text(self, shape: str) -> str:
        pairs = [f"{s!r}:{p}" for s, p in zip(self.scales, self.points, strict=True)]
        if len(pairs) == 1:
            return f"tensor<{shape}x!quant.uniform<{self.storage}:f32, {pairs[0]}>>"
        scales = ", ".join(pairs)
        return f"tensor<{shape}x!quant.uniform<{self.storage}:f32:1, {{{scales}}}>>"


BYTES = Codes("i8", (0.3,), (-5,))
OTHERS = Codes("i8", (0.7,), (9,))
RESULT = Codes("i8", (0.5,), (3,))
ROWS = Codes("i8", (0.3, 0.7, 1.1), (-5, 4, 0))


def run(body: str, inputs: list[tuple[str, Array]], result: str) -> Array:
    names = [f"%a{n}" for n in range(len(inputs))]
    given = ", ".join(
        f"{name}: {type}" for name, (type, _) in zip(names, inputs, strict=True)
    )
    types = ", ".join(type for type, _ in inputs)
    line = f"{body} {', '.join(names)}"
    module = parse_module(
        f"func.func @main({given}) -> {result} {{\n"
        f"  %y = {line} : ({types}) -> {result}\n  return %y : {result}\n}}"
    )
    arrays = [array for _, array in inputs]
    return np.asarray(qlower.interpret(qlower.Model(module), *arrays))


def merged(stored: Array, source: Codes, result: Codes) -> Array:
    """Codes moved from one quantization to another, unclamped."""
    scales, points = np.array(source.scales), np.array(source.points)
    ratio = scales / np.array(result.scales)
    offset = (np.array(result.points) - points * ratio).astype(np.float32)
    moved = stored.astype(np.float32) * ratio.astype(np.float32) + offset
    is_same = (scales == result.scales) & (points == result.points)
    return np.where(is_same, stored, np.rint(moved)).astype(np.int64)


def drawn(seed: int) -> Array:
    random = np.random.default_rng(seed)
    return random.integers(-128, 128, (40, 3)).astype(np.int8)


@pytest.mark.parametrize(
    ("lhs", "rhs", "result"),
    [
        (BYTES, OTHERS, RESULT),
        (OTHERS, BYTES, RESULT),
        (RESULT, OTHERS, RESULT),
        (ROWS, ROWS, ROWS),
    ],
)
def test_sums_of_codes(lhs: Codes, rhs: Codes, result: Codes) -> None:
    """Each operand is moved to the result's scale and rounded by itself."""
    a, b = drawn(1), drawn(2)
    found = run(
        "stablehlo.add",
        [(lhs.text("40x3"), a), (rhs.text("40x3"), b)],
        result.text("40x3"),
    )
    total = merged(a, lhs, result) + merged(b, rhs, result) - np.array(result.points)
    np.testing.assert_array_equal(found, total.clip(-128, 127))


@pytest.mark.parametrize(
    ("source", "result"), [(BYTES, RESULT), (RESULT, RESULT), (OTHERS, ROWS)]
)
def test_another_quantization(source: Codes, result: Codes) -> None:
    a = drawn(3)
    types = source.text("40x3"), result.text("40x3")
    found = run("stablehlo.uniform_quantize", [(types[0], a)], types[1])
    np.testing.assert_array_equal(found, merged(a, source, result).clip(-128, 127))


FUNCTIONS = {
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_other_functions_of_two(kind: str) -> None:
    """Of real numbers in float32, which the result's quantization rounds."""
    a, b = drawn(4), drawn(5)
    lhs, rhs = (
        (stored.astype(np.int32) - np.int32(codes.points[0])).astype(np.float32)
        * np.float32(codes.scales[0])
        for stored, codes in ((a, BYTES), (b, OTHERS))
    )
    found = run(
        f"stablehlo.{kind}",
        [(BYTES.text("40x3"), a), (OTHERS.text("40x3"), b)],
        RESULT.text("40x3"),
    )
    steps = FUNCTIONS[kind](lhs, rhs) / np.float32(RESULT.scales[0])
    codes = np.rint(steps + np.float32(RESULT.points[0]))
    np.testing.assert_array_equal(found, codes.clip(-128, 127))


@pytest.mark.parametrize("kind", ["abs", "tanh"])
def test_functions_of_one(kind: str) -> None:
    """With one scale they are tables; with several only what is exact is computed."""
    every = np.arange(-128, 128, dtype=np.int8)
    real = (every.astype(np.int32) + 5).astype(np.float32) * np.float32(0.3)
    function = np.abs if kind == "abs" else np.tanh
    values = function(real.astype(np.float64)).astype(np.float32)
    types = [(BYTES.text("256"), every)]
    found = run(f"stablehlo.{kind}", types, RESULT.text("256"))
    codes = np.rint(values / np.float32(0.5) + np.float32(3)).clip(-128, 127)
    np.testing.assert_array_equal(found, codes)
    rows, given = ROWS.text("40x3"), drawn(6)
    if kind == "tanh":
        with pytest.raises(QlowerError) as caught:
            run("stablehlo.tanh", [(rows, given)], rows)
        assert "elements of 8 bits with one scale are, whose functions become" in str(
            caught.value
        )
        return
    found = run("stablehlo.abs", [(rows, given)], rows)
    scales, points = np.array(ROWS.scales, np.float32), np.array(ROWS.points)
    real = (given - points).astype(np.float32) * scales
    codes = np.rint(np.abs(real) / scales + points.astype(np.float32))
    np.testing.assert_array_equal(found, codes.clip(-128, 127))


def test_results_of_one_function() -> None:
    """A table has real numbers, too; a result of several scales is computed."""
    every = np.arange(-128, 128, dtype=np.int8)
    real = (every.astype(np.int32) + 5).astype(np.float32) * np.float32(0.3)
    given = [(BYTES.text("256"), every)]
    found = run("stablehlo.negate", given, "tensor<256xf32>")
    np.testing.assert_array_equal(found, -real)
    three = every[:3].reshape(1, 3)
    found = run("stablehlo.abs", [(BYTES.text("1x3"), three)], ROWS.text("1x3"))
    steps = np.abs(real[:3]) / np.array(ROWS.scales, np.float32)
    codes = np.rint(steps + np.array(ROWS.points, np.float32)).clip(-128, 127)
    np.testing.assert_array_equal(found[0], codes)
    wide = Codes("i16", (0.3,), (0,))
    words = np.array([-32768, -3, 0, 5], np.int16)
    found = run("stablehlo.abs", [(wide.text("4"), words)], wide.text("4"))
    np.testing.assert_array_equal(found, [32767, 3, 0, 5])


REALS = np.array([-2.5, -0.0, 0.75, 3.0], np.float32)
WORDS = np.array([-300, 0, 127, 130], np.int32)
BITS = np.array([True, False, True, False])
CONVERTED: list[tuple[str, Array, str, list[object]]] = [
    ("f32", REALS, "i1", [True, False, True, True]),
    ("i32", WORDS, "i1", [True, False, True, True]),
    ("f32", REALS, "i8", [-2, 0, 0, 3]),
    ("i32", WORDS, "f32", [-300, 0, 127, 130]),
    ("i1", BITS, "f32", [1, 0, 1, 0]),
    ("i32", WORDS, "i8", [-44, 0, 127, -126]),
    ("i8", WORDS[1:3].astype(np.int8), "i32", [0, 127]),
    ("i8", np.array([-5, 7], np.int8), "i16", [-5, 7]),
    ("i1", BITS, "i8", [1, 0, 1, 0]),
    ("i32", WORDS, "i32", [-300, 0, 127, 130]),
]


@pytest.mark.parametrize(("source", "array", "target", "found"), CONVERTED)
def test_conversions(
    source: str, array: Array, target: str, found: list[object]
) -> None:
    many = len(array)
    types = f"tensor<{many}x{source}>", f"tensor<{many}x{target}>"
    made = run("stablehlo.convert", [(types[0], array)], types[1])
    assert made.tolist() == found


NUMBERS = np.array([-128, -7, 0, 5, 127, 1, -1, 64], np.int8)
PLACES = np.array([0, 1, 3, 7, 8, 9, -1, -128], np.int8)
SHIFTED = {
    "shift_left": [-128, -14, 0, -128, 0, 0, 0, 0],
    "shift_right_logical": [128 - 256, 124, 0, 0, 0, 0, 0, 0],
    "shift_right_arithmetic": [-128, -4, 0, 0, 0, 0, -1, 0],
}
PLAIN = "tensor<8xi8>"


@pytest.mark.parametrize("kind", SHIFTED)
def test_shifts(kind: str) -> None:
    """By all bits or more, as a negative number is, nothing but the sign stays."""
    found = run(f"stablehlo.{kind}", [(PLAIN, NUMBERS), (PLAIN, PLACES)], PLAIN)
    assert found.tolist() == SHIFTED[kind]


def test_plain_integers() -> None:
    two = [(PLAIN, NUMBERS), (PLAIN, PLACES)]
    for kind, function in (FUNCTIONS | {"add": np.add}).items():
        found = run(f"stablehlo.{kind}", two, PLAIN)
        np.testing.assert_array_equal(found, function(NUMBERS, PLACES))
    low, high = np.full(8, -7, np.int8), np.full(8, 64, np.int8)
    three = [(PLAIN, low), (PLAIN, NUMBERS), (PLAIN, high)]
    found = run("stablehlo.clamp", three, PLAIN)
    np.testing.assert_array_equal(found, NUMBERS.clip(-7, 64))


def test_borders_of_codes() -> None:
    real = np.array([-100.0, -1.25, -1.0, 0.2, 0.25, 0.75, 99.0, 0.0], np.float32)
    codes = np.rint(real / np.float32(0.5) + np.float32(3)).clip(-128, 127)
    given = [("tensor<8xf32>", real)]
    found = run("stablehlo.uniform_quantize", given, RESULT.text("8"))
    np.testing.assert_array_equal(found, codes)
    back = run(
        "stablehlo.uniform_dequantize", [(BYTES.text("8"), NUMBERS)], given[0][0]
    )
    steps = (NUMBERS.astype(np.int32) + 5).astype(np.float32)
    np.testing.assert_array_equal(back, steps * np.float32(0.3))
