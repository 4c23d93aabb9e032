"""Two versions of a model: layers of the same name, on the same inputs."""

from __future__ import annotations

from dataclasses import dataclass

from qlower.diagnostics import QlowerError
from qlower.model import Model
from qlower.model.signature import TensorSpec
from qlower.sides.sides import Computed, Executor, Values, result_specs
from qlower.tables.table import counted

MOST_SHOWN = 3
"""Layers that a note names."""


@dataclass(frozen=True)
class Version(Computed):
    """Another version of the compared model; `common` has the results of layers that
    have the same name, shape and type in both."""

    common: frozenset[str] = frozenset()

    def values(self, number: int, inputs: Values) -> Values:
        """Inputs and the results of layers that both versions have."""
        found = super().values(number, inputs)
        return {n: v for n, v in found.items() if n in self.common or n in inputs}

    def is_ready(self, name: str, layer_values: Values) -> bool:
        """Whether both versions have a layer, and all that it takes is known."""
        return name in self.common and super().is_ready(name, layer_values)


def version_of(
    title: str, model: Model, other: Model, contract: str | None, executor: Executor
) -> Version:
    """The side of another version of `model`.

    Raises `QlowerError` where the inputs differ, or no layer has the same name.
    """
    _check_inputs(model, other)
    own, its = result_specs(model), result_specs(other)
    common = [
        name
        for name, spec in own.items()
        if name in its
        and (spec.shape, spec.dtype) == (its[name].shape, its[name].dtype)
    ]
    if not common:
        raise QlowerError(
            f"{title} has no layer with the name, shape and type of one of the other "
            "model",
            help="qlower inspect MODEL --stats shows the names",
        )
    notes = [f"{title}: {counted(len(common), 'layer')} by name"]
    only = [[n for n in own if n not in common], [n for n in its if n not in common]]
    for where, names in zip(("the first", "the second"), only, strict=True):
        if names:
            notes[0] += f", {len(names)} in {where} model alone ({_few(names)})"
    scaled = [name for name in common if _meaning(own[name]) != _meaning(its[name])]
    if scaled:
        notes.append(
            f"{counted(len(scaled), 'layer')} with a different scale or zero point, "
            f"whose stored integers mean different numbers: {_few(scaled)}"
        )
    return Version(
        title,
        other,
        contract,
        executor,
        notes=tuple(notes),
        common=frozenset(common),
    )


def _check_inputs(model: Model, other: Model) -> None:
    """Refuse models that cannot be given the same inputs."""
    pair = [
        [(spec.name, spec.shape, spec.dtype) for spec in one.inputs]
        for one in (model, other)
    ]
    if pair[0] != pair[1]:
        shown = [
            ", ".join(f"{n} {list(s)} {d}" for n, s, d in inputs) for inputs in pair
        ]
        raise QlowerError(
            f"the models take different inputs: {shown[0]} | {shown[1]}",
            help="two versions of a model are compared on the same inputs",
        )


def _meaning(spec: TensorSpec) -> tuple[float | None, int | None]:
    return spec.scale, spec.zero_point


def _few(names: list[str]) -> str:
    more = ", ..." if len(names) > MOST_SHOWN else ""
    return ", ".join(names[:MOST_SHOWN]) + more
