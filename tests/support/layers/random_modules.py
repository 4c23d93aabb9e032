"""Modules of one qnn operation with drawn shapes, scales and zero points.

Parameters are those of `edge_values`, at which arithmetics part: exact and near ties,
ends of storage ranges, bounds halfway between two codes, sizes and steps that take
other kernels in the systems that are compared. The same kind, seed and options make the
same module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Attribute, SSAValue

from qlower.dialects import qnn
from qlower.dialects.qnn import ACTIVATION_BOUNDS
from qlower.dialects.quant import quantized_element
from qlower.interp.values import Array
from qlower.model.build import (
    constant,
    make_module,
    quantized,
    quantized_per_axis,
)
from support.values import edge_values

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
    else int32; weights may have a zero point if `asymmetric_weights`, one
    for each channel if `points_per_axis`. Activations are
    uint8 unless `signed`. Means have the input's scale unless `rescales_means`, lone
    bounds unless `rescales_bounds`; sigmoids have 1/256 unless `rescales_sigmoids`.
    Half of the operations that may have one have a fused activation out of
    `activations`. Operands broadcast if `broadcasts`, and `odd_pads` may differ at
    opposite sides. `even_groups` have as many input as output channels.
    """

    seed: int
    outputs: int = 2000
    real_bias: bool = True
    asymmetric_weights: bool = False
    points_per_axis: bool = False
    signed: bool = False
    rescales_means: bool = False
    rescales_bounds: bool = False
    rescales_sigmoids: bool = False
    activations: Sequence[str] = tuple(filter(None, ACTIVATION_BOUNDS))
    broadcasts: bool = False
    odd_pads: bool = False
    even_groups: bool = True
    random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    @property
    def dtype(self) -> str:
        return "int8" if self.signed else "uint8"

    def pick(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.random.integers(low, high, endpoint=True))

    def one_of(self, *choices: int) -> int:
        return int(self.random.choice(choices))

    def scale(self) -> float:
        """Half of the time a power of two, so that ratios often are simple."""
        if self.pick(0, 1):
            return 2.0 ** self.pick(-6, -4)
        return edge_values.scale(self.random)

    def zero_point(self) -> int:
        return edge_values.zero_point(self.random, self.dtype)

    def activation(
        self, shape: Shape, scale: float | None = None
    ) -> TensorType[Attribute]:
        """A tensor of `scale`, or any."""
        scale = self.scale() if scale is None else scale
        return quantized(shape, scale, self.zero_point(), signed=self.signed)

    def fused(self) -> str | None:
        """A fused activation, or none."""
        if not self.activations or self.pick(0, 1):
            return None
        return str(self.random.choice(self.activations))

    def output_scale(self, fused: str | None) -> float:
        """Any scale, or where there is a bound, one that puts it between two codes."""
        bounds = ACTIVATION_BOUNDS[fused] if fused is not None else (None,)
        if bounds[-1] is None or self.pick(0, 1):
            return self.scale()
        return edge_values.scale_with_bound_tie(self.random, bounds[-1])

    def codes(self, shape: Shape) -> Array:
        return edge_values.codes(self.random, shape, self.dtype)

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
    """A third of them has groups that FBGEMM has kernels for."""
    kind = draw.pick(0, 2)
    if kind == 0 and draw.even_groups:
        # It writes beyond its buffers where 4 doesn't divide the groups of 4 channels.
        each = draw.one_of(4, 8, 16)
        groups = draw.one_of(4, 8, 28) if each == 4 else draw.one_of(2, 3, 5, 8)
        return _convolution(draw, groups, groups * each, each, kernel=(3, 3))
    groups = draw.one_of(2, 3) if kind == 1 else 1
    depth = edge_values.size(draw.random, 40)
    each = edge_values.size(draw.random, 40)
    if groups > 1 and depth == each:
        each += 1
    kernel = (1, 1) if draw.pick(0, 3) == 0 else edge_values.steps(draw.random)
    return _convolution(draw, groups, groups * depth, each, kernel=kernel)


def conv2d_add(draw: Draw) -> RandomLayer:
    """One group, and an addition."""
    depth, outputs = (edge_values.size(draw.random, 40) for _ in range(2))
    kernel = edge_values.steps(draw.random)
    return _convolution(draw, 1, depth, outputs, kernel=kernel, added=True)


def depthwise_conv2d_add(draw: Draw) -> RandomLayer:
    """One output for each channel, and an addition."""
    channels = draw.one_of(8, 16, 24, draw.pick(1, 37))
    return _convolution(
        draw, channels, channels, 1, kernel=(3, 3), depthwise=True, added=True
    )


def depthwise_conv2d(draw: Draw) -> RandomLayer:
    """Half of them of a shape that FBGEMM's depthwise kernels take."""
    channels = draw.one_of(8, 16, 24, 104, 112, draw.pick(1, 37))
    multiplier = draw.one_of(1, 1, 1, 2, 3)
    side = draw.one_of(3, 5)
    kernel = (side, side) if draw.pick(0, 3) else edge_values.steps(draw.random, 5)
    # FBGEMM's kernels take strides of 1 and 2, equal or not.
    strides = (draw.one_of(1, 2), draw.one_of(1, 2)) if draw.pick(0, 3) else None
    return _convolution(
        draw,
        channels,
        channels,
        multiplier,
        kernel=kernel,
        strides=strides,
        depthwise=True,
    )


def _convolution(
    draw: Draw,
    groups: int,
    depth: int,
    each: int,
    *,
    kernel: tuple[int, int],
    strides: tuple[int, int] | None = None,
    depthwise: bool = False,
    added: bool = False,
) -> RandomLayer:
    """A convolution of `depth` channels; every group has `each` output channels. With
    `added` it is one that adds another input."""
    outputs = groups * each
    strides = strides or edge_values.steps(draw.random)
    dilations = (1, 1) if draw.pick(0, 3) else edge_values.steps(draw.random, 2)
    pads = _pads(draw, kernel)
    sizes: list[int] = []
    places: list[int] = []
    for axis in (0, 1):
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        around = pads[2 * axis] + pads[2 * axis + 1]
        sizes.append(draw.pick(max(1, reach - around), 11))
        places.append((sizes[axis] + around - reach) // strides[axis] + 1)
    shape = draw.image(depth, sizes[0], sizes[1], places[0] * places[1] * outputs)
    result_shape = (shape[0], places[0], places[1], outputs)
    window = kernel[0] * kernel[1] * depth // groups
    if depthwise:
        weight_shape, axis = (1, *kernel, outputs), 3
    else:
        weight_shape, axis = (outputs, *kernel, depth // groups), 0
    activation = draw.fused()
    x, weights, weight_type, bias, result = _operands(
        draw, shape, weight_shape, axis, window, result_shape, activation
    )

    types, inputs = [x], [draw.codes(shape)]
    fields: dict[str, Any] = {"stride": strides, "pad": pads, "dilation": dilations}
    op = qnn.DepthwiseConv2DOp if depthwise else qnn.Conv2DOp
    if not depthwise:
        fields["groups"] = groups
    if added:
        op = qnn.DepthwiseConv2DAddOp if depthwise else qnn.Conv2DAddOp
        ratios = [edge_values.ratio(draw.random, 0.25, 4) for _ in range(2)]
        other, summand = (
            draw.activation(result_shape, edge_values.float32(_scale_of(result) * one))
            for one in ratios
        )
        types.append(other)
        inputs.append(draw.codes(result_shape))
        fields["summand"] = quantized_element(summand)

    def body(image: SSAValue, *addends: SSAValue) -> list[SSAValue]:
        w, b = constant(weights, weight_type), constant(bias)
        values = (image, w, b, *addends, result)
        return [op(*values, activation=activation, **fields).results[0]]

    return RandomLayer(make_module(types, body), inputs)


def _pads(draw: Draw, kernel: tuple[int, int]) -> tuple[int, int, int, int]:
    """Half of the kernel at each side, which special kernels ask for, or any."""
    if draw.pick(0, 1):
        high, wide = kernel[0] // 2, kernel[1] // 2
        return high, high, wide, wide
    most = (kernel[0] - 1, kernel[0] - 1, kernel[1] - 1, kernel[1] - 1)
    top, bottom, left, right = (draw.pick(0, size) for size in most)
    return (top, bottom, left, right) if draw.odd_pads else (top, top, left, left)


def linear(draw: Draw) -> RandomLayer:
    depth, outputs = draw.pick(1, 130), edge_values.size(draw.random, 40)
    rows = max(1, draw.outputs // outputs)
    activation = draw.fused()
    x, weights, weight_type, bias, result = _operands(
        draw, (rows, depth), (outputs, depth), 0, depth, (rows, outputs), activation
    )

    def body(rows: SSAValue) -> list[SSAValue]:
        w, b = constant(weights, weight_type), constant(bias)
        return [qnn.LinearOp(rows, w, b, result, activation=activation).result]

    return RandomLayer(make_module([x], body), [draw.codes((rows, depth))])


def _operands(
    draw: Draw,
    shape: Shape,
    weight_shape: Shape,
    axis: int,
    window: int,
    result: Shape,
    activation: str | None,
) -> tuple[Attribute, Array, Attribute, Array, Attribute]:
    """Type of the input, weights and their type, bias, and a type of the result that
    makes use of the storage range. Weights are small or as large as they get."""
    reach = draw.one_of(3, 127)
    outputs = weight_shape[axis]
    x = draw.activation(shape)
    x_scale = _scale_of(x)
    y_scale = draw.output_scale(activation)
    y = draw.activation(result, y_scale)
    # One step of the result is about this many of the accumulator.
    spread = 2.0 ** round(np.log2(reach * np.sqrt(window) / 2))
    per_axis = draw.pick(0, 1) == 1
    scales = [
        edge_values.float32(
            y_scale / x_scale * edge_values.ratio(draw.random, 0.25, 4) / spread
        )
        for _ in range(outputs if per_axis else 1)
    ]
    point = 0
    if per_axis:
        points = [
            draw.pick(-9, 9) if draw.asymmetric_weights and draw.points_per_axis else 0
            for _ in scales
        ]
        weight_type = quantized_per_axis(weight_shape, axis, scales, points)
    else:
        if draw.asymmetric_weights:
            point = draw.one_of(
                0, draw.pick(-5, 5), edge_values.zero_point(draw.random, "int8")
            )
        weight_type = quantized(weight_shape, scales[0], point)
    weights = edge_values.weights(draw.random, weight_shape, "int8", point, reach)
    steps = draw.random.integers(-20 * reach, 20 * reach, outputs).astype(np.int32)
    bias: Array = steps
    if draw.real_bias:
        # Off the grid of the accumulator, in which only half of them may be.
        offsets = draw.one_of(0, 1) * draw.random.uniform(-0.5, 0.5, outputs)
        step = np.float32(x_scale) * np.array(scales, np.float32)
        bias = ((steps + offsets) * step).astype(np.float32)
    return x, weights, weight_type, bias, y


def _binary(
    make: Callable[[SSAValue, SSAValue, Attribute, str | None], SSAValue],
    output_ratio: Callable[[float, float], float],
) -> Callable[[Draw], RandomLayer]:
    """An operation on two operands; a step of the result is about `output_ratio` of
    their scales."""

    def draw_layer(draw: Draw) -> RandomLayer:
        shape = (max(1, draw.outputs // 64), draw.pick(61, 67))
        activation = draw.fused()
        y = draw.activation(shape, draw.output_scale(activation))
        lhs_scale, rhs_scale = (
            edge_values.float32(_scale_of(y) * _operand_ratio(draw)) for _ in range(2)
        )
        rhs_scale = edge_values.float32(rhs_scale * output_ratio(lhs_scale, rhs_scale))
        lhs_shape = rhs_shape = shape
        if draw.broadcasts:
            narrow = [shape, shape, (1, shape[1]), (shape[0], 1), (1,)]
            one = narrow[draw.pick(0, len(narrow) - 1)]
            lhs_shape, rhs_shape = (shape, one) if draw.pick(0, 1) else (one, shape)
        a = draw.activation(lhs_shape, lhs_scale)
        b = draw.activation(rhs_shape, rhs_scale)

        def body(a: SSAValue, b: SSAValue) -> list[SSAValue]:
            return [make(a, b, y, activation)]

        module = make_module([a, b], body)
        return RandomLayer(module, [draw.codes(lhs_shape), draw.codes(rhs_shape)])

    return draw_layer


def _operand_ratio(draw: Draw) -> float:
    """Half of the time at or next to a power of two, where sums are nearly ties."""
    if draw.pick(0, 1):
        return edge_values.near(draw.random, 2.0 ** draw.pick(-4, 1))
    return edge_values.ratio(draw.random, 0.05, 4)


add = _binary(
    lambda a, b, y, f: qnn.AddOp(a, b, y, activation=f).result, lambda a, b: 1.0
)
sub = _binary(
    lambda a, b, y, f: qnn.SubOp(a, b, y, activation=f).result, lambda a, b: 1.0
)
# The product of both scales is a small part of a step.
mul = _binary(
    lambda a, b, y, f: qnn.MulOp(a, b, y, activation=f).result,
    lambda a, b: 2.0 ** round(-np.log2(a) - 6),
)


def avg_pool2d(draw: Draw) -> RandomLayer:
    channels = edge_values.size(draw.random, 40)
    stride = edge_values.steps(draw.random)
    # A pool of one element is refused by QNNPACK.
    kernels = [(1, 2), (2, 2), (3, 3), (2, 3), (3, 1), (4, 4)]
    kernel = kernels[draw.pick(0, len(kernels) - 1)]
    pad = [draw.pick(0, size // 2) for size in kernel]
    height, width = draw.pick(6, 11), draw.pick(6, 11)
    rows, columns = (
        (size + 2 * pad[axis] - kernel[axis]) // stride[axis] + 1
        for axis, size in enumerate((height, width))
    )
    shape = draw.image(channels, height, width, rows * columns * channels)
    x = draw.activation(shape)
    y = TensorType(x.element_type, (shape[0], rows, columns, channels))
    if draw.rescales_means:
        ratio = edge_values.ratio(draw.random, 0.1, 4)
        y = draw.activation(y.get_shape(), edge_values.float32(_scale_of(x) * ratio))
    count_include_pad = bool(draw.pick(0, 1))

    def body(image: SSAValue) -> list[SSAValue]:
        pool = qnn.AvgPool2DOp(
            image,
            y,
            kernel=kernel,
            stride=stride,
            pad=[pad[0], pad[0], pad[1], pad[1]],
            count_include_pad=count_include_pad,
        )
        return [pool.result]

    return RandomLayer(make_module([x], body), [draw.codes(shape)])


def adaptive_avg_pool2d(draw: Draw) -> RandomLayer:
    channels = edge_values.size(draw.random, 40)
    rows, columns = draw.pick(1, 4), draw.pick(1, 4)
    height, width = draw.pick(4, 11), draw.pick(4, 11)
    shape = draw.image(channels, height, width, rows * columns * channels)
    x = draw.activation(shape)
    y = TensorType(x.element_type, (shape[0], rows, columns, channels))
    module = _unary(x, lambda image: qnn.AdaptiveAvgPool2DOp(image, y).result)
    return RandomLayer(module, [draw.codes(shape)])


def mean(draw: Draw) -> RandomLayer:
    """Over rows and columns."""
    channels = edge_values.size(draw.random, 40)
    shape = draw.image(channels, draw.pick(1, 11), draw.pick(1, 11), channels)
    x = draw.activation(shape)
    y = TensorType(x.element_type, (shape[0], 1, 1, channels))
    if draw.rescales_means:
        y = draw.activation((shape[0], 1, 1, channels))

    def body(image: SSAValue) -> list[SSAValue]:
        return [qnn.MeanOp(image, y, axes=[1, 2], keep_dims=True).result]

    return RandomLayer(make_module([x], body), [draw.codes(shape)])


def quantize(draw: Draw) -> RandomLayer:
    shape = (draw.outputs,)
    y = draw.activation(shape)
    module = _unary(TensorType(f32, shape), lambda x: qnn.QuantizeOp(x, y).result)
    return RandomLayer(module, [edge_values.reals(draw.random, shape, _scale_of(y))])


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
        # Large scales tell whether a zero point is 0 to the bit, where the result is
        # bounded; PyTorch wraps what isn't from 2^31 on.
        x_scale = None
        if scale is not None and draw.pick(0, 3):
            x_scale = edge_values.float32(2.0 ** draw.random.uniform(-20, 40))
        x, y = draw.activation(shape, x_scale), draw.activation(shape)
        if scale is not None and not draw.rescales_sigmoids:
            y = quantized(shape, scale, zero_point, signed=False)
        module = _unary(x, lambda a: make(a, y))
        return RandomLayer(module, [draw.codes(shape)])

    return draw_layer


# PyTorch's sigmoid and tanh have no other output than these.
sigmoid = _table(lambda a, y: qnn.SigmoidOp(a, y).result, 1 / 256)
tanh = _table(lambda a, y: qnn.TanhOp(a, y).result, 1 / 128, 128)
hard_swish = _table(lambda a, y: qnn.HardSwishOp(a, y).result)
elu = _table(lambda a, y: qnn.EluOp(a, y).result)


def softmax(draw: Draw) -> RandomLayer:
    """Of rows of 2 to 40; half of them to the quantization that holds [0, 1)."""
    columns = draw.pick(2, 40)
    shape = (max(1, draw.outputs // columns), columns)
    x, y = draw.activation(shape), draw.activation(shape)
    if draw.pick(0, 1):
        lowest = int(np.iinfo(draw.dtype).min)
        y = quantized(shape, 1 / draw.one_of(256, 255), lowest, signed=draw.signed)
    module = _unary(x, lambda a: qnn.SoftmaxOp(a, y).result)
    return RandomLayer(module, [draw.codes(shape)])


def relu(draw: Draw) -> RandomLayer:
    return _bounded(draw, lambda x, y: qnn.ReluOp(x, y).result, 0.0)


def relu6(draw: Draw) -> RandomLayer:
    return _bounded(draw, lambda x, y: qnn.Relu6Op(x, y).result, 6.0)


def clamp(draw: Draw) -> RandomLayer:
    """Between two bounds of which one may lie between two codes."""
    low, high = sorted(edge_values.float32(draw.random.normal(0, 2)) for _ in range(2))

    def make(x: SSAValue, y: Attribute) -> SSAValue:
        return qnn.ClampOp(x, y, min=low, max=high).result

    return _bounded(draw, make, draw.random.choice([low, high]))


def _bounded(
    draw: Draw, make: Callable[[SSAValue, Attribute], SSAValue], bound: float
) -> RandomLayer:
    shape = (draw.outputs,)
    scale = edge_values.scale_with_bound_tie(draw.random, bound) if bound else None
    y = draw.activation(shape, scale)
    x = draw.activation(shape) if draw.rescales_bounds else y
    module = _unary(x, lambda a: make(a, y))
    return RandomLayer(module, [draw.codes(shape)])
