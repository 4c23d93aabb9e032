"""Small networks in QDQ form, drawn by a seed, with residual blocks as ResNet's and
MobileNetV2's have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from qlower.interp.values import Array
from support.formats.onnx_builder import OnnxBuilder

F = np.float32
SHAPE = (1, 3, 16, 16)
CLASSES = 10
TWO_PAIRS = F(0.0437), 103
"""The scale and zero point of `two_pairs`."""


class _Network:
    """A graph under construction. `steps` are the scales and zero points of values."""

    def __init__(self, seed: int) -> None:
        self.draw = np.random.default_rng(seed)
        self.file = OnnxBuilder(13)
        self.steps: dict[str, tuple[float, int]] = {}

    def pair(self, value: str, scale: float = 0.04, *, relu: bool = False) -> str:
        """A value quantized by drawn steps, and dequantized."""
        drawn = float(F(self.draw.uniform(0.6, 1.5) * scale))
        return self.again(
            value, (drawn, 0 if relu else int(self.draw.integers(90, 160)))
        )

    def again(self, value: str, steps: tuple[float, int]) -> str:
        result = self.file.pair(value, *steps)
        self.steps[result] = steps
        return result

    def weights(self, value: str, shape: tuple[int, ...]) -> list[str]:
        """Weights of int8 by channel, and biases in steps of the products."""
        inputs = int(np.prod(shape[1:]))
        real = self.draw.normal(0, 0.5 / inputs**0.5, (shape[0], inputs))
        scales = (abs(real).max(1) / 127).astype(F)
        codes = np.rint(real / scales[:, None]).astype(np.int8).reshape(shape)
        biases = self.draw.integers(-8000, 8000, shape[0]).astype(np.int32)
        of_biases = (self.steps[value][0] * scales).astype(F)
        return [
            self.file.dequantize(self.file.constant(given), by, 0, type, axis=0)
            for given, by, type in ((codes, scales, "i1"), (biases, of_biases, "i4"))
        ]

    def conv(
        self,
        value: str,
        channels: tuple[int, int],
        kernel: int = 3,
        *,
        groups: int = 1,
        stride: int = 1,
        relu: bool = False,
    ) -> str:
        shape = (channels[1], channels[0] // groups, kernel, kernel)
        result = self.file.node(
            "Conv",
            [value, *self.weights(value, shape)],
            group=groups,
            pads=[kernel // 2] * 4,
            strides=[stride] * 2,
        )
        return self.pair(
            self.file.node("Relu", [result]) if relu else result, relu=relu
        )

    def block(self, value: str, channels: int, *, inverted: bool) -> str:
        """Convolutions, and what they are given added."""
        if inverted:
            wide = 2 * channels
            inner = self.conv(value, (channels, wide), 1, relu=True)
            inner = self.conv(inner, (wide, wide), groups=wide, relu=True)
            inner = self.conv(inner, (wide, channels), 1)
        else:
            inner = self.conv(value, (channels, channels), relu=True)
            inner = self.conv(inner, (channels, channels))
        return self.pair(self.file.node("Add", [inner, value]))


def drawn_network(seed: int, path: Path, channels: int = 16) -> Path:
    """The file of a network for images [1, 3, 16, 16], whose output is real numbers."""
    net = _Network(seed)
    value = net.pair(net.file.input("x", SHAPE), 0.02)
    value = net.conv(value, (3, channels), stride=2, relu=bool(seed % 2))
    for _ in range(1 + seed % 3):
        value = net.block(value, channels, inverted=bool(seed % 2))
    if seed % 4 == 3:
        pool = net.file.node("MaxPool", [value], kernel_shape=[2, 2], strides=[2, 2])
        value = net.again(pool, net.steps[value])
    mean = net.pair(net.file.node("GlobalAveragePool", [value]))
    flat = net.again(net.file.node("Flatten", [mean]), net.steps[mean])
    weights = net.weights(flat, (CLASSES, channels))
    last = net.pair(net.file.node("Gemm", [flat, *weights], transB=1))
    net.file.node("Identity", [last], "y")
    net.file.output("y")
    return net.file.save(path)


def drawn_image(draw: np.random.Generator) -> Array:
    return draw.normal(0, 1, SHAPE).astype(F)


def two_pairs(operator: str, path: Path, *, shared: bool) -> Path:
    """The file of a pair of quantizers, a movement, and a pair with the same steps,
    whose zero point is the same constant or another of its value."""
    file = OnnxBuilder(13)
    scale = file.constant(np.array(TWO_PAIRS[0]))
    points = [file.constant(np.array(TWO_PAIRS[1], np.uint8)) for _ in range(2)]

    def pair(value: str, point: str) -> str:
        codes = file.node("QuantizeLinear", [value, scale, point])
        return file.node("DequantizeLinear", [codes, scale, point])

    value = pair(file.input("x", (1, 4, 8, 8)), points[0])
    sizes: dict[str, Any] = {"kernel_shape": [2, 2]} if operator == "MaxPool" else {}
    value = pair(file.node(operator, [value], **sizes), points[not shared])
    file.node("Identity", [value], "y")
    file.output("y")
    return file.save(path)
