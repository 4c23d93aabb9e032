"""A small residual network: its layers, forward and backward, in plain numpy.

    image 8x8x1 -> stem 3x3x8, relu
                -> block1 8, block2 16 (half the size), block3 16, block4 16
                -> pool 4x4 (mean) -> logits 10

A block is relu(conv2(relu(conv1(x))) + shortcut(x)); the shortcut is x itself, or a 1x1
convolution where size or channels change. Images are NHWC.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from network import Floats, Integers, Tensors, relu, softmax, windows


@dataclass(frozen=True)
class Block:
    """Channels of input and output, and the step of the first convolution."""

    name: str
    inputs: int
    outputs: int
    stride: int = 1

    @property
    def has_shortcut(self) -> bool:
        """Whether the shortcut has weights."""
        return self.stride != 1 or self.inputs != self.outputs


BLOCKS = (
    Block("block1", 8, 8),
    Block("block2", 8, 16, stride=2),
    Block("block3", 16, 16),
    Block("block4", 16, 16),
)


def weight_shapes() -> dict[str, tuple[int, ...]]:
    """Shapes of the weights, [output, height, width, input] or [output, input]."""
    shapes: dict[str, tuple[int, ...]] = {"stem": (8, 3, 3, 1)}
    for block in BLOCKS:
        shapes[f"{block.name}/conv1"] = (block.outputs, 3, 3, block.inputs)
        shapes[f"{block.name}/conv2"] = (block.outputs, 3, 3, block.outputs)
        if block.has_shortcut:
            shapes[f"{block.name}/shortcut"] = (block.outputs, 1, 1, block.inputs)
    return {**shapes, "logits": (10, 16)}


def initial_parameters(random: np.random.Generator) -> Tensors:
    """Zero biases, and random weights of variance 2 / (products an output sums); a
    quarter of that where a sum follows."""
    parameters: Tensors = {}
    for layer, shape in weight_shapes().items():
        variance = 2 / math.prod(shape[1:]) / (4 if layer.endswith("conv2") else 1)
        weight = random.normal(0, math.sqrt(variance), shape).astype(np.float32)
        parameters[f"{layer}/weight"] = weight
        parameters[f"{layer}/bias"] = np.zeros(shape[0], np.float32)
    return parameters


def forward(parameters: Tensors, images: Floats) -> Tensors:
    """The result of every layer for images [N, 8, 8, 1]."""

    def convolve(layer: str, x: Floats, stride: int = 1) -> Floats:
        weight = parameters[f"{layer}/weight"]
        sums = np.einsum(
            "nyxcij,oijc->nyxo", taps(x, weight, stride), weight, optimize=True
        )
        return sums + parameters[f"{layer}/bias"]

    results = {"image": images}
    x = results["stem"] = relu(convolve("stem", images))
    for block in BLOCKS:
        name = block.name
        inner = relu(convolve(f"{name}/conv1", x, block.stride))
        outer = convolve(f"{name}/conv2", inner)
        results |= {f"{name}/conv1": inner, f"{name}/conv2": outer}
        if block.has_shortcut:
            x = convolve(f"{name}/shortcut", x, block.stride)
            results[f"{name}/shortcut"] = x
        x = results[f"{name}/add"] = relu(outer + x)
    results["pool"] = x.mean(axis=(1, 2))
    sums = results["pool"] @ parameters["logits/weight"].T
    results["logits"] = sums + parameters["logits/bias"]
    return results


def backward(parameters: Tensors, results: Tensors, labels: Integers) -> Tensors:
    """The gradient of the mean cross-entropy with respect to every parameter."""
    gradients: Tensors = {}
    count = len(labels)

    def through(layer: str, x: Floats, gradient: Floats, stride: int = 1) -> Floats:
        """Notes the gradients of a convolution and returns that of its input."""
        weight = parameters[f"{layer}/weight"]
        gradients[f"{layer}/weight"] = np.einsum(
            "nyxcij,nyxo->oijc", taps(x, weight, stride), gradient, optimize=True
        )
        gradients[f"{layer}/bias"] = gradient.sum(axis=(0, 1, 2))
        spread = np.zeros((*x.shape[:3], gradient.shape[3]), gradient.dtype)
        spread[:, ::stride, ::stride] = gradient
        turned = weight[:, ::-1, ::-1]
        return np.einsum(
            "nyxoij,oijc->nyxc", taps(spread, weight), turned, optimize=True
        )

    gradient = softmax(results["logits"])
    gradient[np.arange(count), labels] -= 1
    gradient /= count
    gradients["logits/weight"] = gradient.T @ results["pool"]
    gradients["logits/bias"] = gradient.sum(axis=0)
    gradient = gradient @ parameters["logits/weight"]

    last = results[f"{BLOCKS[-1].name}/add"]
    gradient = np.broadcast_to(gradient[:, None, None], last.shape)
    gradient = gradient / math.prod(last.shape[1:3])
    sources = ["stem", *(f"{block.name}/add" for block in BLOCKS)]
    for block, source in zip(reversed(BLOCKS), reversed(sources[:-1]), strict=True):
        name, x, inner = block.name, results[source], results[f"{block.name}/conv1"]
        gradient = gradient * (results[f"{name}/add"] > 0)
        residual = through(f"{name}/conv2", inner, gradient) * (inner > 0)
        residual = through(f"{name}/conv1", x, residual, block.stride)
        if block.has_shortcut:
            gradient = through(f"{name}/shortcut", x, gradient, block.stride)
        gradient = gradient + residual
    through("stem", results["image"], gradient * (results["stem"] > 0))
    return gradients


def taps(images: Floats, weight: Floats, stride: int = 1) -> Floats:
    """What the weights [O, H, W, I] of each output pixel see, [N, H, W, C, H, W]."""
    seen = windows(images) if weight.shape[1] == 3 else images[..., None, None]
    return seen[:, ::stride, ::stride]
