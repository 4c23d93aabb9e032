"""Random graphs in QDQ form, with everything that decides what is fused.

Values are images, or rows behind a Flatten. Operands and results are quantized mostly,
now and then not; scales, zero points and types agree mostly.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from qlower.interp.values import Array
from support.formats.onnx_builder import OnnxBuilder

TYPES = ("u1", "i1")
LIMITS = {"u1": (0, 255), "i1": (-128, 127)}


@dataclass(frozen=True)
class Real:
    """A float value with the quantization that it came from, if it did."""

    name: str
    shape: tuple[int, ...]
    step: tuple[float, int, str] | None


class RandomGraph:
    """A graph of some operators; the same for the same seed."""

    def __init__(self, seed: int, size: int = 6) -> None:
        self.choice = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.builder = OnnxBuilder(self.choice.choice((13, 15, 17, 21)))
        self.type = self.choice.choice(TYPES)
        self.per_channel = self.choice.random() < 0.5
        shape = (1, self.choice.choice((2, 4)), 6, 6)
        self.builder.input("x", shape)
        self.values = [self.converted(Real("x", shape, None), 1.0)]
        for _ in range(size):
            self.add()
        last = self.values[-1]
        self.builder.output(last.name, shape=last.shape)
        if self.rarely() and len(self.values) > 2:
            other = self.choice.choice(self.values[1:-1])
            if other.name != last.name:
                self.builder.output(other.name, shape=other.shape)

    def rarely(self) -> bool:
        return self.choice.random() < 0.12

    def step(self, relu: bool = False) -> tuple[float, int, str]:
        """A random scale and zero point, which now and then has another type."""
        type = self.type
        if self.rarely():
            type = self.choice.choice(TYPES)
        low, high = LIMITS[type]
        zero = low if relu else self.choice.randint(low // 2, high // 2)
        return self.choice.choice((0.02, 0.05, 0.1, 1 / 256)), zero, type

    def converted(
        self,
        value: Real,
        chance: float = 0.9,
        step: tuple[float, int, str] | None = None,
    ) -> Real:
        """The value behind a pair of conversions, mostly."""
        if self.choice.random() > chance:
            return value
        scale, zero, type = step or self.step()
        name = self.builder.pair(value.name, scale, zero, type)
        if self.rarely():
            # Of the same range, or of one that overlaps with it.
            scale, zero, type = self.choice.choice(((scale, zero, type), self.step()))
            name = self.builder.pair(name, scale, zero, type)
        return Real(name, value.shape, (scale, zero, type))

    def taken(self, value: Real) -> Real:
        """The value as an operand, which now and then has conversions of its own."""
        return self.converted(value, 0.2, value.step) if value.step else value

    def add(self) -> None:
        kinds = (
            self.convolution,
            self.convolution,
            self.binary,
            self.unary,
            self.moving,
            self.joined,
            self.product,
        )
        made = self.choice.choice(kinds)(
            self.taken(self.choice.choice(self.values[-3:]))
        )
        if made is not None:
            self.values.append(made)

    def finished(self, name: str, shape: tuple[int, ...], bounded: bool = True) -> Real:
        """A result, perhaps bounded, with its conversion."""
        build = self.builder
        relu = False
        if bounded and self.choice.random() < 0.3:
            if self.choice.random() < 0.6:
                name = build.node("Relu", [name])
                relu = self.choice.random() < 0.8
            else:
                limits = [build.constant(0.0), build.constant(6.0)]
                name = build.node("Clip", [name, *limits])
                relu = self.choice.random() < 0.8
        return self.converted(Real(name, shape, None), 0.93, self.step(relu))

    def weights(self, shape: tuple[int, ...], axis: int) -> tuple[str, Array]:
        """Weights, quantized mostly, and their scales."""
        build = self.builder
        if self.rarely():
            real = self.numbers.normal(size=shape).astype(np.float32)
            return build.constant(real), np.array(0.01, np.float32)
        scale = np.array(0.02, np.float32)
        if self.per_channel:
            scale = self.numbers.uniform(0.01, 0.03, shape[axis]).astype(np.float32)
        type = "i1" if self.choice.random() < 0.9 else "u1"
        zero = 0 if type == "i1" else 120
        stored = self.numbers.integers(*LIMITS[type], shape).astype(type)
        attributes: dict[str, Any] = {"axis": axis} if scale.ndim else {}
        name = build.dequantize(build.constant(stored), scale, zero, type, **attributes)
        return name, scale

    def bias(self, value: Real, scale: Array, size: int) -> list[str]:
        """No bias, one of float32, or one of int32."""
        build, kind = self.builder, self.choice.random()
        if kind < 0.2:
            return []
        if kind < 0.5 or value.step is None:
            real = self.numbers.normal(size=size).astype(np.float32)
            return [build.constant(real)]
        stored = self.numbers.integers(-500, 500, size).astype(np.int32)
        steps = (np.float32(value.step[0]) * scale).astype(np.float32)
        parameters = [build.constant(stored), build.constant(steps)]
        attributes: dict[str, Any] = {"axis": 0} if steps.ndim else {}
        return [build.node("DequantizeLinear", parameters, **attributes)]

    def convolution(self, value: Real) -> Real | None:
        if len(value.shape) != 4:
            return None
        batch, channels, height, width = value.shape
        groups = self.choice.choice((1, 1, channels))
        filters = channels if groups > 1 else self.choice.choice((2, 4))
        kernel = self.choice.choice((1, 3))
        if min(height, width) < kernel:
            kernel = 1
        weights, scale = self.weights((filters, channels // groups, kernel, kernel), 0)
        inputs = [value.name, weights, *self.bias(value, scale, filters)]
        attributes: dict[str, Any] = {"group": groups, "pads": [kernel // 2] * 4}
        name = self.builder.node(
            "Conv", inputs, kernel_shape=[kernel] * 2, **attributes
        )
        return self.finished(name, (batch, filters, height, width))

    def product(self, value: Real) -> Real:
        build = self.builder
        if len(value.shape) == 4:
            size = int(np.prod(value.shape[1:]))
            name = build.node("Flatten", [value.name])
            value = self.converted(Real(name, (1, size), value.step), 0.9, value.step)
        depth, units = value.shape[1], self.choice.choice((3, 5))
        if self.choice.random() < 0.5:
            weights, scale = self.weights((units, depth), 0)
            inputs = [value.name, weights, *self.bias(value, scale, units)]
            name = build.node("Gemm", inputs, transB=1)
        else:
            weights, _ = self.weights((depth, units), 1)
            name = build.node("MatMul", [value.name, weights])
            if self.choice.random() < 0.4:
                (bias,) = self.bias(value, np.array(0.02, np.float32), units) or [""]
                name = build.node("Add", [name, bias]) if bias else name
        return self.finished(name, (1, units))

    def binary(self, value: Real) -> Real | None:
        others = [other for other in self.values if other.shape == value.shape]
        other = self.choice.choice(others)
        kind = self.choice.choice(("Add", "Add", "Mul"))
        name = self.builder.node(kind, [value.name, other.name])
        return self.finished(name, value.shape)

    def joined(self, value: Real) -> Real:
        others = [other for other in self.values if other.shape == value.shape]
        other = self.choice.choice(others)
        name = self.builder.node("Concat", [value.name, other.name], axis=1)
        shape = (1, 2 * value.shape[1], *value.shape[2:])
        return self.finished(name, shape)

    def unary(self, value: Real) -> Real | None:
        build = self.builder
        kinds = ["Sigmoid", "LeakyRelu", "Softmax", "Relu"]
        if len(value.shape) == 4:
            kinds += ["AveragePool", "GlobalAveragePool"]
        kind = self.choice.choice(kinds)
        shape = value.shape
        attributes: dict[str, Any] = {}
        if kind == "AveragePool":
            if min(shape[2:]) < 2:
                return None
            attributes = {"kernel_shape": [2, 2], "strides": [1, 1]}
            shape = (*shape[:2], shape[2] - 1, shape[3] - 1)
        elif kind == "GlobalAveragePool":
            shape = (*shape[:2], 1, 1)
        name = build.node(kind, [value.name], **attributes)
        return self.finished(name, shape, kind != "Relu")

    def moving(self, value: Real) -> Real | None:
        """An operator that moves values; mostly quantized as before."""
        build, shape = self.builder, value.shape
        kind = self.choice.choice(("MaxPool", "Transpose", "Reshape", "Unsqueeze"))
        if kind == "MaxPool":
            if len(shape) != 4 or min(shape[2:]) < 2:
                return None
            name = build.node(kind, [value.name], kernel_shape=[2, 2], strides=[1, 1])
            shape = (*shape[:2], shape[2] - 1, shape[3] - 1)
        elif kind == "Transpose":
            if len(shape) != 4:
                return None
            name = build.node(kind, [value.name], perm=[0, 1, 3, 2])
            shape = (*shape[:2], shape[3], shape[2])
        elif kind == "Reshape":
            if len(shape) != 4:
                return None
            shape = (1, shape[1], shape[3], shape[2])
            sizes = build.constant(np.array(shape, np.int64))
            name = build.node(kind, [value.name, sizes])
        else:
            if len(shape) != 2:
                return None
            axes = build.constant(np.array([2, 3], np.int64))
            name = build.node(kind, [value.name, axes])
            shape = (*shape, 1, 1)
        step = value.step if self.choice.random() < 0.8 else None
        return self.converted(Real(name, shape, None), 0.85, step)
