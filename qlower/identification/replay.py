"""What contracts make of a model, each layer on the values that a dump has of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from qlower.contracts import Contract
from qlower.contracts.contractions import Contraction
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.explain.observe import CONTRACTIONS
from qlower.explain.place import Index
from qlower.explain.sides import Values
from qlower.identification.evidence import Observed
from qlower.interp.engine import NumpyInterpreter
from qlower.interp.qnn import make_qnn_interpreter
from qlower.interp.qnn.contraction import sums_of
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import layer_name, value_names
from qlower.verification.decide import same


@dataclass(frozen=True)
class Miss:
    """An element that a contract doesn't explain: in which run, and both values."""

    run: int
    index: Index
    recorded: float
    given: float


@dataclass
class Explained:
    """How many recorded elements of a layer's result a contract explains.

    `refusal` is why it has no result for the layer.
    """

    outputs: int = 0
    explained: int = 0
    miss: Miss | None = None
    refusal: str | None = None

    def add(self, run: int, recorded: Array, given: Array | str) -> None:
        """Take in what is recorded in a run, and what is given, or why nothing is."""
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
            self.miss = Miss(run, index, *pair)


@dataclass
class Explanation:
    """What one contract explains, by layers' results, in order.

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
        """Those of them that are what this contract gives."""
        return sum(layer.explained for layer in self.layers.values())

    @property
    def is_complete(self) -> bool:
        """Whether it explains everything."""
        return self.explained == self.outputs

    @property
    def digest(self) -> str:
        """What stands for all that the contract gave."""
        return self._hash.hexdigest()

    def add(self, layer: str, run: int, recorded: Array, given: Array | str) -> None:
        """Take in a layer's result for one run."""
        self.layers.setdefault(layer, Explained()).add(run, recorded, given)
        self._hash.update(b"" if isinstance(given, str) else given.tobytes())
        self._hash.update(layer.encode())


@dataclass(frozen=True)
class _Values:
    """What is known in one run: `shared` by all contracts, since it is given, recorded
    or only moved, and what each of them computed besides, or why it can't."""

    shared: dict[SSAValue, Array]
    own: Sequence[dict[SSAValue, Array | str]]

    def are_shared(self, op: Operation) -> bool:
        return all(operand in self.shared for operand in op.operands)

    def operands(self, number: int, op: Operation) -> tuple[Array, ...] | str:
        """What an operation takes by one of the contracts."""
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


class Replay:
    """A model run by several contracts at once.

    Each layer gets the recorded values of what it reads, or, where there are none, what
    the same contract made of it. Sums of products are computed once for all of them.
    `computed` has the layers whose results contracts decide, in order; `observed` the
    convolutions and linear layers of which all that goes in and comes out is known.
    """

    def __init__(self, model: Model, contracts: Mapping[str, Contract]) -> None:
        self.model = model
        self.explanations = [Explanation(n, c) for n, c in contracts.items()]
        self.computed: dict[str, None] = {}
        self.observed: list[Observed] = []
        self._sums: dict[tuple[str, int], Array] = {}

    @cached_property
    def names(self) -> dict[SSAValue, str]:
        """The model's inputs and layers' results, as dumps have them."""
        return value_names(self.model.module)

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

    def run(self, number: int, known: Values) -> list[dict[SSAValue, Array | str]]:
        """Take in one run, of which the inputs and some layers' results are known.

        What each contract makes of the layers is returned.
        """
        function = main_function(self.model.module)
        known = self._with_sources(known)
        values = _Values({}, [{} for _ in self.explanations])
        for argument in function.body.block.args:
            values.shared[argument] = known[self.names[argument]]
        for op in function.body.block.ops:
            if op.has_trait(IsTerminator):
                continue
            self._sums.clear()
            has_rules = isinstance(op, qnn.QnnOp) and bool(op.rules)
            if has_rules or not values.are_shared(op):
                self._by_each(number, op, values, known)
            else:
                self._interpreters[0].run_ops([op], values.shared)
            for result in op.results:
                recorded = known.get(self.names.get(result, ""))
                if recorded is not None:
                    values.shared[result] = recorded
        return list(values.own)

    def _with_sources(self, known: Values) -> Values:
        """What is known, and what was only moved to become that."""
        found = dict(known)
        for op in reversed(list(main_function(self.model.module).body.block.ops)):
            name = self.names.get(op.results[0], "") if op.results else ""
            source = self.names.get(op.operands[0], "") if op.operands else ""
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

    def _by_each(
        self, number: int, op: Operation, values: _Values, known: Values
    ) -> None:
        """Run an operation by each of the contracts."""
        self.computed[layer_name(op) or ""] = None
        name = self.names.get(op.results[0], "")
        if isinstance(op, CONTRACTIONS) and values.are_shared(op) and name in known:
            operands = [values.shared[operand] for operand in op.operands]
            self.observed.append(Observed(op, operands, known[name]))
        for place, explanation in enumerate(self.explanations):
            results = self._results(place, op, values)
            for result, given in zip(op.results, results, strict=True):
                values.own[place][result] = given
                name = self.names.get(result, "")
                if name in known:
                    explanation.add(name, number, known[name], given)

    def _results(
        self, place: int, op: Operation, values: _Values
    ) -> Iterator[Array | str]:
        operands = values.operands(place, op)
        if not isinstance(operands, str):
            try:
                yield from self._interpreters[place].run_op(op, operands)
                return
            except QlowerError as error:
                operands = error.message
        for _ in op.results:
            yield operands
