"""Glow's two back ends against formulas of their sources, as TVM's family is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
import pytest
from support.systems.glow import integer_scale
from support.values.formulas import (
    F,
    Integers,
    Refused,
    System,
    away,
    check,
    each,
    even,
    exact,
    exponential,
    to_integer,
    wrap,
)

from qlower.contracts import load_contract
from qlower.interp.values import Array

Formulas = Mapping[str, Callable[..., Array]]

RESCALING = ("requantize", "concat", "clamp")


def nearest(x: float) -> int:
    return away(Fraction(x))


class Glow(System):
    """lib/Backends/Interpreter/InterpreterNodes.cpp: float32, by divisions."""

    @property
    def lowering(self) -> int:
        """uint8 is loaded as int8 that is 128 lower."""
        return 128 if self.values.get("output_unsigned", False) else 0

    def inside(self, steps: Array, rounding: Callable[[Fraction], int]) -> Integers:
        moved = steps + F(self.integer("output_zero_point") - self.lowering)
        return self.clip(to_integer(moved, rounding) + self.lowering)

    def steps(self, x: Integers, ratio: F) -> Array:
        if not np.isfinite(ratio):
            raise Refused
        return x.astype(F) * ratio

    def product_steps(self) -> Array:
        bias = to_integer(np.array([F(self.values.get("bias", 0))]), away)
        x = wrap(exact(self.values["accumulator"]) + bias, 32)
        return self.steps(x, self.product_ratio())

    def outside(self, steps: Array) -> Integers:
        return self.clip(to_integer(steps, away) + self.integer("output_zero_point"))

    def contraction(self) -> Integers:
        return self.inside(self.product_steps(), away)

    def linear(self) -> Integers:
        if self.values["per_channel"]:
            return self.contraction()
        return self.outside(self.product_steps())

    def quantize_bias(self) -> Integers:
        step = F(self.scale("input") * self.scale("weight"))
        return to_integer(self.values["real_bias"] / step, even)

    def ratio(self, name: str = "input") -> F:
        return F(self.scale(name) / self.scale("output"))

    def mean_ratio(self, count: int) -> F:
        return F(self.ratio() / F(max(count, 1)))

    def average(self, ratio: F) -> Integers:
        return self.inside(self.steps(self.centred_sum(), ratio), away)

    def avg_pool2d(self) -> Integers:
        whole = self.values["count_include_pad"]
        return self.average(
            self.mean_ratio(self.integer("window_size" if whole else "count"))
        )

    def adaptive(self) -> Integers:
        if self.integer("output_size") == 1:
            return self.average(self.mean_ratio(self.integer("count")))
        rows = self.mean_ratio(self.integer("kernel_width"))
        return self.average(F(rows / F(self.integer("kernel_height"))))

    def mean(self) -> Integers:
        if not self.values["over_image"]:
            raise Refused
        return self.average(self.mean_ratio(self.integer("count")))

    def add(self) -> Integers:
        step = F(2.0**-15)
        a, b = (
            to_integer(self.steps(self.centred(x), F(self.scale(x) / step)), away)
            for x in ("lhs", "rhs")
        )
        ratio = F(step / self.scale("output"))
        return self.inside(self.steps(wrap(a + b, 32), ratio), away)

    def sub(self) -> Integers:
        a, b = (self.steps(self.centred(x), self.ratio(x)) for x in ("lhs", "rhs"))
        return self.inside(a - b, away)

    def product(self) -> Integers:
        return self.centred("lhs") * self.centred("rhs")

    def mul(self) -> Integers:
        return self.outside(self.steps(self.product(), self.product_ratio()))

    # ------------------------------------------------------------ borders, tables

    def to_codes(self, real: Array) -> Integers:
        return self.inside(real / self.scale("output"), even)

    def quantize(self) -> Integers:
        reals = self.values["input"]
        return self.to_codes(np.where(np.isnan(reals), F(-np.inf), reals))

    def real(self) -> Array:
        return self.centred("input").astype(F) * self.scale("input")

    def bound(self) -> Integers:
        z = F(self.integer("output_zero_point"))
        return to_integer(self.values["real"] / self.scale("output") + z, even)

    def rescale(self) -> Integers:
        return self.to_codes(self.real())

    def on_grid(self, scale: F) -> Integers:
        """The input on a table's grid of int8, whose zero point is 0."""
        return np.clip(to_integer(self.real() / scale, even), -128, 127)

    def from_table(self, entries: Integers, scale: F, zero_point: int) -> Integers:
        return self.to_codes((entries - zero_point).astype(F) * scale)

    def sigmoid(self) -> Integers:
        """createIntSigmoid of lib/Graph/Graph.cpp"""
        grid = self.on_grid(F(12 / 255))
        entries = each(
            grid, lambda i: nearest(255 / (1 + math.exp(-i * 12 / 255)) - 128)
        )
        table = np.where(grid == -128, -128, np.where(grid == 127, 127, entries))
        return self.from_table(table, F(1 / 255), -128)

    def tanh(self) -> Integers:
        """createIntTanh"""
        grid = self.on_grid(F(6 / 255))
        ends = {-128: -128, -127: -127, 127: 127}
        table = each(grid, lambda i: ends.get(i, nearest(127 * math.tanh(3 * i / 127))))
        return self.from_table(table, F(2 / 255), 0)

    def term(self) -> Array:
        if self.values["beta"] != 1:
            raise Refused
        return exponential(self.values["difference"].astype(F) * self.scale("input"))

    def output(self) -> Integers:
        return self.to_codes(self.values["term"] / self.values["sum"])

    # ------------------------------------------------------------ images

    def position(self) -> Array:
        if self.values["align_corners"] or self.values["half_pixel_centers"]:
            raise Refused
        index, source, result = (
            self.values[name].astype(F)
            for name in ("output_index", "input_size", "output_size")
        )
        return index / (result / source)

    def nearest(self) -> Integers:
        floors = exact(self.position().astype(int))
        return np.minimum(floors, exact(self.values["input_size"]) - 1)

    def neighbours(self) -> Integers:
        position, last = self.position(), exact(self.values["input_size"]) - 1
        floor = position.astype(int)
        weight = (position - floor.astype(F)).view(np.int32)
        lower, upper = (
            np.minimum(exact(floor), last),
            np.minimum(exact(floor) + 1, last),
        )
        return np.stack([lower, upper, exact(weight)])

    def bilinear(self) -> Integers:
        x, y = (self.values[f"{name}_weight"].view(F) for name in "xy")

        def between(a: Array, b: Array, weight: Array) -> Array:
            return a + (b - a) * weight

        pixels = {
            name: (exact(self.values[name]) - self.lowering).astype(F)
            for name in ("top_left", "top_right", "bottom_left", "bottom_right")
        }
        left, right = (
            between(pixels[f"top_{side}"], pixels[f"bottom_{side}"], y)
            for side in ("left", "right")
        )
        return exact(between(left, right, x).astype(int)) + self.lowering


GLOW: Formulas = {
    **dict.fromkeys(("conv2d", "depthwise_conv2d", "matmul"), Glow.contraction),
    **dict.fromkeys(RESCALING, Glow.rescale),
    **{"linear": Glow.linear, "quantize_bias": Glow.quantize_bias, "add": Glow.add},
    **{"avg_pool2d": Glow.avg_pool2d, "adaptive_avg_pool2d": Glow.adaptive},
    **{"mean": Glow.mean, "sub": Glow.sub, "mul": Glow.mul, "bound": Glow.bound},
    **{"quantize": Glow.quantize, "dequantize": Glow.real},
    **{"sigmoid": Glow.sigmoid, "tanh": Glow.tanh},
    **{"softmax_term": Glow.term, "softmax_output": Glow.output},
    "softmax_addend": lambda layer: layer.values["term"],
    **{"resize_nearest_position": Glow.nearest, "resize_bilinear": Glow.bilinear},
    "resize_bilinear_position": Glow.neighbours,
}


class GlowCpu(Glow):
    """libjit: integers that wrap, between two shifts."""

    def scaled(self, x: Integers, ratio: F) -> Integers:
        pre, post, factor = integer_scale(ratio)
        product = wrap((x >> pre) * factor, 32)
        return wrap(product + ((1 << post) >> 1), 32) >> post

    def stored(self, x: Integers) -> Integers:
        return self.clip(wrap(x + self.integer("output_zero_point"), 32))

    def contraction(self) -> Integers:
        sums = exact(self.values["accumulator"])
        return self.stored(self.scaled(sums, self.product_ratio()))

    def average(self, ratio: F) -> Integers:
        return self.stored(self.scaled(self.centred_sum(), ratio))

    def avg_pool2d(self) -> Integers:
        if self.values["count_include_pad"]:
            return self.average(self.mean_ratio(self.integer("window_size")))
        x, n = self.scaled(self.centred_sum(), self.ratio()), self.integer("count")
        n = max(n, 1)
        halves = np.abs(x) + n // 2
        return self.stored(np.where(x > 0, halves // n, -(halves // n)))

    def adaptive(self) -> Integers:
        if self.integer("output_size") != 1:
            raise Refused
        return super().adaptive()

    def operand(self, name: str) -> Integers:
        return self.scaled(self.centred(name), self.ratio(name))

    def add(self) -> Integers:
        return self.stored(self.operand("lhs") + self.operand("rhs"))

    def sub(self) -> Integers:
        return self.stored(self.operand("lhs") - self.operand("rhs"))

    def mul(self) -> Integers:
        return self.stored(self.scaled(self.product(), self.product_ratio()))

    def rescale(self) -> Integers:
        return self.stored(self.operand("input"))

    def clamp(self) -> Integers:
        names = ("scale", "zero_point")
        same = all(
            self.values[f"input_{x}"] == self.values[f"output_{x}"] for x in names
        )
        low, high = self.integer("output_min"), self.integer("output_max")
        relu = low == self.integer("output_zero_point") and high == 127 + self.lowering
        if not same and not relu:
            raise Refused
        return self.rescale()

    def leaky_relu(self) -> Integers:
        alpha = F(self.values["alpha"])
        if alpha <= 0:
            raise Refused
        x = self.centred("input")
        sloped = F(F(self.scale("input") * alpha) / self.scale("output"))
        both = self.scaled(x, self.ratio()), self.scaled(x, sloped)
        return self.stored(np.where(x >= 0, *both))

    def on_grid(self, scale: F) -> Integers:
        ratio = F(self.scale("input") / scale)
        return np.clip(self.scaled(self.centred("input"), ratio), -128, 127)

    def from_table(self, entries: Integers, scale: F, zero_point: int) -> Integers:
        ratio = F(scale / self.scale("output"))
        return self.stored(self.scaled(entries - zero_point, ratio))


GLOW_CPU: Formulas = {
    **{
        rule: getattr(GlowCpu, formula.__name__, formula)
        for rule, formula in GLOW.items()
    },
    **{"linear": GlowCpu.contraction, "clamp": GlowCpu.clamp},
    "leaky_relu": GlowCpu.leaky_relu,
}


SYSTEMS: Mapping[str, tuple[type[System], Formulas]] = {
    "glow-interpreter": (Glow, GLOW),
    "glow-cpu": (GlowCpu, GLOW_CPU),
}


@pytest.mark.parts(36)
@pytest.mark.parametrize(
    ("contract", "rule"),
    [(name, rule) for name, (_, formulas) in SYSTEMS.items() for rule in formulas],
)
def test_formula(contract: str, rule: str):
    system, formulas = SYSTEMS[contract]
    check(contract, rule, lambda values: formulas[rule](system(contract, values)))


def test_a_tanh_of_another_output_scale() -> None:
    """Its last entry, 127, stands for 254/255: of the other tests' scale 128 would
    be the same code."""
    values = {
        **{"input": np.array([-128, 0, 127], np.int32), "input_scale": F(0.1)},
        **{"input_zero_point": np.int32(0), "output_zero_point": np.int32(0)},
        **{"output_scale": F(0.0079), "output_unsigned": np.False_},
        **{"output_min": np.int32(-128), "output_max": np.int32(127)},
    }
    (found,) = load_contract("glow-interpreter").rule("tanh").evaluate(values)
    ends = [round(entry * 2 / 255 / 0.0079) for entry in (-128, 0, 127)]
    assert found.tolist() == ends
