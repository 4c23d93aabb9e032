"""Quantization parameters and values at which two arithmetics part.

Uniform draws seldom meet them: ratios of scales that make exact ties or miss one by a
unit in the last place, activation bounds halfway between two codes, zero points and
codes at the ends of the storage range, reals around every half step. Each function
draws one of several kinds by `random`; the same generator state gives the same value.
Scales and ratios are float32 numbers, as `float`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.generic]

SIMPLE_RATIOS = (1.0, 3.0, 5.0, 7.0, 1 / 3, 2 / 3, 1 / 5, 1 / 7, 0.1, 1 / 255)
"""Times a power of two: ratios whose products are, or nearly are, halves."""


def float32(value: float) -> float:
    """The float32 number nearest to `value`."""
    return float(np.float32(value))


def near(random: np.random.Generator, value: float) -> float:
    """`value` as float32, or one of the two numbers on each side of it."""
    units = int(random.integers(-2, 2, endpoint=True))
    result = np.float32(value)
    for _ in range(abs(units)):
        result = np.nextafter(result, np.float32(np.inf * units))
    return float(result)


def ratio(
    random: np.random.Generator, low: float = 2.0**-8, high: float = 2.0**2
) -> float:
    """A ratio of scales in about [low, high]: a power of two (1 among them), a simple
    one, one next to those, or any."""
    kind = int(random.integers(4))
    anything = math.exp(random.uniform(math.log(low), math.log(high)))
    if kind == 0:
        return float32(anything)
    power = 2.0 ** round(math.log2(anything))
    if kind == 1:
        return power
    simple = float(random.choice(SIMPLE_RATIOS))
    value = power * simple / 2.0 ** round(math.log2(simple))
    return float32(value) if kind == 2 else near(random, value)


def scale(random: np.random.Generator) -> float:
    """A scale of an activation or a weight, of the kinds of `ratio`."""
    return ratio(random, 2.0**-9, 2.0**-2)


def extreme_ratio(random: np.random.Generator) -> float:
    """A ratio of scales far outside what models have: 2^-40 to 2^40."""
    return ratio(random, 2.0**-40, 2.0**40)


def scale_with_bound_tie(
    random: np.random.Generator, bound: float, most: int = 255
) -> float:
    """A scale for which `bound` lies halfway between two codes, k + 1/2 steps with k up
    to `most`, or next to that. For k of 0 and 1 the quotient can be exact."""
    if random.random() < 0.25:
        most = 1
    steps = int(random.integers(0, most, endpoint=True)) + 0.5
    return near(random, abs(bound) / steps)


def zero_point(random: np.random.Generator, dtype: str) -> int:
    """An end of the storage range, its middle, next to one of them, or any code."""
    info = np.iinfo(dtype)
    middle = (int(info.min) + int(info.max) + 1) // 2
    anything = int(random.integers(info.min, info.max, endpoint=True))
    point = int(random.choice([info.min, info.max, middle, anything, anything]))
    point += int(random.choice([0, 0, -1, 1]))
    return min(max(point, int(info.min)), int(info.max))


def codes(random: np.random.Generator, shape: Sequence[int], dtype: str) -> Codes:
    """Stored integers: any, or for a part of them the ends of the range."""
    info = np.iinfo(dtype)
    result = random.integers(info.min, info.max, shape, endpoint=True)
    if random.random() < 0.5:
        ends = random.choice([int(info.min), int(info.max)], shape)
        result = np.where(random.random(shape) < random.random(), ends, result)
    return result.astype(dtype)


def every_pair(dtype: str) -> tuple[Codes, Codes]:
    """All 65,536 pairs of codes of an 8-bit type, as two arrays of shape [256, 256]."""
    info = np.iinfo(dtype)
    line = np.arange(int(info.min), int(info.max) + 1).astype(dtype)
    lhs, rhs = np.meshgrid(line, line, indexing="ij")
    return lhs, rhs


def weights(
    random: np.random.Generator,
    shape: Sequence[int],
    dtype: str,
    point: int = 0,
    reach: int = 127,
) -> Codes:
    """Weights within `reach` of the zero point `point`: any, or the ends alone, which
    for a reach of 127 includes -128."""
    info = np.iinfo(dtype)
    low = max(int(info.min), point - reach - (reach == 127))
    high = min(int(info.max), point + reach)
    if random.random() < 0.25:
        return random.choice([low, high], shape).astype(dtype)
    return random.integers(low, high, shape, endpoint=True).astype(dtype)


def reals(
    random: np.random.Generator, shape: Sequence[int], step: float
) -> NDArray[np.float32]:
    """Real numbers to quantize by the scale `step`: multiples of half a step, float32
    numbers next to them, any, and a few far outside the range (up to 2^30 steps)."""
    half_steps = random.integers(-600, 600, shape).astype(np.float64) / 2
    exact = (half_steps * step).astype(np.float32)
    toward = np.where(random.random(shape) < 0.5, -np.inf, np.inf).astype(np.float32)
    beside = np.nextafter(exact, toward)
    anything = (random.normal(0, 100, shape) * step).astype(np.float32)
    signs = np.where(random.random(shape) < 0.5, -1.0, 1.0)
    far = (signs * 2.0 ** random.uniform(8, 30, shape) * step).astype(np.float32)
    kind = random.choice(4, shape, p=[0.4, 0.3, 0.25, 0.05])
    return np.select([kind == 0, kind == 1, kind == 2], [exact, beside, anything], far)


def size(random: np.random.Generator, most: int) -> int:
    """A number of channels or columns in [1, most]: any, or one at or beside a whole
    number of vectors, since vector bodies and tails may round otherwise."""
    if random.random() < 0.5:
        return int(random.integers(1, most, endpoint=True))
    vectors = int(random.choice([8, 16, 32, 64]))
    whole = vectors * int(random.integers(1, max(1, most // vectors), endpoint=True))
    return min(max(whole + int(random.integers(-1, 2)), 1), most)


def steps(random: np.random.Generator, most: int = 3) -> tuple[int, int]:
    """Strides (or dilations, or kernel sizes) along rows and columns, half of the time
    unequal ones."""
    first = int(random.integers(1, most, endpoint=True))
    if random.random() < 0.5:
        return first, first
    return first, int(random.integers(1, most, endpoint=True))
