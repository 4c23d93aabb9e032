"""CMSIS-NN's own unit tests: constants in C headers, a set for each kernel's call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from qlower.interp.values import Array

CASES = "CMSIS-NN/Tests/UnitTest/TestCases"


@dataclass(frozen=True)
class Constants:
    """Definitions and arrays of a set, without the prefix that they share."""

    name: str
    kernel: str
    """The tested function, as `convolve_s8`; empty where no test reads the set."""
    folder: Path
    prefixes: Sequence[str]
    headers: Sequence[str]

    @cached_property
    def text(self) -> str:
        text = "\n".join((self.folder / name).read_text() for name in self.headers)
        text = re.sub(r"\\\n|//[^\n]*", " ", text)
        return re.sub(rf"\b({'|'.join(self.prefixes)})_", "", text, flags=re.IGNORECASE)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        found = re.findall(r"#define (\w+) +\(?(-?\d+)\)?", self.text)
        return {name: int(value) for name, value in found}

    @cached_property
    def arrays(self) -> Mapping[str, Array]:
        pattern = r"const (int\d+)_t (\w+)\[[^]]*\]\s*=\s*\{(.*?)\}"
        return {
            name: np.array(values.replace(",", " ").split(), np.int64).astype(dtype)
            for dtype, name, values in re.findall(pattern, self.text, re.DOTALL)
        }

    def number(self, *names: str, default: int | None = None) -> int:
        """The first of these definitions that exists."""
        for name in names:
            if name in self.numbers:
                return self.numbers[name]
        assert default is not None, f"{self.name} defines none of {names}"
        return default

    def sizes(self, *names: str) -> list[int]:
        """Definitions, each with its own name."""
        return [self.number(name) for name in names]

    def pair(self, *prefixes: str) -> tuple[int, int]:
        """Height and width of a property, whose names differ from set to set."""
        rows, columns = (
            self.number(*(f"{prefix}_{end}" for prefix in prefixes for end in ends))
            for ends in ("YH", "XW")
        )
        return rows, columns

    def words(self, name: str) -> list[int]:
        """The definition of a list in braces."""
        found = re.search(rf"#define {name}\s+\{{(.*?)\}}", self.text, re.DOTALL)
        assert found, f"{self.name} has no list {name}"
        return [int(word) for word in found[1].split(",") if word.strip()]

    def array(self, *names: str) -> Array | None:
        return next((self.arrays[name] for name in names if name in self.arrays), None)

    def given(self, *names: str) -> Array:
        array = self.array(*names)
        assert array is not None, f"{self.name} has none of {names}"
        return array

    @property
    def expected(self) -> Array:
        return self.given("output_ref", "output")

    def ratio(self, multiplier: str, shift: str) -> float:
        """The number of a multiplier in Q0.31 and a left shift."""
        return self.number(multiplier) * 2.0 ** (self.number(shift) - 31)

    def ratios(self, channels: int = 0) -> Array:
        """One for each channel, or one for all."""
        multipliers = self.array("output_mult", "output_multiplier")
        if multipliers is None or multipliers.size != channels:
            value = self.number("OUTPUT_MULT", "OUTPUT_MULTIPLIER")
            return np.array([value * 2.0 ** (self.number("OUTPUT_SHIFT") - 31)])
        return multipliers * 2.0 ** (self.given("output_shift") - 31)

    def layers(self) -> Iterator[Constants]:
        """A network's layers in their order; the first has its input."""
        pattern = r"layer_(\d+)_(\w+)_config_data.h"
        found = [match for h in self.headers if (match := re.match(pattern, h))]
        for match in sorted(found, key=lambda match: int(match[1])):
            number, kind = match.groups()
            headers = [h for h in self.headers if h.startswith(f"layer_{number}_")]
            headers += ["input_data.h"] * (match[1] == "1")
            prefix = f"{self.name}_layer_{number}_{kind}"
            prefixes = (prefix, f"{kind}_{number}", self.name)
            yield replace(self, kernel=kind, prefixes=prefixes, headers=headers)


def read_sets(checkouts: Path) -> list[Constants]:
    """The sets whose names are not of float numbers."""
    kernels: dict[str, str] = {}
    for path in sorted((checkouts / CASES).glob("test_arm_*/*.c")):
        for name in re.findall(r"TestData/(\w+)/", path.read_text()):
            kernels.setdefault(name, path.parent.name.removeprefix("test_arm_"))
    sets: list[Constants] = []
    for folder in sorted((checkouts / CASES / "TestData").glob("*")):
        name, index = folder.name, folder / "test_data.h"
        if not name.endswith(("f16", "f32")):
            headers = re.findall(r'#include "(.*?)"', index.read_text())
            sets.append(Constants(name, kernels.get(name, ""), folder, [name], headers))
    return sets


def float32_scales(ratios: Array) -> tuple[float, Array, float]:
    """Scales of input, weights and output in float32 whose float64 ratios,
    `input * weight / output`, round to the given ones, of 31 bits.

    A weight's scale has 24 bits: what all share has to have the rest. Of all scales of
    the first weight those remain that leave an interval which suits every channel.
    Where none does, no model has these ratios: the nearest of 24 bits have to do.
    """
    half = np.ldexp(1.0, np.frexp(ratios)[1] - 32)
    first = 1 + np.arange(1 << 23) * 2.0**-23
    low, high = (ratios[0] - half[0]) / first, (ratios[0] + half[0]) / first
    for ratio, step in zip(ratios[1:], half[1:], strict=True):
        weight = float32(ratio / (low + high) * 2)
        low = np.maximum(low, (ratio - step) / weight)
        high = np.minimum(high, (ratio + step) / weight)
        low, high = low[low < high], high[low < high]
    if not low.size:
        return 1.0, float32(ratios), 1.0
    middle = (low[0] + high[0]) / 2
    outputs = 1 + np.arange(1 << 20) * 2.0**-23
    inputs = float32(middle * outputs)
    best = np.argmin(abs(inputs / outputs - middle))
    weights = float32(ratios / (inputs[best] / outputs[best]))
    assert (abs(inputs[best] * weights / outputs[best] - ratios) < half).all()
    return float(inputs[best]), weights, float(outputs[best])


def float32(values: Array) -> Array:
    """The nearest numbers of 24 bits."""
    return values.astype(np.float32).astype(np.float64)
