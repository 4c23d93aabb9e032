"""Small networks with drawn layers and odd shapes, at the qnn level.

A few layers follow each other, read earlier results again, and end in what models end
in, so that what a compiler fuses, moves and puts in one place is met in every order.
The same seed makes the same network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.model.build import (
    constant,
    make_module,
    quantized,
    quantized_per_axis,
)

MOST_CHANNELS = 70
"""In every tensor but concatenations."""


def random_network(seed: int, *, idle: bool = False) -> ModuleOp:
    """Two to six layers on an image of 1 to 9 rows and columns, 1 to 70 channels.

    With `idle` many channels have weights of zero only, biases beyond all sums, or no
    weight that reads them.
    """
    random = np.random.default_rng(seed)
    image = [1, *random.integers(1, 10, 2).tolist(), int(random.integers(1, 71))]
    network = _Network(random, signed=bool(random.random() < 0.7), idle=idle)
    return make_module([network.type(image)], network.body)


@dataclass(frozen=True)
class _Window:
    """`size`: the rows and columns of what it leaves of an image."""

    kernel: list[int]
    stride: list[int]
    pad: list[int]
    dilation: list[int]
    size: list[int]


class _Network:
    def __init__(
        self, random: np.random.Generator, *, signed: bool, idle: bool
    ) -> None:
        self.random = random
        self.signed = signed
        self.idle = idle
        self.earlier: list[SSAValue] = []

    def body(self, image: SSAValue) -> list[SSAValue]:
        """The layers, and as results the last value and sometimes one before it."""
        layers: list[Callable[[SSAValue], SSAValue]] = [
            *[self.convolution] * 4,
            *[self.depthwise] * 3,
            *[self.add] * 3,
            self.average,
            self.maximum,
            self.clamp,
            self.concatenate,
            self.sigmoid,
        ]
        value = image
        for _ in range(self.pick(2, 6)):
            self.earlier.append(value)
            value = layers[self.pick(0, len(layers) - 1)](value)
        if self.idle:  # who reads what is constant can do without it
            value = self.convolution(value)
        if self.random.random() < 0.3:
            self.earlier.append(value)
            value = self.linear(value)
        results = [value]
        if self.random.random() < 0.3 and self.earlier[-1] is not image:
            results.append(self.earlier[-1])
        return results

    def pick(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.random.integers(low, high, endpoint=True))

    def type(self, shape: list[int], like: SSAValue | None = None) -> Attribute:
        """A tensor with drawn quantization, or with that of another value."""
        if like is not None:
            return TensorType(_type(like).element_type, shape)
        low = -128 if self.signed else 0
        scale = float(np.float32(np.exp(self.random.uniform(-5, -2))))
        zero_point = low + self.pick(0, 255)
        return quantized(shape, scale, zero_point, signed=self.signed)

    def activation(self) -> str | None:
        return [None, None, "relu", "relu6"][self.pick(0, 3)]

    def window(self, image: list[int], *, dilated: bool) -> _Window:
        """One that the image with its borders holds."""
        kernel: list[int] = []
        stride: list[int] = []
        pad: list[int] = []
        dilation: list[int] = []
        left: list[int] = []
        for size in image[1:3]:
            taps, apart = self.pick(1, 3), self.pick(1, 2) if dilated else 1
            extent = (taps - 1) * apart + 1
            # every window of a pool needs a tap of the image
            most = 2 if dilated else taps - 1
            borders = [self.pick(0, most), self.pick(0, most)]
            if size + sum(borders) < extent:
                taps, apart, extent, borders = 1, 1, 1, [0, 0]
            step = self.pick(1, 3)
            kernel.append(taps)
            stride.append(step)
            pad += borders
            dilation.append(apart)
            left.append((size + sum(borders) - extent) // step + 1)
        return _Window(kernel, stride, pad, dilation, left)

    def weights(self, shape: list[int], axis: int) -> tuple[SSAValue, SSAValue | None]:
        """Weights, symmetric for each channel or with one scale; perhaps a bias."""
        channels = shape[axis]
        stored = self.random.integers(-127, 128, shape).astype(np.int8)
        zero_point = 0
        if not self.signed:
            zero_point = self.pick(0, 255)
        if self.idle:
            zero = np.uint8(zero_point).view(np.int8)
            np.moveaxis(stored, axis, 0)[self.random.random(channels) < 0.5] = zero
            if axis == 0:
                stored[..., self.random.random(shape[-1]) < 0.3] = zero
        if self.signed and self.random.random() < 0.6:
            spread = self.random.uniform(-6, -3, channels)
            scales = [float(np.float32(s)) for s in np.exp(spread)]
            weight = constant(stored, quantized_per_axis(shape, axis, scales))
        elif self.signed:
            weight = constant(stored, quantized(shape, 0.01))
        else:
            type = quantized(shape, 0.01, zero_point, signed=False)
            weight = constant(stored.view(np.uint8), type)
        bias = None
        if self.random.random() < 0.8:
            reach = 1 << self.pick(4, 16)
            values = self.random.integers(-reach, reach, channels)
            if self.idle:
                values[self.random.random(channels) < 0.4] = 0
                values[self.random.random(channels) < 0.2] *= 1 << 13
            bias = constant(values.astype(np.int32))
        return weight, bias

    def sums(self, shape: list[int], x: SSAValue, depth: int) -> Attribute:
        """The type of sums of so many products, with a scale that suits them."""
        scale = _type_scale(x) * 0.02 * 64 * depth**0.5 * self.random.uniform(0.3, 2)
        low = -128 if self.signed else 0
        point = low + self.pick(0, 255)
        return quantized(shape, float(np.float32(scale)), point, signed=self.signed)

    def convolution(self, x: SSAValue) -> SSAValue:
        image = _shape(x)
        window = self.window(image, dilated=True)
        groups = self.pick(2, 3) if self.random.random() < 0.2 else 1
        if image[3] % groups:
            groups = 1
        channels = groups * self.pick(1, MOST_CHANNELS // groups)
        depth = image[3] // groups
        weight, bias = self.weights([channels, *window.kernel, depth], 0)
        result = self.sums([1, *window.size, channels], x, depth * prod(window.kernel))
        return qnn.Conv2DOp(
            x,
            weight,
            bias,
            result,
            stride=window.stride,
            pad=window.pad,
            dilation=window.dilation,
            groups=groups,
            activation=self.activation(),
        ).result

    def depthwise(self, x: SSAValue) -> SSAValue:
        image = _shape(x)
        window = self.window(image, dilated=True)
        multiplier = 2 if self.random.random() < 0.2 and image[3] <= 35 else 1
        channels = image[3] * multiplier
        weight, bias = self.weights([1, *window.kernel, channels], 3)
        result = self.sums([1, *window.size, channels], x, prod(window.kernel))
        return qnn.DepthwiseConv2DOp(
            x,
            weight,
            bias,
            result,
            stride=window.stride,
            pad=window.pad,
            dilation=window.dilation,
            activation=self.activation(),
        ).result

    def linear(self, x: SSAValue) -> SSAValue:
        length = prod(_shape(x))
        flat = qnn.ReshapeOp(x, self.type([1, length], like=x)).result
        channels = self.pick(1, MOST_CHANNELS)
        weight, bias = self.weights([channels, length], 0)
        result = self.sums([1, channels], x, length)
        return qnn.LinearOp(flat, weight, bias, result).result

    def add(self, x: SSAValue) -> SSAValue:
        """With an earlier value of that shape, or with itself."""
        shape = _shape(x)
        others = [value for value in self.earlier if _shape(value) == shape]
        other = others[self.pick(0, len(others) - 1)] if others else x
        operands = (x, other) if self.random.random() < 0.5 else (other, x)
        return qnn.AddOp(
            *operands, self.type(shape), activation=self.activation()
        ).result

    def average(self, x: SSAValue) -> SSAValue:
        return self.pool(qnn.AvgPool2DOp, x)

    def maximum(self, x: SSAValue) -> SSAValue:
        return self.pool(qnn.MaxPool2DOp, x)

    def pool(
        self, op: type[qnn.AvgPool2DOp | qnn.MaxPool2DOp], x: SSAValue
    ) -> SSAValue:
        image = _shape(x)
        window = self.window(image, dilated=False)
        result = self.type([1, *window.size, image[3]], like=x)
        return op(
            x, result, kernel=window.kernel, stride=window.stride, pad=window.pad
        ).result

    def clamp(self, x: SSAValue) -> SSAValue:
        return qnn.ReluOp(x, self.type(_shape(x))).result

    def sigmoid(self, x: SSAValue) -> SSAValue:
        low = -128 if self.signed else 0
        result = quantized(_shape(x), 1 / 256, low, signed=self.signed)
        return qnn.SigmoidOp(x, result).result

    def concatenate(self, x: SSAValue) -> SSAValue:
        """Along the channels, with an earlier value of that scale or with itself."""
        shape, element = _shape(x), _type(x).element_type
        others = [
            value
            for value in self.earlier
            if _shape(value)[:3] == shape[:3] and _type(value).element_type == element
        ]
        other = others[self.pick(0, len(others) - 1)] if others else x
        channels = shape[3] + _shape(other)[3]
        if channels > 2 * MOST_CHANNELS:
            return self.clamp(x)
        result = self.type([*shape[:3], channels], like=x)
        return qnn.ConcatOp([x, other], result, axis=3).result


def _type(value: SSAValue) -> TensorType[Attribute]:
    assert isa(value.type, TensorType[Attribute])
    return value.type


def _shape(value: SSAValue) -> list[int]:
    return list(_type(value).get_shape())


def _type_scale(value: SSAValue) -> float:
    element = _type(value).element_type
    assert isinstance(element, QuantizedType)
    return element.scale
