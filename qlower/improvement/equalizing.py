"""Cross-layer equalization: channels of two layers are given like ranges of weights.

Nagel et al., Data-Free Quantization Through Weight Equalization and Bias Correction
(ICCV 2019, arXiv:1906.04721), equation 11: a channel between two layers is divided by
`s = sqrt(r1 / r2)` where it is made, and multiplied where it is read; `r1` and `r2` are
the largest weights of the channel in either layer. A RELU between the two commutes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.ir import Operation

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.improvement.work import Layer, Work
from qlower.model.layers import layer_name
from qlower.model.scales import result_types, weight_types
from qlower.model.signature import Array

LARGEST_FACTOR = 16.0
"""Channels that are nearly all zero aren't scaled by more."""


def equalize(work: Work) -> Work:
    """Equalize all pairs of layers, and give weights and results ranges that fit."""
    parameters = dict(work.parameters)
    changed: list[str] = []
    chains = list(_chains(work))
    for _ in range(2):
        for first, second in chains:
            _equalize(first, second, parameters)
    for first, second in chains:
        changed += [first.name, second.name]
    if not changed:
        return work
    weights = {
        f"{name}.weight": fitted_type(
            weight_types(work.model.module)[f"{name}.weight"],
            parameters[f"{name}.weight"],
        )
        for name in dict.fromkeys(changed)
    }
    reference = work.network.real(work.inputs, parameters)
    types = result_types(work.model.module)
    results = {
        name: spanning_type(types[name], reference[name])
        for first, _ in chains
        if (name := layer_name(first.op)) is not None
    }
    return work.rescaled(results, weights, parameters)


def fitted_type(type: QuantizedType, real: Array) -> QuantizedType:
    """The type of symmetric weights whose scales just hold the largest of them."""
    others = tuple(axis for axis in range(real.ndim) if axis != type.axis)
    largest = np.abs(real).max(axis=others if type.axis is not None else None)
    scales: Array = np.maximum(largest, 1e-12) / type.storage_max
    return type.rescaled([float(one) for one in scales.reshape(-1)])


def spanning_type(type: QuantizedType, real: Array) -> QuantizedType:
    """The type of results whose range just holds 0 and all of the values."""
    low, high = min(float(real.min()), 0.0), max(float(real.max()), 0.0)
    steps = type.storage_max - type.storage_min
    scale = max(high - low, 1e-9) / steps
    return type.rescaled([scale], [round(type.storage_min - low / scale)])


def _chains(work: Work) -> Iterator[tuple[Layer, Layer]]:
    """Layers whose result only another one reads, perhaps through a max pool."""
    layers: dict[Operation | None, Layer] = {one.op: one for one in work.contractions}
    for layer in layers.values():
        op = layer.op
        reader = _only_reader(op)
        while isinstance(reader, qnn.MaxPool2DOp):
            reader = _only_reader(reader)
        other = layers.get(reader)
        if other is None or op.activation not in (None, "relu"):
            continue
        channels = _read_axis(other)
        same = channels is not None and (
            other.weight.stored.shape[channels] == _made(layer)
        )
        if same and not (layer.bias is None and op.bias is not None):
            yield layer, other


def _only_reader(op: Operation) -> Operation | None:
    uses = list(op.results[0].uses)
    return uses[0].operation if len(uses) == 1 else None


def _made_axis(layer: Layer) -> int:
    """The dimension of a weight that counts the channels that are made."""
    return 3 if isinstance(layer.op, qnn.DepthwiseConv2DOp) else 0


def _made(layer: Layer) -> int:
    return layer.weight.stored.shape[_made_axis(layer)]


def _read_axis(layer: Layer) -> int | None:
    """The dimension that counts the channels that are read; None if groups share it."""
    if isinstance(layer.op, qnn.Conv2DOp) and layer.op.groups > 1:
        return None
    return layer.weight.stored.ndim - 1


def _equalize(first: Layer, second: Layer, parameters: dict[str, Array]) -> None:
    made, read = _made_axis(first), _read_axis(second)
    assert read is not None
    one, other = parameters[first.weight.name], parameters[second.weight.name]
    scales = channel_scales(one, made, other, read)
    parameters[first.weight.name] = one / _along(scales, made, one.ndim)
    parameters[second.weight.name] = other * _along(scales, read, other.ndim)
    if first.bias is not None:
        parameters[first.bias.name] = parameters[first.bias.name] / scales


def channel_scales(one: Array, made: int, other: Array, read: int) -> Array:
    """The divisor of each channel: dimension `made` of the weights before indexes
    channels, `read` of the weights after."""
    ranges = [np.maximum(_largest(*of), 1e-12) for of in ((one, made), (other, read))]
    scales = np.sqrt(ranges[0] / ranges[1])
    return np.clip(scales, 1 / LARGEST_FACTOR, LARGEST_FACTOR)


def _largest(weight: Array, axis: int) -> Array:
    others = tuple(other for other in range(weight.ndim) if other != axis)
    return np.abs(weight).max(axis=others)


def _along(scales: Array, axis: int, rank: int) -> Array:
    return scales.reshape([-1 if one == axis else 1 for one in range(rank)])
