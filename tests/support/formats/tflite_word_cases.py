"""TFLite models of one operator on int16, with scales that are drawn for each seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .tflite_builder import Option, TFLiteBuilder

Options = dict[str, Option]

WINDOW: Options = {
    "padding": 0,
    "stride_h": 2,
    "stride_w": 1,
    "dilation_h_factor": 1,
    "dilation_w_factor": 1,
}
KERNEL: Options = {
    "filter_height": 3,
    "filter_width": 2,
    "padding": 0,
    "stride_h": 2,
    "stride_w": 1,
}
UNIT = 2.0**-15
"""The scale that LOGISTIC, TANH and SOFTMAX give."""


class _Layer:
    """A model in the making: every fourth one has powers of two for scales, by which
    there are exact ties."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = np.random.default_rng(seed)
        self.builder = TFLiteBuilder()
        self.inputs: list[int] = []
        self.operands: list[int] = []

    @property
    def has_ties(self) -> bool:
        return self.seed % 4 == 3

    def scale(self, low: float = -9, high: float = -4) -> float:
        if self.has_ties:
            return 2.0 ** self.random.integers(-13, -9)
        return float(np.float32(np.exp(self.random.uniform(low, high))))

    def near(self, scale: float, low: float = 0.5, high: float = 2) -> float:
        """A scale that is about as large."""
        if self.has_ties:
            return scale * 2.0 ** self.random.integers(-1, 2)
        return float(np.float32(scale * self.random.uniform(low, high)))

    def input(
        self, shape: Sequence[int], scale: float | None, dtype: str = "int16"
    ) -> None:
        name = f"x{len(self.inputs)}"
        index = self.builder.tensor(name, shape, dtype, scale=scale)
        self.inputs.append(index)
        self.operands.append(index)

    def constant(
        self,
        values: NDArray[np.generic],
        scale: Sequence[float] | None = None,
        axis: int = 0,
    ) -> None:
        index = self.builder.tensor(
            f"c{len(self.operands)}",
            values.shape,
            values.dtype.name,
            scale=scale,
            axis=axis,
            data=values,
        )
        self.operands.append(index)

    def finish(
        self,
        operator: str,
        shape: Sequence[int],
        scale: float | None,
        options: Options | None = None,
        dtype: str = "int16",
    ) -> bytes:
        y = self.builder.tensor("y", shape, dtype, scale=scale)
        self.builder.operator(operator, self.operands, [y], options or {})
        return self.builder.build(self.inputs, [y])


def _contraction(
    operator: str,
    given: Sequence[int],
    weights: Sequence[int],
    result: Sequence[int],
    options: Options,
    *,
    axis: int = 0,
    per_axis: bool = True,
    bias_type: str = "int64",
) -> Callable[[int], bytes]:
    """A bias of int32 is one that LiteRT reads, as the options say so."""
    if bias_type == "int32":
        options = {**options, "quantized_bias_type": 2}

    def build(seed: int) -> bytes:
        layer = _Layer(seed)
        scale = layer.scale()
        layer.input(given, scale)
        stored = layer.random.integers(-127, 128, weights).astype(np.int8)
        scales = [layer.scale(-7, -3) for _ in range(weights[axis] if per_axis else 1)]
        layer.constant(stored, scales, axis)
        bias = layer.random.integers(-(10**6), 10**6, result[-1])
        layer.constant(bias.astype(bias_type))
        step = scale * max(scales)
        step *= 2.0**6 if layer.has_ties else layer.random.uniform(20, 3000)
        given_options = {**options, "fused_activation_function": seed % 4}
        return layer.finish(operator, result, float(np.float32(step)), given_options)

    return build


def _binary(operator: str) -> Callable[[int], bytes]:
    def build(seed: int) -> bytes:
        layer = _Layer(seed)
        scales = layer.scale(), layer.scale()
        for shape, scale in zip(((3, 100), (1, 100)), scales, strict=True):
            layer.input(shape, scale)
        options: Options = {"fused_activation_function": seed % 4}
        if operator == "MUL":
            step = scales[0] * scales[1] * 2.0 ** layer.random.integers(8, 16)
        else:
            step = layer.near(max(scales))
            options["pot_scale_int16"] = False
        return layer.finish(operator, (3, 100), float(np.float32(step)), options)

    return build


def _div(seed: int) -> bytes:
    """By anything but 0, for which LiteRT stops with an error."""
    layer = _Layer(seed)
    scales = layer.scale(), layer.scale()
    layer.input((3, 100), scales[0])
    divisors = layer.random.integers(1, 2**15, 100) * layer.random.choice((-1, 1), 100)
    layer.constant((divisors >> seed % 12 | 1).astype(np.int16), [scales[1]])
    step = scales[0] / scales[1] / 2.0 ** layer.random.integers(8, 13)
    options: Options = {"fused_activation_function": seed % 4}
    return layer.finish("DIV", (3, 100), float(np.float32(step)), options)


def _compare(operator: str, unit: float = 1) -> Callable[[int], bytes]:
    """Scales are multiples of `unit`: with small ones many operands are equal."""

    def build(seed: int) -> bytes:
        layer = _Layer(seed)
        scale = layer.scale() * unit
        layer.input((3, 100), scale)
        layer.input((1, 100), layer.near(scale))
        return layer.finish(operator, (3, 100), None, dtype="bool")

    return build


def _unary(
    operator: str,
    scale: float | None = None,
    options: Options | None = None,
    dtypes: tuple[str, str] = ("int16", "int16"),
) -> Callable[[int], bytes]:
    def build(seed: int) -> bytes:
        layer = _Layer(seed)
        step = layer.scale(-11, -5)
        layer.input((4, 200), step, dtypes[0])
        result = scale or layer.near(step)
        if dtypes == ("int16", "int8"):
            result *= 2.0**8
        return layer.finish(operator, (4, 200), result, options, dtypes[1])

    return build


def _pool(operator: str) -> Callable[[int], bytes]:
    def build(seed: int) -> bytes:
        layer = _Layer(seed)
        scale = layer.scale()
        layer.input((2, 5, 6, 3), scale)
        options: Options = {**KERNEL, "fused_activation_function": seed % 4}
        return layer.finish(operator, (2, 3, 6, 3), scale, options)

    return build


def _mean(seed: int) -> bytes:
    layer = _Layer(seed)
    scale = layer.scale()
    layer.input((2, 5, 6, 30), scale)
    layer.constant(np.array([1, 2], np.int32))
    return layer.finish("MEAN", (2, 30), layer.near(scale), {"keep_dims": False})


def _product(seed: int) -> bytes:
    layer = _Layer(seed)
    scale = layer.scale()
    layer.input((100, 4), scale)
    layer.constant(np.array([1], np.int32))
    step = (scale * 2.0**14) ** 4 / 2.0**14
    return layer.finish("REDUCE_PROD", (100,), layer.near(step), {"keep_dims": False})


def _concatenation(seed: int) -> bytes:
    """The kernel doesn't look at scales."""
    layer = _Layer(seed)
    for size in (2, 3):
        layer.input((4, size), layer.scale())
    return layer.finish("CONCATENATION", (4, 5), layer.scale(), {"axis": 1})


def _pad(seed: int) -> bytes:
    layer = _Layer(seed)
    scale = layer.scale()
    layer.input((2, 3), scale)
    layer.constant(np.array([[1, 0], [0, 2]], np.int32))
    return layer.finish("PAD", (3, 5), scale)


def _function(
    operator: str, least: int = -32768, options: Options | None = None
) -> Callable[[int], bytes]:
    """A function of reals of a few units, which are at least `least` steps."""

    def build(seed: int) -> bytes:
        layer = _Layer(seed)
        step = layer.scale(-9, -7)
        layer.input((4, 200), step)
        if least > -32768:
            layer.operands[0] = layer.builder.tensor("m", (4, 200), "int16", scale=step)
            low = layer.builder.tensor(
                "l", (1,), "int16", scale=step, data=np.array([least], np.int16)
            )
            layer.builder.operator("MAXIMUM", [layer.inputs[0], low], layer.operands)
        return layer.finish(operator, (4, 200), layer.scale(-9, -7), options)

    return build


def _matmul(seed: int) -> bytes:
    layer = _Layer(seed)
    scales = layer.scale(), layer.scale()
    for shape, scale in zip(((2, 3, 40), (2, 40, 5)), scales, strict=True):
        layer.input(shape, scale)
    step = scales[0] * scales[1] * 2.0 ** layer.random.integers(12, 18)
    return layer.finish("BATCH_MATMUL", (2, 3, 5), float(np.float32(step)), {})


def _matmul_by_bytes(seed: int) -> bytes:
    """Whose second operand is a constant matrix of int8."""
    layer = _Layer(seed)
    scale, given = layer.scale(), layer.scale()
    layer.input((2, 3, 40), scale)
    codes = layer.random.integers(-127, 128, (5, 40)).astype(np.int8)
    tensor = layer.builder.tensor("matrix", codes.shape, scale=given, data=codes)
    layer.operands.append(tensor)
    step = scale * given * 2.0 ** layer.random.integers(4, 10)
    options: Options = {"adj_y": True}
    return layer.finish("BATCH_MATMUL", (2, 3, 5), float(np.float32(step)), options)


def _exp(seed: int) -> bytes:
    layer = _Layer(seed)
    layer.input((4, 200), layer.scale(-10, -8.5))
    return layer.finish("EXP", (4, 200), layer.scale(-10, -5))


def _resize(seed: int) -> bytes:
    layer = _Layer(seed)
    scale = layer.scale()
    layer.input((2, 3, 5, 2), scale)
    layer.constant(np.array([7, 4], np.int32))
    options: Options = {"half_pixel_centers": seed % 2 == 0, "align_corners": False}
    return layer.finish("RESIZE_BILINEAR", (2, 7, 4, 2), scale, options)


def _transpose_conv(seed: int) -> bytes:
    layer = _Layer(seed)
    layer.constant(np.array([1, 6, 8, 3], np.int32))
    stored = layer.random.integers(-127, 128, (3, 3, 3, 2)).astype(np.int8)
    scales = [layer.scale(-7, -3) for _ in range(3)]
    layer.constant(stored, scales)
    scale = layer.scale()
    layer.input((1, 3, 4, 2), scale)
    bias = layer.random.integers(-(10**5), 10**5, 3).astype(np.int64)
    layer.constant(bias)
    step = scale * max(scales) * 2.0**8
    options: Options = {"padding": 0, "stride_h": 2, "stride_w": 2}
    return layer.finish("TRANSPOSE_CONV", (1, 6, 8, 3), step, options)


def _border(operator: str, given: str, result: str) -> Callable[[int], bytes]:
    def build(seed: int) -> bytes:
        layer = _Layer(seed)
        scale = layer.scale()
        layer.input((500,), None if given == "float32" else scale, given)
        step = None if result == "float32" else scale
        return layer.finish(operator, (500,), step, dtype=result)

    return build


WORDS: dict[str, Callable[[int], bytes]] = {
    "conv2d": _contraction("CONV_2D", (2, 5, 6, 3), (4, 3, 2, 3), (2, 3, 6, 4), WINDOW),
    "conv2d_per_tensor": _contraction(
        "CONV_2D", (2, 5, 6, 3), (4, 3, 2, 3), (2, 3, 6, 4), WINDOW, per_axis=False
    ),
    "conv2d_narrow_bias": _contraction(
        *("CONV_2D", (2, 5, 6, 3), (4, 3, 2, 3), (2, 3, 6, 4), WINDOW),
        bias_type="int32",
    ),
    "depthwise_conv2d": _contraction(
        "DEPTHWISE_CONV_2D",
        (2, 5, 6, 3),
        (1, 3, 2, 6),
        (2, 3, 6, 6),
        {**WINDOW, "depth_multiplier": 2},
        axis=3,
    ),
    "fully_connected": _contraction(
        "FULLY_CONNECTED", (3, 40), (5, 40), (3, 5), {}, per_axis=False
    ),
    "fully_connected_narrow_bias": _contraction(
        *("FULLY_CONNECTED", (3, 40), (5, 40), (3, 5), {}),
        bias_type="int32",
    ),
    "transpose_conv": _transpose_conv,
    "add": _binary("ADD"),
    "sub": _binary("SUB"),
    "mul": _binary("MUL"),
    "div": _div,
    "less": _compare("LESS"),
    "equal": _compare("EQUAL", 2**-10),
    "not_equal": _compare("NOT_EQUAL", 2**-10),
    "relu": _unary("RELU"),
    "relu6": _unary("RELU6"),
    "leaky_relu": _unary("LEAKY_RELU", options={"alpha": 0.3}),
    "logistic": _unary("LOGISTIC", UNIT),
    "tanh": _unary("TANH", UNIT),
    "softmax": _unary("SOFTMAX", UNIT, {"beta": 1.0}),
    "quantize": _border("QUANTIZE", "float32", "int16"),
    "dequantize": _border("DEQUANTIZE", "int16", "float32"),
    "requantize": _unary("QUANTIZE"),
    "requantize_to_bytes": _unary("QUANTIZE", dtypes=("int16", "int8")),
    "average_pool": _pool("AVERAGE_POOL_2D"),
    "max_pool": _pool("MAX_POOL_2D"),
    "mean": _mean,
    "exp": _exp,
    "abs": _function("ABS"),
    "gelu": _function("GELU"),
    "gelu_tanh": _function("GELU", options={"approximate": True}),
    "log": _function("LOG"),
    "rsqrt": _function("RSQRT", least=0),
    "sqrt": _function("SQRT", least=0),
    "batch_matmul": _matmul,
    "batch_matmul_by_bytes": _matmul_by_bytes,
    "resize_bilinear": _resize,
    "reduce_prod": _product,
    "concatenation": _concatenation,
    "pad": _pad,
}
"""What builds a model of a seed, by a name that says what is special about it."""
