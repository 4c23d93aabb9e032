"""The rates at which contracts differ: layers of real models, under every contract.

All contracts get the same inputs: those that a layer has when the model runs under its
own contract. So a difference is the layer's own, not one that came with its input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract
from qlower.diagnostics import LOGGER, QlowerError
from qlower.dialects.qnn import QnnOp
from qlower.dialects.qnn.attributes import module_contract
from qlower.inspection.refusals import layer_refusals
from qlower.model import Model
from qlower.model.input_sets import input_set
from qlower.model.layers import layer_name, layers
from qlower.model.random_inputs import random_input
from qlower.model.signature import Array, TensorSpec

RANDOM_EXAMPLES = 4


@dataclass(frozen=True)
class Subject:
    """A model and the inputs that it is run on: an array for each, which may be a set
    (`batches.py`)."""

    name: str
    model: Model
    inputs: Mapping[str, Array]


@dataclass
class Disagreement:
    """The difference of two contracts over `count` outputs."""

    count: int = 0
    differing: int = 0
    largest: int = 0

    def add(self, count: int, differing: int, largest: int) -> None:
        """Count more outputs."""
        self.count += count
        self.differing += differing
        self.largest = max(self.largest, largest)

    def __str__(self) -> str:
        if self.count == 0:
            return "-"
        share = f"{100 * self.differing / self.count:.3g} %"
        return f"{share} ({self.largest})" if self.largest > 1 else share


@dataclass
class Kind:
    """Counts for one kind of layer: its outputs by contract, differences by pair (in
    the contracts' order), and why contracts refuse which layers."""

    layer_count: int = 0
    outputs: dict[str, int] = field(default_factory=dict[str, int])
    pairs: dict[tuple[str, str], Disagreement] = field(
        default_factory=dict[tuple[str, str], Disagreement]
    )
    refusals: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def difference(self, first: str, second: str) -> Disagreement:
        """The difference of two contracts, named in either order."""
        if first == second:
            return Disagreement(self.outputs.get(first, 0))
        found = self.pairs.get((first, second)) or self.pairs.get((second, first))
        return found or Disagreement()

    def groups(self) -> list[list[str]]:
        """Contracts that gave the same bits for the same layers, together."""
        groups: list[list[str]] = []
        for name, count in self.outputs.items():
            for group in groups:
                if self.outputs[group[0]] == count and all(
                    self.difference(other, name) == Disagreement(count)
                    for other in group
                ):
                    group.append(name)
                    break
            else:
                groups.append([name])
        return groups


@dataclass
class Comparison:
    """Every kind of layer of the subjects by name, or every layer."""

    contracts: Sequence[str]
    subjects: list[tuple[str, int, int]] = field(
        default_factory=list[tuple[str, int, int]]
    )
    """Name, number of examples, number of layers."""

    kinds: dict[str, Kind] = field(default_factory=dict[str, Kind])
    by_layer: bool = False
    """Whether `kinds` holds every layer by itself."""


def compare(
    subjects: Sequence[Subject],
    contracts: Sequence[str],
    examples: int | None = None,
    *,
    by_layer: bool = False,
) -> Comparison:
    """Compare the contracts on the layers that they round in.

    A model that names no contract is run under the first one. `examples` limits how
    many examples of each subject's inputs are used. Layers of a kind are counted
    together, or each `by_layer`.
    """
    names = [load_contract(name).name for name in contracts]
    for name, count in Counter(names).items():
        if count > 1:
            raise QlowerError(f"{count} of the contracts to compare are called {name}")
    comparison = Comparison(names, by_layer=by_layer)
    for subject in subjects:
        lead = f"{subject.name}: " if len(subjects) > 1 else ""
        _compare_subject(comparison, subject, contracts, examples, lead)
    return comparison


def random_inputs(specs: Sequence[TensorSpec]) -> dict[str, Array]:
    """A few examples of stored integers, all equally likely."""
    random = np.random.default_rng(0)
    inputs: dict[str, Array] = {}
    for spec in specs:
        if spec.numpy_dtype.kind not in "iu":
            raise QlowerError(
                f"input {spec.name!r} holds {spec.dtype}, not codes to be drawn",
                help="give arrays: MODEL=FILE",
            )
        inputs[spec.name] = random_input(spec, random, RANDOM_EXAMPLES)
    return inputs


def rounded_layers(model: Model) -> dict[str, str]:
    """The layers that a contract has a say in, with their kinds."""
    found: dict[str, str] = {}
    for op in layers(model.module):
        name = layer_name(op)
        if name is not None and isinstance(op, QnnOp) and op.rules:
            found[name] = op.kind
    return found


def _compare_subject(
    comparison: Comparison,
    subject: Subject,
    contracts: Sequence[str],
    examples: int | None,
    lead: str,
) -> None:
    model = subject.model
    runs = input_set(model.inputs, subject.inputs).runs[:examples]
    own = module_contract(model.module) or contracts[0]
    recording = Compilation(model, own, with_layers=True).function()
    recorded = [{**run, **recording.run([], run)[1]} for run in runs]
    kinds = {
        name: kind
        for name, kind in rounded_layers(model).items()
        if recorded[0][name].dtype.kind in "iu"
    }
    comparison.subjects.append((subject.name, len(runs), len(kinds)))
    if comparison.by_layer:
        kinds = {name: f"{lead}{name} ({kind})" for name, kind in kinds.items()}
    for kind in kinds.values():
        comparison.kinds.setdefault(kind, Kind()).layer_count += 1
    answers: dict[str, dict[str, Array]] = {}
    for contract, name in zip(contracts, comparison.contracts, strict=True):
        LOGGER.info("%s: %s", subject.name, name)
        try:
            answers[name] = _run_detached(model, list(kinds), contract, recorded)
        except QlowerError:
            refused = layer_refusals(model.module, kinds, contract)
            for layer, reason in refused.items():
                reasons = comparison.kinds[kinds[layer]].refusals
                reasons.setdefault(name, []).append(reason)
            kept = [layer for layer in kinds if layer not in refused]
            answers[name] = _run_detached(model, kept, contract, recorded)
    for layer, kind in kinds.items():
        given = {
            name: results[layer]
            for name, results in answers.items()
            if layer in results
        }
        _add_layer(comparison.kinds[kind], given)


def _run_detached(
    model: Model,
    names: Sequence[str],
    contract: str,
    recorded: Sequence[Mapping[str, Array]],
) -> dict[str, Array]:
    """The result of each layer for the recorded values, all examples one after
    another."""
    if not names:
        return {}
    module, sources, results = model.index.detach(names)
    function = Compilation(Model(module), contract).function()
    found: dict[str, list[Array]] = {name: [] for name in results}
    for values in recorded:
        outputs, _ = function.run([values[source] for source in sources], {})
        for name, output in zip(results, outputs, strict=True):
            found[name].append(output.ravel())
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _add_layer(kind: Kind, answers: Mapping[str, Array]) -> None:
    """Count one layer's differences, those of equal answers once."""
    classes: list[tuple[Array, list[str]]] = []
    for name, answer in answers.items():
        kind.outputs[name] = kind.outputs.get(name, 0) + answer.size
        for known, members in classes:
            if np.array_equal(known, answer):
                members.append(name)
                break
        else:
            classes.append((answer, [name]))
    index = {name: i for i, (_, members) in enumerate(classes) for name in members}
    counted = {
        (i, j): _count(classes[i][0], classes[j][0])
        for i, j in combinations(range(len(classes)), 2)
    }
    for first, second in combinations(answers, 2):
        i, j = sorted((index[first], index[second]))
        differing, largest = counted.get((i, j), (0, 0))
        pair = kind.pairs.setdefault((first, second), Disagreement())
        pair.add(answers[first].size, differing, largest)


def _count(first: Array, second: Array) -> tuple[int, int]:
    """The number of elements that differ, and the largest difference."""
    where = np.flatnonzero(first != second)
    difference = first[where].astype(np.int64) - second[where].astype(np.int64)
    return len(where), int(np.abs(difference).max())
