"""Layers whose elements show what a device does with a number that can be chosen.

A 1x1 convolution whose input is at its zero point has its biases for accumulators, one
an output channel, and by the scales of the weights a ratio of its own for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.model import build
from qlower.operators.windows import WindowAxis

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
Type = TensorType[Attribute]

SHIFTS = range(23)
"""The powers of two by which accumulators are divided."""

LARGEST_SUM = 1 << 29
"""Accumulators that every system takes, whatever the ratio."""

FACTORS = np.array([1, 16] + 62 * [255])
"""Factors of weights, where sums are of products."""

LARGEST_WEIGHT = 64
"""Two products of 255 and this fit 16 bits."""

LARGEST_PRODUCT_SUM = 62 * 255 * LARGEST_WEIGHT

TURN_BITS, TURN_COUNTS, CLIMB = range(12, 23), (1, 2, 4, 8, 16), 80
"""Widths of registers, the products that leave them, and those to get there."""

TURN_LENGTH = 2 * (CLIMB + max(TURN_COUNTS))

UGLY = (0.0431, 0.0173)
"""Scales whose quotients are no powers of two."""


@dataclass(frozen=True)
class Layer:
    """A layer of a probe: the types of its inputs, what these are given, and how its
    result is made of them."""

    types: Sequence[Type]
    inputs: Sequence[Array]
    result: Callable[..., SSAValue]


@dataclass(frozen=True)
class Case:
    """A kind of layer, and the points that it may have, one an element of the result.

    `layer` makes one that has some of the points, [point, ...]. Points for contracts
    alone are few: the family's members show in other layers.
    """

    name: str
    points: Reals
    layer: Callable[[Reals], Layer]
    for_family: bool = True


class Cases:
    """Cases with activations of one signedness, and numbers that are drawn."""

    def __init__(self, *, signed: bool, seed: int = 0) -> None:
        self.signed, self.random = signed, np.random.default_rng(seed)
        self.middle = 0 if signed else 128
        self.low = -128 if signed else 0

    def all(self) -> Iterator[Case]:
        """Every case."""
        yield Case("conv_ties", self._ties(), self._convolution(1 / 16, 1 / 16))
        yield Case("conv_near", self._near(), self._convolution(*UGLY))
        sums = self._ties()
        sums = sums[np.abs(sums[:, 1]) <= LARGEST_PRODUCT_SUM]
        yield Case("conv_sums", sums, self._convolution(1 / 16, 1 / 16, zero_bias))
        near = self._near()
        near = near[np.abs(near[:, 1]) <= LARGEST_PRODUCT_SUM]
        yield Case("conv_bias", near, self._convolution(*UGLY, opposite_bias))
        for name, scale in (("linear_ties", 2.0**-9), ("linear_near", 0.00137)):
            yield Case(name, self._sums(scale), self._linear(scale))
        for name, op in (("add", qnn.AddOp), ("mul", qnn.MulOp)):
            codes = self._codes(2)
            yield Case(f"{name}_ties", codes, self._binary(op, (0.25, 0.125, 0.5)))
            yield Case(f"{name}_near", codes, self._binary(op, (0.09, 0.05, 0.11)))
        yield Case("avg_pool", self._codes(9), self._pool)
        if self.signed:
            ties = self._convolution(1 / 16, 1 / 16, has_zero_points=False)
            yield Case("conv_plain_ties", self._ties(), ties, for_family=False)
            near = self._convolution(*UGLY, has_zero_points=False)
            yield Case("conv_plain_near", self._near(), near, for_family=False)

    def type(self, shape: Sequence[int], scale: float, zero_point: int = 0) -> Type:
        """A type of activations, its zero point counted from the middle of the
        codes."""
        scale = float(np.float32(scale))
        found = build.quantized(
            shape, scale, zero_point + self.middle, signed=self.signed
        )
        assert isinstance(found, TensorType)
        return found

    def stored(self, codes: Array, shape: Sequence[int]) -> Array:
        """Codes, counted from the middle, as an input."""
        dtype = np.int8 if self.signed else np.uint8
        return (codes + self.middle).astype(dtype).reshape(shape)

    def _codes(self, count: int) -> Reals:
        return self.random.integers(-128, 128, (1 << 12, count)).astype(np.float64)

    def _ties(self) -> Reals:
        """Ratios and sums: at ties and whole numbers of every shift, next to them, and
        beyond the range. Each has both signs."""
        ratios = [2.0**-shift for shift in SHIFTS] + [2.0, 4.0]
        results = np.concatenate([np.arange(8), self.random.integers(8, 252, 12)]) / 2
        results = np.concatenate([results, -results, [300.0, -300.0]])
        return _points(ratios, results, [-1, 0, 1])

    def _near(self) -> Reals:
        """Ratios and sums whose quotients are almost ties or whole numbers."""
        found: list[Reals] = []
        for shift in SHIFTS:
            scale, ratio = _weight_and_ratio(2.0**-shift * self.random.uniform(0.5, 1))
            reach = int(min(126 / ratio, 1 << 24))
            sums = np.unique(self.random.integers(-reach, reach + 1, 1 << 15))
            twice = 2 * sums * ratio
            order = np.argsort(np.abs(twice - np.rint(twice)), kind="stable")[:80]
            points = np.stack([np.full(len(order), scale), sums[order]], axis=1)
            found.append(points.astype(np.float64))
        return np.concatenate([*found, self._nearest()])

    def _nearest(self) -> Reals:
        """Ratios and sums whose quotients are 2^-8 to 2^-25 of them from ties: few
        small sums come as near, and multipliers of few bits are as far."""
        count = 1 << 11
        results = self.random.integers(-126, 126, count) + 0.5
        sums = np.rint(results * 2.0 ** self.random.uniform(1, 16, count))
        x, y = (np.float64(np.float32(scale)) for scale in UGLY)
        away = self.random.choice([-1, 1], count) * 2.0 ** self.random.uniform(
            -25, -8, count
        )
        scales = (results * (1 + away) * y / (sums * x)).astype(np.float32)
        return np.stack([scales, sums], axis=1).astype(np.float64)

    def _sums(self, scale: float) -> Reals:
        return _points([scale], np.arange(-126, 126) + 0.5, [-1, 0, 1, 2])[:, 1:]

    def _convolution(
        self,
        input: float,
        output: float,
        bias_of: Callable[[Integers], Integers] | None = None,
        *,
        has_zero_points: bool = True,
    ) -> Callable[[Reals], Layer]:
        """A convolution with the ratios and sums of points; a weight's scale is the
        ratio, divided by that of the other scales. Sums are biases of an input at its
        zero point, or of biases by `bias_of` and products with weights. Many devices
        have no zero points."""

        def layer(points: Reals) -> Layer:
            count, depth = len(points), 1 if bias_of is None else len(FACTORS)
            zeros = (3, -5) if bias_of is None else (-128, 6)
            zeros = zeros if has_zero_points else (0, 0)
            x = self.type([1, 1, 1, depth], input, zeros[0])
            y = self.type([1, 1, 1, count], output, zeros[1])
            scales = [float(scale) for scale in points[:, 0].astype(np.float32)]
            type = build.quantized_per_axis([count, 1, 1, depth], 0, scales)
            sums = points[:, 1].astype(np.int64)
            biases, weights = sums, np.ones((count, 1), np.int64)
            codes = np.array(zeros[:1])
            if bias_of is not None:
                biases = bias_of(sums)
                weights, codes = weights_for(sums - biases), FACTORS - 128
            weights = weights.astype(np.int8).reshape(count, 1, 1, depth)

            def result(source: SSAValue) -> SSAValue:
                bias = build.constant(biases.astype(np.int32))
                return qnn.Conv2DOp(
                    source, build.constant(weights, type), bias, y
                ).result

            return Layer([x], [self.stored(codes, [1, 1, 1, depth])], result)

        return layer

    def _linear(self, scale: float) -> Callable[[Reals], Layer]:
        """A linear layer with the sums of points."""

        def layer(points: Reals) -> Layer:
            count = len(points)
            x, y = self.type([1, 4], 1 / 16, 3), self.type([1, count], 1 / 16, -5)
            weight = build.quantized([count, 4], float(np.float32(scale)))
            ones = np.ones((count, 4), np.int8)
            bias = points[:, 0].astype(np.int32)

            def result(source: SSAValue) -> SSAValue:
                operands = build.constant(ones, weight), build.constant(bias)
                return qnn.LinearOp(source, *operands, y).result

            return Layer([x], [self.stored(np.full(4, 3), [1, 4])], result)

        return layer

    def _binary(
        self, op: type[qnn.AddOp] | type[qnn.MulOp], scales: Sequence[float]
    ) -> Callable[[Reals], Layer]:
        """A sum or a product of the codes of points."""

        def layer(points: Reals) -> Layer:
            shape = [1, 1, 1, len(points)]
            lhs, rhs, y = (
                self.type(shape, scale, point)
                for scale, point in zip(scales, (-7, 9, 3), strict=True)
            )
            inputs = [self.stored(points[:, side], shape) for side in (0, 1)]

            def result(a: SSAValue, b: SSAValue) -> SSAValue:
                return op(a, b, y).result

            return Layer([lhs, rhs], inputs, result)

        return layer

    def _pool(self, points: Reals) -> Layer:
        """An average of 3 x 3 codes for each channel."""
        count = len(points)
        x, y = self.type([1, 3, 3, count], 0.5, 3), self.type([1, 1, 1, count], 0.5, 3)

        def result(source: SSAValue) -> SSAValue:
            return qnn.AvgPool2DOp(source, y, kernel=(3, 3)).result

        return Layer([x], [self.stored(points.T, [1, 3, 3, count])], result)

    def products(self) -> Iterator[tuple[str, Layer]]:
        """Layers with large products, pairs of which leave 16 bits, and biases; and
        with sums that leave a register on the way."""
        yield "conv_products", self._products([1, 3, 3, 3], [8, 3, 3, 3])
        yield "fine_products", self._products([1, 3, 3, 3], [32, 3, 3, 3], 1 / 16)
        yield "depthwise_products", self._products([1, 3, 3, 8], [1, 3, 3, 8])
        yield "wide_products", self._products([1, 1, 3, 104], [1, 3, 3, 104])
        yield "turns", self._turns()

    def _turns(self) -> Layer:
        """A convolution whose sums climb, pass the end of a register by half a product
        in the last of 1 to 16, and go back to 0: a channel for each width and number.
        The first of those products begins every group."""
        rows, scales = list[Array](), list[float]()
        for bits, count in product(TURN_BITS, TURN_COUNTS):
            end = 1 << bits - 1
            weight = int(np.clip(end // (255 * count), 1, 127))
            height = end // 255 - weight * count + weight // 2
            climb = np.diff(np.arange(CLIMB + 1) * height // CLIMB)
            row = np.concatenate([climb, [weight] * count, [-weight] * count, -climb])
            row = np.pad(row, (0, TURN_LENGTH - len(row)))
            rows.append(row * (-1) ** len(rows))
            scales.append(2.0 ** round(math.log2(64 / (255 * weight))))
        length, channels = TURN_LENGTH, len(rows)
        x = self.type([1, 1, 1, length], 1 / 16, -128)
        y = self.type([1, 1, 1, channels], 1 / 16, -5)
        shape = [channels, 1, 1, length]
        weights = np.array(rows).astype(np.int8).reshape(shape)
        weight_type = build.quantized_per_axis(shape, 0, scales)

        def result(source: SSAValue) -> SSAValue:
            bias = build.constant(np.zeros(channels, np.int32))
            return qnn.Conv2DOp(
                source, build.constant(weights, weight_type), bias, y
            ).result

        codes = np.full(length, 127)
        return Layer([x], [self.stored(codes, [1, 1, 1, length])], result)

    def _products(
        self, image: Sequence[int], kernel: Sequence[int], output: float = 8.0
    ) -> Layer:
        """A convolution, or a depthwise one, of the largest codes and weights, whose
        sums fit the output if its scale is 8; a finer one shows those of a narrow
        register."""
        is_depthwise = kernel[0] == 1
        channels = kernel[3] if is_depthwise else kernel[0]
        sizes = kernel[1], kernel[2]
        x = self.type(image, 1 / 64, -128)
        weights = self.random.choice(np.array([127, 127, 100, -127], np.int8), kernel)
        weight = build.quantized(kernel, 1 / 128)
        bias = self.random.integers(-(1 << 12), 1 << 12, channels).astype(np.int32)
        stride, pad = ((2, 2), (1, 1, 1, 1)) if is_depthwise else ((1, 1), (0,) * 4)
        places = [
            WindowAxis(size, taps, stride[0], pad[0], pad[0]).results
            for size, taps in zip(image[1:3], sizes, strict=True)
        ]
        y = self.type([1, *places, channels], output, -5)
        op = qnn.DepthwiseConv2DOp if is_depthwise else qnn.Conv2DOp

        def result(source: SSAValue) -> SSAValue:
            operands = build.constant(weights, weight), build.constant(bias)
            return op(source, *operands, y, stride=stride, pad=pad).result

        high = self.random.choice(np.array([127, 127, 90]), image)
        return Layer([x], [self.stored(high, image)], result)


def weights_for(sums: Array) -> Integers:
    """Weights whose products with `FACTORS` have the sums, [sum, factor]."""
    rest = sums.astype(np.int64)
    weights = np.zeros((len(sums), len(FACTORS)), np.int64)
    for place in reversed(range(len(FACTORS))):
        wanted = np.rint(rest / FACTORS[place]).astype(np.int64)
        weights[:, place] = np.clip(wanted, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        rest -= weights[:, place] * FACTORS[place]
    assert not rest.any()
    return weights


def zero_bias(sums: Integers) -> Integers:
    """Biases where sums are of products alone."""
    return np.zeros_like(sums)


def opposite_bias(sums: Integers) -> Integers:
    """Biases that products go against, as far as weights have these."""
    reach = LARGEST_PRODUCT_SUM - 1
    return sums + np.clip(sums * 3 // 7 + 997, -reach, reach)


def _points(ratios: Sequence[float], results: Reals, steps: Sequence[int]) -> Reals:
    """Each ratio with the sums that give about these results, [point, (ratio, sum)]."""
    found = {
        (ratio, sum)
        for ratio in ratios
        for real in results
        for step in steps
        if abs(sum := int(np.floor(real / ratio)) + step) <= LARGEST_SUM
    }
    return np.array(sorted(found), np.float64)


def _weight_and_ratio(about: float) -> tuple[float, float]:
    """A float32 scale of weights, and the exact ratio with the ugly scales."""
    x, y = (np.float64(np.float32(scale)) for scale in UGLY)
    scale = float(np.float32(about * y / x))
    return scale, float(x * scale / y)
