"""Groups of contracts that are equal on a model's layers, for all inputs.

Each contract's rules are evaluated on all sums once; pairs of contracts are decided by
comparing the results.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from qlower.compilation.compilation import Compilation
from qlower.contracts import contract_names
from qlower.contracts.products import EXACT
from qlower.diagnostics import QlowerError
from qlower.explain.diff import Progress, no_progress
from qlower.frontends.load import ModelOrPath
from qlower.interp import Array
from qlower.model import Model
from qlower.model.layers import layer_name, layers
from qlower.observe.layer_run import CONTRACTIONS, LayerRun
from qlower.process.float_environment import default_floats
from qlower.sides.sides import Computed, Values
from qlower.verification.alike import content_of
from qlower.verification.decide import same
from qlower.verification.equal import LayerEquality, draw_inputs
from qlower.verification.group_table import Groups, LayerGroups
from qlower.verification.hashes import hashes_of
from qlower.verification.questions import POOLS
from qlower.verification.reach import Reach, reach_average, reach_sum
from qlower.verification.same_rules import have_same_rules
from qlower.verification.sum_rule import SUMMING, SumRule, Unfit, sum_rule
from qlower.verification.verdict import Kind

_DRAWN = 2
"""Inputs of each layer that are drawn first: most pairs differ on them."""

_TRIED = 32
"""Intervals, the widest first, with a sum to be found that some input has."""


@default_floats()
def groups(
    model: ModelOrPath,
    contracts: Sequence[str] = (),
    *,
    only: Collection[str] | None = None,
    progress: Progress = no_progress,
) -> Groups:
    """The contracts, by default all, that are the same in each layer of a model.

    Each layer is decided by itself, for any input of it; with `only` no others are.
    """
    names = list(contracts) or contract_names()
    loaded = Compilation(model).model
    sides = {name: Computed(name, loaded, name) for name in names}
    found = [name for op in layers(loaded.module) if (name := layer_name(op))]
    asked = [name for name in found if only is None or name in only]
    rows: list[LayerGroups] = []
    known: dict[bytes, LayerGroups] = {}
    for number in progress(range(len(asked)), "verify"):
        name = asked[number]
        content = content_of(loaded, name)
        if content not in known:
            known[content] = _Layer(loaded, sides, name).groups()
        rows.append(replace(known[content], layer=name))
    return Groups(names, rows, hashes_of(loaded, loaded, *names))


@dataclass(frozen=True)
class _Class:
    """Contracts with the same rule and constants: those of the first, `run` on the
    first of the drawn inputs; `results` are on all of them."""

    contracts: list[str]
    run: LayerRun
    results: Sequence[Array]

    @cached_property
    def rule(self) -> SumRule | None:
        """The rule on all sums, where that decides all."""
        run = self.run
        if not isinstance(run.op, SUMMING) or run.product != EXACT:
            return None
        try:
            return sum_rule(run)
        except Unfit:
            return None

    @cached_property
    def reach(self) -> Reach | None:
        """Inputs for a sum."""
        if isinstance(self.run.op, CONTRACTIONS):
            return reach_sum(self.run)
        return reach_average(self.run) if isinstance(self.run.op, POOLS) else None


@dataclass(frozen=True)
class _Layer:
    """A layer of a model, by all contracts."""

    model: Model
    sides: Mapping[str, Computed]
    name: str

    def groups(self) -> LayerGroups:
        """The contracts that are the same; those that have no rule are refused."""
        refused: dict[str, str] = {}
        classes: list[_Class] = []
        for contract in self.sides:
            try:
                self._join(classes, contract)
            except QlowerError as error:
                refused[contract] = error.message
        found: list[list[_Class]] = []
        undecided: list[tuple[str, str]] = []
        for one in classes:
            for group in found:
                verdict = self._verdict(group[0], one)
                if verdict == "equal":
                    group.append(one)
                    break
                if verdict == "undecided":
                    undecided.append((group[0].contracts[0], one.contracts[0]))
            else:
                found.append([one])
        op = self.model.index.layer(self.name)
        return LayerGroups(
            self.name,
            op.name.removeprefix("qnn."),
            [[name for one in group for name in one.contracts] for group in found],
            undecided,
            refused,
        )

    @cached_property
    def _drawn(self) -> Sequence[Values]:
        """Inputs of the layer."""
        return [draw_inputs(self.model, self.name, seed) for seed in range(_DRAWN)]

    def _join(self, classes: list[_Class], contract: str) -> None:
        """Put a contract into its class."""
        side = self.sides[contract]
        run, *others = (side.layer(self.name, values) for values in self._drawn)
        for one in classes:
            if have_same_rules((one.run, run)):
                one.contracts.append(contract)
                return
        results = [run.result, *(other.result for other in others)]
        classes.append(_Class([contract], run, results))

    def _verdict(self, a: _Class, b: _Class) -> Kind:
        """Whether two classes are the same."""
        pairs = zip(a.results, b.results, strict=True)
        if not all(bool(same(one, other).all()) for one, other in pairs):
            return "differs"
        if a.rule is not None and b.rule is not None:
            apart = a.rule.pieces.apart(b.rule.pieces, a.rule.high)
            if not len(apart):
                return "equal"
            index = [0] * a.run.result.ndim
            for channel, first, last in apart[:_TRIED].tolist():
                place = (*index[:-1], channel)
                if a.reach is not None and a.reach(place, first, last) is not None:
                    return "differs"
        sides = self.sides[a.contracts[0]], self.sides[b.contracts[0]]
        return LayerEquality(sides, self.model).layer(self.name).verdict
