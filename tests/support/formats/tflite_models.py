"""Small TFLite models with one operator each.

Weights and biases are drawn with a fixed seed: the same bytes in every run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .tflite_builder import Option, TFLiteBuilder

SAME, VALID = 0, 1
NONE, RELU, RELU_N1_TO_1, RELU6 = 0, 1, 2, 3

STRIDE_1 = {"stride_h": 1, "stride_w": 1}
STRIDE_2 = {"stride_h": 2, "stride_w": 2}
MASKS = (
    "begin_mask",
    "end_mask",
    "ellipsis_mask",
    "new_axis_mask",
    "shrink_axis_mask",
)

Shape = tuple[int, ...]


class _Model(TFLiteBuilder):
    """A builder of models with one operator and quantized activations."""

    def __init__(self, dtype: str = "int8") -> None:
        super().__init__()
        self.dtype = dtype
        self.random = np.random.default_rng(7)
        self.inputs: list[int] = []

    def input(self, shape: Shape, scale: float = 0.05, zero_point: int = 3) -> int:
        name = "x" if not self.inputs else f"x{len(self.inputs)}"
        index = self.tensor(name, shape, self.dtype, scale=scale, zero_point=zero_point)
        self.inputs.append(index)
        return index

    def weights(
        self, shape: Shape, scale: float | Sequence[float] = 0.02, axis: int = 0
    ) -> int:
        low, high = (-127, 128) if self.dtype == "int8" else (0, 256)
        data = self.random.integers(low, high, shape)
        zero_point = 0 if self.dtype == "int8" else 120
        return self.tensor(
            "w",
            shape,
            self.dtype,
            scale=scale,
            zero_point=zero_point,
            axis=axis,
            data=data,
        )

    def bias(self, channels: int, scale: float | Sequence[float] = 0.001) -> int:
        data = self.random.integers(-2000, 2000, channels)
        return self.tensor("b", (channels,), "int32", scale=scale, data=data)

    def integers(self, *values: int, shape: Shape | None = None) -> int:
        """A constant INT32 operand."""
        shape = (len(values),) if shape is None else shape
        return self.tensor(f"c{values}", shape, "int32", data=list(values))

    def output(
        self, shape: Shape, scale: float = 0.05, zero_point: int = 3, name: str = "y"
    ) -> int:
        return self.tensor(name, shape, self.dtype, scale=scale, zero_point=zero_point)

    def finish(
        self,
        operator: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        **options: Option,
    ) -> bytes:
        self.operator(operator, inputs, outputs, options)
        return self.build(self.inputs, outputs)


def _scales(count: int) -> list[float]:
    return [0.01 + 0.003 * channel for channel in range(count)]


def conv2d(
    *,
    dtype: str = "int8",
    weights_shape: Shape = (6, 3, 3, 4),
    output_shape: Shape = (2, 9, 7, 6),
    per_axis: bool = True,
    has_bias: bool = True,
    padding: int = SAME,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    activation: int = NONE,
) -> bytes:
    """On a [2, 9, 7, 4] image."""
    model = _Model(dtype)
    filters = weights_shape[0]
    x = model.input((2, 9, 7, 4))
    scales = _scales(filters) if per_axis else 0.02
    w = model.weights(weights_shape, scales)
    bias_scales = [0.05 * scale for scale in _scales(filters)] if per_axis else 0.001
    operands = [x, w, model.bias(filters, bias_scales)] if has_bias else [x, w]
    return model.finish(
        "CONV_2D",
        operands,
        [model.output(output_shape, 0.3, 10)],
        padding=padding,
        stride_h=stride[0],
        stride_w=stride[1],
        dilation_h_factor=dilation[0],
        dilation_w_factor=dilation[1],
        fused_activation_function=activation,
    )


def depthwise_conv2d(
    *,
    dtype: str = "int8",
    multiplier: int = 1,
    depth_multiplier: int | None = None,
    activation: int = NONE,
) -> bytes:
    """On a [1, 8, 7, 3] image, SAME padding with stride 2.

    `depth_multiplier` is what the option says, if not the `multiplier` of the shapes.
    """
    model = _Model(dtype)
    channels = 3 * multiplier
    x = model.input((1, 8, 7, 3))
    per_axis = dtype == "int8"
    scales = _scales(channels) if per_axis else 0.02
    w = model.weights((1, 3, 3, channels), scales, axis=3 if per_axis else 0)
    bias_scales = [0.05 * scale for scale in _scales(channels)] if per_axis else 0.001
    return model.finish(
        "DEPTHWISE_CONV_2D",
        [x, w, model.bias(channels, bias_scales)],
        [model.output((1, 4, 4, channels), 0.1, 10)],
        padding=SAME,
        depth_multiplier=multiplier if depth_multiplier is None else depth_multiplier,
        dilation_h_factor=1,
        dilation_w_factor=1,
        fused_activation_function=activation,
        **STRIDE_2,
    )


def fully_connected(
    *,
    dtype: str = "int8",
    input_shape: Shape = (2, 12),
    output_shape: Shape = (2, 5),
    keep_num_dims: bool = False,
    has_bias: bool = True,
    per_axis: bool = False,
    unused: Sequence[int] = (),
    activation: int = NONE,
) -> bytes:
    """With weights [5, 12]; the scales of units `unused` are 0."""
    model = _Model(dtype)
    x = model.input(input_shape)
    scales = [0.0 if n in unused else scale for n, scale in enumerate(_scales(5))]
    w = model.weights((5, 12), scales if per_axis else 0.02)
    bias_scales = [0.05 * scale for scale in scales] if per_axis else 0.001
    b = model.bias(5, bias_scales) if has_bias else -1
    return model.finish(
        "FULLY_CONNECTED",
        [x, w, b],
        [model.output(output_shape, 0.2, -4 if dtype == "int8" else 100)],
        keep_num_dims=keep_num_dims,
        fused_activation_function=activation,
    )


def batch_matmul(
    *, adj_x: bool = False, adj_y: bool = False, is_constant: bool = False
) -> bytes:
    """[2, 3, 4] times [2, 4, 5], each transposed if it is adjoint."""
    model = _Model()
    x = model.input((2, 4, 3) if adj_x else (2, 3, 4))
    shape = (2, 5, 4) if adj_y else (2, 4, 5)
    y = model.weights(shape) if is_constant else model.input(shape, 0.04, 0)
    return model.finish(
        "BATCH_MATMUL",
        [x, y],
        [model.output((2, 3, 5), 0.2)],
        adj_x=adj_x,
        adj_y=adj_y,
    )


def pool(
    operator: str, *, dtype: str = "int8", padding: int = SAME, activation: int = NONE
) -> bytes:
    """A 3x2 window with stride 2 on a [1, 9, 7, 5] image."""
    model = _Model(dtype)
    x = model.input((1, 9, 7, 5))
    return model.finish(
        operator,
        [x],
        [model.output((1, 5, 4, 5) if padding == SAME else (1, 4, 3, 5))],
        padding=padding,
        filter_height=3,
        filter_width=2,
        fused_activation_function=activation,
        **STRIDE_2,
    )


def mean(*, axes: Sequence[int] = (1, 2), keep_dims: bool = False) -> bytes:
    """Of a [2, 5, 4, 3] image over its middle dimensions."""
    model = _Model()
    x = model.input((2, 5, 4, 3))
    return model.finish(
        "MEAN",
        [x, model.integers(*axes)],
        [model.output((2, 1, 1, 3) if keep_dims else (2, 3), 0.04, -7)],
        keep_dims=keep_dims,
    )


def binary(
    operator: str,
    *,
    dtype: str = "int8",
    shapes: tuple[Shape, Shape, Shape] = ((2, 3, 4), (2, 3, 4), (2, 3, 4)),
    is_constant: bool = False,
    activation: int = NONE,
) -> bytes:
    """Of two operands with the shapes of the operands and of the result."""
    model = _Model(dtype)
    x = model.input(shapes[0])
    y = model.weights(shapes[1]) if is_constant else model.input(shapes[1], 0.03, 9)
    return model.finish(
        operator,
        [x, y],
        [model.output(shapes[2], 0.09, 5)],
        fused_activation_function=activation,
    )


def unary(
    operator: str,
    *,
    dtype: str = "int8",
    scale: float = 0.05,
    zero_point: int = 3,
    **options: Option,
) -> bytes:
    """Of a [2, 3, 16] tensor; `scale` and `zero_point` are the result's."""
    model = _Model(dtype)
    x = model.input((2, 3, 16))
    y = model.output((2, 3, 16), scale, zero_point)
    return model.finish(operator, [x], [y], **options)


def widened(operator: str) -> bytes:
    """A function of bytes in float32, whose results stay real numbers."""
    model = _Model()
    x = model.tensor("x", (256,), "int8", scale=0.031, zero_point=3)
    real, y = (model.tensor(n, (256,), "float32", scale=None) for n in "ry")
    model.operator("DEQUANTIZE", [x], [real], {})
    model.inputs.append(x)
    return model.finish(operator, [real], [y])


def power_of_bytes() -> bytes:
    """POW between bytes, neither of which is a constant."""
    model = _Model()
    reals: list[int] = []
    for name in "xe":
        operand = model.tensor(name, (256,), "int8", scale=0.01, zero_point=-128)
        reals.append(model.tensor(f"real_{name}", (256,), "float32", scale=None))
        model.operator("DEQUANTIZE", [operand], [reals[-1]], {})
        model.inputs.append(operand)
    power = model.tensor("power", (256,), "float32", scale=None)
    model.operator("POW", reals, [power], {})
    y = model.tensor("y", (256,), "int8", scale=0.04, zero_point=-128)
    return model.finish("QUANTIZE", [power], [y])


def border(operator: str, source: str, target: str) -> bytes:
    """QUANTIZE or DEQUANTIZE from one tensor type to another."""
    model = _Model()
    parameters = {"int8": (0.05, -3), "uint8": (0.05, 125), "float32": (None, 0)}
    x, y = (
        model.tensor(
            name, (3, 8), dtype, scale=parameters[dtype][0], zero_point=zero_point
        )
        for name, dtype, zero_point in (
            ("x", source, parameters[source][1]),
            ("y", target, parameters[target][1] + 1),
        )
    )
    model.inputs.append(x)
    return model.finish(operator, [x], [y])


def concatenation(*, axis: int = -1) -> bytes:
    model = _Model()
    x, y = model.input((2, 3, 4)), model.input((2, 3, 2))
    return model.finish("CONCATENATION", [x, y], [model.output((2, 3, 6))], axis=axis)


def pad(*, value: int | None = None) -> bytes:
    """[2, 3, 4] padded by ([0, 0], [1, 2], [0, 3])."""
    model = _Model()
    x = model.input((2, 3, 4))
    paddings = model.integers(0, 0, 1, 2, 0, 3, shape=(3, 2))
    y = model.output((2, 6, 7))
    if value is None:
        return model.finish("PAD", [x, paddings], [y])
    constant = model.tensor(
        "value", (1,), "int8", scale=0.05, zero_point=3, data=[value]
    )
    return model.finish("PADV2", [x, paddings, constant], [y])


def layout(
    operator: str,
    *operands: int,
    input_shape: Shape,
    output_shape: Shape,
    dtype: str = "int8",
    **options: Option,
) -> bytes:
    """An operator with one list of constant integers."""
    model = _Model(dtype)
    is_real = dtype == "float32"
    x = model.tensor("x", input_shape, dtype) if is_real else model.input(input_shape)
    y = (
        model.tensor("y", output_shape, dtype)
        if is_real
        else model.output(output_shape)
    )
    model.inputs = [x]
    constants = [model.integers(*operands)] if operands else []
    return model.finish(operator, [x, *constants], [y], **options)


def slice_(begin: Sequence[int], size: Sequence[int], output_shape: Shape) -> bytes:
    """Of a [2, 5, 6] tensor."""
    model = _Model()
    x = model.input((2, 5, 6))
    operands = [x, model.integers(*begin), model.integers(*size)]
    return model.finish("SLICE", operands, [model.output(output_shape)])


def strided_slice(
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    output_shape: Shape,
    **masks: int,
) -> bytes:
    """Of a [2, 5, 6] tensor."""
    model = _Model()
    x = model.input((2, 5, 6))
    operands = [
        x,
        model.integers(*begin),
        model.integers(*end),
        model.integers(*strides),
    ]
    options = {name: masks.get(name, 0) for name in MASKS}
    return model.finish(
        "STRIDED_SLICE", operands, [model.output(output_shape)], **options
    )


def split() -> bytes:
    model = _Model()
    x = model.input((2, 6))
    outputs = [model.output((2, 2), name=f"y{number}") for number in range(3)]
    return model.finish(
        "SPLIT", [model.integers(1, shape=()), x], outputs, num_splits=3
    )


def split_v(*sizes: int) -> bytes:
    """Of the 6 columns of a [2, 6] tensor."""
    model = _Model()
    x = model.input((2, 6))
    rest = 6 - sum(size for size in sizes if size != -1)
    outputs = [
        model.output((2, rest if size == -1 else size), name=f"y{number}")
        for number, size in enumerate(sizes)
    ]
    operands = [x, model.integers(*sizes), model.integers(1, shape=())]
    return model.finish("SPLIT_V", operands, outputs, num_splits=len(sizes))


def pack(*, axis: int = 1) -> bytes:
    model = _Model()
    x, y = model.input((2, 3)), model.input((2, 3))
    shape = (2, 2, 3) if axis == 1 else (2, 3, 2)
    return model.finish(
        "PACK", [x, y], [model.output(shape)], axis=axis, values_count=2
    )


def unpack() -> bytes:
    model = _Model()
    x = model.input((2, 3, 4))
    outputs = [model.output((2, 4), name=f"y{number}") for number in range(3)]
    return model.finish("UNPACK", [x], outputs, axis=1, num=3)


def resize(operator: str, **options: bool) -> bytes:
    """A [1, 4, 5, 3] image to 7 by 9."""
    model = _Model()
    x = model.input((1, 4, 5, 3))
    y = model.output((1, 7, 9, 3))
    return model.finish(operator, [x, model.integers(7, 9)], [y], **options)


def arg_max(*, dtype: str = "int32") -> bytes:
    model = _Model()
    x = model.input((2, 5, 6))
    y = model.tensor("y", (2, 5), dtype)
    output_type = {"int32": 2, "int64": 4}[dtype]
    return model.finish(
        "ARG_MAX", [x, model.integers(-1, shape=())], [y], output_type=output_type
    )
