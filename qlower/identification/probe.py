"""A small model and inputs for it that tell arithmetics apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from qlower.contracts import Contract, contract_names, load_contract
from qlower.float_environment import default_floats
from qlower.identification.cases import Case, Cases, Layer, Reals
from qlower.identification.replay import Replay
from qlower.interp.values import Array
from qlower.model import Model, build

Integers = NDArray[np.int64]

TIMES = 2
"""So many points of a layer tell each two contracts apart, if there are as many."""


@dataclass(frozen=True)
class Probe:
    """A model, and the stored values of its inputs by name."""

    model: Model
    inputs: Mapping[str, Array]

    @property
    def outputs(self) -> int:
        """The elements of all outputs together."""
        return sum(int(np.prod(spec.shape)) for spec in self.model.outputs)


@default_floats()
def probe(*, signed: bool = True, seed: int = 0) -> Probe:
    """A model of a layer of each kind, whose elements are chosen so that all contracts
    differ that can, and inputs for it; activations are int8 or uint8."""
    cases = Cases(signed=signed, seed=seed)
    contracts = {name: load_contract(name) for name in contract_names()}
    layers = {case.name: _chosen(case, contracts) for case in cases.all()}
    layers.update(cases.products())
    return make_probe(layers)


def make_probe(layers: Mapping[str, Layer]) -> Probe:
    """The model that has these layers side by side, each result an output."""

    def body(*arguments: SSAValue) -> list[SSAValue]:
        rest = list(arguments)
        results: list[SSAValue] = []
        for name, layer in layers.items():
            own = [rest.pop(0) for _ in layer.types]
            result = layer.result(*own)
            result.name_hint = name
            results.append(result)
        return results

    types = [type for layer in layers.values() for type in layer.types]
    model = build.make_model(types, body)
    arrays = [array for layer in layers.values() for array in layer.inputs]
    names = [spec.name for spec in model.inputs]
    return Probe(model, dict(zip(names, arrays, strict=True)))


def _chosen(case: Case, contracts: Mapping[str, Contract]) -> Layer:
    """The case's layer with the points that tell contracts apart."""
    everything = make_probe({case.name: case.layer(case.points)})
    (own,) = zip(*_results(everything, contracts), strict=True)
    known = [array.reshape(-1) for array in own if not isinstance(array, str)]
    return case.layer(case.points[separating(np.stack(known), TIMES)])


def _results(
    probe: Probe, contracts: Mapping[str, Contract]
) -> list[list[Array | str]]:
    """What each contract makes of the layers, or why it makes nothing."""
    given = Replay(probe.model, contracts).run(0, probe.inputs)
    return [list(values.values()) for values in given]


def separating(values: Array, times: int = 1) -> list[int]:
    """Columns by which all rows differ that differ in any, so many times over.

    `values` is [row, column]. Each column is the one that splits most classes of rows
    that were equal so far.
    """
    left = np.unique(values, axis=1, return_index=True)[1]
    chosen: list[int] = []
    for _ in range(times):
        classes = np.zeros(len(values), np.int64)
        count = 1
        while left.size:
            split = classes[:, np.newaxis] * (1 << 20) + values[:, left]
            ordered = np.sort(split, axis=0)
            counts = 1 + np.count_nonzero(np.diff(ordered, axis=0), axis=0)
            best = int(np.argmax(counts))
            if counts[best] == count:
                break
            count = int(counts[best])
            classes = np.unique(split[:, best], return_inverse=True)[1]
            chosen.append(int(left[best]))
            left = np.delete(left, best)
    return sorted(chosen)
