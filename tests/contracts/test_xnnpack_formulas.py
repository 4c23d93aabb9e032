"""XNNPACK against formulas of its source, as TVM's family is: what it takes, not what
LiteRT's built-in kernels do for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
import pytest
from support.values.formulas import (
    Elsewhere,
    F,
    Integers,
    Refused,
    System,
    check,
    each,
    even,
    exact,
    half_integer_up,
    half_up,
    saturate,
    to_integer,
    wrap,
)

import qlower
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

Formulas = Mapping[str, Callable[..., Array]]


class Xnnpack(System):
    """What the delegate takes; the rest is the built-in kernels'."""

    def real_ratio(self, name: str = "input", times: float = 1.0) -> F:
        """F(F(s times) / s_y)"""
        return F(F(self.scale(name) * F(times)) / self.scale("output"))

    def taken(self, low: float, high: float, *ratios: F) -> None:
        """The delegate takes ratios in [low, high)."""
        if not all(low <= ratio < high for ratio in ratios):
            raise Elsewhere

    def stored(self, x: Integers) -> Integers:
        return self.clip(x + self.integer("output_zero_point"))

    def inside(self, steps: Array) -> Integers:
        return to_integer(steps + F(self.integer("output_zero_point")), even)

    def scaled(self, x: Integers, ratio: F) -> Integers:
        """xnn_qs8_requantize_fp32"""
        return self.stored(to_integer(x.astype(F) * ratio, even))

    def contraction(self) -> Integers:
        if self.values.get("transposed", False) or self.values.get("rhs_zero_point", 0):
            raise Elsewhere
        return self.convolved()

    def convolved(self) -> Integers:
        ratio = self.product_ratio()
        if ratio >= 256:
            raise Refused
        return self.scaled(exact(self.values["accumulator"]), ratio)

    def linear(self) -> Integers:
        if not (self.values["weights_symmetric"] or self.values["weight_unsigned"]):
            raise Elsewhere
        return self.contraction()

    def reduced(self, ratio: F) -> Integers:
        """src/operators/reduce-nd.c"""
        zeros = F(wrap(self.integer("count") * self.centre, 32))
        offset = F(F(self.integer("output_zero_point")) - F(zeros * ratio))
        sums = self.values["accumulator"].astype(F)
        return self.clip(to_integer(sums * ratio + offset, even))

    @property
    def centre(self) -> Integers:
        return exact(self.values["input_zero_point"])

    def mean(self) -> Integers:
        return self.reduced(F(self.real_ratio() / F(self.integer("count"))))

    def sum(self) -> Integers:
        return self.reduced(self.real_ratio())

    def weighted(self, sign: int) -> Integers:
        """xnn_init_qs8_add_minmax_params"""
        ratios = [self.real_ratio(name) for name in ("lhs", "rhs")]
        self.taken(2.0**-10, 256, *ratios)
        places = 21 - math.frexp(float(max(ratios)))[1]
        a, b = (
            self.centred(name) * even(Fraction(float(ratio)) * 2**places)
            for name, ratio in zip(("lhs", "rhs"), ratios, strict=True)
        )
        return self.stored(half_up(wrap(a + sign * b, 32), places))

    def add(self) -> Integers:
        return self.weighted(1)

    def sub(self) -> Integers:
        return self.weighted(-1)

    def mul(self) -> Integers:
        ratio = self.product_ratio("lhs", "rhs")
        if ratio >= 256:
            raise Refused
        self.taken(2.0**-16, 256, ratio)
        return self.scaled(self.centred("lhs") * self.centred("rhs"), ratio)

    def quantize(self) -> Integers:
        """NaN gives the largest code."""
        steps = self.values["input"] * F(F(1) / self.scale("output"))
        return self.stored(to_integer(np.where(np.isnan(steps), F(1e9), steps), even))

    def real(self) -> Array:
        return self.centred("input").astype(F) * self.scale("input")

    def bound(self) -> Integers:
        return self.inside(self.values["real"] / self.scale("output"))

    def eighths(self, x: Integers, ratio: F) -> Integers:
        """xnn_init_qs8_cvt_params: 8 bits of the ratio's fraction."""
        return half_up(x * even(Fraction(float(ratio)) * 256), 8)

    def requantize(self) -> Integers:
        if self.values["input_unsigned"] != self.values["output_unsigned"]:
            raise Elsewhere
        self.taken(2.0**-8, np.nextafter(F(128), F(256)), self.real_ratio())
        return self.stored(self.eighths(self.centred("input"), self.real_ratio()))

    def leaky_relu(self) -> Integers:
        alpha, x = F(self.values["alpha"]), self.centred("input")
        slope = self.real_ratio(times=abs(float(alpha)))
        self.taken(2.0**-8, np.nextafter(F(128), F(256)), self.real_ratio(), slope)
        sloped = self.eighths(x, F(self.real_ratio() * alpha))
        return self.stored(np.where(x >= 0, self.eighths(x, self.real_ratio()), sloped))

    def sigmoid(self) -> Integers:
        power = np.exp(np.clip(self.real(), F(-100), F(100)).astype(float))
        real = (power / (1 + power)).astype(F)
        return self.clip(self.inside(real * F(F(1) / self.scale("output"))))

    def bilinear(self) -> Integers:
        """src/s8-ibilinear: weights of 11 bits."""
        x, y = (exact(self.values[f"{name}_weight"]) for name in "xy")
        names = ("top_left", "top_right", "bottom_left", "bottom_right")
        a, b, c, d = (exact(self.values[name]) for name in names)
        top, bottom = (a << 11) + (b - a) * x, (c << 11) + (d - c) * x
        return half_up((top << 11) + (bottom - top) * y, 22)


XNNPACK: Formulas = {
    **dict.fromkeys(("conv2d", "depthwise_conv2d", "matmul"), Xnnpack.contraction),
    **{"linear": Xnnpack.linear, "mean": Xnnpack.mean, "sum": Xnnpack.sum},
    **{"add": Xnnpack.add, "sub": Xnnpack.sub, "mul": Xnnpack.mul},
    **{"quantize": Xnnpack.quantize, "dequantize": Xnnpack.real},
    **{"bound": Xnnpack.bound, "requantize": Xnnpack.requantize},
    **{"leaky_relu": Xnnpack.leaky_relu, "sigmoid": Xnnpack.sigmoid},
    "resize_bilinear": Xnnpack.bilinear,
}


class ExecuTorch(Xnnpack):
    """What ExecuTorch does otherwise. It delegates transposed convolutions, too."""

    def quantize_bias(self) -> Integers:
        step = F(self.scale("input") * self.scale("weight"))
        return to_integer(self.values["real_bias"] / step, even)

    def requantize(self) -> Integers:
        return self.stored(
            to_integer(self.real() * F(F(1) / self.scale("output")), even)
        )


EXECUTORCH: Formulas = {
    **dict.fromkeys(("requantize", "concat"), ExecuTorch.requantize),
    **{"quantize_bias": ExecuTorch.quantize_bias, "conv2d": Xnnpack.convolved},
}


class Arm(Xnnpack):
    """xnn_qu8_requantize_rndnu: the float32 ratio is exact, and rounds once."""

    def scaled(self, x: Integers, ratio: F) -> Integers:
        is_product = "lhs" in self.values
        if not is_product and not self.values.get("input_unsigned", False):
            return super().scaled(x, ratio)
        if not 2.0**-32 <= ratio < 256:
            raise Refused
        exactly = Fraction(float(ratio))
        return self.stored(saturate(each(x, lambda n: half_integer_up(n * exactly))))


ARM: Formulas = {
    **dict.fromkeys(("conv2d", "depthwise_conv2d"), Arm.contraction),
    **{"linear": Arm.linear, "mul": Arm.mul},
}


SYSTEMS: Mapping[str, tuple[type[System], Formulas]] = {
    "tflite-xnnpack": (Xnnpack, XNNPACK),
    "xnnpack": (ExecuTorch, EXECUTORCH),
    "xnnpack-rndnu": (Arm, ARM),
}


@pytest.mark.parts(6)
@pytest.mark.parametrize(
    ("contract", "rule"),
    [(name, rule) for name, (_, formulas) in SYSTEMS.items() for rule in formulas],
)
def test_formula(contract: str, rule: str):
    system, formulas = SYSTEMS[contract]
    check(contract, rule, lambda values: formulas[rule](system(contract, values)))


@pytest.mark.parametrize("ratio", [2.0**-33, 2.0**-32, 255.99998, 256.0])
def test_ratios_that_are_shifts(ratio: float) -> None:
    """A legal one is a mantissa and a shift by 16 to 55."""
    rule = load_contract("xnnpack-rndnu").rule("conv2d")
    values = {
        **{"accumulator": np.array([1], np.int32), "input_unsigned": np.True_},
        **{"transposed": np.False_, "groups": np.int32(1)},
        **{"input_scale": F(ratio), "weight_scale": F(1), "output_scale": F(1)},
        **{"output_zero_point": np.int32(-128), "output_min": np.int32(-128)},
        "output_max": np.int32(255),
    }
    if 2.0**-32 <= ratio < 256:
        assert rule.evaluate(values)[0].item() == round(ratio) - 128
    else:
        with pytest.raises(QlowerError, match="XNNPACK refuses"):
            rule.evaluate(values)


@pytest.mark.parts(3)
@pytest.mark.parametrize("places", [36, 37, 38])
def test_every_bit_of_a_multiplier_counts(places: int) -> None:
    """At sums whose product with it lies nearest to where rounding turns."""
    multiplier, half = 0xABCDEF, 1 << (places - 1)
    scale = math.ldexp(multiplier, -places)
    sums = np.arange(1, int(250 / scale), dtype=np.int64)
    above = (sums * multiplier + half) & ((half << 1) - 1)
    nearest = sums[np.argsort(np.minimum(above, (half << 1) - above))[:200]]
    expected = (nearest * multiplier + half) >> places
    for other in (multiplier - 1, multiplier + 1):
        assert ((nearest * other + half) >> places != expected).any()
    rule = qlower.rule("xnnpack-rndnu", "conv2d")
    found = rule(
        nearest.astype(np.int32),
        dtype="uint8",
        input_scale=scale,
        weight_scale=1.0,
        output_scale=1.0,
        weight_unsigned=True,
    )
    np.testing.assert_array_equal(found, expected)
