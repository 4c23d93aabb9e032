"""What formulas of rules are written in: integers of Python and IEEE numbers, which
don't depend on the contracts' text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from support.values.rule_values import LAYERS, LayerValues, answers

Values = Mapping[str, Array]
Integers = NDArray[np.object_]
"""Python's integers, of any size."""

F = np.float32


class Refused(Exception):
    """Where the system refuses the layer."""


def exact(array: Array) -> Integers:
    """Python's integers."""
    return array.astype(object)


def wrap(x: Integers, bits: int) -> Integers:
    return ((x + (1 << bits - 1)) & ((1 << bits) - 1)) - (1 << bits - 1)


def saturate(x: Integers) -> Integers:
    return np.clip(x, -(1 << 31), (1 << 31) - 1)


def half_up(x: Integers, places: int) -> Integers:
    return (x + ((1 << places) >> 1)) >> places


def half_away(x: Integers, places: int) -> Integers:
    return np.where(x >= 0, half_up(np.abs(x), places), -half_up(np.abs(x), places))


def to_integer(real: Array, rounding: Callable[[Fraction], int]) -> Integers:
    """Reals rounded, saturated at 32 bits; no number is 0."""

    def one(x: float) -> int:
        if math.isnan(x):
            return 0
        return rounding(Fraction(min(max(x, -(2.0**31)), 2.0**31 - 1)))

    return np.array([one(float(x)) for x in np.ravel(real)], object)


def each(x: Integers, function: Callable[[int], int]) -> Integers:
    """A function of each integer."""
    found = [function(number) for number in np.ravel(x).tolist()]
    return np.array(found, object).reshape(np.shape(x))


def away(x: Fraction) -> int:
    return int(math.copysign(math.floor(abs(x) + Fraction(1, 2)), x))


def even(x: Fraction) -> int:
    return round(x)


def half_integer_up(x: Fraction) -> int:
    return math.floor(x + Fraction(1, 2))


def exponential(x: Array) -> Array:
    """In float64, to the nearest float32."""
    return np.exp(x.astype(float)).astype(F)


class System:
    """A layer's values, for the formulas of one system."""

    def __init__(self, name: str, values: Values) -> None:
        self.name = name
        self.values = values

    def integer(self, name: str) -> int:
        return int(self.values[name])

    def scale(self, name: str) -> F:
        return F(self.values[f"{name}_scale"])

    def clip(self, x: Integers) -> Integers:
        return np.clip(x, self.integer("output_min"), self.integer("output_max"))

    def centred(self, name: str) -> Integers:
        return exact(self.values[name]) - self.integer(f"{name}_zero_point")

    def centred_sum(self) -> Integers:
        zeros = self.integer("count") * self.integer("input_zero_point")
        return exact(self.values["accumulator"]) - zeros

    def product_ratio(self, a: str = "input", b: str = "weight") -> F:
        """F(F(s_x s_w) / s_y)"""
        return F(F(self.scale(a) * self.scale(b)) / self.scale("output"))


class Elsewhere(Exception):
    """Where the system leaves the layer to another, whose formula isn't this one."""


def check(contract: str, rule: str, formula: Callable[[Values], Array]) -> None:
    """The formula gives what the rule does, for every layer, and refuses the same."""
    loaded = load_contract(contract)
    given = answers(loaded, rule)
    for layer in LAYERS:
        try:
            values = LayerValues(layer, loaded, rule).of(loaded.rule(rule))
            with np.errstate(all="ignore"):
                expected = formula(values)
        except Elsewhere:
            continue
        except (Refused, QlowerError):
            assert isinstance(given[layer.name], str), layer.name
            continue
        answer = given[layer.name]
        assert not isinstance(answer, str), (layer.name, answer)
        stacked = np.stack(answer)
        result = stacked if len(stacked) > 1 else stacked[0]
        expected = np.broadcast_to(expected.astype(result.dtype), result.shape)
        np.testing.assert_array_equal(result, expected, layer.name)
