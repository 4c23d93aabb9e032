"""The arithmetic of convolutions and linear layers, put together of steps.

`family.mlir` has the steps as functions of a contract. An `Arithmetic` chooses among
them; `arithmetic_text` writes the contract that has the chosen ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from string import Template

from xdsl.dialects.func import FuncOp

from qlower.contracts.calls import value_name
from qlower.contracts.family.choices import (
    AFTER,
    BYTE,
    CHOICES,
    FIXED,
    FUSED,
    FUSED_INSIDE,
    GIVEN,
    INSIDE,
    ONCE,
    RANGES,
    SYMMETRIC,
    TOGETHER,
    TURNS,
)
from qlower.contracts.products import EXACT, IN_TURN, PIXEL, TAPS
from qlower.text.parsing import parse_module

_FUSING = ("divide f32", "reciprocal f32")
"""The scalings whose product with the sum can take the bias in."""

_STEPPED = ("f32_product_first", "f32_reciprocal")
"""The ratios of a step of the sum and one of the output."""


@dataclass(frozen=True)
class FamilyStep:
    """A function of `family.mlir`, filled in, and the values that it makes."""

    text: str
    results: tuple[str, ...]

    @property
    def name(self) -> str:
        """The function's."""
        return _name(self.text)

    @property
    def function(self) -> FuncOp:
        """The function, which is in a module of its own."""
        return _parsed(self.text)

    @property
    def arguments(self) -> list[str]:
        """The values that it takes."""
        function = self.function
        count = len(function.function_type.inputs)
        return [value_name(function, index) or "" for index in range(count)]


@dataclass(frozen=True)
class Arithmetic:
    """One member of the family: a choice of each of `CHOICES`."""

    products: str = EXACT
    accumulator: str = "32 bits"
    bias: str = "integer"
    scaling: str = FIXED
    scales: str = GIVEN
    ratio: str = "f64"
    multiplier: str = "32 bits, half_up"
    first: str = ONCE
    rounding: str = "half_up"
    zero_point: str = AFTER

    def choices(self) -> dict[str, str]:
        """Each choice by its name."""
        return {name: getattr(self, name) for name in CHOICES}

    @property
    def relevant(self) -> frozenset[str]:
        """The choices that make a difference."""
        names = set(CHOICES)
        if self.scaling == FIXED:
            names -= {"bias"}
        else:
            names -= {"multiplier", "first"}
            names -= set() if self.scaling.startswith("multiply") else {"ratio"}
        is_ratio = self.scaling == "multiply f32" and self.ratio in _STEPPED
        names -= set() if is_ratio or self.scaling in _FUSING else {"scales"}
        return frozenset(names)

    @property
    def group(self) -> int:
        """The products that the accumulator takes before it saturates; 0 for all."""
        return TURNS.get(self.products, 0)

    def normal(self) -> Arithmetic:
        """The arithmetic with the first value of choices that make no difference."""
        plain = {name: values[0] for name, values in CHOICES.items()}
        ignored = {name: plain[name] for name in CHOICES if name not in self.relevant}
        found = replace(self, **ignored)
        if found.bias == FUSED and found.scaling not in _FUSING:
            found = replace(found, bias="real")
        if found.group and "saturate" not in found.accumulator:
            found = replace(found, products=EXACT)
        if found.zero_point == FUSED_INSIDE and not found._fuses_zero_point:
            found = replace(found, zero_point=INSIDE)
        if found.first != ONCE and found.zero_point == INSIDE:
            found = replace(found, zero_point=AFTER)
        return found

    @property
    def _fuses_zero_point(self) -> bool:
        if self.scaling == "multiply f32":
            return self.bias != "real"
        return self.scaling == "reciprocal f32"

    def neighbours(self) -> Iterator[tuple[str, Arithmetic]]:
        """Arithmetics that differ in one choice, with its name."""
        for name, values in CHOICES.items():
            for value in values:
                other = replace(self, **{name: value}).normal()
                if getattr(other, name) == value and other != self:
                    yield name, other

    def second_neighbours(self) -> Iterator[Arithmetic]:
        """Arithmetics that differ in two choices, one of which hides the other."""
        for one, other in TOGETHER:
            for first in CHOICES[one]:
                for second in CHOICES[other]:
                    yield replace(self, **{one: first, other: second}).normal()

    @property
    def float(self) -> str:
        """The type that sums are scaled in; empty for fixed point."""
        return "" if self.scaling == FIXED else self.scaling.split(" ")[1]

    @cached_property
    def steps(self) -> list[FamilyStep]:
        """The steps applied to an accumulator, in order."""
        is_fixed = self.scaling == FIXED
        found = self._fixed_point() if is_fixed else self._floating_point()
        store = {
            INSIDE: "clamp_rounded",
            FUSED_INSIDE: "clamp_rounded",
            AFTER: "add_zero_point_and_clamp",
            BYTE: "saturate_and_add_zero_point",
            SYMMETRIC: "saturate_to_127_and_add_zero_point",
        }
        last = step(store[self.zero_point], "stored")
        return [self.hold, *self._scales(found), *found, last]

    def _scales(self, steps: Sequence[FamilyStep]) -> Iterator[FamilyStep]:
        """Steps that compute the scales which the given steps use."""
        taken = {name for one in steps for name in one.arguments}
        if "step" in taken:
            of = "" if self.scales == GIVEN else f"_of_{self.scales}"
            yield step(f"sum_step{of}", "step")
        made = ("scale", "inverse", "zero", "offset")
        if not taken.isdisjoint(made):
            of = "_of_ranges" if self.scales == RANGES else ""
            yield step(f"output_steps{of}", *made)

    @cached_property
    def hold(self) -> FamilyStep:
        """The step that holds a sum in its register."""
        words = self.accumulator.replace(",", "").split(" ")
        if len(words) == 2:
            return step("hold_in_32_bits", "held")
        bits, how = int(words[0]), words[2]
        return step(
            how + "_to_${bits}_bits",
            "held",
            bits=bits,
            rest=32 - bits,
            least=-(1 << bits - 1),
            most=(1 << bits - 1) - 1,
        )

    def _fixed_point(self) -> list[FamilyStep]:
        width, mode = int(self.multiplier.split(" ")[0]), self.multiplier.split(" ")[2]
        words = {"width": width, "first": self.first, "rounding": self.rounding}
        if self.first != ONCE:
            shift = "shift_twice_${width}_bits_${first}_${rounding}"
        elif self.zero_point == INSIDE:
            shift = "shift_once_inside_${rounding}"
        else:
            shift = "shift_once_${rounding}"
        return [
            step(f"ratio_{self.ratio}", "ratio"),
            step(
                "nearest_power_of_two"
                if mode == "nearest"
                else "multiplier_${width}_bits_${multiplier}",
                *("multiplier", "shift"),
                width=width,
                multiplier=mode,
                dropped=54 - width,
                places=1021 + width,
                least=width - 32,
            ),
            step(shift, "rounded", high=width - 1, **words),
        ]

    def _floating_point(self) -> list[FamilyStep]:
        float, kind = self.float, self.scaling.split(" ")[0]
        fused = "_and_zero_point" if self.zero_point == FUSED_INSIDE else ""
        sum = "sum_and_bias" if self.bias == "in steps" else "sum"
        found = [step(f"{sum}_{float}", "sum")]
        real = step(f"add_bias_{float}", "dequantized")
        if kind == "multiply":
            found.append(step(f"ratio_{self.ratio}", "ratio"))
            found.append(step(f"multiply{fused}_{float}", "real"))
            if self.bias == "real":
                found.append(step(f"add_quotient_{float}", "real"))
        else:
            name = "dequantize_with_bias" if self.bias == FUSED else "dequantize"
            found.append(step(f"{name}_{float}", "dequantized"))
            found += [real] if self.bias == "real" else []
            found.append(step(f"{kind}{fused}_{float}", "real"))
        if self.zero_point == INSIDE:
            found.append(step(f"zero_point_inside_{float}", "real"))
        rounding = f"round_{float}_" + "${rounding}"
        found.append(step(rounding, "rounded", rounding=self.rounding))
        if self.scales == RANGES and self.zero_point in (INSIDE, FUSED_INSIDE):
            found.append(step("from_code", "rounded"))
        return found


def step(name: str, *results: str, **words: str | int) -> FamilyStep:
    """The function of that name in `family.mlir`, with words filled in."""
    return FamilyStep(Template(_templates()[name]).substitute(words), results)


@cache
def _templates() -> dict[str, str]:
    """The functions of `family.mlir` by name, each with the comment above it."""
    text = (files(__name__) / "family.mlir").read_text(encoding="utf-8")
    parts = [part.strip() for part in text.split("\n\n")]
    return {_name(part): part for part in parts if "func.func" in part}


def _name(text: str) -> str:
    found = re.search(r"@([\w${}]+)\(", text)
    assert found is not None
    return found[1]


@cache
def _parsed(text: str) -> FuncOp:
    function = parse_module(text, "family.mlir").body.block.first_op
    assert isinstance(function, FuncOp)
    return function


def arithmetic_text(
    arithmetic: Arithmetic, base: str, *, summary: str, notes: Sequence[str] = ()
) -> str:
    """A contract with the arithmetic in convolutions and linear layers, and with
    `base`'s everywhere else; `notes` are the comment at its beginning."""
    real = arithmetic.bias != "integer"
    bias = step("dequantize_bias" if real else "quantize_bias")
    steps = [bias, *dict.fromkeys(arithmetic.steps)]
    rules = ["conv2d", "linear"]
    products = IN_TURN if arithmetic.group else arithmetic.products
    parts = [
        "\n".join(f"// {note}".rstrip() for note in notes),
        "module attributes {\n"
        f'  contract.summary = "{summary}",\n'
        f'  contract.base = "{base}"\n'
        "} {",
        *(one.text for one in steps),
        _body(arithmetic),
    ]
    if products == PIXEL:
        parts.append(_rule("device_depthwise", ["depthwise_conv2d"], TAPS))
    else:
        rules.append("depthwise_conv2d")
    parts.append(_rule("device_contraction", rules, products))
    if arithmetic.group:
        parts += _accumulation(arithmetic)
    if not real:
        product = IN_TURN if arithmetic.group else EXACT
        parts.append(_rule("device_matmul", ["matmul"], product))
    return "\n\n".join([*parts, "}"]) + "\n"


def _body(arithmetic: Arithmetic) -> str:
    """The steps one after the other; the values that they need of the layer are passed
    by name."""
    lines: list[str] = []
    types = {"accumulator": "i32"}
    current = {"accumulator": "accumulator"}
    for number, one in enumerate(arithmetic.steps):
        type = one.function.function_type
        given = [name for name in one.arguments if name in current]
        made = [f"{name}_{number}" if name in types else name for name in one.results]
        operands = ", ".join(f"%{current[name]}" for name in given)
        arguments = ", ".join(types[current[name]] for name in given)
        results = ", ".join(str(result) for result in type.outputs)
        results = f"({results})" if len(one.results) > 1 else results
        names = ", ".join(f"%{name}" for name in made)
        call = f"@{one.name}({operands}) : ({arguments}) -> {results}"
        lines.append(f"  {names} = func.call {call}")
        for name, new, result in zip(one.results, made, type.outputs, strict=True):
            current[name], types[new] = new, str(result)
    return "\n".join(
        [
            "func.func private @device_arithmetic(%accumulator: i32) -> i32 {",
            *lines,
            f"  return %{current['stored']} : i32",
            "}",
        ]
    )


def _accumulation(arithmetic: Arithmetic) -> list[str]:
    """The rules of sums in turn."""
    return [
        "func.func @accumulate(%accumulator: i32) -> i32 {\n"
        f"  %result = func.call @{arithmetic.hold.name}(%accumulator) : (i32) -> i32\n"
        "  return %result : i32\n"
        "}",
        "func.func @accumulate_group() -> i32 {\n"
        f"  %result = arith.constant {arithmetic.group} : i32\n"
        "  return %result : i32\n"
        "}",
    ]


def _rule(name: str, rules: Sequence[str], product: str) -> str:
    listed = ", ".join(f'"{rule}"' for rule in rules)
    served = f'contract.rules = [{listed}], contract.product = "{product}"'
    return (
        f"func.func @{name}(%accumulator: i32) -> i32\n    attributes {{{served}}} {{\n"
        "  %result = func.call @device_arithmetic(%accumulator) : (i32) -> i32\n"
        "  return %result : i32\n"
        "}"
    )
