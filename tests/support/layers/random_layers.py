"""TFLite models of one operator with drawn shapes, scales and zero points.

Half of them have scales whose ratio is a power of two, so that exact ties are common.
The same seed makes the same model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from qlower.model import Model

from ..formats.tflite_builder import Option, TFLiteBuilder
from ..formats.tflite_cases import random_inputs

VALID = 1


class _Layer(TFLiteBuilder):
    """One operator under construction, with its source of randomness."""

    def __init__(self, seed: int, dtype: str) -> None:
        super().__init__()
        self.random = np.random.default_rng(seed)
        self.dtype = dtype
        self.has_ties = seed % 2 == 0
        self.inputs: list[int] = []
        self.reach = int(self.random.choice([2, 127]))

    def pick(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.random.integers(low, high, endpoint=True))

    def scale(self) -> float:
        """A scale of an activation or a weight."""
        if self.has_ties:
            return 2.0 ** self.pick(-7, -3)
        return float(np.float32(np.exp(self.random.uniform(-5, -2))))

    def zero_point(self) -> int:
        """One end of the storage range, its middle, or anything."""
        info = np.iinfo(self.dtype)
        middle = (info.min + info.max + 1) // 2
        anything = self.pick(info.min, info.max)
        return int(self.random.choice([info.min, info.max, middle, anything]))

    def input(self, shape: Sequence[int], scale: float) -> int:
        name = f"x{len(self.inputs)}"
        point = self.zero_point()
        index = self.tensor(name, shape, self.dtype, scale=scale, zero_point=point)
        self.inputs.append(index)
        return index

    def output(self, shape: Sequence[int], scale: float, dtype: str = "") -> int:
        point = self.zero_point()
        dtype = dtype or self.dtype
        return self.tensor("y", shape, dtype, scale=scale, zero_point=point)

    def weights(self, shape: Sequence[int], scale: Sequence[float], axis: int) -> int:
        info = np.iinfo(self.dtype)
        point = 0 if self.dtype == "int8" else self.zero_point()
        axis = axis if len(scale) > 1 else 0
        low, high = max(info.min, point - self.reach), min(info.max, point + self.reach)
        data = self.random.integers(low, high, shape, endpoint=True)
        return self.tensor(
            "w", shape, self.dtype, scale=scale, zero_point=point, axis=axis, data=data
        )

    def bias(self, scale: Sequence[float]) -> int:
        reach = 20 * self.reach
        data = self.random.integers(-reach, reach, self.channels, endpoint=True)
        return self.tensor("b", (self.channels,), "int32", scale=scale, data=data)

    def contraction(
        self, image: Sequence[int], weights: Sequence[int], axis: int
    ) -> tuple[list[int], float]:
        """Input, weights and bias, and an output scale that uses the storage range."""
        self.channels = weights[axis]
        is_per_axis = self.dtype == "int8" and self.random.random() < 0.5
        scales = [self.scale() for _ in range(self.channels if is_per_axis else 1)]
        x = self.scale()
        depth = int(np.prod(weights)) // self.channels
        # A power of two, so that the ratio of the scales stays one.
        spread = 2.0 ** round(np.log2(self.reach * np.sqrt(depth) / 2))
        scale = x * max(scales) * spread
        operands = [self.input(image, x), self.weights(weights, scales, axis)]
        operands.append(self.bias([float(np.float32(x * s)) for s in scales]))
        return operands, float(np.float32(scale))

    def finish(
        self, operator: str, operands: Sequence[int], output: int, **options: Option
    ) -> bytes:
        self.operator(operator, operands, [output], options)
        return self.build(self.inputs, [output])


def _conv2d(is_grouped: bool) -> Callable[[int, str], bytes]:
    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        depth, kernel = layer.pick(1, 9), layer.pick(1, 3)
        groups = layer.pick(2, 4) if is_grouped else 1
        channels = groups * layer.pick(1, 37 // groups)
        operands, scale = layer.contraction(
            (1, 9, 8, groups * depth), (channels, kernel, kernel, depth), 0
        )
        return layer.finish(
            "CONV_2D",
            operands,
            layer.output((1, 10 - kernel, 9 - kernel, channels), scale),
            padding=VALID,
            stride_h=1,
            stride_w=1,
            dilation_h_factor=1,
            dilation_w_factor=1,
            fused_activation_function=layer.pick(0, 1),
        )

    return make


def _depthwise_conv2d(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    depth, kernel = layer.pick(1, 37), layer.pick(1, 5)
    multiplier = int(layer.random.choice([1, 1, 2, 3]))
    channels = depth * multiplier
    operands, scale = layer.contraction(
        (1, 9, 8, depth), (1, kernel, kernel, channels), 3
    )
    shape = (1, 10 - kernel, 9 - kernel, channels)
    return layer.finish(
        "DEPTHWISE_CONV_2D",
        operands,
        layer.output(shape, scale),
        padding=VALID,
        stride_h=1,
        stride_w=1,
        depth_multiplier=multiplier,
        dilation_h_factor=1,
        dilation_w_factor=1,
        fused_activation_function=layer.pick(0, 1),
    )


def _fully_connected(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    rows, depth, channels = layer.pick(1, 40), layer.pick(1, 70), layer.pick(1, 37)
    operands, scale = layer.contraction((rows, depth), (channels, depth), 0)
    return layer.finish(
        "FULLY_CONNECTED",
        operands,
        layer.output((rows, channels), scale),
        fused_activation_function=layer.pick(0, 1),
    )


def _batch_matmul(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    rows, depth, columns = layer.pick(1, 20), layer.pick(1, 40), layer.pick(1, 20)
    a, b = layer.scale(), layer.scale()
    operands = [layer.input((2, rows, depth), a), layer.input((2, depth, columns), b)]
    scale = a * b * 2.0 ** round(np.log2(60 * np.sqrt(depth)))
    output = layer.output((2, rows, columns), float(np.float32(scale)))
    return layer.finish("BATCH_MATMUL", operands, output)


def _binary(operator: str) -> Callable[[int, str], bytes]:
    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        shape = (layer.pick(1, 9), layer.pick(1, 200))
        a, b = layer.scale(), layer.scale()
        larger = a * b * 64 if operator == "MUL" else max(a, b)
        scale = larger * 2.0 ** layer.pick(-1, 2)
        if layer.random.random() < 0.5 and not layer.has_ties:
            # 1 : 3 : 2 makes sums near ties, where the number of roundings shows.
            b, scale = float(np.float32(3 * a)), float(np.float32(2 * a))
        operands = [layer.input(shape, a), layer.input(shape, b)]
        return layer.finish(
            operator,
            operands,
            layer.output(shape, float(np.float32(scale))),
            fused_activation_function=layer.pick(0, 1),
        )

    return make


def _mean(keep_dims: bool) -> Callable[[int, str], bytes]:
    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        depth, rows, columns = layer.pick(1, 37), layer.pick(1, 9), layer.pick(1, 9)
        scale = layer.scale()
        x = layer.input((2, rows, columns, depth), scale)
        axes = layer.tensor("axes", (2,), "int32", data=[1, 2])
        shape = (2, 1, 1, depth) if keep_dims else (2, depth)
        y = layer.output(shape, scale * 2.0 ** layer.pick(-2, 1))
        return layer.finish("MEAN", [x, axes], y, keep_dims=keep_dims)

    return make


def _sum(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    count, scale = layer.pick(1, 9), layer.scale()
    x = layer.input((99, count), scale)
    axes = layer.tensor("axes", (1,), "int32", data=[1])
    y = layer.output((99,), scale * 2.0 ** layer.pick(-1, 4))
    return layer.finish("SUM", [x, axes], y, keep_dims=False)


def _average_pool(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    depth, kernel = layer.pick(1, 37), layer.pick(1, 4)
    # Input and output must have the same parameters.
    scale, point = layer.scale(), layer.zero_point()
    x, y = (
        layer.tensor(name, shape, dtype, scale=scale, zero_point=point)
        for name, shape in (
            ("x", (1, 9, 8, depth)),
            ("y", (1, 10 - kernel, 9 - kernel, depth)),
        )
    )
    layer.inputs.append(x)
    return layer.finish(
        "AVERAGE_POOL_2D",
        [x],
        y,
        padding=VALID,
        stride_h=1,
        stride_w=1,
        filter_height=kernel,
        filter_width=kernel,
        fused_activation_function=layer.pick(0, 1),
    )


def _quantize(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    shape = (layer.pick(1, 5), layer.pick(1, 100))
    x = layer.tensor("x", shape, "float32")
    layer.inputs.append(x)
    return layer.finish("QUANTIZE", [x], layer.output(shape, layer.scale()))


def _dequantize(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    shape = (layer.pick(1, 5), layer.pick(1, 100))
    x = layer.input(shape, layer.scale())
    return layer.finish("DEQUANTIZE", [x], layer.tensor("y", shape, "float32"))


def _resize_bilinear(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    height, width, depth = layer.pick(1, 9), layer.pick(1, 9), layer.pick(1, 20)
    rows, columns = layer.pick(1, 20), layer.pick(1, 20)
    scale, point = layer.scale(), layer.zero_point()
    x, y = (
        layer.tensor(name, shape, dtype, scale=scale, zero_point=point)
        for name, shape in (
            ("x", (1, height, width, depth)),
            ("y", (1, rows, columns, depth)),
        )
    )
    layer.inputs.append(x)
    size = layer.tensor("size", (2,), "int32", data=[rows, columns])
    centres = int(layer.random.integers(3))
    return layer.finish(
        "RESIZE_BILINEAR",
        [x, size],
        y,
        align_corners=centres == 1,
        half_pixel_centers=centres == 2,
    )


def _requantize(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    shape = (layer.pick(1, 5), layer.pick(1, 100))
    scale = layer.scale()
    x = layer.input(shape, scale)
    y = layer.output(shape, float(np.float32(scale * 2.0 ** layer.pick(-3, 4))))
    return layer.finish("QUANTIZE", [x], y)


def _leaky_relu(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    shape = (layer.pick(1, 5), layer.pick(1, 100))
    scale = layer.scale()
    x = layer.input(shape, scale)
    y = layer.output(shape, float(np.float32(scale * 2.0 ** layer.pick(-3, 4))))
    alpha = float(np.float32(layer.random.choice([0.25, 0.3, 0.01, -0.5])))
    return layer.finish("LEAKY_RELU", [x], y, alpha=alpha)


def _softmax(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    shape = (layer.pick(1, 30), layer.pick(1, 100))
    x = layer.input(shape, layer.scale())
    smallest = int(np.iinfo(dtype).min)
    y = layer.tensor("y", shape, dtype, scale=1 / 256, zero_point=smallest)
    return layer.finish("SOFTMAX", [x], y, beta=1.0)


def _table(
    operator: str, scale: float | None, zero_point: int | None
) -> Callable[[int, str], bytes]:
    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        shape = (2, 256)
        x = layer.input(shape, layer.scale())
        if scale is None:
            return layer.finish(operator, [x], layer.output(shape, layer.scale()))
        point = int(np.iinfo(dtype).min) if zero_point is None else zero_point
        point += 0 if dtype == "int8" or zero_point is None else 128
        y = layer.tensor("y", shape, dtype, scale=scale, zero_point=point)
        return layer.finish(operator, [x], y)

    return make


LAYERS: dict[str, Callable[[int, str], bytes]] = {
    "conv2d": _conv2d(is_grouped=False),
    "conv2d_grouped": _conv2d(is_grouped=True),
    "depthwise_conv2d": _depthwise_conv2d,
    "fully_connected": _fully_connected,
    "batch_matmul": _batch_matmul,
    "add": _binary("ADD"),
    "sub": _binary("SUB"),
    "mul": _binary("MUL"),
    "mean": _mean(keep_dims=False),
    "mean_keep_dims": _mean(keep_dims=True),
    "sum": _sum,
    "average_pool": _average_pool,
    "quantize": _quantize,
    "dequantize": _dequantize,
    "requantize": _requantize,
    "resize_bilinear": _resize_bilinear,
    "leaky_relu": _leaky_relu,
    "softmax": _softmax,
    "logistic": _table("LOGISTIC", 1 / 256, None),
    "tanh": _table("TANH", 1 / 128, 0),
    "hard_swish": _table("HARD_SWISH", None, None),
    "relu": _table("RELU", None, None),
    "elu": _table("ELU", None, None),
}
"""Makers of models by operator: a seed and a type name to the bytes of a file."""


def random_layer_inputs(model: Model, seed: int) -> list[NDArray[np.generic]]:
    """Random inputs; every other real number is a multiple of 1/64."""
    inputs = random_inputs([(spec.shape, spec.dtype) for spec in model.inputs], seed)
    return [_with_ties(x) if x.dtype == np.float32 else x for x in inputs]


def _with_ties(values: NDArray[np.generic]) -> NDArray[np.generic]:
    reals = values.astype(np.float32)
    is_odd = np.arange(reals.size).reshape(reals.shape) % 2 == 1
    return np.where(is_odd, reals, np.rint(reals * 64) / 64).astype(np.float32)
