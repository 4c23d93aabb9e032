"""Weights rounded up or down, and biases, by what the device makes of examples."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from qlower.improvement.work import Layer, Work, noise_share
from qlower.model.signature import Array
from qlower.torch.surrogates import surrogate
from qlower.torch.tensors import array_of, tensor_of

STEPS = 400
BATCH = 32
RATE = 1e-2
WARM = 0.2
"""The share of steps without the term that makes roundings whole."""

REGULARIZATION = 0.01
LOW, HIGH = -0.1, 1.1
"""The reach of the stretched sigmoid beyond 0 and 1."""


def learn_rounding(work: Work) -> Work:
    """Round the weights of each layer in turn so that its results are nearest.

    Nagel et al., Up or Down? Adaptive Rounding for Post-Training Quantization (ICML
    2020, arXiv:2004.10568): a layer's operands are those that the device has, its
    results should be the real network's. A layer keeps its new weights where the device
    errs less with them.
    """
    for name in [layer.name for layer in work.contractions]:
        layer = next(one for one in work.contractions if one.name == name)
        changed = work.stored({layer.weight.name: _learned(work, layer)})
        result = changed.network.alone(name, work.found)
        wanted = work.reference[name]
        if noise_share(result, wanted) < noise_share(work.found[name], wanted):
            work = changed
    return work


def _learned(work: Work, layer: Layer) -> Array:
    """The stored weights whose roundings are learned."""
    spec, network, op = layer.weight, work.network, layer.op
    names = {value: name for value, name in network.names.items()}
    x = tensor_of(work.found[names[op.input]])
    wanted = tensor_of(work.reference[layer.name])
    port = network.specs[layer.name]
    step = port.scale or 1.0
    limits = np.iinfo(port.dtype)
    ends = [(end - (port.zero_point or 0)) * step for end in (limits.min, limits.max)]
    wanted = wanted.clamp(*ends)
    scales = tensor_of(spec.along_axis(spec.scales).astype(np.float32))
    points = tensor_of(spec.along_axis(spec.zero_points).astype(np.float32))
    scaled = tensor_of(work.parameters[spec.name].astype(np.float32)) / scales + points
    floor = scaled.floor()
    bias = [] if op.bias is None else [tensor_of(network.constant(op.bias, {}))]
    part = (scaled - floor - LOW) / (HIGH - LOW)
    variable = part.logit().requires_grad_()
    optimizer = torch.optim.Adam([variable], lr=RATE)
    draw = torch.Generator().manual_seed(0)
    for number in range(STEPS):
        chosen = torch.randint(len(x), (min(BATCH, len(x)),), generator=draw)
        up = _stretched(variable)
        weight = ((floor + up).clamp(spec.low, spec.high) - points) * scales
        (found,) = surrogate(op, [x[chosen], weight, *bias])
        steps = (found.clamp(*ends) - wanted[chosen]) / step
        loss = steps.square().sum(-1).mean()
        if number >= WARM * STEPS:
            loss = loss + REGULARIZATION * _undecided(up, number / STEPS)
        optimizer.zero_grad()
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        optimizer.step()  # pyright: ignore[reportUnknownMemberType]
    up = (_stretched(variable.detach()) >= 0.5).float()
    stored = (floor + up).clamp(spec.low, spec.high)
    return array_of(stored).astype(spec.stored.dtype)


def _stretched(variable: Tensor) -> Tensor:
    return (variable.sigmoid() * (HIGH - LOW) + LOW).clamp(0, 1)


def _undecided(up: Tensor, time: float) -> Tensor:
    """The term that is least where all roundings are whole; its exponent falls from 20
    to 2."""
    exponent = 2 + 18 * (1 - (time - WARM) / (1 - WARM))
    return (1 - (2 * up - 1).abs().pow(exponent)).sum()


def correct_biases(work: Work) -> Work:
    """Move each layer's bias by the mean error of the device's results.

    By channel, layer after layer: what layers before have been given is measured along.
    Nagel et al. (arXiv:1906.04721), section 4.2, by the device's integers.
    """
    for name in [layer.name for layer in work.contractions]:
        layer = next(one for one in work.contractions if one.name == name)
        if layer.bias is None:
            continue
        wanted, found = work.reference[name], work.found[name]
        spec = work.network.specs[name]
        limits = np.iinfo(spec.dtype)
        own = spec.quantize(found)
        free = (own > limits.min) & (own < limits.max)
        axes = tuple(range(found.ndim - 1))
        counts = np.maximum(free.sum(axes), 1)
        moved = layer.bias.real + ((wanted - found) * free).sum(axes) / counts
        changed = work.stored({layer.bias.name: layer.bias.quantize(moved)})
        result = changed.network.alone(name, work.found)
        if noise_share(result, wanted) < noise_share(found, wanted):
            work = changed
    return work
