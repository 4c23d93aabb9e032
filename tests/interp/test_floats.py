"""Float ops against exact fractions, rounded once."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import ArrayLike
from support.values.scalars import evaluate_text

from qlower.interp import Array, InterpretationError

INF, NAN = float("inf"), float("nan")
DTYPES = {"f32": np.float32, "f64": np.float64}
PRECISION = {"f32": (24, -149), "f64": (53, -1074)}

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, INF, -INF, NAN]


def run(text: str, kind: str, *lanes: ArrayLike, result: str | None = None) -> Array:
    names = "abc"
    arguments = [
        (name, kind, np.asarray(lane, DTYPES[kind]))
        for name, lane in zip(names, lanes, strict=False)
    ]
    return evaluate_text(text, arguments, result or kind)


def same(got: Array, want: Array) -> None:
    """Equal bits, but any NaN for a NaN."""
    got, want = np.asarray(got), np.asarray(want, got.dtype)
    np.testing.assert_array_equal(got, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(
        np.signbit(got[numbers]), np.signbit(np.asarray(want)[numbers])
    )


def nearest(exact: Fraction, kind: str) -> float:
    """The float nearest to a fraction other than zero, ties to even."""
    bits, smallest = PRECISION[kind]
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - bits + 1, smallest)
    number = round(magnitude / unit) * unit
    limit = {"f32": 128, "f64": 1024}[kind]
    value = INF if number >= Fraction(2) ** limit else float(number)
    return value if exact > 0 else -value


def hard_fma_cases(kind: str) -> list[tuple[float, float, float]]:
    """Products that nearly cancel, nearly tie or reach the subnormal numbers."""
    dtype = DTYPES[kind]
    rng = np.random.default_rng(7)
    bits, smallest = PRECISION[kind]
    unit = 2.0 ** (1 - bits)
    cases: list[tuple[float, float, float]] = []
    for _ in range(300):
        a, b = (float(dtype(x)) for x in rng.uniform(1, 2, 2))
        product = float(dtype(a * b))
        tiny = float(dtype(rng.uniform(-1, 1) * unit**2))
        cases += [(a, b, -product), (a, b, tiny), (a, -b, product), (a, b, a)]
        # A third number half a unit above or below the product's rounding.
        cases.append((a, b, float(dtype(unit / 2))))
        scale = float(dtype(2.0 ** (smallest // 2)))
        cases.append((a * scale, b * scale, float(dtype(2.0**smallest))))
    # Products that tie in float32, and what moves them by nearly a few units of
    # float64, whose last bits say which side of the tie they are on.
    moves = itertools.product((1.0, 3.0), range(-3, 4), (1 - 2.0**-24, 1 + 2.0**-23))
    cases += [
        (1 + 2.0**-12, 1 + factor * 2.0**-12, units * 2.0**-52 * nearly)
        for factor, units, nearly in moves
    ]
    # 1 + 2^-24 ties to even in float32, unless a far smaller number breaks the tie.
    cases += [
        (1.0, unit / 2, 1.0),
        (1.0 + unit, unit / 2, 1.0),
        (1.0 - unit, unit / 2, 1.0),
        (1.0 + unit, 1.0 + unit, -1.0),
    ]
    return cases


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fma_is_rounded_once(kind: str) -> None:
    cases = hard_fma_cases(kind)
    got = run("%r = math.fma %a, %b, %c : " + kind, kind, *zip(*cases, strict=True))
    for (a, b, c), value in zip(cases, got.tolist(), strict=True):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        assert value == (nearest(exact, kind) if exact else 0.0), (a, b, c)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fma_of_special_numbers(kind: str) -> None:
    a, b, c = np.array(list(itertools.product(SPECIAL, repeat=3))).T
    with np.errstate(invalid="ignore"):
        want = a * b + c  # Exact here, as the numbers are small.
    same(run("%r = math.fma %a, %b, %c : " + kind, kind, a, b, c), want)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_arithmetic_rounds_once(kind: str) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 200)).astype(DTYPES[kind])
    exact = {
        "addf": Fraction.__add__,
        "subf": Fraction.__sub__,
        "mulf": Fraction.__mul__,
        "divf": Fraction.__truediv__,
    }
    for name, function in exact.items():
        got = run(f"%r = arith.{name} %a, %b : {kind}", kind, a, b)
        want = [
            nearest(function(Fraction(float(x)), Fraction(float(y))), kind)
            for x, y in zip(a, b, strict=True)
        ]
        same(got, np.array(want))
    same(run(f"%r = arith.negf %a : {kind}", kind, SPECIAL), -np.array(SPECIAL))
    zeros = run(f"%r = arith.divf %a, %b : {kind}", kind, [1.0, -1.0, 0.0], [0.0] * 3)
    same(zeros, np.array([INF, -INF, NAN]))


def test_minimum_and_maximum() -> None:
    a, b = np.array(list(itertools.product(SPECIAL, repeat=2))).T

    def order(x: float) -> tuple[float, float]:
        return x, math.copysign(1, x)

    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    for name, choose in [("minimum", min), ("maximum", max)]:
        want = [
            NAN if math.isnan(x) or math.isnan(y) else choose(x, y, key=order)
            for x, y in pairs
        ]
        same(run(f"%r = arith.{name}f %a, %b : f32", "f32", a, b), np.array(want))
    for name, choose in [("minnum", min), ("maxnum", max)]:
        want = [
            y if math.isnan(x) else x if math.isnan(y) else choose(x, y, key=order)
            for x, y in pairs
        ]
        same(run(f"%r = arith.{name}f %a, %b : f32", "f32", a, b), np.array(want))


def test_comparisons() -> None:
    a, b = np.array(list(itertools.product(SPECIAL, repeat=2))).T
    compare = {
        "eq": np.equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "lt": np.less,
        "le": np.less_equal,
    }
    unordered = np.isnan(a) | np.isnan(b)
    predicates = {"false": a != a, "true": (a == a) | True, "uno": unordered}
    predicates["false"] = np.zeros_like(unordered)
    predicates["ord"] = ~unordered
    for name, function in compare.items():
        predicates["o" + name] = ~unordered & function(a, b)
        predicates["u" + name] = unordered | function(a, b)
    predicates["one"] = ~unordered & (a != b)
    predicates["une"] = unordered | (a != b)
    for name, want in predicates.items():
        got = run(f"%r = arith.cmpf {name}, %a, %b : f32", "f32", a, b, result="i1")
        np.testing.assert_array_equal(got, want, err_msg=name)


def test_roundings() -> None:
    halves = np.arange(-12, 13) / 4
    below = math.nextafter(0.5, 0)
    numbers = np.array([*halves, below, -below, 2.0**52 + 1, -(2.0**53), INF, -INF])

    def away(x: float) -> float:
        if math.isinf(x):
            return x
        return math.copysign(math.floor(abs(Fraction(x)) + Fraction(1, 2)), x)

    with np.errstate(all="ignore"):
        expected = {
            "floor": np.floor(numbers),
            "ceil": np.ceil(numbers),
            "trunc": np.trunc(numbers),
            "roundeven": np.rint(numbers),
            "round": np.array([away(x) for x in numbers.tolist()]),
        }
    for name, want in expected.items():
        same(run(f"%r = math.{name} %a : f64", "f64", numbers), want)
    below = np.nextafter(np.float32(0.5), np.float32(0))
    assert run("%r = math.round %a : f32", "f32", below) == 0
    copied = run("%r = math.copysign %a, %b : f32", "f32", [1.0, -2.0], [-0.0, 3.0])
    same(copied, np.array([-1.0, 2.0]))


def test_transcendental_functions_of_float32() -> None:
    numbers = np.linspace(-0.9, 9, 500, dtype=np.float32)
    for name in ("exp", "tanh", "log1p", "expm1"):
        got = run(f"%r = math.{name} %a : f32", "f32", numbers)
        want = [np.float32(getattr(math, name)(float(x))) for x in numbers]
        assert got.dtype == np.float32
        same(got, np.array(want))
    assert run("%r = math.exp %a : f32", "f32", 100.0) == INF


def test_integer_to_float() -> None:
    numbers = [0, -1, (1 << 24) + 1, (1 << 24) + 3, (1 << 53) + 1, -(1 << 63)]
    numbers += [(1 << 63) - 1, (1 << 40) + (1 << 16) + 1, -(1 << 62) - (1 << 38)]
    lanes = np.array(numbers, np.int64)
    for kind, dtype in DTYPES.items():
        for op, mask in [("sitofp", -1), ("uitofp", (1 << 64) - 1)]:
            got = evaluate_text(
                f"%r = arith.{op} %a : i64 to {kind}", [("a", "i64", lanes)], kind
            )
            want = [nearest(Fraction(n & mask), kind) if n else 0.0 for n in numbers]
            assert got.dtype == dtype
            assert got.tolist() == want
    ones = evaluate_text("%r = arith.sitofp %a : i1 to f32", [("a", "i1", 1)], "f32")
    assert ones == -1


def test_float_to_integer() -> None:
    numbers = [127.99, -128.99, -0.0, 0.99, -0.99]
    got = run("%r = arith.fptosi %a : f32 to i8", "f32", numbers, result="i8")
    assert got.tolist() == [127, -128, 0, 0, 0]
    got = run("%r = arith.fptoui %a : f32 to i8", "f32", [255.5, -0.5], result="i8")
    assert got.tolist() == [-1, 0]
    largest = math.nextafter(2.0**63, 0)
    got = run("%r = arith.fptosi %a : f64 to i64", "f64", largest, result="i64")
    assert got == int(largest)
    for op, number in [
        ("fptosi", 128.0),
        ("fptosi", -129.0),
        ("fptosi", NAN),
        ("fptosi", INF),
        ("fptoui", 256.0),
        ("fptoui", -1.0),
    ]:
        with pytest.raises(InterpretationError, match=f"{op}' converts {number}"):
            run(f"%r = arith.{op} %a : f32 to i8", "f32", [0.0, number], result="i8")


def test_float_conversions() -> None:
    tie = 1 + 2.0**-24
    got = run("%r = arith.truncf %a : f64 to f32", "f64", [tie, 1e300], result="f32")
    assert got.tolist() == [1.0, INF]
    got = run("%r = arith.extf %a : f32 to f64", "f32", [0.1], result="f64")
    assert got.tolist() == [float(np.float32(0.1))]
    got = run("%r = arith.bitcast %a : f32 to i32", "f32", [1.0, -0.0], result="i32")
    assert got.tolist() == [0x3F800000, -(1 << 31)]
    back = evaluate_text(
        "%r = arith.bitcast %a : i64 to f64", [("a", "i64", 0x3FF << 52)], "f64"
    )
    assert back == 1.0
