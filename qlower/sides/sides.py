"""The two sides of a comparison: a contract, an executor, a live system, or a dump."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal, Protocol, TypeAlias

from qlower.codegen.targets.resolve import host_target, resolve_target
from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract
from qlower.contracts.values import LoadContract, contract_of
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import module_contract
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.entry import signature_of
from qlower.model.layers import expose_layers, layer_name, layers
from qlower.model.signature import TensorSpec
from qlower.observe.layer_run import LayerRun, run_layer
from qlower.runtime.executors import Executor as Runnable

Executor: TypeAlias = Literal["interp", "jit"]

Values: TypeAlias = Mapping[str, Array]
"""A model's inputs and layers' results by name."""


def result_specs(model: Model) -> dict[str, TensorSpec]:
    """The types of layers' results, by their names, in order."""
    module, names = expose_layers(model.module)
    outputs = signature_of(module).outputs
    return {name: outputs[index] for name, index in names.items()}


class Side(Protocol):
    """One of the two that are compared."""

    @property
    def title(self) -> str: ...

    @property
    def notes(self) -> Sequence[str]: ...

    def values(self, number: int, inputs: Values) -> Values:
        """The results of layers for input number `number` of a set, by name."""
        ...


@dataclass(frozen=True)
class Computed:
    """A model by a contract, here: interpreted, or as native code."""

    title: str
    model: Model
    contract: str | None
    executor: Executor = "interp"
    cpu: str | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def load(self) -> LoadContract:
        """Finds contracts, and reads each file once."""
        return cache(load_contract)

    def values(self, number: int, inputs: Values) -> Values:
        """Inputs and all layers' results."""
        return {**inputs, **self._whole.run((), inputs)[1]}

    def alone(self, layer_values: Values) -> Values:
        """The results of layers for what other layers gave elsewhere; of those whose
        operands are known."""
        ready = frozenset(
            name for name in self._sources if self.is_ready(name, layer_values)
        )
        run, sources, results = self._detached(ready)
        arrays = [layer_values[source] for source in sources]
        outputs, _ = run.run(arrays, {})
        return dict(zip(results, outputs, strict=True))

    def each_alone(self, inputs: Mapping[str, Values]) -> Values:
        """The results of the layers that are named, each for values of its own."""
        if not inputs:
            return {}
        index = self.model.index
        module, _, results = index.detach(inputs, apart=True)
        run = self._runnable(Model(module), with_layers=False)
        arrays = [
            inputs[name][source]
            for name in index
            if name in inputs
            for source in index.sources(name)
        ]
        outputs, _ = run.run(arrays, {})
        return dict(zip(results, outputs, strict=True))

    def completed(self, layer_values: Values) -> Values:
        """The values, and the results of layers that have no rule, which a dump may
        leave out: reshaping is everywhere the same."""
        values = dict(layer_values)
        for op in layers(self.model.module):
            name = layer_name(op) or ""
            has_rules = isinstance(op, qnn.QnnOp) and op.rules
            if name not in values and not has_rules and self.is_ready(name, values):
                values[name] = self.layer(name, values).result
        return values

    def is_ready(self, name: str, layer_values: Values) -> bool:
        """Whether all is known that a layer takes."""
        return all(source in layer_values for source in self._sources[name])

    def layer(self, name: str, layer_values: Values) -> LayerRun:
        """One layer, with all that its rules are given."""
        return run_layer(self.model, self.contract, name, layer_values, self.load)

    def has_same_rules(self, other: Computed, name: str) -> bool:
        """Whether a layer has the same contract there, in the same model."""
        return self._rules_of(name) == other._rules_of(name)

    def _rules_of(self, name: str) -> tuple[str, str]:
        index = self.model.index
        op = index.layer(name) if name in index else None
        if not isinstance(op, qnn.QnnOp):
            return "", ""
        default = self.contract or module_contract(self.model.module)
        types = " ".join(str(value.type) for value in (*op.operands, *op.results))
        return contract_of(op, default, self.load).source, types

    @cached_property
    def _sources(self) -> dict[str, list[str]]:
        """The operands of each layer: inputs and other layers."""
        index = self.model.index
        return {name: index.sources(name) for name in index if name}

    @cached_property
    def _whole(self) -> Runnable:
        return self._runnable(self.model, with_layers=True)

    @cached_property
    def _detached(
        self,
    ) -> Callable[[frozenset[str]], tuple[Runnable, list[str], list[str]]]:
        @cache
        def detached(names: frozenset[str]) -> tuple[Runnable, list[str], list[str]]:
            module, sources, results = self.model.index.detach(names)
            return self._runnable(Model(module), with_layers=False), sources, results

        return detached

    def _runnable(self, model: Model, *, with_layers: bool) -> Runnable:
        target = resolve_target(None, self.cpu) if self.cpu else host_target()
        compilation = Compilation(model, self.contract, target, with_layers=with_layers)
        if self.executor == "jit":
            return compilation.function()
        return compilation.interpreter("qnn", self.load)


@dataclass(frozen=True)
class Recorded:
    """Another system's results for the same inputs: `runs` has layers' results by our
    names, for each input of the set."""

    title: str
    runs: Sequence[Values]
    notes: tuple[str, ...] = ()

    def values(self, number: int, inputs: Values) -> Values:
        """The recorded results, and the inputs."""
        return {**inputs, **self.runs[number]}
