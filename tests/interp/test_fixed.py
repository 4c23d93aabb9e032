"""The fixed ops against the exact definitions of the dialect and of the formulas."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from support.values.scalars import evaluate_text

from qlower.dialects.fixed import RoundingMode
from qlower.interp import InterpretationError
from qlower.interp.fixed import pair_dot

MODES = list(RoundingMode)


def round_exactly(number: Fraction, mode: RoundingMode) -> int:
    """The rounding modes, said once more and plainly."""
    below, above = math.floor(number), math.ceil(number)
    match mode:
        case RoundingMode.FLOOR:
            return below
        case RoundingMode.CEIL:
            return above
        case RoundingMode.TOWARD_ZERO:
            return math.trunc(number)
        case _:
            pass
    if number - below != Fraction(1, 2):
        return math.floor(number + Fraction(1, 2))
    ties = {
        RoundingMode.HALF_UP: above,
        RoundingMode.HALF_DOWN: below,
        RoundingMode.HALF_AWAY: above if number > 0 else below,
        RoundingMode.HALF_TOWARD_ZERO: below if number > 0 else above,
        RoundingMode.HALF_EVEN: below if below % 2 == 0 else above,
    }
    return ties[mode]


@pytest.mark.parametrize("mode", MODES)
def test_shift_right_of_every_byte(mode: RoundingMode) -> None:
    values, amounts = np.meshgrid(np.arange(-128, 128), np.arange(8))
    got = evaluate_text(
        f"%r = fixed.shift_right %a, %n {{rounding = {mode}}} : i8",
        [("a", "i8", values.astype(np.int8)), ("n", "i8", amounts.astype(np.int8))],
        "i8",
    )
    for x, n, y in zip(values.flat, amounts.flat, got.flat, strict=True):
        exact = round_exactly(Fraction(int(x), 1 << int(n)), mode)
        assert y == exact, (x, n)


@pytest.mark.parts(24)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", [1, 13, 32, 64])
def test_shift_right_of_extremes(mode: RoundingMode, width: int) -> None:
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    for n in {0, width // 2, width - 2, width - 1} - {-1}:
        half = (1 << n) >> 1
        near = {low, low + half, high - half, -half, half, high, 3 * half, -3 * half, 0}
        for x in {value + step for value in near for step in (-1, 0, 1)}:
            if not low <= x <= high:
                continue
            got = evaluate_text(
                f"%r = fixed.shift_right %a, %n {{rounding = {mode}}} : i{width}",
                [("a", f"i{width}", x), ("n", f"i{width}", n)],
                f"i{width}",
            )
            want = round_exactly(Fraction(x, 1 << n), mode)
            assert got == (want if width > 1 else want != 0), (x, n)


def test_shift_right_is_poison_outside_the_width() -> None:
    for n in (32, -1):
        with pytest.raises(InterpretationError, match=rf"shifts 5 by {n}, which is"):
            evaluate_text(
                "%r = fixed.shift_right %a, %n {rounding = half_up} : i32",
                [("a", "i32", 5), ("n", "i32", n)],
                "i32",
            )


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
def test_convert(mode: RoundingMode, kind: str) -> None:
    dtype = {"f32": np.float32, "f64": np.float64}[kind]
    numbers = [quarter / 4 for quarter in range(-20, 21)]
    for number in (0.5, -0.5, 1.0, 2.5, 4.0, 2.0**22 + 0.5, -(2.0**22) - 0.5):
        below, above = (
            float(np.nextafter(dtype(number), dtype(s))) for s in (-1e9, 1e9)
        )
        numbers += [below, number, above]
    numbers += [1e-30, -1e-30, 2.0**31, -(2.0**31), 2.0**31 - 128, 1e20, -1e20]
    lanes = np.array(numbers, dtype)
    got = evaluate_text(
        f"%r = fixed.convert %a {{rounding = {mode}}} : {kind} to i32",
        [("a", kind, lanes)],
        "i32",
    )
    for x, y in zip(lanes.tolist(), got.tolist(), strict=True):
        exact = round_exactly(Fraction(x), mode)
        assert y == min(max(exact, -(1 << 31)), (1 << 31) - 1), x


def test_convert_saturates_and_takes_nan_for_zero() -> None:
    text = "%r = fixed.convert %a {rounding = half_even} : f32 to i64"
    special = np.array([np.inf, -np.inf, 2.0**63, np.nan, -np.nan], np.float32)
    got = evaluate_text(text, [("a", "f32", special)], "i64")
    assert got.tolist() == [(1 << 63) - 1, -(1 << 63), (1 << 63) - 1, 0, 0]


@pytest.mark.parametrize(("source", "target"), [(32, 8), (64, 32), (16, 1), (12, 5)])
def test_saturate(source: int, target: int) -> None:
    low, high = -(1 << (target - 1)), (1 << (target - 1)) - 1
    far = 1 << (source - 1)
    numbers = [low - 1, low, -1, 0, high, high + 1, 2 * high + 1, 2 * high + 2]
    for x in [*numbers, -far, far - 1]:
        arguments = [("a", f"i{source}", x)]
        kinds = f"i{source} to i{target}"
        plain = evaluate_text(
            f"%r = fixed.saturate %a : {kinds}", arguments, f"i{target}"
        )
        want = min(max(x, low), high)
        assert int(plain) == (abs(want) if target == 1 else want)
        bits = evaluate_text(
            f"%r = fixed.saturate %a {{unsigned}} : {kinds}", arguments, f"i{target}"
        )
        mask = (1 << target) - 1
        assert int(bits) & mask == min(max(x, 0), mask)


def test_pairs_saturate_at_the_ends_of_16_bits() -> None:
    """Sums of two products, the first factor of each unsigned, at the ends, one step
    inside and one outside."""
    pairs = (
        *((255, 127, 191, 2), (255, 127, 127, 3), (255, 127, 128, 3)),
        *((255, -128, 1, -128), (255, -128, 127, -1), (255, -128, 129, -1)),
    )
    factors = (np.array(column) for column in zip(*pairs, strict=True))
    expected = [32767, 32766, 32767, -32768, -32767, -32768]
    assert pair_dot(*factors).tolist() == expected
