"""Rescaling by shifts alone against its formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
import pytest
from support.values.formulas import (
    F,
    Integers,
    Refused,
    System,
    check,
    each,
    exact,
    half_integer_up,
    half_up,
    saturate,
)

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

Formulas = Mapping[str, Callable[..., Array]]

CONTRACTIONS = ("conv2d", "depthwise_conv2d", "linear", "matmul")
RESCALING = ("requantize", "concat", "clamp")


class Shifts(System):
    """Ratios as powers of two."""

    def exponent(self, *names: str, times: float = 1.0) -> int:
        real = math.prod(float(self.scale(name)) for name in names) * times
        mantissa, exponent = math.frexp(real / float(self.scale("output")))
        return exponent - 1 + (2 * mantissa * mantissa > 1)

    def similar(self, *names: str) -> int:
        exponent = self.exponent(*names)
        if abs(exponent) > 24:
            raise Refused
        return exponent

    def stored(self, x: Integers) -> Integers:
        return self.clip(saturate(x) + self.integer("output_zero_point"))

    def shifted(self, x: Integers, exponent: int) -> Integers:
        return half_up(x << max(exponent, 0), max(-exponent, 0))

    def contraction(self) -> Integers:
        sums = exact(self.values["accumulator"])
        return self.stored(self.shifted(sums, self.exponent("input", "weight")))

    def mul(self) -> Integers:
        product = self.centred("lhs") * self.centred("rhs")
        return self.stored(self.shifted(product, self.exponent("input", "weight")))

    def mean(self) -> Integers:
        ratio = Fraction(2) ** self.similar("input") / self.integer("count")
        sums = self.centred_sum()
        return self.stored(each(sums, lambda x: half_integer_up(x * ratio)))

    def total(self, sign: int) -> Integers:
        lhs, rhs = self.similar("lhs"), self.similar("rhs")
        finer = min(lhs, rhs, 0)
        a, b = self.centred("lhs") << lhs - finer, self.centred("rhs") << rhs - finer
        return self.stored(half_up(a + sign * b, -finer))

    def add(self) -> Integers:
        return self.total(1)

    def sub(self) -> Integers:
        return self.total(-1)

    def rescale(self) -> Integers:
        x = self.centred("input")
        return self.stored(self.shifted(x, self.exponent("input")))

    def leaky_relu(self) -> Integers:
        alpha, x = F(self.values["alpha"]), self.centred("input")
        if alpha <= 0:
            raise Refused
        exponents = self.exponent("input"), self.exponent("input", times=float(alpha))
        both = (saturate(self.shifted(x, exponent)) for exponent in exponents)
        return self.stored(np.where(x >= 0, *both))


SHIFTS: Formulas = {
    **dict.fromkeys(CONTRACTIONS, Shifts.contraction),
    **dict.fromkeys(RESCALING, Shifts.rescale),
    **{"mul": Shifts.mul, "mean": Shifts.mean, "add": Shifts.add, "sub": Shifts.sub},
    "leaky_relu": Shifts.leaky_relu,
}


@pytest.mark.parts(3)
@pytest.mark.parametrize("rule", SHIFTS)
def test_formula(rule: str):
    check("pow2-shift", rule, lambda values: SHIFTS[rule](Shifts("", values)))


@pytest.mark.parametrize(
    "scales",
    [
        (0.7535366415977478, 0.48687779903411865, 0.49296241998672485),
        (0.4145549535751343, 0.8551417589187622, 0.18150950968265533),
    ],
)
def test_a_ratio_is_no_multiplier_by_one_bit(scales: tuple[float, float, float]):
    """The last of a float64, with none in the 21 before it."""
    x, w, y = scales
    bits = int(np.array(x * w / y, np.float64).view(np.int64))
    assert bits & ((1 << 22) - 1) == 1
    rule = qlower.rule("requant-shift", "conv2d")
    with pytest.raises(QlowerError, match="no integer of 31 bits times a power of two"):
        rule(np.zeros(1, np.int32), input_scale=x, weight_scale=w, output_scale=y)
