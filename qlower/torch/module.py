"""A quantized model as a PyTorch module: exact integers forward, gradients backward."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor, nn

from qlower.diagnostics import QlowerError
from qlower.exports.weights import to_onnx, to_tflite
from qlower.frontends.load import ModelOrPath, as_model
from qlower.model import Model
from qlower.model.weights import with_weights
from qlower.runtime.executors import Results
from qlower.torch.device import Device
from qlower.torch.evaluation import device_outputs, surrogate_outputs
from qlower.torch.quantizing import (
    initial_parameter,
    quantized_input,
    stored_parameter,
)
from qlower.torch.tensors import arrays_of, tensor_of

Outputs: TypeAlias = Tensor | Any
"""One tensor, or a tuple of tensors for a model with several outputs."""

Evaluate: TypeAlias = Callable[
    [Device, Sequence[Tensor], Sequence[Tensor], Mapping[str, Tensor]], list[Tensor]
]


class Module(nn.Module):
    """A quantized model, run by its contract's exact integers and trained through them.

    `model` is a `qlower.Model` or the path of a file; `contract` and `layer_contracts`
    are as in `qlower.jit`. Weights and biases of convolutions and linear layers become
    float parameters `layers.NAME.weight` and `layers.NAME.bias`, in the shapes of the
    qnn level. Each call rounds them to stored integers, which the machine code takes as
    inputs: nothing is compiled again. Scales are fixed, unless `train_scales`: then
    those between layers are parameters `scales.NAME`, those of weights `scales.NAME`
    with `:weight`, and a call with other scales than the last one compiles. Zero points
    are fixed.

    Inputs are real values, which are quantized as the model's inputs are, or stored
    ones in their own type. A leading dimension of 1 may count examples; otherwise a set
    has one more dimension. `threads` share the examples of a set. The result is the
    exact real value of the stored outputs; `stored` gives the integers themselves.

    Gradients are those of the layers' real functions, at the values that the device has
    before each layer, and 0 where the device clips. With `trainable=False` the
    parameters have none, and the code is compiled for their values, as `qlower.jit`
    does: again where they change. Autocast is off inside. Raises `QlowerError` for an
    operation that has no gradient here, by name.
    """

    def __init__(
        self,
        model: ModelOrPath,
        contract: str | None = None,
        *,
        trainable: bool = True,
        train_scales: bool = False,
        threads: int = 1,
        layer_contracts: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self._last = Device(
            *(as_model(model), contract, layer_contracts or {}, threads),
            is_frozen=not trainable,
        )
        self.layers = nn.ModuleDict()
        self.scales = nn.ParameterDict(
            {
                key: nn.Parameter(torch.tensor(scales, dtype=torch.float32))
                for key, scales in self._last.free_scales.items()
            }
            if train_scales
            else {}
        )
        for spec in self._last.weights:
            name = spec.layer.replace(".", "_")
            if name not in self.layers:
                self.layers[name] = nn.Module()
            parameter = nn.Parameter(initial_parameter(spec), requires_grad=trainable)
            self.layers[name].register_parameter(spec.role, parameter)

    def forward(self, *inputs: Tensor) -> Outputs:
        """The exact real outputs: a tensor, or a tuple of several."""
        return self._evaluate(device_outputs, inputs)

    def surrogate(self, *inputs: Tensor) -> Outputs:
        """The outputs of the same network on real numbers, without any rounding."""
        return self._evaluate(surrogate_outputs, inputs)

    def stored(self, *inputs: Tensor) -> Outputs:
        """The stored integers of the outputs: a tensor, or a tuple of several."""
        runs, is_set = self._runs(inputs)
        found = [self._run(run)[0] for run in runs]
        joined = [_joined(one, is_set) for one in zip(*found, strict=True)]
        return _unpack([tensor_of(one) for one in joined])

    def stored_layers(self, *inputs: Tensor) -> dict[str, Tensor]:
        """The stored results of all layers, by name."""
        runs, is_set = self._runs(inputs)
        found = [self._run(run)[1] for run in runs]
        return {
            name: tensor_of(_joined([one[name] for one in found], is_set))
            for name in found[0]
        }

    @torch.no_grad()
    def to_model(self) -> Model:
        """The quantized model with weights and biases as they are now."""
        device, parameters = self._device, self._parameters_in_order()
        stored = [
            stored_parameter(spec, parameter)
            for spec, parameter in zip(device.weights, parameters, strict=True)
        ]
        names = [spec.name for spec in device.weights]
        changed = dict(zip(names, arrays_of(stored), strict=True))
        return with_weights(device.model, changed)

    def to_tflite(self, path: str | PathLike[str]) -> None:
        """Write the `.tflite` file that the model came from with the present weights
        (`qlower.to_tflite`)."""
        to_tflite(self.to_model(), self._source(), path)

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write the `.onnx` file that the model came from with the present weights
        (`qlower.to_onnx`)."""
        to_onnx(self.to_model(), self._source(), path)

    @property
    def _device(self) -> Device:
        """The device with the present scales."""
        if self.scales:
            present = {
                key: tuple(scales.detach().tolist())
                for key, scales in self.scales.items()
            }
            if present != {key: self._last.free_scales[key] for key in present}:
                self._last = self._last.rescaled(present)
        return self._last

    def extra_repr(self) -> str:
        contract = self._device.contract or "the model's contract"
        return f"{contract}, threads={self._device.threads}"

    def _source(self) -> Path:
        source = self._device.model.path
        if source is None:
            raise QlowerError("the model came from no file that could be written again")
        return source

    def _parameters_in_order(self) -> list[Tensor]:
        return [
            cast(Tensor, getattr(self.layers[spec.layer.replace(".", "_")], spec.role))
            for spec in self._device.weights
        ]

    def _evaluate(self, evaluate: Evaluate, inputs: Sequence[Tensor]) -> Outputs:
        runs, is_set = self._runs(inputs)
        parameters = self._parameters_in_order()
        with torch.autocast(inputs[0].device.type, enabled=False):
            device, scales = self._device, dict(self.scales.items())
            found = [evaluate(device, run, parameters, scales) for run in runs]
        if not is_set:
            return _unpack(found[0])
        return _unpack([torch.stack(one) for one in zip(*found, strict=True)])

    @torch.no_grad()
    def _run(self, inputs: Sequence[Tensor]) -> Results:
        device, parameters = self._device, self._parameters_in_order()
        stored = [
            *(
                quantized_input(spec, x)[0]
                for spec, x in zip(device.model.inputs, inputs, strict=True)
            ),
            *(
                stored_parameter(spec, parameter)
                for spec, parameter in zip(device.weights, parameters, strict=True)
            ),
        ]
        arrays = arrays_of(stored)
        return device.run(arrays[: len(inputs)], arrays[len(inputs) :])

    def _runs(self, inputs: Sequence[Tensor]) -> tuple[list[Sequence[Tensor]], bool]:
        """The inputs of the device's runs in turn, and whether these are a set's
        examples.

        Raises QlowerError for inputs of other shapes or another number than the
        model's.
        """
        specs = self._device.model.inputs
        if len(inputs) != len(specs):
            raise QlowerError(
                f"the model takes {len(specs)} inputs, but {len(inputs)} are given"
            )
        shapes = [tuple(x.shape) for x in inputs]
        if shapes == [spec.shape for spec in specs]:
            return [inputs], False
        sizes = {shape[:1] for shape in shapes}
        pairs = list(zip(specs, shapes, strict=True))
        if sizes != {(0,)} and len(sizes) == 1:
            if self._device.counts_examples and all(
                shape[1:] == spec.shape[1:] for spec, shape in pairs
            ):
                return [inputs], False
            if all(shape[1:] == spec.shape for spec, shape in pairs):
                return [list(one) for one in zip(*inputs, strict=True)], True
        given = ", ".join(str(list(shape)) for shape in shapes)
        wanted = ", ".join(str(list(spec.shape)) for spec in specs)
        raise QlowerError(
            f"the inputs have shapes {given}, the model takes {wanted}, or sets of "
            "them with at least one example and one more leading dimension"
        )


def _joined(found: Sequence[np.ndarray[Any, Any]], is_set: bool) -> Any:
    return np.stack(found) if is_set else found[0]


def _unpack(found: Sequence[Tensor]) -> Outputs:
    return found[0] if len(found) == 1 else tuple(found)
