"""The contracts `exact` and `pow2-shift` against Python's rational numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from support.layers.rescaling import Rescaling, check_rescalings

from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

STYLES = ("powers of two", "random", "short mantissas")
ZERO_POINT = -7


def round_half_even(real: Fraction) -> int:
    return round(real)


def round_half_up(real: Fraction) -> int:
    return math.floor(real + Fraction(1, 2))


def store(rounded: int) -> int:
    return min(max(rounded + ZERO_POINT, -128), 127)


def draw_scales(random: np.random.Generator, style: str) -> tuple[float, float, float]:
    """Scales a, b, c; a * b / c often makes exact ties unless they are random."""
    if style == "powers of two":
        a, b, c = 2.0 ** random.integers(-30, 30, 3)
    elif style == "random":
        a, b, c = np.exp(random.uniform(-20, 20, 3))
    else:
        m, n = random.integers(1, 1 << 12, 2)
        a, b = m * 2.0 ** random.integers(-20, 10), n * 2.0 ** random.integers(-20, 10)
        c = m * n * 2.0 ** random.integers(-40, 10)
    return float(np.float32(a)), float(np.float32(b)), float(np.float32(c))


def seek_ties(random: np.random.Generator, real: Fraction) -> Array:
    """Integers near odd multiples of one half over `real`, and the extremes."""
    odd = random.integers(-200, 200, 12) * 2 + 1
    near = [int(Fraction(int(k), 2) / real) + d for k in odd for d in (-1, 0, 1)]
    extremes = [0, 1, -1, 2**31 - 1, -(2**31)]
    kept = [n for n in near if -(2**31) <= n < 2**31]
    return np.array(kept + extremes, np.int32)


def output(scale: float) -> dict[str, Array]:
    """The values of an output."""
    return {
        "output_scale": np.array(scale, np.float32),
        "output_zero_point": np.array(ZERO_POINT, np.int32),
        "output_min": np.array(-128, np.int32),
        "output_max": np.array(127, np.int32),
    }


def operand(name: str, scale: float, zero_point: int) -> dict[str, Array]:
    return {
        f"{name}_scale": np.array(scale, np.float32),
        f"{name}_zero_point": np.array(zero_point, np.int32),
    }


def check_rule(rule: str, values: dict[str, Array], reals: Sequence[Fraction]) -> None:
    (result,) = load_contract("exact").rule(rule).evaluate(values)
    assert result.tolist() == [store(round_half_even(real)) for real in reals]


@pytest.mark.parts(12)
@pytest.mark.parametrize("style", STYLES)
def test_products_are_rounded_exactly(style: str):
    """In every executor; float64 products would round some to the wrong side."""
    random = np.random.default_rng(0)
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    for _ in range(40):
        a, b, c = draw_scales(random, style)
        real = Fraction(a) * Fraction(b) / Fraction(c)
        accumulators = seek_ties(random, real)
        rescalings.append(Rescaling(accumulators, a, b, c, ZERO_POINT))
        expected.append(
            np.array([store(round_half_even(n * real)) for n in accumulators.tolist()])
        )
    check_rescalings(rescalings, "exact", expected)


@pytest.mark.parametrize("sign", [1, -1])
def test_nearer_to_a_tie_than_float64(sign: int):
    """By 5e-15, where float64 has the tie: found among the convergents of 400,000 drawn
    ratios."""
    a, b, c = 0.7553889751434326, 0.5608368515968323, 14269062.0
    accumulator = sign * 2105078316
    real = accumulator * Fraction(a) * Fraction(b) / Fraction(c)
    assert accumulator * (a * b / c) == sign * 62.5
    assert round_half_even(real) == sign * 63
    values = {
        "accumulator": np.array([accumulator], np.int32),
        **operand("input", a, 0),
        **operand("weight", b, 0),
        **output(c),
    }
    check_rule("conv2d", values, [real])


@pytest.mark.parts(3)
@pytest.mark.parametrize("seed", range(20))
def test_other_rules_are_rounded_exactly(seed: int):
    random = np.random.default_rng(seed)
    s, t, u = (2.0 ** random.integers(-5, 1, 3)).tolist()
    if seed % 2:
        s, t, u = (float(np.float32(np.exp(x))) for x in random.uniform(-4, 0, 3))
    za, zb = random.integers(-128, 128, 2).tolist()
    a, b = random.integers(-128, 128, (2, 50)).astype(np.int32)
    pairs = [(x - za, y - zb) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    real_s, real_t, real_u = Fraction(s), Fraction(t), Fraction(u)
    both = {
        **{"lhs": a, "rhs": b, **operand("lhs", s, za), **operand("rhs", t, zb)},
        **output(u),
    }
    check_rule("add", both, [(x * real_s + y * real_t) / real_u for x, y in pairs])
    check_rule("sub", both, [(x * real_s - y * real_t) / real_u for x, y in pairs])
    # a product has the names of a contraction, too
    factors = {**both, **operand("input", s, za), **operand("weight", t, zb)}
    check_rule("mul", factors, [x * y * real_s * real_t / real_u for x, y in pairs])
    one = {"input": a, **operand("input", s, za), **output(u)}
    check_rule("requantize", one, [x * real_s / real_u for x, _ in pairs])
    count = int(random.integers(1, 5000))
    sums = random.integers(-128 * count, 128 * count, 50).astype(np.int32)
    mean = {
        **{"accumulator": sums, "count": np.array(count, np.int32)},
        **operand("input", s, za),
        **output(u),
    }
    reals = [(n - za * count) * real_s / (count * real_u) for n in sums.tolist()]
    check_rule("mean", mean, reals)
    check_rule("avg_pool2d", mean, reals)
    alpha = float(np.float32(random.uniform(-1, 1)))
    slopes = [Fraction(1) if x >= 0 else Fraction(alpha) for x, _ in pairs]
    check_rule(
        "leaky_relu",
        {**one, "alpha": np.array(alpha, np.float32)},
        [x * k * real_s / real_u for (x, _), k in zip(pairs, slopes, strict=True)],
    )


def test_sums_of_very_different_scales_are_refused():
    values = {
        **{"lhs": np.array([1], np.int32), "rhs": np.array([1], np.int32)},
        **operand("lhs", 1.0, 0),
        **operand("rhs", 2.0**-20, 0),
        **output(1.0),
    }
    with pytest.raises(QlowerError, match="more than 4096"):
        load_contract("exact").rule("add").evaluate(values)


@pytest.mark.parts(3)
@pytest.mark.parametrize("style", STYLES)
def test_a_shift_is_nearest_in_the_logarithm(style: str):
    random = np.random.default_rng(1)
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    for _ in range(40):
        a, b, c = draw_scales(random, style)
        real = Fraction(a) * Fraction(b) / Fraction(c)
        exponent = math.floor(math.log2(float(real)))
        if (real / Fraction(2) ** exponent) ** 2 > 2:
            exponent += 1
        power = Fraction(2) ** exponent
        accumulators = seek_ties(random, power)
        rescalings.append(Rescaling(accumulators, a, b, c, ZERO_POINT))
        expected.append(
            np.array([store(round_half_up(n * power)) for n in accumulators.tolist()])
        )
    check_rescalings(rescalings, "pow2-shift", expected)


def test_a_sum_of_shifted_operands_rounds_once():
    """1/4 + 1/4 of the output's step is a tie, and goes up."""
    values = {
        "lhs": np.array([1, -1, 3], np.int32),
        "rhs": np.array([1, -1, 2], np.int32),
        **operand("lhs", 0.25, 0),
        **operand("rhs", 0.25, 0),
        **output(1.0),
    }
    (result,) = load_contract("pow2-shift").rule("add").evaluate(values)
    assert (result - ZERO_POINT).tolist() == [1, 0, 1]


def test_a_mean_divides_by_its_count():
    values = {
        "accumulator": np.array([7, -7, 10, -10], np.int32),
        "count": np.array(4, np.int32),
        **operand("input", 0.5, 0),
        **output(1.0),
    }
    # 0.875, -0.875, 1.25, -1.25
    (result,) = load_contract("pow2-shift").rule("mean").evaluate(values)
    assert (result - ZERO_POINT).tolist() == [1, -1, 1, -1]
