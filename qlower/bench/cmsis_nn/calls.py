"""Calls of CMSIS-NN's kernels for layers of int8, as TensorFlow Lite Micro makes them.

Multipliers and shifts are those of TFLite's `QuantizeMultiplier`: the ratio of the
scales by frexp, to 31 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from qlower.dialects import qnn
from qlower.dialects.qnn.base import ACTIVATION_BOUNDS
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type, shape_of
from qlower.model.layers import is_constant
from qlower.model.signature import Array
from qlower.model.weights import stored_elements

ARGUMENTS = (
    "const int8_t *x",
    "const int8_t *other",
    "int8_t *y",
    "void *memory",
    "const int8_t *weights",
    "const int32_t *bias",
    "int32_t *multipliers",
    "int32_t *shifts",
)
"""Parameters of the function of a layer."""


@dataclass(frozen=True)
class Call:
    """A kernel, the C statements around its call, the expression for the bytes of
    memory that it needs, and the arrays that it is given, by argument."""

    kernel: str
    statements: Sequence[str]
    call: str
    memory: str
    arrays: Mapping[str, Array]


def call_of(op: Operation) -> Call | None:
    """CMSIS-NN's call for a layer; None where it has no kernel for it or for its
    types."""
    make = _CALLS.get(op.name)
    values = [*op.operands, *op.results]
    if make is None or not all(map(_is_plain, values)):
        return None
    return make(op)


def _is_plain(value: SSAValue) -> bool:
    """Whether a value is of int8, a constant one without zero points; or a bias."""
    type, constant = element_type(value.type), is_constant(value.owner)
    if not isinstance(type, QuantizedType):
        return constant
    is_byte = type.storage_width == 8 and type.signed
    return is_byte and (not any(type.zero_points) if constant else type.is_per_tensor)


def _quantization(value: SSAValue) -> QuantizedType:
    type = element_type(value.type)
    assert isinstance(type, QuantizedType)
    return type


def _zero(value: SSAValue) -> int:
    return _quantization(value).zero_point


def _scale(value: SSAValue) -> float:
    return _quantization(value).scale


def _multiplier(ratio: float) -> tuple[int, int]:
    """TFLite's `QuantizeMultiplier`."""
    fraction, shift = math.frexp(ratio)
    fixed = math.floor(fraction * (1 << 31) + 0.5)
    if fixed == 1 << 31:
        fixed, shift = fixed // 2, shift + 1
    return (fixed, shift) if shift >= -31 else (0, 0)


def _dims(name: str, numbers: Sequence[int]) -> str:
    return f"static const cmsis_nn_dims {name} = {{{', '.join(map(str, numbers))}}};"


def _image(value: SSAValue) -> list[int]:
    """Four sizes of a tensor of at most four dimensions, 1 where it has fewer."""
    shape = list(shape_of(value))
    return [1] * (4 - len(shape)) + shape


def _bounds(op: qnn.ActivatedOp) -> str:
    """The range of codes that a fused activation keeps."""
    result = _quantization(op.results[0])

    def code(real: float) -> int:
        quotient = float(np.float32(real) / np.float32(result.scale))
        nearest = math.floor(abs(quotient) + 0.5)
        return result.zero_point + int(math.copysign(nearest, quotient))

    low, high = ACTIVATION_BOUNDS[op.activation]
    first = result.storage_min if low is None else max(result.storage_min, code(low))
    last = result.storage_max if high is None else min(result.storage_max, code(high))
    return f"{{{first}, {last}}}"


def _pair(numbers: Sequence[int]) -> str:
    """A tile of CMSIS-NN: width, then height."""
    return f"{{{numbers[1]}, {numbers[0]}}}"


def _factors(op: Operation) -> dict[str, Array]:
    """Weights and bias of a layer."""
    weight = op.operands[1].owner
    assert isinstance(weight, Operation)
    arrays = {"weights": stored_elements(weight)}
    if len(op.operands) > 2:
        bias = op.operands[2].owner
        assert isinstance(bias, Operation)
        arrays["bias"] = stored_elements(bias)
    return arrays


def _scaled(ratios: Sequence[float]) -> dict[str, Array]:
    pairs = np.array([_multiplier(ratio) for ratio in ratios], np.int32)
    return {"multipliers": pairs[:, 0].copy(), "shifts": pairs[:, 1].copy()}


def _convolution(op: Operation) -> Call:
    assert isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp)
    x, y, weights = op.input, op.result, op.weight
    channels = shape_of(y)[3]
    ratios = [_scale(x) * scale / _scale(y) for scale in _quantization(weights).scales]
    ratios *= channels if len(ratios) == 1 else 1
    is_depthwise = isinstance(op, qnn.DepthwiseConv2DOp)
    kind = "dw_conv" if is_depthwise else "conv"
    multiplier = f"{op.multiplier}, " if isinstance(op, qnn.DepthwiseConv2DOp) else ""
    kernel = f"arm_{'depthwise_conv' if is_depthwise else 'convolve'}_wrapper_s8"
    numbers = (
        f"{-_zero(x)}, {_zero(y)}, {multiplier}{_pair(op.stride)}, "
        f"{_pair((op.pad[0], op.pad[2]))}, {_pair(op.dilation)}, {_bounds(op)}"
    )
    statements = [
        f"static const cmsis_nn_{kind}_params params = {{{numbers}}};",
        _dims("given", _image(x)),
        _dims("taps", _image(weights)),
        _dims("biases", [1, 1, 1, channels]),
        _dims("made", _image(y)),
    ]
    return Call(
        kernel,
        statements,
        f"cmsis_nn_per_channel_quant_params scales = {{multipliers, shifts}}; "
        f"return {kernel}(&context, &params, &scales, &given, x, &taps, weights, "
        "&biases, bias, &made, y);",
        f"{kernel}_get_buffer_size(&params, &given, &taps, &made)",
        _factors(op) | _scaled(ratios),
    )


def _linear(op: Operation) -> Call:
    assert isinstance(op, qnn.LinearOp)
    x, y = op.input, op.result
    rows, columns = shape_of(op.weight)
    batches = math.prod(shape_of(x)) // columns
    scales = _quantization(op.weight).scales
    # the product of scales is a float in TFLite
    ratios = [
        float(np.float32(_scale(x)) * np.float32(scale)) / _scale(y) for scale in scales
    ]
    kernel = "arm_fully_connected_wrapper_s8"
    return Call(
        kernel,
        [
            f"static const cmsis_nn_fc_params params = {{{-_zero(x)}, 0, {_zero(y)}, "
            f"{_bounds(op)}}};",
            _dims("given", [batches, 1, 1, columns]),
            _dims("taps", [columns, 1, 1, rows]),
            _dims("biases", [1, 1, 1, rows]),
            _dims("made", [batches, 1, 1, rows]),
        ],
        "cmsis_nn_quant_params scales = {multipliers, shifts, "
        f"{int(len(scales) > 1)}}}; "
        f"return {kernel}(&context, &params, &scales, &given, x, &taps, weights, "
        "&biases, bias, &made, y);",
        "arm_fully_connected_s8_get_buffer_size(&taps)",
        _factors(op) | _scaled(ratios),
    )


def _pool(op: Operation) -> Call:
    assert isinstance(op, qnn.AvgPool2DOp | qnn.MaxPool2DOp)
    x, y = op.input, op.result
    averages = isinstance(op, qnn.AvgPool2DOp)
    kernel = "arm_avgpool_s8" if averages else "arm_max_pool_s8"
    width, channels = shape_of(y)[2], shape_of(x)[3]
    return Call(
        kernel,
        [
            f"static const cmsis_nn_pool_params params = {{{_pair(op.stride)}, "
            f"{_pair((op.pad[0], op.pad[2]))}, {_bounds(op)}}};",
            _dims("given", _image(x)),
            _dims("taps", [1, *op.kernel, 1]),
            _dims("made", _image(y)),
        ],
        f"return {kernel}(&context, &params, &given, x, &taps, &made, y);",
        f"arm_avgpool_s8_get_buffer_size({width}, {channels})" if averages else "0",
        {},
    )


def _add(op: Operation) -> Call | None:
    assert isinstance(op, qnn.AddOp)
    x, other, y = op.lhs, op.rhs, op.result
    if shape_of(x) != shape_of(other) or not shape_of(x):
        return None
    twice = 2 * max(_scale(x), _scale(other))
    first, second = (_multiplier(_scale(v) / twice) for v in (x, other))
    last = _multiplier(twice / ((1 << 20) * _scale(y)))
    numbers = (
        *(-_zero(x), *first, -_zero(other), *second, 20),
        *("y", _zero(y), *last),
        *_bounds(op).strip("{}").split(", "),
        math.prod(shape_of(y)),
    )
    kernel = "arm_elementwise_add_s8"
    arguments = ", ".join(map(str, numbers))
    return Call(kernel, [], f"return {kernel}(x, other, {arguments});", "0", {})


def _softmax(op: Operation) -> Call:
    assert isinstance(op, qnn.SoftmaxOp)
    shape = shape_of(op.input)
    beta = min(op.beta * _scale(op.input) * (1 << 26), (1 << 31) - 1.0)
    multiplier, shift = _multiplier(beta)
    least = -math.floor(31.0 * (1 << 26) / (1 << shift))
    kernel = "arm_softmax_s8"
    rows = math.prod(shape[:-1])
    return Call(
        kernel,
        [],
        f"{kernel}(x, {rows}, {shape[-1]}, {multiplier}, {shift}, {least}, y); "
        "return 0;",
        "0",
        {},
    )


_CALLS: Mapping[str, Callable[[Operation], Call | None]] = {
    "qnn.conv2d": _convolution,
    "qnn.depthwise_conv2d": _convolution,
    "qnn.linear": _linear,
    "qnn.avg_pool2d": _pool,
    "qnn.max_pool2d": _pool,
    "qnn.add": _add,
    "qnn.softmax": _softmax,
}
