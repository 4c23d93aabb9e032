"""The results of contracts for a model, each layer on a dump's values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from qlower.contracts import Contract
from qlower.contracts.contractions import Contraction
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.explain.diff import Progress
from qlower.identification.batches import batched, is_positional, largest
from qlower.identification.evidence import Observed
from qlower.interp.engine import NumpyInterpreter
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import is_constant, layer_name, value_names
from qlower.observe.layer_run import CONTRACTIONS
from qlower.observe.place import Index
from qlower.semantics import make_qnn_interpreter
from qlower.semantics.contraction import sums_of
from qlower.sides.sides import Values
from qlower.verification.decide import same

MARGIN, FEW_MISSES = 2, 8
"""A contract is behind that misses more than this many times as many elements, and as
these few."""

TOGETHER = 1 << 20
"""Elements of a model's largest tensor that are computed at a time."""

FIRST = 16
"""Inputs by which it is seen which contracts are behind in every layer."""


@dataclass(frozen=True)
class Miss:
    """An element that a contract doesn't explain: in which run, and both values."""

    run: int
    index: Index
    recorded: float
    given: float


@dataclass
class Explained:
    """The recorded elements of a layer's result that a contract explains, counted.

    `refusal` is why it has no result for the layer.
    """

    outputs: int = 0
    explained: int = 0
    miss: Miss | None = None
    refusal: str | None = None

    @property
    def missed(self) -> int:
        """The recorded elements that it doesn't explain."""
        return self.outputs - self.explained

    def add(self, run: int, rows: int, recorded: Array, given: Array | str) -> None:
        """Take in what is recorded in `rows` runs from `run` on, and what is given, or
        why nothing is."""
        self.outputs += recorded.size
        if isinstance(given, str):
            self.refusal = given
            return
        alike = same(recorded, given)
        self.explained += int(np.count_nonzero(alike))
        if self.miss is None and not alike.all():
            place = np.unravel_index(int(np.argmin(alike)), alike.shape)
            index = tuple(int(at) for at in place)
            pair = recorded[index].item(), given[index].item()
            if rows > 1:
                run, index = run + index[0], (0, *index[1:])
            self.miss = Miss(run, index, *pair)


@dataclass
class Explanation:
    """The outputs that one contract explains, by layers' results, in order.

    Contracts with the same `digest` gave the same for everything that is recorded.
    """

    name: str
    contract: Contract
    layers: dict[str, Explained] = field(default_factory=dict[str, Explained])
    _hash: hashlib.blake2b = field(default_factory=hashlib.blake2b, repr=False)

    @property
    def outputs(self) -> int:
        """The recorded elements that some contract has to compute."""
        return sum(layer.outputs for layer in self.layers.values())

    @property
    def explained(self) -> int:
        """The recorded outputs that equal this contract's."""
        return sum(layer.explained for layer in self.layers.values())

    @property
    def share(self) -> float:
        """The part that it explains of what it was asked for."""
        return self.explained / max(self.outputs, 1)

    @property
    def is_complete(self) -> bool:
        """Whether it explains everything."""
        return self.explained == self.outputs

    def is_behind(self, other: Explanation) -> bool:
        """Whether it misses far more than another one in every layer."""
        pairs = [(self.layers[name], other.layers[name]) for name in self.layers]
        return bool(pairs) and all(
            own.missed > MARGIN * (its.missed + FEW_MISSES) for own, its in pairs
        )

    @property
    def digest(self) -> str:
        """A hash of all results of the contract."""
        return self._hash.hexdigest()

    def add(
        self, layer: str, run: int, rows: int, recorded: Array, given: Array | str
    ) -> None:
        """Take in a layer's result for `rows` runs from `run` on."""
        self.layers.setdefault(layer, Explained()).add(run, rows, recorded, given)
        self._hash.update(b"" if isinstance(given, str) else given.tobytes())
        self._hash.update(layer.encode())


@dataclass(frozen=True)
class _Values:
    """The known values of one run: those `shared` by all contracts, since they are
    given, recorded or only moved, and those that each contract computed, or why it
    can't."""

    shared: dict[SSAValue, Array]
    own: Sequence[dict[SSAValue, Array | str]]

    def are_shared(self, op: Operation) -> bool:
        return all(operand in self.shared for operand in op.operands)

    def operands(self, number: int, op: Operation) -> tuple[Array, ...] | str:
        """The operands of an operation under one of the contracts."""
        found: list[Array] = []
        for operand in op.operands:
            value = self.shared.get(operand)
            if value is None:
                own = self.own[number][operand]
                if isinstance(own, str):
                    return own
                value = own
            found.append(value)
        return tuple(found)


@dataclass(frozen=True)
class _Plan:
    """A model for several runs at a time; `single` has each operation as for one run.

    `names` are those of the inputs and of layers' results, as dumps have them.
    """

    module: ModuleOp
    rows: int
    single: Mapping[Operation, Operation]

    @cached_property
    def names(self) -> dict[SSAValue, str]:
        """The inputs and layers' results, as dumps have them."""
        return value_names(self.module)

    @cached_property
    def block(self) -> Block:
        """The model's operations."""
        return main_function(self.module).body.block


class Replay:
    """A model run by several contracts in one pass.

    Each layer gets the recorded values of its operands or, where there are none, the
    same contract's results. Sums of products are computed once for all contracts.
    `computed` has the layers whose results contracts decide, in order; `observed` the
    convolutions and linear layers whose inputs and results are all known.
    Contracts that are far behind in every layer are `dropped` on the way.
    """

    def __init__(self, model: Model, contracts: Mapping[str, Contract]) -> None:
        self.model = model
        self.explanations = [Explanation(n, c) for n, c in contracts.items()]
        self.computed: dict[str, None] = {}
        self.observed: list[Observed] = []
        self.dropped: set[int] = set()
        self._sums: dict[tuple[str, int], Array] = {}
        self._plans: dict[int, _Plan | None] = {1: _Plan(model.module, 1, {})}

    @property
    def names(self) -> dict[SSAValue, str]:
        """The model's inputs and layers' results, as dumps have them."""
        plan = self._plan(1)
        assert plan is not None
        return plan.names

    @cached_property
    def _interpreters(self) -> list[NumpyInterpreter]:
        """One for each contract, which also holds for operations that name another."""
        return [
            make_qnn_interpreter(
                self.model.module, one.name, lambda _, c=one.contract: c, sums=self._sum
            )
            for one in self.explanations
        ]

    def _sum(
        self, op: Contraction, product: str, stored: Array, weight: Array
    ) -> Array:
        """The sums of the operation at hand, which several contracts ask for."""
        key = product, id(stored)
        if key not in self._sums:
            self._sums[key] = sums_of(op, product, stored, weight)
        return self._sums[key]

    def _plan(self, rows: int) -> _Plan | None:
        """The model for several runs at a time; None if it can't take them."""
        if rows not in self._plans:
            module = batched(self.model.module, rows)
            self._plans[rows] = None
            if module is not None:
                plan, one = _Plan(module, rows, {}), self._plans[1]
                assert one is not None
                single = zip(plan.block.ops, one.block.ops, strict=True)
                self._plans[rows] = replace(plan, single=dict(single))
        return self._plans[rows]

    def run_all(self, known: Sequence[Values], progress: Progress) -> None:
        """Take in all runs, many at a time where the model can take them."""
        most = max(1, TOGETHER // largest(self.model.module))
        ends = [0, min(FIRST, most, len(known))]
        while ends[-1] < len(known):
            ends.append(min(ends[-1] + most, len(known)))
        for number in progress(range(len(ends) - 1), "identify"):
            first, last = ends[number : number + 2]
            plan = self._plan(last - first)
            if plan is None:
                for run in range(first, last):
                    self.run(run, known[run])
            else:
                together = {
                    name: np.concatenate([one[name] for one in known[first:last]])
                    if plan.rows > 1
                    else known[first][name]
                    for name in known[first]
                }
                self._run(first, together, plan)
            if number == 0:
                self._drop()

    def _drop(self) -> None:
        """Leave out contracts that are far behind another one in every layer."""
        best = max(self.explanations, key=lambda one: one.explained)
        self.dropped = {
            place
            for place, one in enumerate(self.explanations)
            if one is not best and one.is_behind(best)
        }

    def run(self, number: int, known: Values) -> list[dict[SSAValue, Array | str]]:
        """Take in one run, whose inputs and some layers' results are known.

        What each contract makes of the layers is returned.
        """
        plan = self._plan(1)
        assert plan is not None
        return self._run(number, known, plan)

    def _run(
        self, number: int, known: Values, plan: _Plan
    ) -> list[dict[SSAValue, Array | str]]:
        known = _with_sources(known, plan)
        values = _Values({}, [{} for _ in self.explanations])
        for argument in plan.block.args:
            values.shared[argument] = known[plan.names[argument]]
        for op in plan.block.ops:
            if op.has_trait(IsTerminator):
                continue
            self._sums.clear()
            has_rules = isinstance(op, qnn.QnnOp) and bool(op.rules)
            if has_rules or not values.are_shared(op):
                self._by_each(number, op, values, known, plan)
            else:
                self._interpreters[0].run_ops([op], values.shared)
            for result in op.results:
                recorded = known.get(plan.names.get(result, ""))
                if recorded is not None:
                    values.shared[result] = recorded
        return list(values.own)

    def _by_each(
        self, number: int, op: Operation, values: _Values, known: Values, plan: _Plan
    ) -> None:
        """Run an operation by each of the contracts."""
        self.computed[layer_name(op) or ""] = None
        name = plan.names.get(op.results[0], "")
        if isinstance(op, CONTRACTIONS) and values.are_shared(op) and name in known:
            operands = [values.shared[operand] for operand in op.operands]
            self.observed.append(Observed(op, operands, known[name]))
        for place, explanation in enumerate(self.explanations):
            if place in self.dropped:
                continue
            results = self._results(place, op, values, plan)
            for result, given in zip(op.results, results, strict=True):
                values.own[place][result] = given
                name = plan.names.get(result, "")
                if name in known:
                    explanation.add(name, number, plan.rows, known[name], given)

    def _results(
        self, place: int, op: Operation, values: _Values, plan: _Plan
    ) -> Sequence[Array | str]:
        operands = values.operands(place, op)
        if not isinstance(operands, str):
            contract = self.explanations[place].contract
            try:
                if plan.rows > 1 and is_positional(op, contract):
                    return self._row_by_row(place, op, operands, plan)
                return self._interpreters[place].run_op(op, operands)
            except QlowerError as error:
                operands = error.message
        return [operands for _ in op.results]

    def _row_by_row(
        self, place: int, op: Operation, operands: Sequence[Array], plan: _Plan
    ) -> list[Array]:
        """Run an operation on one row after the other."""
        is_row = [not is_constant(operand.owner) for operand in op.operands]
        found: list[Sequence[Array]] = []
        for row in range(plan.rows):
            # by the identity of their operands, which is that of a row's for its time
            self._sums.clear()
            own = tuple(
                array[row : row + 1] if varies else array
                for array, varies in zip(operands, is_row, strict=True)
            )
            found.append(self._interpreters[place].run_op(plan.single[op], own))
        self._sums.clear()
        return [np.concatenate(rows) for rows in zip(*found, strict=True)]


def _with_sources(known: Values, plan: _Plan) -> Values:
    """Known values, with those that were only moved to become known ones."""
    found = dict(known)
    for op in reversed(list(plan.block.ops)):
        name = plan.names.get(op.results[0], "") if op.results else ""
        source = plan.names.get(op.operands[0], "") if op.operands else ""
        if name not in found or not source or source in found:
            continue
        match op:
            case qnn.ReshapeOp():
                found[source] = found[name].reshape(shape_of(op.operands[0]))
            case qnn.TransposeOp():
                found[source] = np.transpose(found[name], np.argsort(op.perm))
            case _:
                pass
    return found
