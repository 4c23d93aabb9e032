"""A network's real values, layer by layer: the device's, with the surrogates' graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor
from xdsl.ir import Operation, SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.model.entry import main_function
from qlower.model.weights import constant_real
from qlower.torch.device import Device
from qlower.torch.quantizing import (
    quantized_input,
    quantized_parameter,
    real_input,
)
from qlower.torch.straight_through import DeviceFunction, Replaced, Rounded, applied
from qlower.torch.surrogates import cut_at_zero, surrogate
from qlower.torch.tensors import arrays_of, tensor_of


def device_outputs(
    device: Device,
    inputs: Sequence[Tensor],
    parameters: Sequence[Tensor],
    scales: Mapping[str, Tensor],
) -> list[Tensor]:
    """The exact real outputs for inputs of one example, or sets that run together.

    `scales` are those of the device that have a gradient, by `Device.free_scales`.
    """
    specs = device.model.inputs
    taken = [quantized_input(s, x) for s, x in zip(specs, inputs, strict=True)]
    weights = [
        quantized_parameter(spec, parameter, scales.get(device.weight_key(spec)))
        for spec, parameter in zip(device.weights, parameters, strict=True)
    ]
    stored = [stored for stored, _ in (*taken, *weights)]
    replaced = [value for op in device.operations for value in _replaced(op)]
    names = [device.names[value] for value in replaced]
    found = applied(_Run, device, names, len(specs), *stored)
    reals, parameters = ([real for _, real in pairs] for pairs in (taken, weights))
    results = dict(zip(replaced, found, strict=True))
    return _evaluate(device, reals, parameters, results, scales)


def surrogate_outputs(
    device: Device,
    inputs: Sequence[Tensor],
    parameters: Sequence[Tensor],
    scales: Mapping[str, Tensor],
) -> list[Tensor]:
    """The real outputs without any rounding or clipping of stored values."""
    specs = device.model.inputs
    reals = [real_input(spec, x) for spec, x in zip(specs, inputs, strict=True)]
    return _evaluate(device, reals, parameters, {}, scales)


def _evaluate(
    device: Device,
    inputs: Sequence[Tensor],
    parameters: Sequence[Tensor],
    results: Mapping[SSAValue, Tensor],
    scales: Mapping[str, Tensor],
) -> list[Tensor]:
    """The outputs, where `results` gives what the device has for some values."""
    arguments = main_function(device.model.module).body.block.args
    values: dict[SSAValue, Tensor] = dict(zip(arguments, inputs, strict=True))
    values.update(zip(device.weight_values, parameters, strict=True))
    for op in device.operations:
        for value in op.operands:
            if value not in values:  # a constant that isn't trained
                values[value] = tensor_of(constant_real(value)).to(inputs[0])
        reals = surrogate(op, [values[value] for value in op.operands])
        for value, real in zip(op.results, reals, strict=True):
            if value not in results:
                values[value] = cut_at_zero(value, real)
            else:
                scale = scales.get(device.result_keys.get(value, ""))
                values[value] = _with_result(value, real, results[value], scale)
    return [values[value] for value in device.results]


def _replaced(op: Operation) -> Sequence[SSAValue]:
    """The results whose real values rounding changes."""
    return op.results if isinstance(op, qnn.QnnOp) and op.rules else ()


def _with_result(
    value: SSAValue, real: Tensor, result: Tensor, scale: Tensor | None
) -> Tensor:
    """The device's result in the place of a surrogate's; its scale may have a
    gradient."""
    type = element_type(value.type)
    if not isinstance(type, QuantizedType):
        return applied(Replaced, real, result)
    low, high = type.storage_min, type.storage_max
    step = type.scale if scale is None else scale
    return applied(Rounded, real, result, step, type.zero_point, low, high)


class _Run(DeviceFunction):
    """The device's layers for stored inputs and weights: constants of the graph."""

    @staticmethod
    def forward(
        device: Device, names: Sequence[str], inputs: int, *stored: Tensor
    ) -> tuple[Tensor, ...]:
        arrays = arrays_of(stored)
        _, layers = device.run(arrays[:inputs], arrays[inputs:])
        where = stored[0].device
        return tuple(tensor_of(layers[name]).to(where) for name in names)

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]
    ) -> None:
        ctx.mark_non_differentiable(*output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, ...]:
        return (None,) * len(ctx.needs_input_grad)
