"""Weights of quantized modules, unpacked, as constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array

from ..graph.schema import Constant
from ..pt2.program import Argument, Tensor
from .traced import Recurrent, TorchTensor, array_of


class Weighted(Protocol):
    """A layer, whose weights are unpacked on request."""

    def weight(self) -> TorchTensor: ...
    def bias(self) -> TorchTensor | None: ...


class Weights:
    """The constants of a module, by name; `error` makes the errors of the node at
    hand."""

    def __init__(self, error: Callable[[str], QlowerError]) -> None:
        self.error = error
        self.constants: dict[str, Constant] = {}

    def add(self, name: str, array: Array, type: str) -> Tensor:
        self.constants[name] = Constant(type, array.shape, array)
        return Tensor(name)

    def of_layer(self, name: str, module: object) -> dict[str, Argument]:
        """Weights, their scales and zero points, and a bias if there is one."""
        layer = cast(Weighted, module)
        return self._stored(name, layer.weight(), layer.bias())

    def of_parameter(
        self, name: str, key: str, tensor: TorchTensor
    ) -> dict[str, Argument]:
        """A parameter, and its scale and zero point if it is quantized."""
        if not tensor.is_quantized:
            array = array_of(tensor).astype(np.float32)
            return {key: self.add(f"{name}/{key}", array, "FLOAT")}
        array = array_of(tensor.int_repr())
        return {
            key: self.add(f"{name}/{key}", array, "UINT8"),
            f"{key}.scale": tensor.q_scale(),
            f"{key}.zero_point": tensor.q_zero_point(),
        }

    def of_symmetric_layer(self, name: str, module: object) -> dict[str, Argument]:
        """Weights, scales and a bias, if there is one; zero points have to be 0."""
        layer = cast(Weighted, module)
        return self._symmetric(name, layer.weight(), layer.bias())

    def of_recurrent(self, name: str, module: Recurrent) -> dict[str, Argument]:
        """`params` are weights, scales and biases of inputs, then of the state, of
        each direction of each layer."""
        biases = module.get_bias()
        parameters: list[Argument] = []
        for key, weight in module.get_weight().items():
            bias = biases[key.replace("weight", "bias", 1)]
            found = self._symmetric(f"{name}/{key}", weight, bias)
            parameters += [found[part] for part in ("weight", "weight_scale", "bias")]
        return {
            "params": cast(Argument, tuple(parameters)),
            "batch_first": int(module.batch_first),
            "bidirectional": int(module.bidirectional),
        }

    def _symmetric(
        self, name: str, weight: TorchTensor, bias: TorchTensor | None
    ) -> dict[str, Argument]:
        found = self._stored(name, weight, bias)
        zeros = found.pop("weight_zero_point")
        assert isinstance(zeros, Tensor)
        array = self.constants.pop(zeros.name).array
        if array is not None and array.any():
            raise self.error(f"{name}: weights have a zero point, expected 0")
        return found

    def _stored(
        self, name: str, weight: TorchTensor, bias: TorchTensor | None
    ) -> dict[str, Argument]:
        if str(getattr(weight, "dtype", "")) != "torch.qint8":
            raise self.error(f"{name}: weights of 8 bits are supported only")
        try:
            scales = array_of(weight.q_per_channel_scales()).astype(np.float32)
            zeros = array_of(weight.q_per_channel_zero_points()).astype(np.int8)
        except RuntimeError:
            scales = np.array(weight.q_scale(), np.float32)
            zeros = np.array(weight.q_zero_point(), np.int8)
        parts = {
            "weight": (array_of(weight.int_repr()), "INT8"),
            "weight_scale": (scales, "FLOAT"),
            "weight_zero_point": (zeros, "INT8"),
        }
        if bias is not None:
            parts["bias"] = (array_of(bias).astype(np.float32), "FLOAT")
        return {what: self.add(f"{name}/{what}", *part) for what, part in parts.items()}
