"""A model on its way to a better one: its real weights, and examples to fit them to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qlower.dialects.quant import QuantizedType
from qlower.improvement.network import Network, Values
from qlower.model import Model
from qlower.model.scales import with_scales
from qlower.model.signature import Array
from qlower.model.weights import (
    Contraction,
    WeightSpec,
    weight_specs,
    weight_values,
    with_weights,
)


@dataclass(frozen=True)
class Work:
    """A model, the real weights and biases that it should have, and examples.

    `parameters` are by `WeightSpec.name`; `inputs` are stored values, one array for
    each input of the model.
    """

    model: Model
    parameters: Values
    inputs: tuple[Array, ...]
    contract: str | None
    layer_contracts: Mapping[str, str]

    @cached_property
    def network(self) -> Network:
        """The model as it is now."""
        return Network(self.model, self.contract, self.layer_contracts)

    @cached_property
    def reference(self) -> dict[str, Array]:
        """The real values that inputs and layers should have."""
        return self.network.real(self.inputs, self.parameters)

    @cached_property
    def found(self) -> dict[str, Array]:
        """The real values that the device has."""
        return self.network.device(self.inputs)

    @cached_property
    def weights(self) -> dict[str, WeightSpec]:
        """Weights and biases by name."""
        return {spec.name: spec for spec in weight_specs(self.model.module)}

    @property
    def contractions(self) -> Iterator[Layer]:
        """Convolutions and linear layers whose weights are constants of their own."""
        values = weight_values(self.model.module)
        specs = dict(zip(values, self.weights.values(), strict=True))
        for value, spec in specs.items():
            readers = [use.operation for use in value.uses]
            if spec.role != "weight" or len(readers) != 1:
                continue
            (op,) = readers
            assert isinstance(op, Contraction)
            bias = None if op.bias is None else specs.get(op.bias)
            yield Layer(spec.layer, op, spec, bias)

    def error(self, name: str | None = None) -> float:
        """The noise of a value on the device over its power: by default of the judged
        one."""
        name = name or self.network.judged
        return noise_share(self.found[name], self.reference[name])

    def rescaled(
        self,
        results: Mapping[str, QuantizedType],
        weights: Mapping[str, QuantizedType] | None = None,
        parameters: Values | None = None,
    ) -> Work:
        """The work with other quantizations; all weights are rounded anew."""
        wanted = {**self.parameters, **(parameters or {})}
        model = with_scales(self.model, results, weights, wanted)
        return replace(self, model=model, parameters=wanted)

    def stored(self, weights: Mapping[str, Array]) -> Work:
        """The work with other stored weights or biases."""
        return replace(self, model=with_weights(self.model, weights))

    def on(self, inputs: Sequence[Array]) -> Work:
        """The work with other examples."""
        return replace(self, inputs=tuple(inputs))


@dataclass(frozen=True)
class Layer:
    """A convolution or linear layer with its weight and bias."""

    name: str
    op: Contraction
    weight: WeightSpec
    bias: WeightSpec | None


def noise_share(found: Array, wanted: Array) -> float:
    """The sum of squared differences over that of what is wanted."""
    noise = float(np.square(found - wanted, dtype=np.float64).sum())
    power = float(np.square(wanted, dtype=np.float64).sum())
    return noise / power if power else math.inf if noise else 0.0


def decibels(share: float) -> float:
    """A share of noise as signal to noise in dB."""
    return -10 * math.log10(share) if share > 0 else math.inf
