"""What an operation's types and attributes give to a rule: names to numbers.

Scales and zero points are handed over as they stand in the types, without arithmetic:
how they combine is the contract's business. A per-axis value is an array along the
channels, which are the last dimension of every output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from qlower.contracts import Contract
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, element_type
from qlower.interp.values import Array

Values = dict[str, Array]

ACTIVATION_BOUNDS: Mapping[str, tuple[float | None, float | None]] = {
    "relu": (0.0, None),
    "relu6": (0.0, 6.0),
    "relu_n1_to_1": (-1.0, 1.0),
}
"""The real bounds of each fused activation."""


def quantized_element(type: Attribute) -> QuantizedType:
    """The quantized element type of a verified tensor type."""
    element = element_type(type)
    assert isinstance(element, QuantizedType)
    return element


def operand_values(prefix: str, type: Attribute) -> Values:
    """Scale, zero point and signedness of a quantized tensor type."""
    quantized = quantized_element(type)
    scale = np.array(quantized.scales, np.float32)
    zero_point = np.array(quantized.zero_points, np.int32)
    if quantized.axis is None:
        scale, zero_point = scale.reshape(()), zero_point.reshape(())
    return {
        f"{prefix}_scale": scale,
        f"{prefix}_zero_point": zero_point,
        f"{prefix}_unsigned": np.array(not quantized.signed),
    }


def output_values(
    contract: Contract,
    type: Attribute,
    bounds: tuple[float | None, float | None] = (None, None),
) -> Values:
    """An output's scale and zero point, and its storage range within real `bounds`."""
    values = operand_values("output", type)
    quantized = quantized_element(type)
    low, high = bounds
    minimum, maximum = quantized.storage_min, quantized.storage_max
    if low is not None:
        minimum = min(max(minimum, _bound(contract, low, values)), maximum)
    if high is not None:
        maximum = max(min(maximum, _bound(contract, high, values)), minimum)
    values["output_min"] = np.array(minimum, np.int32)
    values["output_max"] = np.array(maximum, np.int32)
    return values


def activation_values(
    contract: Contract, type: Attribute, activation: str | None
) -> Values:
    """`output_values` within the bounds of a fused activation, if there is one."""
    bounds = (None, None) if activation is None else ACTIVATION_BOUNDS[activation]
    return output_values(contract, type, bounds)


def position_values(shape: Sequence[int]) -> Values:
    """Where each result of a tensor of `shape` is, as far as it doesn't change with the
    other dimensions: the index along the last one."""
    channels = shape[-1] if shape else 1
    channel = np.arange(channels, dtype=np.int32)
    return {
        "channel": channel if channels > 1 else channel.reshape(()),
        "channel_count": np.array(channels, np.int32),
        "element_count": np.array(math.prod(shape), np.int32),
    }


def mean_values(op: qnn.MeanOp) -> Values:
    """How many values a mean is of, and which of the source's dimensions."""
    type = op.input.type
    assert isinstance(type, TensorType)
    shape = type.get_shape()
    over_image = len(shape) == 4 and sorted(op.axes) == [1, 2]
    return {
        "count": np.array(math.prod(shape[axis] for axis in op.axes), np.int32),
        "keep_dims": np.array(op.keep_dims),
        "over_image": np.array(over_image),
    }


def _bound(contract: Contract, real: float, output: Values) -> int:
    (bound,) = contract.rule("bound").evaluate(
        {**output, "real": np.array(real, np.float32)}
    )
    return int(bound)
