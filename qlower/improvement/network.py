"""A model's layers on real numbers, by the device's integers, or some of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import torch
from xdsl.ir import Operation, SSAValue

from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import layer_name, layers, value_names
from qlower.model.signature import Array, TensorSpec
from qlower.model.weights import (
    WeightSpec,
    constant_real,
    weight_specs,
    weight_values,
)
from qlower.runtime.executors import JitFunction
from qlower.torch.device import check_supported, counts_examples
from qlower.torch.surrogates import cut_at_zero, surrogate
from qlower.torch.tensors import array_of, tensor_of

Values: TypeAlias = Mapping[str, Array]
"""Inputs and results of layers by name; the first dimension counts examples."""


@dataclass(frozen=True)
class Network:
    """A model and the contract by which its device computes.

    Raises QlowerError where an operation has no real function, and where the first
    dimension doesn't count examples.
    """

    model: Model
    contract: str | None
    layer_contracts: Mapping[str, str]

    def __post_init__(self) -> None:
        operations = tuple(layers(self.model.module))
        for op in operations:
            check_supported(op)
        if not counts_examples(self.model, operations):
            raise QlowerError(
                "the model has values whose first dimension doesn't count examples",
                help="all inputs and results have to start with a dimension of 1",
            )

    @cached_property
    def specs(self) -> dict[str, TensorSpec]:
        """The types of inputs and of layers' results."""
        signature = self._exposed.variant.signature
        found = {spec.name: spec for spec in self.model.inputs}
        places = self._exposed.variant.layers
        return found | {name: signature.outputs[i] for name, i in places.items()}

    @property
    def output(self) -> str:
        """The first output, as a layer or an input."""
        last = main_function(self.model.module).body.block.last_op
        assert last is not None
        return self.names[last.operands[0]]

    @cached_property
    def judged(self) -> str:
        """The value whose error is measured: the first output, before a softmax."""
        last = main_function(self.model.module).body.block.last_op
        assert last is not None
        value = last.operands[0]
        passing = (qnn.SoftmaxOp, qnn.LogSoftmaxOp, qnn.DequantizeOp)
        while isinstance(value.owner, passing):
            value = value.owner.operands[0]
        return self.names[value]

    def device(self, inputs: Sequence[Array]) -> dict[str, Array]:
        """The real values of inputs and all layers' results by the device."""
        _, found = self._function.run(inputs, {})
        stored = dict(zip((s.name for s in self.model.inputs), inputs, strict=True))
        return {
            name: self._real(name, array) for name, array in {**stored, **found}.items()
        }

    def real(
        self, inputs: Sequence[Array], parameters: Values | None = None
    ) -> dict[str, Array]:
        """The real values without any rounding; `parameters` are real weights and
        biases by name, by default those that are stored."""
        return self._evaluate(inputs, frozenset(), parameters or {})

    def mixed(
        self, inputs: Sequence[Array], stored: Collection[str], parameters: Values
    ) -> dict[str, Array]:
        """The real values where the layers `stored` run on the device, each on its
        operands rounded to stored values, and the others on real numbers."""
        return self._evaluate(inputs, frozenset(stored), parameters)

    def alone(self, name: str, values: Values) -> Array:
        """A layer's result on the device, for the real values of its operands."""
        function, sources = self._layer(name)
        stored = [_stored(self.specs[source], values[source]) for source in sources]
        outputs, _ = function.run(stored, {})
        return self._real(name, outputs[0])

    def saturated(self, name: str, values: Array) -> float:
        """The share of a result's elements that are stored as the least or the largest
        value; an end that represents 0 is exact, as with a RELU."""
        spec = self.specs[name]
        if spec.scale is None:
            return 0.0
        limits, stored = np.iinfo(spec.dtype), spec.quantize(values)
        ends = {limits.min, limits.max} - {spec.zero_point}
        return float(np.isin(stored, list(ends)).mean())

    def _evaluate(
        self, inputs: Sequence[Array], stored: Collection[str], parameters: Values
    ) -> dict[str, Array]:
        values = {
            spec.name: spec.dequantize(array).astype(np.float32)
            for spec, array in zip(self.model.inputs, inputs, strict=True)
        }
        for op in layers(self.model.module):
            name = layer_name(op)
            if name is not None and name in stored and len(op.results) == 1:
                values[self.names[op.results[0]]] = self.alone(name, values)
            else:
                values |= self.expected(op, values, parameters)
        return values

    def expected(
        self, op: Operation, values: Values, parameters: Values
    ) -> dict[str, Array]:
        """The real results of one layer for the real values of its operands."""
        operands = [
            tensor_of(
                values[self.names[value]]
                if value in self.names
                else self.constant(value, parameters)
            )
            for value in op.operands
        ]
        with torch.no_grad():
            found = surrogate(op, operands)
        return {
            self.names[value]: array_of(cut_at_zero(value, real))
            for value, real in zip(op.results, found, strict=True)
        }

    @cached_property
    def names(self) -> dict[SSAValue, str]:
        """Inputs and layers' results, by the values of the module."""
        return value_names(self.model.module)

    def _real(self, name: str, stored: Array) -> Array:
        return self.specs[name].dequantize(stored).astype(np.float32)

    def constant(self, value: SSAValue, parameters: Values) -> Array:
        """The real values of a constant operand, in float32."""
        spec = self._parameters.get(value)
        if spec is None:
            real = constant_real(value)
        else:
            real = parameters.get(spec.name, spec.real)
        return real.astype(np.float32)

    @cached_property
    def _parameters(self) -> dict[SSAValue, WeightSpec]:
        module = self.model.module
        return dict(zip(weight_values(module), weight_specs(module), strict=True))

    @cached_property
    def _exposed(self) -> Compilation:
        return Compilation(
            self.model,
            self.contract,
            with_layers=True,
            layer_contracts=self.layer_contracts,
        )

    @cached_property
    def _function(self) -> JitFunction:
        return self._exposed.function()

    @cached_property
    def _layers(self) -> dict[str, tuple[JitFunction, list[str]]]:
        return {}

    def _layer(self, name: str) -> tuple[JitFunction, list[str]]:
        """One layer's code, and the names of its operands."""
        if name not in self._layers:
            module, sources, _ = self._exposed.model.index.detach([name])
            compiled = Compilation(Model(module), self.contract).function()
            self._layers[name] = compiled, sources
        return self._layers[name]


def _stored(spec: TensorSpec, values: Array) -> Array:
    """Real values as a layer takes them."""
    if spec.scale is None:
        return values.astype(spec.numpy_dtype)
    return spec.quantize(values)
