"""
The `fixed` ops against their definitions on fractions: the interpreter, and the plain
arith that expand-fixed makes.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from support.values.rounding import rounded
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qlower.dialects.fixed import RoundingMode
from qlower.dialects.types import integer_range
from qlower.interp import evaluate_function
from qlower.text.context import make_context
from qlower.text.parsing import parse_module
from qlower.transforms.expand_fixed import ExpandFixedPass

MODES = pytest.mark.parametrize("mode", list(RoundingMode))


def interesting_integers(width: int) -> list[int]:
    """Extremes, powers of two and their neighbours, and random ones."""
    low, high = integer_range(width)
    generator = np.random.default_rng(width)
    values = {
        sign * (1 << bit) + d
        for sign in (1, -1)
        for bit in range(width)
        for d in (-2, -1, 0, 1, 2)
    }
    values |= {low, low + 1, high - 1, high}
    values |= set(generator.integers(low, high, 300, endpoint=True).tolist())
    return sorted(value for value in values if low <= value <= high)


def interesting_floats(dtype: type[np.floating]) -> list[float]:
    """Ties and their neighbours, bounds of integer types, extremes, random ones."""
    generator = np.random.default_rng(0)
    info = np.finfo(dtype)
    middles = [0.0, 0.5, 1.0, 1.5, 2.5, 3.5, 126.5, 127.5, 128.5, 255.5, 32767.5]
    middles += [
        2.0**bit + d
        for bit in (22, 23, 24, 30, 31, 52, 53, 62, 63, 64)
        for d in (-1.0, -0.5, 0.0, 0.5, 1.0)
    ]
    middles += [float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    middles += generator.normal(0, 100, 200).tolist()
    middles += (2.0 ** generator.uniform(-30, 70, 200)).tolist()
    with np.errstate(over="ignore"):
        centers = np.array(middles, dtype)
        infinity = dtype(np.inf)
        values = np.concatenate(
            [centers, np.nextafter(centers, infinity), np.nextafter(centers, -infinity)]
        )
    values = values[np.isfinite(values)]
    return np.unique(np.concatenate([values, -values])).tolist()


def function(text: str, *, expand: bool) -> FuncOp:
    """The one function of a module, with its fixed ops as they are or expanded."""
    module = parse_module(text)
    if expand:
        ExpandFixedPass().apply(make_context(), module)
        module.verify()
        assert not [op for op in module.walk() if op.name.startswith("fixed.")]
    (op,) = module.body.block.ops
    assert isinstance(module, ModuleOp)
    assert isinstance(op, FuncOp)
    return op


def shift_text(width: int, mode: RoundingMode) -> str:
    return f"""
        func.func @f(%x: i{width}, %n: i{width}) -> i{width} {{
          %y = fixed.shift_right %x, %n {{rounding = {mode}}} : i{width}
          func.return %y : i{width}
        }}"""


def convert_text(source: str, width: int, mode: RoundingMode) -> str:
    return f"""
        func.func @f(%x: {source}) -> i{width} {{
          %y = fixed.convert %x {{rounding = {mode}}} : {source} to i{width}
          func.return %y : i{width}
        }}"""


def saturate_text(source: int, width: int, unsigned: bool) -> str:
    flag = "{unsigned} " if unsigned else ""
    return f"""
        func.func @f(%x: i{source}) -> i{width} {{
          %y = fixed.saturate %x {flag}: i{source} to i{width}
          func.return %y : i{width}
        }}"""


@pytest.mark.parts(6)
@MODES
@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("width", [1, 8, 16, 32, 64])
def test_shift_runs_as_defined(mode: RoundingMode, width: int, expand: bool) -> None:
    low, high = integer_range(width)
    xs = range(low, high + 1) if width <= 8 else interesting_integers(width)
    ns = range(width) if width <= 8 else (0, 1, 2, width // 2, width - 2, width - 1)
    pairs = [(x, n) for x in xs for n in ns]
    expected = [rounded(Fraction(x, 1 << n), mode) for x, n in pairs]
    dtype = np.bool_ if width == 1 else np.dtype(f"int{width}")
    x, n = np.array(pairs, np.int64).T.astype(dtype)
    (result,) = evaluate_function(
        function(shift_text(width, mode), expand=expand), [x, n]
    )
    np.testing.assert_array_equal(result, np.array(expected, np.int64).astype(dtype))


@pytest.mark.parts(6)
@MODES
@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("width", [8, 32, 64])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_conversion_runs_as_defined(
    mode: RoundingMode, source: str, width: int, expand: bool
) -> None:
    dtype = {"f32": np.float32, "f64": np.float64}[source]
    low, high = integer_range(width)
    finite = interesting_floats(dtype)
    expected = [min(max(rounded(Fraction(x), mode), low), high) for x in finite]
    inputs = np.array([*finite, -math.inf, math.inf], dtype)
    (result,) = evaluate_function(
        function(convert_text(source, width, mode), expand=expand), [inputs]
    )
    assert result.tolist() == [*expected, low, high]


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize(("source", "width"), [(16, 8), (32, 8), (64, 32), (64, 16)])
def test_saturation_runs_as_defined(
    source: int, width: int, unsigned: bool, expand: bool
) -> None:
    low, high = integer_range(width, signed=not unsigned)
    inputs = interesting_integers(source)
    expected = np.array([min(max(x, low), high) for x in inputs], np.int64)
    (result,) = evaluate_function(
        function(saturate_text(source, width, unsigned), expand=expand),
        [np.array(inputs, f"int{source}")],
    )
    np.testing.assert_array_equal(result, expected.astype(f"int{width}"))


PAIR_DOT = """
    func.func @f(%a0: i8, %b0: i8, %a1: i8, %b1: i8) -> i16 {
      %y = fixed.pair_dot %a0, %b0, %a1, %b1 : i8 -> i16
      func.return %y : i16
    }"""


@pytest.mark.parametrize("expand", [False, True])
def test_pair_dot_runs_as_defined(expand: bool) -> None:
    """Every first product, with second ones of all magnitudes."""
    codes, weights = np.arange(256, dtype=np.uint8), np.arange(-128, 128)
    a0, b0 = np.meshgrid(codes, weights.astype(np.int8))
    for a1, b1 in [(0, 5), (255, 127), (255, -128), (128, -1), (1, 127), (200, 99)]:
        exact = a0.astype(np.int64) * b0 + a1 * b1
        (result,) = evaluate_function(
            function(PAIR_DOT, expand=expand),
            [a0.view(np.int8), b0, np.uint8(a1).view(np.int8), np.int8(b1)],
        )
        assert result.dtype == np.int16
        np.testing.assert_array_equal(result, np.clip(exact, -32768, 32767))
