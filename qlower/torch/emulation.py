"""A float network as a device would run it, from PyTorch's own calibration."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from qlower.diagnostics import QlowerError
from qlower.frontends.in_memory import from_fx
from qlower.torch.module import Module

_LAYOUTS = {2: ((0, 1),), 4: ((0, 2, 3, 1), (1, 2, 3, 0))}
"""The dimensions of PyTorch's weights in qlower's order: linear; convolution and
depthwise convolution."""


def emulate(
    network: nn.Module,
    contract: str,
    calibration: Iterable[Tensor | tuple[Tensor, ...]],
    *,
    qconfig_mapping: object | None = None,
    threads: int = 1,
) -> Module:
    """A float network whose layers run by a contract's integers, to measure or train.

    `network` is prepared by PyTorch's `prepare_fx` in evaluation mode, so batch norms
    are folded, and runs once on each of `calibration`, whose first entry gives the
    shapes of the inputs. `qconfig_mapping` chooses the observers; by default
    histograms for activations of 8 bits, and the range of each channel for weights. The
    parameters of the result are the float weights themselves, not yet rounded.

    Raises QlowerError where calibration is empty, and for layers that FX can't trace or
    qlower doesn't support, by name.
    """
    examples: list[Any] = [
        one if isinstance(one, tuple) else (one,) for one in calibration
    ]
    if not examples:
        raise QlowerError("calibration is empty; at least one input is needed")
    fx: Any = import_module("torch.ao.quantization.quantize_fx")
    mapping = _default_mapping() if qconfig_mapping is None else qconfig_mapping
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        source = copy.deepcopy(network).eval()
        prepared = fx.prepare_fx(source, mapping, examples[0])
        for example in examples:
            prepared(*example)
        weights = _float_weights(prepared)
        model = from_fx(fx.convert_fx(prepared), *examples[0])
    module = Module(model, contract, threads=threads)
    _take_weights(module, weights)
    return module


def _default_mapping() -> object:
    quantization: Any = import_module("torch.ao.quantization")
    histogram = quantization.HistogramObserver.with_args(reduce_range=False)
    weights = quantization.default_per_channel_weight_observer
    mapping = quantization.get_default_qconfig_mapping("x86")
    return mapping.set_global(
        quantization.QConfig(activation=histogram, weight=weights)
    )


def _float_weights(prepared: Any) -> list[tuple[Tensor, Tensor | None]]:
    """Weight and bias of every convolution and linear layer, in the graph's order."""
    modules = dict(prepared.named_modules())
    found: list[tuple[Tensor, Tensor | None]] = []
    for node in prepared.graph.nodes:
        layer = modules.get(node.target) if node.op == "call_module" else None
        if isinstance(layer, nn.Sequential):  # with the activation that follows
            layer = layer[0]
        if isinstance(layer, nn.Conv2d | nn.Linear):
            bias = None if layer.bias is None else layer.bias.detach().clone()
            found.append((layer.weight.detach().clone(), bias))
    return found


def _take_weights(module: Module, weights: list[tuple[Tensor, Tensor | None]]) -> None:
    """Give a module the float weights that it was quantized from."""
    layers = list(module.layers.items())
    if len(layers) != len(weights):
        raise QlowerError(
            f"the quantized network has {len(layers)} layers with weights, the float "
            f"one has {len(weights)}",
            help="convolutions and linear layers must be modules, not functions",
        )
    for (name, layer), (weight, bias) in zip(layers, weights, strict=True):
        taken: Any = layer
        shape = taken.weight.shape
        layouts = _LAYOUTS.get(weight.ndim, ())
        turned = [weight.permute(one) for one in layouts]
        fitting = [one for one in turned if one.shape == shape]
        if not fitting:
            raise QlowerError(
                f"the weights of {name} have shape {list(shape)}, the float ones "
                f"{list(weight.shape)}"
            )
        with torch.no_grad():
            taken.weight.copy_(fitting[0])
            if bias is not None:
                taken.bias.copy_(bias)
