"""Shifts to the right in vectors, rounded in every mode, against fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from math import inf

import numpy as np
import pytest
from support.machines.straight_code import computed
from support.values.rounding import rounded

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I1, I32, Value, constant
from qlower.codegen.values import rounding
from qlower.dialects.fixed import RoundingMode

MODES = [mode.value for mode in RoundingMode]


@pytest.mark.parametrize("bits", [8, 32])
@pytest.mark.parametrize("mode", MODES)
def test_shifts(mode: str, bits: int) -> None:
    """By amounts that are known and that aren't; large numbers don't overflow."""
    half = 1 << bits - 1
    ends = [0, 1, 2, 3, 4, 5, 6, 7, 11, 13, half >> 1, half - 2, half - 1]
    numbers = [*ends, *(-one for one in ends), -half]
    amounts = (0, 1, 2, 3, bits // 2, bits - 2, bits - 1)
    x, by = np.array(list(product(numbers, amounts)), f"i{bits // 8}").T
    wanted = np.array(
        [
            rounded(Fraction(one, 1 << amount), RoundingMode(mode))
            for one, amount in zip(x.tolist(), by.tolist(), strict=True)
        ]
    )
    found = computed(partial(shift_right, mode, None, half), x, by)
    np.testing.assert_array_equal(found, wanted)
    for amount in (0, 3):
        found = computed(partial(shift_right, mode, amount, half), x[by == amount])
        np.testing.assert_array_equal(found, wanted[by == amount])


def test_a_bit_is_shifted_by_nothing() -> None:
    f = Function(Module("", ""), "f", [I1], [""])
    (x,) = f.arguments
    assert rounding.shift_right(f, "half_up", x, constant(I1, 0), 1) is x


def test_the_magnitude_of_the_least_number_is_defined() -> None:
    """LLVM's is poison where the last operand says so."""
    f = Function(Module("", ""), "f", [I32], [""])
    (x,) = f.arguments
    rounding.shift_right(f, "half_away", x, constant(I32, 3), inf)
    assert "@llvm.abs.i32(i32 %a0, i1 0)" in str(f)


@pytest.mark.parametrize(
    ("magnitude", "amount", "adds"),
    [(127 - 4, 3, True), (127 - 3, 3, False), (127, 0, True), (128, 0, False)],
)
def test_what_is_small_is_rounded_by_a_sum(
    magnitude: int, amount: int, adds: bool
) -> None:
    """If it and a half fit the type; numbers of all its bits are right either way."""
    written: list[str] = []

    def make(f: Function, value: Value) -> Value:
        by = constant(value.type, amount)
        found = rounding.shift_right(f, "half_up", value, by, magnitude)
        written.append(str(f))
        return found

    x = np.array([magnitude, -magnitude, 4, -4, 5, -5, 0], np.int64)
    x = np.clip(x, -128, 127).astype(np.int8)
    wanted = [
        rounded(Fraction(one, 1 << amount), RoundingMode.HALF_UP) for one in x.tolist()
    ]
    np.testing.assert_array_equal(computed(make, x), wanted)
    assert ("icmp" not in written[0]) is adds


def shift_right(
    mode: str, amount: int | None, most: int, f: Function, x: Value, *by: Value
) -> Value:
    (places,) = by or (constant(x.type, amount or 0),)
    return rounding.shift_right(f, mode, x, places, most)
