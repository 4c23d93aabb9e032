"""Modules of one qnn operation with drawn shapes, scales and zero points.

Every second has scales whose ratios are powers of two, so that exact ties are common.
The same kind, seed and options make the same module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Attribute, SSAValue

from qlower.contracts.values import quantized_element
from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.model.build import (
    constant,
    make_module,
    quantized,
    quantized_per_axis,
)

Shape = tuple[int, ...]


@dataclass(frozen=True)
class RandomLayer:
    """A module of one operation and inputs for it."""

    module: ModuleOp
    inputs: Sequence[Array]


@dataclass
class Draw:
    """What a layer is drawn from.

    `outputs` is about how many numbers it gives. Biases are float32 if `real_bias`,
    else int32; weights may have a zero point if `asymmetric_weights`. Activations are
    uint8 unless `signed`. Means have the input's scale unless `rescales_means`.
    """

    seed: int
    outputs: int = 2000
    real_bias: bool = True
    asymmetric_weights: bool = False
    signed: bool = False
    rescales_means: bool = False
    random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    @property
    def has_ties(self) -> bool:
        return self.seed % 2 == 0

    def pick(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.random.integers(low, high, endpoint=True))

    def one_of(self, *choices: int) -> int:
        return int(self.random.choice(choices))

    def scale(self) -> float:
        if self.has_ties:
            return 2.0 ** self.pick(-6, -4)
        return float(np.float32(np.exp(self.random.uniform(-5, -2))))

    def zero_point(self) -> int:
        """One end of the storage range, its middle, or anything."""
        point = self.one_of(0, 255, 128, self.pick(0, 255))
        return point - 128 if self.signed else point

    def activation(
        self, shape: Shape, scale: float | None = None
    ) -> TensorType[Attribute]:
        """A tensor of `scale`, or any."""
        scale = self.scale() if scale is None else scale
        return quantized(shape, scale, self.zero_point(), signed=self.signed)

    def codes(self, shape: Shape) -> Array:
        codes = self.random.integers(0, 255, shape, np.uint8, endpoint=True)
        return (codes ^ 128).view(np.int8) if self.signed else codes

    def image(self, channels: int, height: int, width: int, outputs: int) -> Shape:
        """An image of channels last, in a batch that gives `outputs` places each."""
        return (max(1, ceil(self.outputs / outputs)), height, width, channels)


def _scale_of(type: Attribute) -> float:
    return quantized_element(type).scales[0]


def _unary(x: Attribute, make: Callable[[SSAValue], SSAValue]) -> ModuleOp:
    def body(value: SSAValue) -> list[SSAValue]:
        return [make(value)]

    return make_module([x], body)


def conv2d(draw: Draw) -> RandomLayer:
    groups = draw.one_of(1, 1, 1, 2, 3)
    depth, each = draw.pick(1, 20), draw.pick(1, 24)
    if groups > 1 and draw.pick(0, 1):
        depth = draw.one_of(4, 8, 16)
        each = draw.one_of(4, 12) if depth == 8 else 8
    return _convolution(draw, groups, groups * depth, each)


def depthwise_conv2d(draw: Draw) -> RandomLayer:
    """Half of them of a shape that FBGEMM's depthwise kernels take."""
    channels = draw.one_of(8, 16, 24, 104, draw.pick(1, 37))
    return _convolution(draw, channels, channels, draw.one_of(1, 1, 2), depthwise=True)


def _convolution(
    draw: Draw, groups: int, depth: int, each: int, *, depthwise: bool = False
) -> RandomLayer:
    """A convolution of `depth` channels; every group has `each` output channels."""
    outputs = groups * each
    kernel = draw.one_of(3, 5) if depthwise else draw.pick(1, 3)
    stride, dilation = draw.one_of(1, 1, 2), draw.one_of(1, 1, 1, 2)
    pad = draw.one_of(0, kernel // 2)
    reach = dilation * (kernel - 1) + 1
    height, width = draw.pick(max(reach, 5), 11), draw.pick(max(reach, 5), 11)
    rows, columns = ((size + 2 * pad - reach) // stride + 1 for size in (height, width))
    shape = draw.image(depth, height, width, rows * columns * outputs)
    result_shape = (shape[0], rows, columns, outputs)
    window = kernel * kernel * depth // groups
    if depthwise:
        weight_shape, axis = (1, kernel, kernel, outputs), 3
    else:
        weight_shape, axis = (outputs, kernel, kernel, depth // groups), 0
    x, weights, weight_type, bias, result = _operands(
        draw, shape, weight_shape, axis, window, result_shape
    )

    def body(image: SSAValue) -> list[SSAValue]:
        w, b = constant(weights, weight_type), constant(bias)
        strides, pads, dilations = [stride] * 2, [pad] * 4, [dilation] * 2
        if depthwise:
            op = qnn.DepthwiseConv2DOp(
                image, w, b, result, stride=strides, pad=pads, dilation=dilations
            )
        else:
            op = qnn.Conv2DOp(
                image,
                w,
                b,
                result,
                stride=strides,
                pad=pads,
                dilation=dilations,
                groups=groups,
            )
        return [op.results[0]]

    return RandomLayer(make_module([x], body), [draw.codes(shape)])


def linear(draw: Draw) -> RandomLayer:
    depth, outputs = draw.pick(1, 130), draw.pick(1, 40)
    rows = max(1, draw.outputs // outputs)
    x, weights, weight_type, bias, result = _operands(
        draw, (rows, depth), (outputs, depth), 0, depth, (rows, outputs)
    )

    def body(rows: SSAValue) -> list[SSAValue]:
        w, b = constant(weights, weight_type), constant(bias)
        return [qnn.LinearOp(rows, w, b, result).result]

    return RandomLayer(make_module([x], body), [draw.codes((rows, depth))])


def _operands(
    draw: Draw, shape: Shape, weight_shape: Shape, axis: int, window: int, result: Shape
) -> tuple[Attribute, Array, Attribute, Array, Attribute]:
    """Type of the input, weights and their type, bias, and a type of the result that
    makes use of the storage range. Weights are small or as large as they get."""
    reach = draw.one_of(3, 127)
    outputs = weight_shape[axis]
    weights = draw.random.integers(-reach, reach, weight_shape, np.int8, endpoint=True)
    x = draw.activation(shape)
    x_scale = _scale_of(x)
    if draw.random.random() < 0.5:
        scales = [draw.scale() for _ in range(outputs)]
        weight_type = quantized_per_axis(weight_shape, axis, scales)
    else:
        scales = [draw.scale()]
        point = draw.pick(-5, 5) if draw.asymmetric_weights else 0
        weight_type = quantized(weight_shape, scales[0], point)
    steps = draw.random.integers(-20 * reach, 20 * reach, outputs).astype(np.int32)
    bias: Array = steps
    if draw.real_bias:
        # Off the grid of the accumulator, in which only half of them may be.
        offsets = draw.one_of(0, 1) * draw.random.uniform(-0.5, 0.5, outputs)
        step = np.float32(x_scale) * np.array(scales, np.float32)
        bias = ((steps + offsets) * step).astype(np.float32)
    # A power of two, so that the ratio of the scales stays one.
    spread = 2.0 ** round(np.log2(reach * np.sqrt(window) / 2))
    y_scale = float(np.float32(x_scale * max(scales) * spread))
    y = draw.activation(result, y_scale)
    return x, weights, weight_type, bias, y


def _binary(
    make: Callable[[SSAValue, SSAValue, Attribute], SSAValue], spread: float
) -> Callable[[Draw], RandomLayer]:
    def draw_layer(draw: Draw) -> RandomLayer:
        shape = (max(1, draw.outputs // 64), draw.pick(61, 67))
        a, b = draw.activation(shape), draw.activation(shape)
        y = draw.activation(shape, spread * draw.scale())

        def body(a: SSAValue, b: SSAValue) -> list[SSAValue]:
            return [make(a, b, y)]

        module = make_module([a, b], body)
        return RandomLayer(module, [draw.codes(shape), draw.codes(shape)])

    return draw_layer


add = _binary(lambda a, b, y: qnn.AddOp(a, b, y).result, 1.0)
mul = _binary(lambda a, b, y: qnn.MulOp(a, b, y).result, 0.25)


def avg_pool2d(draw: Draw) -> RandomLayer:
    channels, kernel = draw.pick(1, 40), draw.pick(2, 4)
    stride, pad = draw.pick(1, 3), draw.pick(0, kernel // 2)
    height, width = draw.pick(6, 11), draw.pick(6, 11)
    rows, columns = (
        (size + 2 * pad - kernel) // stride + 1 for size in (height, width)
    )
    shape = draw.image(channels, height, width, rows * columns * channels)
    x = draw.activation(shape)
    y = TensorType(x.element_type, (shape[0], rows, columns, channels))
    count_include_pad = bool(draw.pick(0, 1))

    def body(image: SSAValue) -> list[SSAValue]:
        pool = qnn.AvgPool2DOp(
            image,
            y,
            kernel=[kernel] * 2,
            stride=[stride] * 2,
            pad=[pad] * 4,
            count_include_pad=count_include_pad,
        )
        return [pool.result]

    return RandomLayer(make_module([x], body), [draw.codes(shape)])


def adaptive_avg_pool2d(draw: Draw) -> RandomLayer:
    channels, rows, columns = draw.pick(1, 40), draw.pick(1, 4), draw.pick(1, 4)
    height, width = draw.pick(4, 11), draw.pick(4, 11)
    shape = draw.image(channels, height, width, rows * columns * channels)
    x = draw.activation(shape)
    y = TensorType(x.element_type, (shape[0], rows, columns, channels))
    module = _unary(x, lambda image: qnn.AdaptiveAvgPool2DOp(image, y).result)
    return RandomLayer(module, [draw.codes(shape)])


def mean(draw: Draw) -> RandomLayer:
    """Over rows and columns."""
    channels = draw.pick(1, 40)
    shape = draw.image(channels, draw.pick(1, 11), draw.pick(1, 11), channels)
    x = draw.activation(shape)
    y = TensorType(x.element_type, (shape[0], 1, 1, channels))
    if draw.rescales_means:
        y = draw.activation((shape[0], 1, 1, channels))

    def body(image: SSAValue) -> list[SSAValue]:
        return [qnn.MeanOp(image, y, axes=[1, 2], keep_dims=True).result]

    return RandomLayer(make_module([x], body), [draw.codes(shape)])


def quantize(draw: Draw) -> RandomLayer:
    """Multiples of half a step, and reals around the zero point."""
    shape = (draw.outputs,)
    y = draw.activation(shape)
    scale, steps = _scale_of(y), draw.random.integers(-300, 600, shape)
    x = steps * np.float32(scale / 2)
    if draw.pick(0, 1):
        x = draw.random.normal(0, 100 * scale, shape)
    module = _unary(TensorType(f32, shape), lambda x: qnn.QuantizeOp(x, y).result)
    return RandomLayer(module, [x.astype(np.float32)])


def dequantize(draw: Draw) -> RandomLayer:
    shape = (draw.outputs,)
    x = draw.activation(shape)
    y = TensorType(f32, shape)
    module = _unary(x, lambda x: qnn.DequantizeOp(x, y).result)
    return RandomLayer(module, [draw.codes(shape)])


def concat(draw: Draw) -> RandomLayer:
    """Of two inputs side by side; one may have the output's quantization."""
    rows = max(1, draw.outputs // 40)
    shapes = [(rows, draw.pick(1, 40)), (rows, draw.pick(1, 40))]
    types = [draw.activation(shape) for shape in shapes]
    shape = (rows, sum(width for _, width in shapes))
    y = draw.activation(shape)
    if draw.pick(0, 1):
        y = TensorType(types[0].element_type, shape)

    def body(*pieces: SSAValue) -> list[SSAValue]:
        return [qnn.ConcatOp(pieces, y, axis=1).result]

    module = make_module(types, body)
    return RandomLayer(module, [draw.codes(shape) for shape in shapes])


def requantize(draw: Draw) -> RandomLayer:
    shape = (draw.outputs,)
    x, y = draw.activation(shape), draw.activation(shape)
    module = _unary(x, lambda a: qnn.RequantizeOp(a, y).result)
    return RandomLayer(module, [draw.codes(shape)])


def leaky_relu(draw: Draw) -> RandomLayer:
    shape = (-(-draw.outputs // 64) * 64,)
    x, y = draw.activation(shape), draw.activation(shape)
    alpha = float(np.float32(draw.random.choice([0.25, 0.01, 0.3])))
    module = _unary(x, lambda a: qnn.LeakyReluOp(a, y, alpha=alpha).result)
    return RandomLayer(module, [draw.codes(shape)])


def _table(
    make: Callable[[SSAValue, Attribute], SSAValue],
    scale: float | None = None,
    zero_point: int = 0,
) -> Callable[[Draw], RandomLayer]:
    """A function of one value; its output has the quantization given, or any.

    Whole vectors of 64, because PyTorch rounds the elements after them differently.
    """

    def draw_layer(draw: Draw) -> RandomLayer:
        shape = (-(-draw.outputs // 64) * 64,)
        x, y = draw.activation(shape), draw.activation(shape)
        if scale is not None:
            y = quantized(shape, scale, zero_point, signed=False)
        module = _unary(x, lambda a: make(a, y))
        return RandomLayer(module, [draw.codes(shape)])

    return draw_layer


# PyTorch's sigmoid and tanh have no other output than these.
sigmoid = _table(lambda a, y: qnn.SigmoidOp(a, y).result, 1 / 256)
tanh = _table(lambda a, y: qnn.TanhOp(a, y).result, 1 / 128, 128)
hard_swish = _table(lambda a, y: qnn.HardSwishOp(a, y).result)
elu = _table(lambda a, y: qnn.EluOp(a, y).result)


def relu(draw: Draw) -> RandomLayer:
    shape = (draw.outputs,)
    x = draw.activation(shape)
    module = _unary(x, lambda a: qnn.ReluOp(a, x).result)
    return RandomLayer(module, [draw.codes(shape)])
