"""The float network: its layers, forward and backward, in plain numpy.

    image 8x8x1 -> conv1 3x3x8, relu -> depthwise 3x3, relu -> pointwise 1x1x16, relu
                -> pool 2x2 (max) -> flatten -> logits 10

Images are NHWC; weights have the shapes that the qnn dialect gives them. The softmax is
part of the loss here and a layer of its own in the quantized model.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.int64]
Tensors: TypeAlias = dict[str, Floats]
"""Arrays by name: parameters, their gradients, or the result of each layer."""

WEIGHT_SHAPES: dict[str, tuple[int, ...]] = {
    "conv1": (8, 3, 3, 1),  # [output, height, width, input]
    "depthwise": (1, 3, 3, 8),  # [1, height, width, channel]
    "pointwise": (16, 1, 1, 8),
    "logits": (10, 4 * 4 * 16),  # [output, input]
}
CHANNEL_AXIS = {"conv1": 0, "depthwise": 3, "pointwise": 0, "logits": 0}
"""The dimension of the weights that tells the layer's output channels apart."""


def initial_parameters(random: np.random.Generator) -> Tensors:
    """Zero biases, and random weights of variance 2 / (products an output sums)."""
    parameters: Tensors = {}
    for layer, shape in WEIGHT_SHAPES.items():
        outputs = shape[CHANNEL_AXIS[layer]]
        deviation = math.sqrt(2 * outputs / math.prod(shape))
        weight = random.normal(0, deviation, shape).astype(np.float32)
        parameters[f"{layer}/weight"] = weight
        parameters[f"{layer}/bias"] = np.zeros(outputs, np.float32)
    return parameters


def forward(parameters: Tensors, images: Floats) -> Tensors:
    """The result of every layer for images [N, 8, 8, 1]."""

    def weight(layer: str) -> Floats:
        return parameters[f"{layer}/weight"]

    def biased(layer: str, sums: Floats) -> Floats:
        return sums + parameters[f"{layer}/bias"]

    results = {"image": images}
    sums = np.einsum(
        "nyxcij,oijc->nyxo", windows(images), weight("conv1"), optimize=True
    )
    x = results["conv1"] = relu(biased("conv1", sums))
    sums = correlate_channels(x, weight("depthwise")[0])
    x = results["depthwise"] = relu(biased("depthwise", sums))
    sums = x @ weight("pointwise")[:, 0, 0, :].T
    x = results["pointwise"] = relu(biased("pointwise", sums))
    x = results["pool"] = blocks(x).max(axis=(2, 4))
    sums = x.reshape(len(images), -1) @ weight("logits").T
    results["logits"] = biased("logits", sums)
    return results


def backward(parameters: Tensors, results: Tensors, labels: Integers) -> Tensors:
    """The gradient of the mean cross-entropy with respect to every parameter."""
    gradients: Tensors = {}
    count = len(labels)

    gradient = softmax(results["logits"])
    gradient[np.arange(count), labels] -= 1
    gradient /= count
    gradients["logits/weight"] = gradient.T @ results["pool"].reshape(count, -1)
    gradients["logits/bias"] = gradient.sum(axis=0)
    gradient = gradient @ parameters["logits/weight"]

    # The largest element of each block gets the gradient; equal ones share it.
    pooled = results["pool"][:, :, None, :, None, :]
    largest = blocks(results["pointwise"]) == pooled
    shares = largest / largest.sum(axis=(2, 4), keepdims=True, dtype=np.float32)
    gradient = shares * gradient.reshape(pooled.shape)
    gradient = gradient.reshape(results["pointwise"].shape)

    gradient *= results["pointwise"] > 0
    summed = np.einsum("nyxo,nyxc->oc", gradient, results["depthwise"], optimize=True)
    gradients["pointwise/weight"] = summed[:, None, None, :]
    gradients["pointwise/bias"] = gradient.sum(axis=(0, 1, 2))
    gradient = gradient @ parameters["pointwise/weight"][:, 0, 0, :]

    gradient *= results["depthwise"] > 0
    summed = np.einsum("nyxcij,nyxc->ijc", windows(results["conv1"]), gradient)
    gradients["depthwise/weight"] = summed[None]
    gradients["depthwise/bias"] = gradient.sum(axis=(0, 1, 2))
    turned = parameters["depthwise/weight"][0, ::-1, ::-1]
    gradient = correlate_channels(gradient, turned)

    gradient *= results["conv1"] > 0
    gradients["conv1/weight"] = np.einsum(
        "nyxcij,nyxo->oijc", windows(results["image"]), gradient, optimize=True
    )
    gradients["conv1/bias"] = gradient.sum(axis=(0, 1, 2))
    return gradients


def windows(images: Floats) -> Floats:
    """The 3x3 neighbourhood of every pixel, [N, H, W, C, 3, 3]; zeros outside."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows = sliding_window_view(padded, 3, axis=1)
    return sliding_window_view(rows, 3, axis=2)


def correlate_channels(images: Floats, weight: Floats) -> Floats:
    """Each channel's 3x3 windows times its own weights [3, 3, C]."""
    return np.einsum("nyxcij,ijc->nyxc", windows(images), weight)


def blocks(images: Floats) -> Floats:
    """2x2 blocks of [N, 8, 8, C] as dimensions 2 and 4 of [N, 4, 2, 4, 2, C]."""
    return images.reshape(len(images), 4, 2, 4, 2, -1)


def relu(values: Floats) -> Floats:
    return np.maximum(values, 0)


def softmax(logits: Floats) -> Floats:
    """Probabilities [N, 10] of each row of logits."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
