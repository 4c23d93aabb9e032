"""TFLite models of one operator at the edges of its arithmetic.

Shapes, scales, zero points and data are those of `edge_values`: exact and near ties,
the ends of the storage range, fused activations whose bounds lie between codes, unequal
strides, kernels larger than the image, batches, tails of vectors. The same seed makes
the same model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from qlower.model import Model

from ..values import edge_values
from .tflite_builder import Option, TFLiteBuilder

SAME, VALID = 0, 1
RELU, RELU_N1_TO_1, RELU6 = 1, 2, 3

BOUNDS = {RELU_N1_TO_1: 1.0, RELU6: 6.0}
"""The real bound of a fused activation that may lie between two codes."""

Shape = tuple[int, ...]
Maker = Callable[[int, str], bytes]


class _Layer(TFLiteBuilder):
    """One operator under construction, with its source of randomness."""

    def __init__(self, seed: int, dtype: str) -> None:
        super().__init__()
        self.random = np.random.default_rng(seed)
        self.dtype = dtype
        self.inputs: list[int] = []
        self.activation = self.one_of(0, 0, RELU, RELU_N1_TO_1, RELU6)

    def pick(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.random.integers(low, high, endpoint=True))

    def one_of(self, *choices: int) -> int:
        return int(self.random.choice(choices))

    def ratio(self, low: float = 2.0**-6, high: float = 2.0**3) -> float:
        return edge_values.ratio(self.random, low, high)

    def zero_point(self) -> int:
        return edge_values.zero_point(self.random, self.dtype)

    def output_scale(self, activation: int | None = None) -> float:
        """Half of the time one that makes a tie of the activation's bound."""
        bound = BOUNDS.get(self.activation if activation is None else activation)
        if bound is not None and self.random.random() < 0.5:
            return edge_values.scale_with_bound_tie(self.random, bound)
        return edge_values.scale(self.random)

    def input(self, shape: Shape, scale: float, point: int | None = None) -> int:
        point = self.zero_point() if point is None else point
        name = f"x{len(self.inputs)}"
        index = self.tensor(name, shape, self.dtype, scale=scale, zero_point=point)
        self.inputs.append(index)
        return index

    def output(self, shape: Shape, scale: float, point: int | None = None) -> int:
        point = self.zero_point() if point is None else point
        return self.tensor("y", shape, self.dtype, scale=scale, zero_point=point)

    def unary(
        self, shape: Shape, input_scale: float, output_scale: float
    ) -> tuple[int, int]:
        return self.input(shape, input_scale), self.output(shape, output_scale)

    def contraction(
        self,
        image: Shape,
        weights: Shape,
        axis: int,
        output: Shape,
        *,
        asymmetric: bool = False,
    ) -> tuple[list[int], int]:
        """Input, weights and bias, and an output that uses the storage range."""
        channels = weights[axis]
        reach = self.one_of(2, 127)
        depth = int(np.prod(weights)) // channels
        # What a ratio must be for outputs of about a third of the storage range.
        usual = 128 / (reach * np.sqrt(depth) * 75)
        y_scale = self.output_scale()
        is_per_axis = self.dtype == "int8" and self.random.random() < 0.5
        count = channels if is_per_axis and not asymmetric else 1
        w_scales = [edge_values.scale(self.random) for _ in range(count)]
        ratio = self.ratio(usual / 4, usual * 4)
        x_scale = edge_values.float32(ratio * y_scale / w_scales[0])
        # The other channels have ratios of their own about as large.
        w_scales[1:] = [
            edge_values.float32(self.ratio(usual / 8, usual * 4) * y_scale / x_scale)
            for _ in w_scales[1:]
        ]
        point = self.zero_point() if self.dtype == "uint8" or asymmetric else 0
        data = edge_values.weights(self.random, weights, self.dtype, point, reach)
        limit = int(self.random.choice([20, 2000])) * reach
        operands = [
            self.input(image, x_scale),
            self.tensor(
                "w",
                weights,
                self.dtype,
                scale=w_scales,
                zero_point=point,
                axis=axis if count > 1 else 0,
                data=data,
            ),
            self.tensor(
                "b",
                (channels,),
                "int32",
                scale=[edge_values.float32(x_scale * s) for s in w_scales],
                data=self.random.integers(-limit, limit, channels, endpoint=True),
            ),
        ]
        return operands, self.output(output, y_scale)

    def window(self) -> tuple[Shape, Shape, Shape, int, Shape]:
        """Sizes of image and kernel, steps, padding, and the size of the result."""
        kernel = edge_values.steps(self.random, 5)
        stride = edge_values.steps(self.random, 3)
        padding = self.one_of(SAME, VALID)
        smallest = (1, 1) if padding == SAME else kernel
        image = (self.pick(smallest[0], 9), self.pick(smallest[1], 9))
        result = tuple(
            -(-size // step) if padding == SAME else (size - reach) // step + 1
            for size, reach, step in zip(image, kernel, stride, strict=True)
        )
        return image, kernel, stride, padding, result

    def finish(
        self, operator: str, operands: Sequence[int], output: int, **options: Option
    ) -> bytes:
        self.operator(operator, operands, [output], options)
        return self.build(self.inputs, [output])


def _conv2d(*, is_grouped: bool) -> Maker:
    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        image, kernel, stride, padding, result = layer.window()
        batch, depth = layer.pick(1, 3), layer.pick(1, 9)
        groups = layer.pick(2, 4) if is_grouped else 1
        channels = groups * edge_values.size(layer.random, 40 // groups)
        operands, y = layer.contraction(
            (batch, *image, groups * depth),
            (channels, *kernel, depth),
            0,
            (batch, *result, channels),
        )
        return layer.finish(
            "CONV_2D",
            operands,
            y,
            padding=padding,
            stride_h=stride[0],
            stride_w=stride[1],
            dilation_h_factor=1,
            dilation_w_factor=1,
            fused_activation_function=layer.activation,
        )

    return make


def _depthwise_conv2d(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    image, kernel, stride, padding, result = layer.window()
    batch, depth = layer.pick(1, 3), edge_values.size(layer.random, 40)
    multiplier = layer.one_of(1, 1, 2, 3)
    channels = depth * multiplier
    operands, y = layer.contraction(
        (batch, *image, depth), (1, *kernel, channels), 3, (batch, *result, channels)
    )
    return layer.finish(
        "DEPTHWISE_CONV_2D",
        operands,
        y,
        padding=padding,
        stride_h=stride[0],
        stride_w=stride[1],
        depth_multiplier=multiplier,
        dilation_h_factor=1,
        dilation_w_factor=1,
        fused_activation_function=layer.activation,
    )


def _fully_connected(*, asymmetric: bool) -> Maker:
    """`asymmetric` weights of int8 have a zero point; those of uint8 always do."""

    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        rows, depth = layer.one_of(1, 1, 4, layer.pick(1, 40)), layer.pick(1, 70)
        channels = edge_values.size(layer.random, 40)
        operands, y = layer.contraction(
            (rows, depth), (channels, depth), 0, (rows, channels), asymmetric=asymmetric
        )
        return layer.finish(
            "FULLY_CONNECTED", operands, y, fused_activation_function=layer.activation
        )

    return make


def _batch_matmul(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    rows, depth, columns = layer.pick(1, 20), layer.pick(1, 40), layer.pick(1, 20)
    usual = 1 / (75 * np.sqrt(depth))
    y_scale, b_scale = layer.output_scale(0), edge_values.scale(layer.random)
    ratio = layer.ratio(usual / 4, usual * 4)
    a = layer.input((2, rows, depth), edge_values.float32(ratio * y_scale / b_scale))
    b = layer.input((2, depth, columns), b_scale, layer.one_of(0, layer.zero_point()))
    y = layer.output((2, rows, columns), y_scale)
    return layer.finish("BATCH_MATMUL", [a, b], y)


def _binary(operator: str) -> Maker:
    """Of all pairs of codes, or of a shape that has a tail."""

    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        shape = (256, 256)
        if layer.one_of(0, 1):
            shape = (layer.pick(1, 5), edge_values.size(layer.random, 200))
        y_scale = layer.output_scale()
        if operator == "MUL":
            b_scale = edge_values.scale(layer.random)
            a_scale = layer.ratio(2.0**-11, 2.0**-4) * y_scale / b_scale
        else:
            a_scale, b_scale = y_scale * layer.ratio(), y_scale * layer.ratio()
        a = layer.input(shape, edge_values.float32(a_scale))
        b = layer.input(shape, edge_values.float32(b_scale))
        y = layer.output(shape, y_scale)
        return layer.finish(
            operator, [a, b], y, fused_activation_function=layer.activation
        )

    return make


def _mean(*, keep_dims: bool) -> Maker:
    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        depth = edge_values.size(layer.random, 40)
        y_scale = layer.output_scale(0)
        x_scale = edge_values.float32(y_scale * layer.ratio(0.25, 4.0))
        x = layer.input((2, layer.pick(1, 9), layer.pick(1, 9), depth), x_scale)
        axes = layer.tensor("axes", (2,), "int32", data=[1, 2])
        y = layer.output((2, 1, 1, depth) if keep_dims else (2, depth), y_scale)
        return layer.finish("MEAN", [x, axes], y, keep_dims=keep_dims)

    return make


def _pool(operator: str) -> Maker:
    """Input and output have the same quantization."""

    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        image, kernel, stride, padding, result = layer.window()
        batch, depth = layer.pick(1, 3), edge_values.size(layer.random, 40)
        scale, point = layer.output_scale(), layer.zero_point()
        x = layer.input((batch, *image, depth), scale, point)
        y = layer.output((batch, *result, depth), scale, point)
        return layer.finish(
            operator,
            [x],
            y,
            padding=padding,
            stride_h=stride[0],
            stride_w=stride[1],
            filter_height=kernel[0],
            filter_width=kernel[1],
            fused_activation_function=layer.activation,
        )

    return make


def _resize(operator: str) -> Maker:
    """Ratios of sizes are as often simple ones, where positions are ties."""

    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        height, width, depth = layer.pick(1, 9), layer.pick(1, 9), layer.pick(1, 20)
        rows, columns = layer.pick(1, 20), layer.pick(1, 20)
        if layer.one_of(0, 1):
            factor = layer.pick(1, 4)
            rows, columns = height * factor, width * factor
        scale, point = edge_values.scale(layer.random), layer.zero_point()
        x = layer.input((2, height, width, depth), scale, point)
        y = layer.output((2, rows, columns, depth), scale, point)
        size = layer.tensor("size", (2,), "int32", data=[rows, columns])
        centres = layer.pick(0, 2)
        return layer.finish(
            operator,
            [x, size],
            y,
            align_corners=centres == 1,
            half_pixel_centers=centres == 2,
        )

    return make


def _quantize(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    shape = (layer.pick(1, 5), edge_values.size(layer.random, 200))
    x = layer.tensor("x", shape, "float32")
    layer.inputs.append(x)
    return layer.finish("QUANTIZE", [x], layer.output(shape, layer.output_scale(0)))


def _dequantize(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    shape = (layer.pick(1, 5), edge_values.size(layer.random, 200))
    x = layer.input(shape, edge_values.scale(layer.random))
    return layer.finish("DEQUANTIZE", [x], layer.tensor("y", shape, "float32"))


def _requantize(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    shape = (layer.pick(1, 5), edge_values.size(layer.random, 200))
    scale = layer.output_scale(0)
    x, y = layer.unary(shape, edge_values.float32(scale * layer.ratio()), scale)
    return layer.finish("QUANTIZE", [x], y)


def _leaky_relu(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    scale = layer.output_scale(0)
    x, y = layer.unary((2, 257), edge_values.float32(scale * layer.ratio()), scale)
    slopes = [0.25, 0.5, 0.3, 0.01, -0.5, edge_values.near(layer.random, 0.125)]
    alpha = edge_values.float32(layer.random.choice(slopes))
    return layer.finish("LEAKY_RELU", [x], y, alpha=alpha)


def _softmax(seed: int, dtype: str) -> bytes:
    layer = _Layer(seed, dtype)
    shape = (layer.pick(1, 30), edge_values.size(layer.random, 100))
    x = layer.input(shape, layer.output_scale(0))
    y = layer.output(shape, 1 / 256, int(np.iinfo(dtype).min))
    beta = edge_values.float32(layer.random.choice([1.0, 1.0, 0.5, 0.7]))
    return layer.finish("SOFTMAX", [x], y, beta=beta)


def _fixed_table(operator: str, scale: float, point: int) -> Maker:
    """An output `scale` a step from `point` above the smallest code."""

    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        x = layer.input((2, 256), layer.output_scale(0))
        y = layer.output((2, 256), scale, int(np.iinfo(dtype).min) + point)
        return layer.finish(operator, [x], y)

    return make


def _table(operator: str, activation: int = 0) -> Maker:
    """Scales close to each other, the output's with ties of the activation's bound."""

    def make(seed: int, dtype: str) -> bytes:
        layer = _Layer(seed, dtype)
        scale = layer.output_scale(activation)
        x_scale = edge_values.float32(scale * layer.ratio(0.125, 8.0))
        x, y = layer.unary((2, 256), x_scale, scale)
        return layer.finish(operator, [x], y)

    return make


LAYERS: dict[str, Maker] = {
    "conv2d": _conv2d(is_grouped=False),
    "conv2d_grouped": _conv2d(is_grouped=True),
    "depthwise_conv2d": _depthwise_conv2d,
    "fully_connected": _fully_connected(asymmetric=False),
    "fully_connected_asymmetric": _fully_connected(asymmetric=True),
    "batch_matmul": _batch_matmul,
    "add": _binary("ADD"),
    "sub": _binary("SUB"),
    "mul": _binary("MUL"),
    "mean": _mean(keep_dims=False),
    "mean_keep_dims": _mean(keep_dims=True),
    "average_pool": _pool("AVERAGE_POOL_2D"),
    "max_pool": _pool("MAX_POOL_2D"),
    "resize_bilinear": _resize("RESIZE_BILINEAR"),
    "resize_nearest": _resize("RESIZE_NEAREST_NEIGHBOR"),
    "quantize": _quantize,
    "dequantize": _dequantize,
    "requantize": _requantize,
    "leaky_relu": _leaky_relu,
    "softmax": _softmax,
    "logistic": _fixed_table("LOGISTIC", 1 / 256, 0),
    "tanh": _fixed_table("TANH", 1 / 128, 128),
    "hard_swish": _table("HARD_SWISH"),
    "elu": _table("ELU"),
    "relu": _table("RELU"),
    "relu6": _table("RELU6", RELU6),
    "relu_n1_to_1": _table("RELU_N1_TO_1", RELU_N1_TO_1),
    "relu_0_to_1": _table("RELU_0_TO_1", RELU_N1_TO_1),
}
"""Makers of models by operator: a seed and a type name to the bytes of a file."""


def edge_inputs(model: Model, seed: int) -> list[NDArray[np.generic]]:
    """Inputs for a layer: every code or every pair of codes where they fit, else ends
    and any; real numbers about half steps of the output."""
    random = np.random.default_rng(seed)
    specs = model.inputs
    if [spec.shape for spec in specs] == [(256, 256)] * 2:
        return list(edge_values.every_pair(specs[0].dtype))
    arrays: list[NDArray[np.generic]] = []
    for spec in specs:
        if spec.dtype == "float32":
            step = model.outputs[0].scale
            assert isinstance(step, float)
            arrays.append(edge_values.reals(random, spec.shape, step))
        elif spec.shape[-1] in (256, 257):
            line = np.resize(edge_values.every_pair(spec.dtype)[1][0], spec.shape)
            arrays.append(line)
        else:
            arrays.append(edge_values.codes(random, spec.shape, spec.dtype))
    return arrays
