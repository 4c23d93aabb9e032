"""The TVM family and gemmlowp, which CI can't run, against formulas of their sources.

Each formula is written in Python's integers and in IEEE numbers, independent of the
contract's text, and gives all results of the layers that `answers/` has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from support.values.formulas import (
    F,
    Integers,
    Refused,
    System,
    away,
    check,
    exact,
    exponential,
    half_away,
    half_up,
    saturate,
    to_integer,
    wrap,
)
from support.values.rule_values import Layer, LayerValues

from qlower.contracts import load_contract
from qlower.interp.values import Array


def multiplier_and_shift(real: float) -> tuple[int, int]:
    """frexp, and 31 bits of the fraction, half away from zero."""
    mantissa, shift = math.frexp(real)
    multiplier = away(Fraction(mantissa) * (1 << 31))
    if multiplier == 1 << 31:
        multiplier, shift = 1 << 30, shift + 1
    if not -31 <= shift <= 31:
        raise Refused
    return multiplier, shift


Multiply = Callable[[Integers, int, int, bool], Integers]


def upward(x: Integers, m: int, shift: int, per_channel: bool) -> Integers:
    """tir.q_multiply_shift, src/target/intrin_rule.cc."""
    if m == 1 << 30 and not per_channel:
        if shift in (1, -31):
            raise Refused
        if shift <= 0:
            return wrap(x + (1 << -shift), 32) >> (1 - shift)
    product = wrap((x << max(shift, 0)) * m, 64)
    return wrap(half_up(product, 31 + max(-shift, 0)), 32)


def to_nearest(x: Integers, m: int, shift: int, per_channel: bool) -> Integers:
    """FixedPointMultiplyToNearest, src/relay/qnn/utils.cc."""
    product = wrap((x << max(shift, 0)) * m, 64)
    return wrap(half_away(product, 31 + max(-shift, 0)), 32)


def neon(first: int, x: Integers, m: int, shift: int, per_channel: bool) -> Integers:
    """sqrdmulh and srshl; `first` is what is added before the first shift."""
    if per_channel:
        return upward(x, m, shift, per_channel)
    if shift >= 0:
        return saturate(half_up(wrap(x << shift, 32) * m, 31))
    return half_up(saturate((x * m + first) >> 31), -shift)


def in_integers(
    multiply: Multiply, x: Integers, source: F, result: F, per: bool
) -> Integers:
    """RequantizeLowerInt, less the zero point."""
    if source == result:
        return x
    return multiply(x, *multiplier_and_shift(float(source) / float(result)), per)


def in_float32(x: Integers, source: F, result: F, z: int) -> Integers:
    """RequantizeLowerFP, with the zero point."""
    nudged = x.astype(F) * F(source / result) + F(F(z) + F(0.5))
    floors = to_integer(nudged, math.floor)
    return np.where(nudged >= F(2**31), -(1 << 31), floors)


def by_shifts(x: Integers, source: F, result: F) -> Integers:
    """QuantizeRealize: by powers of two, else by a factor of 24 bits."""
    logarithm = F(math.log2(float(F(result / source))))
    places = int(logarithm)
    if places == logarithm:
        if abs(places) > 31:
            raise Refused
        if places > 0:
            return wrap(x + (1 << places - 1), 32) >> places
        return wrap(x << -places, 32)
    return by_factor(x, source, result)


def by_factor(x: Integers, source: F, result: F) -> Integers:
    if source == result:
        return x
    return upward(x, *multiplier_and_shift(float(F(source / result))), True)


def by_product(x: Integers, source: F, result: F) -> Integers:
    return to_integer(x.astype(F) * F(source / result), away)


class Tvm(System):
    """The rules of one member of the family."""

    def requantize(self, x: Integers, source: F, per_channel: bool = False) -> Integers:
        """On the output's grid, with its zero point."""
        result, z = self.scale("output"), self.integer("output_zero_point")
        match self.name:
            case "tvm-float32":
                return in_float32(x, source, result, z)
            case "tvm-relay-shift":
                return wrap(by_shifts(x, source, result) + z, 32)
            case "tvm-relay-float":
                found = x if source == result else by_product(x, source, result)
                return np.clip(found, -65536, 65536) + z
            case name:
                multiply: dict[str, Multiply] = {
                    "tvm": upward,
                    "tvm-tonearest": to_nearest,
                    "tvm-neon": partial(neon, 1 << 30),
                    "tvm-neon-fix": partial(neon, 0),
                }
                return wrap(
                    in_integers(multiply[name], x, source, result, per_channel) + z, 32
                )

    def clip(self, x: Integers) -> Integers:
        low, high = self.integer("output_min"), self.integer("output_max")
        if "relay" in self.name and self.integer("output_zero_point") == 0:
            low = max(low, -127)
        return np.clip(x, low, high)

    def contraction(self) -> Integers:
        scale = F(self.scale("input") * self.scale("weight"))
        per_channel = bool(self.values.get("per_channel", False))
        return self.clip(
            self.requantize(exact(self.values["accumulator"]), scale, per_channel)
        )

    def mul(self) -> Integers:
        scale = F(self.scale("input") * self.scale("weight"))
        return self.clip(
            self.requantize(self.centred("lhs") * self.centred("rhs"), scale)
        )

    def rescale(self) -> Integers:
        return self.clip(self.requantize(self.centred("input"), self.scale("input")))

    def truncated(self) -> Integers:
        total, count = exact(self.values["accumulator"]), self.integer("count")
        if count == 0:
            raise Refused
        return np.where(total < 0, -(-total // count), total // count)

    def mean(self) -> Integers:
        centred = self.truncated() - self.integer("input_zero_point")
        return self.clip(self.requantize(centred, self.scale("input")))

    def average(self) -> Integers:
        if self.scale("input") != self.scale("output") or self.integer(
            "input_zero_point"
        ) != self.integer("output_zero_point"):
            raise Refused
        return self.clip(self.truncated())

    def operands(self) -> tuple[Integers, Integers]:
        a, b = (
            self.requantize(self.centred(name), self.scale(name))
            for name in ("lhs", "rhs")
        )
        return a, b

    def add(self) -> Integers:
        if "relay" in self.name:
            finer = min(self.scale("lhs"), self.scale("rhs"))
            align = by_factor if self.name == "tvm-relay-shift" else by_product
            a, b = (
                align(self.centred(name), self.scale(name), finer)
                for name in ("lhs", "rhs")
            )
            return self.clip(self.requantize(wrap(a + b, 32), finer))
        a, b = self.operands()
        return self.clip(wrap(a + b - self.integer("output_zero_point"), 32))

    def sub(self) -> Integers:
        a, b = self.operands()
        return self.clip(wrap(a - b + self.integer("output_zero_point"), 32))

    # ------------------------------------------------------------ the borders

    def store(self, real: Array) -> Integers:
        """qnn.quantize: a product with the reciprocal, half away from zero."""
        steps = real * F(F(1) / self.scale("output"))
        limited = np.clip(to_integer(steps, away), -65536, 65536)
        return self.clip(limited + self.integer("output_zero_point"))

    def quantize(self) -> Integers:
        reals = self.values["input"]
        return self.store(np.where(np.isnan(reals), F(-np.inf), reals))

    def quantize_bias(self) -> Integers:
        scale = F(self.scale("input") * self.scale("weight"))
        return to_integer(self.values["real_bias"] / scale, away)

    def bound(self) -> Integers:
        steps = self.values["real"].astype(float) / float(self.scale("output"))
        limited = np.clip(to_integer(steps, round), -65536, 65536)
        return limited + self.integer("output_zero_point")

    def real(self, name: str = "input") -> Array:
        """F((q - z) s)"""
        centred = exact(self.values[name]) - self.integer("input_zero_point")
        return centred.astype(F) * self.scale("input")

    # ------------------------------------------------------------ functions

    def sigmoid(self) -> Integers:
        return self.store(F(1) / (F(1) + exponential(-self.real())))

    def tanh(self) -> Integers:
        power = exponential(F(-2) * np.abs(self.real()))
        return self.store(np.copysign((F(1) - power) / (F(1) + power), self.real()))

    def hard_swish(self) -> Integers:
        x = self.real()
        return self.store(x * np.clip(x + F(3), F(0), F(6)) * F(F(1) / F(6)))

    def leaky_relu(self) -> Integers:
        x = self.real()
        return self.store(np.where(x > 0, x, x * F(self.values["alpha"])))

    def softmax_term(self) -> Array:
        real = self.values["difference"].astype(F) * self.scale("input")
        return exponential(real * F(self.values["beta"]))

    def softmax_output(self) -> Integers:
        return self.store(self.values["term"] / self.values["sum"])

    # ------------------------------------------------------------ images

    def position(self) -> Array:
        """get_inx of python/tvm/topi/image/resize.py, in float32."""
        index = self.values["output_index"].astype(F)
        source, result = (
            self.values[name].astype(F) for name in ("input_size", "output_size")
        )
        if self.values["half_pixel_centers"]:
            return (index + F(0.5)) * (source / result) - F(0.5)
        if self.values["align_corners"]:
            return ((source - F(1)) / np.maximum(result - F(1), F(1))) * index
        return (source / result) * index

    def inside(self, index: Integers) -> Integers:
        return np.clip(index, 0, exact(self.values["input_size"]) - 1)

    def nearest(self) -> Integers:
        position = self.position()
        if self.values["align_corners"]:
            return self.inside(to_integer(position, away))
        nudge = F(0.5 if self.values["half_pixel_centers"] else 1e-5)
        return self.inside(to_integer(position + nudge, math.floor))

    def bilinear_position(self) -> Integers:
        position = self.position()
        floor = to_integer(position, math.floor)
        weight = (position - floor.astype(F)).view(np.int32)
        return np.stack([self.inside(floor), self.inside(floor + 1), exact(weight)])

    def bilinear(self) -> Integers:
        x, y = (self.values[name].view(F) for name in ("x_weight", "y_weight"))
        rows = [
            self.real(f"{row}_left") * (F(1) - x) + self.real(f"{row}_right") * x
            for row in ("top", "bottom")
        ]
        return self.store(rows[0] * (F(1) - y) + rows[1] * y)


CONTRACTIONS = ("conv2d", "depthwise_conv2d", "linear", "matmul")

TVM: Mapping[str, Callable[[Tvm], Array]] = {
    **dict.fromkeys(CONTRACTIONS, Tvm.contraction),
    **dict.fromkeys(("requantize", "clamp", "concat"), Tvm.rescale),
    **dict.fromkeys(("avg_pool2d", "adaptive_avg_pool2d"), Tvm.average),
    **{"add": Tvm.add, "sub": Tvm.sub, "mul": Tvm.mul, "mean": Tvm.mean},
    **{"quantize": Tvm.quantize, "quantize_bias": Tvm.quantize_bias},
    **{"dequantize": Tvm.real, "bound": Tvm.bound},
    **{"sigmoid": Tvm.sigmoid, "tanh": Tvm.tanh, "hard_swish": Tvm.hard_swish},
    **{"leaky_relu": Tvm.leaky_relu, "softmax_term": Tvm.softmax_term},
    "softmax_addend": lambda layer: layer.values["term"],
    "softmax_output": Tvm.softmax_output,
    "resize_nearest_position": Tvm.nearest,
    "resize_bilinear_position": Tvm.bilinear_position,
    "resize_bilinear": Tvm.bilinear,
}

FAMILY = (
    *("tvm", "tvm-neon", "tvm-neon-fix", "tvm-tonearest"),
    *("tvm-float32", "tvm-relay-shift", "tvm-relay-float"),
)


class Gemmlowp(Tvm):
    """OutputStageQuantizeDownInt32ByFixedPoint, and doc/quantization_example.cc."""

    def contraction(self) -> Integers:
        ratio = F(F(self.scale("input") * self.scale("weight")) / self.scale("output"))
        mantissa, shift = math.frexp(float(ratio))
        multiplier = int(Fraction(mantissa) * (1 << 31))
        if shift >= 31:
            raise Refused
        if shift < -31:
            # TFLite's QuantizeMultiplier, from which the contract has the multiplier.
            multiplier, shift = 0, 0
        x = wrap(exact(self.values["accumulator"]) << max(shift, 0), 32)
        high = saturate(half_up(x * multiplier, 31))
        scaled = half_away(high, max(-shift, 0))
        return self.clip(scaled + self.integer("output_zero_point"))

    def moved(self, real: Array) -> Integers:
        z = F(self.integer("output_zero_point"))
        return to_integer(z + real / self.scale("output"), away)

    def bound(self) -> Integers:
        return self.moved(self.values["real"])

    def quantize(self) -> Integers:
        reals = self.values["input"]
        return self.clip(self.moved(np.where(np.isnan(reals), F(np.inf), reals)))


GEMMLOWP: Mapping[str, Callable[[Gemmlowp], Array]] = {
    **dict.fromkeys(CONTRACTIONS, Gemmlowp.contraction),
    "bound": Gemmlowp.bound,
    "quantize": Gemmlowp.quantize,
    "dequantize": Gemmlowp.real,
}


@pytest.mark.parts(48)
@pytest.mark.parametrize("rule", TVM)
@pytest.mark.parametrize("contract", FAMILY)
def test_tvm(contract: str, rule: str):
    check(contract, rule, lambda values: TVM[rule](Tvm(contract, values)))


@pytest.mark.parts(3)
@pytest.mark.parametrize("rule", GEMMLOWP)
def test_gemmlowp(rule: str):
    check("gemmlowp", rule, lambda values: GEMMLOWP[rule](Gemmlowp("gemmlowp", values)))


def test_every_rule_has_a_formula():
    for contract in FAMILY:
        assert {*load_contract(contract).rules} == {*TVM}


@pytest.mark.parametrize(
    ("contract", "codes"),
    [
        ("tvm", [-128, -128, -3, -2, -1, 1, 2, 3, 127]),
        ("tvm-relay-shift", [-127, -127, -3, -2, -1, 1, 2, 3, 127]),
        ("gemmlowp", [127, -128, -3, -2, -1, 1, 2, 3, 127]),
    ],
)
def test_quantization_by_hand(contract: str, codes: list[int]):
    """No number, both infinities, and ties in steps of a half."""
    reals = [np.nan, -np.inf, -1.25, -0.75, -0.25, 0.25, 0.75, 1.25, np.inf]
    layer = Layer("by hand", (1, 1, 0.5), (0, 0, 0))
    loaded = load_contract(contract)
    rule = loaded.rule("quantize")
    values = LayerValues(layer, loaded, "quantize").of(rule)
    (result,) = rule.evaluate(values | {"input": np.array(reals, F)})
    assert result.tolist() == codes
