"""Whether two contracts make the same of a model's layers, for all inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeAlias

import numpy as np
from xdsl.ir import BlockArgument

from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract
from qlower.contracts.products import IN_PAIRS, IN_TURN
from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.explain.diff import Progress, no_progress
from qlower.frontends.load import ModelOrPath, as_model
from qlower.interp import Array
from qlower.model import Model
from qlower.model.entry import main_function, signature_of
from qlower.model.layer_contracts import check_takes_contract
from qlower.model.layers import layer_name, layers, rules_inside
from qlower.model.made_up_sizes import check_size
from qlower.model.random_inputs import random_input
from qlower.model.signature import TensorSpec
from qlower.observe.layer_run import LayerRun
from qlower.observe.place import Index
from qlower.process.float_environment import default_floats
from qlower.sides.sides import Computed, Values
from qlower.verification.alike import content_of
from qlower.verification.decide import Decision, decide, same
from qlower.verification.fits import pair_fit, turning_inputs
from qlower.verification.hashes import hashes_of
from qlower.verification.possible import possible_differences
from qlower.verification.questions import Question, questions
from qlower.verification.reach import Operands
from qlower.verification.same_rules import have_same_rules
from qlower.verification.verdict import Counterexample, Equality, LayerVerdict

Decided: TypeAlias = Callable[[str, Sequence[Question], Sequence[Decision]], None]
"""Is given a layer's name, what was asked of it, and what was found."""

FEWEST_DRAWN, MOST_DRAWN, _ELEMENTS = 8, 128, 1 << 14
"""The inputs that are drawn for a layer that no decision procedure is for."""

_TRIED = 64
"""Intervals, the widest first, in which a sum is looked for that some input has."""


@default_floats()
def equal(
    a: str,
    b: str,
    model: ModelOrPath,
    *,
    layer_contracts: Mapping[str, str] | None = None,
    b_layer_contracts: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    native: bool = True,
    decided: Decided | None = None,
    progress: Progress = no_progress,
) -> Equality:
    """Whether contracts `a` and `b` give the same results in each layer of a model.

    Each layer is decided by itself, for any input of it. `layer_contracts` is as in
    `lower`, for both sides; `b_layer_contracts` for the second only. With `only` no
    other layers are looked at. Counterexamples are confirmed by the interpreter, and by
    machine code if `native`. `decided` is called for each layer that was decided by
    its rules' functions.
    """
    for name in (a, b):
        load_contract(name)  # an unknown one is an error, no verdict
    chosen = dict(layer_contracts or {})
    loaded = as_model(model, (a, b))
    first = Compilation(loaded, a, layer_contracts=chosen).model
    check_takes_contract(first.module, a)
    second = Compilation(first, b, layer_contracts=dict(b_layer_contracts or {})).model
    sides = Computed(a, first, a), Computed(b, second, b)
    work = LayerEquality(sides, first, decided)
    operations = [
        op for op in layers(first.module) if only is None or layer_name(op) in only
    ]
    verdicts = [
        work.shared(layer_name(operations[number]) or "")
        for number in progress(range(len(operations)), "verify")
    ]
    if native:
        verdicts = list(_confirm(sides, verdicts))
    by_layer = chosen, dict(b_layer_contracts or {})
    return Equality(a, b, verdicts, hashes_of(first, second, a, b), by_layer)


def layer_inputs(model: Model, layer: str) -> dict[str, TensorSpec]:
    """The names that a layer reads, inputs and other layers, in its order."""
    return {name: spec for name, (spec, _) in typed_inputs(model, layer).items()}


@dataclass(frozen=True)
class LayerEquality:
    """The work on two sides of a model; `known` are verdicts by the layers' content."""

    sides: tuple[Computed, Computed]
    model: Model
    seen: Decided | None = None
    known: dict[bytes, LayerVerdict] = field(default_factory=dict[bytes, LayerVerdict])

    def shared(self, name: str) -> LayerVerdict:
        """The verdict of one layer, which layers like it share; each is decided anew
        where decisions are `seen`."""
        if self.seen is not None:
            return self.layer(name)
        models = dict.fromkeys(side.model for side in self.sides)
        content = b"".join(content_of(model, name) for model in models)
        known = self.known.get(content)
        if known is None or repr(known.layer) in known.how:  # refusals may name it
            known = self.known[content] = self.layer(name)
        example = known.counterexample
        if example is None or known.layer == name:
            return replace(known, layer=name)
        own, others = (layer_inputs(self.model, one) for one in (name, known.layer))
        pairs = zip(own, others, strict=True)
        inputs = {source: example.inputs[other] for source, other in pairs}
        return replace(
            known, layer=name, counterexample=replace(example, inputs=inputs)
        )

    def layer(self, name: str) -> LayerVerdict:
        """The verdict of one layer."""
        op = self.model.index.layer(name)
        verdict = LayerVerdict(name, op.name.removeprefix("qnn."), "equal", "")
        if rules := rules_inside(op):
            how = f"not looked at: the rules {', '.join(rules)} in steps of a loop"
            return replace(verdict, verdict="undecided", how=how)
        try:
            check_size([op])
            values: dict[str, Array] = {
                source: np.zeros(spec.shape, spec.numpy_dtype)
                for source, spec in layer_inputs(self.model, name).items()
            }
            a, b = (side.layer(name, values) for side in self.sides)
        except QlowerError as error:
            return replace(verdict, verdict="undecided", how=error.message)
        if have_same_rules((a, b)):
            moves = not a.evaluations
            how = "moved or compared alike" if moves else "the same rule and constants"
            return replace(verdict, how=how)
        asked = questions((a, b))
        if isinstance(asked, str):
            for given in self._saturating((a, b)):
                example = self._try(name, given, None, None)
                if example is not None:
                    return replace(
                        verdict, verdict="differs", how=asked, counterexample=example
                    )
            return self._drawn(verdict, values, asked)
        return self._decided(verdict, asked, (a, b), values)

    def _saturating(self, runs: tuple[LayerRun, LayerRun]) -> Iterator[Values]:
        """Inputs for which a pair of products, or a narrow register, saturates, by
        either contract."""
        for side, run in zip(self.sides, runs, strict=True):
            if run.product == IN_TURN:
                yield from turning_inputs(side.model, side.contract, run.op)
            if run.product in IN_PAIRS:
                worst = pair_fit(side.model, side.contract, run.op, run.product).worst
                if worst is not None:
                    yield worst.inputs

    def _decided(
        self,
        verdict: LayerVerdict,
        asked: list[Question],
        runs: tuple[LayerRun, LayerRun],
        values: Values,
    ) -> LayerVerdict:
        decisions = [decide(one.functions, one.domain) for one in asked]
        if self.seen is not None:
            self.seen(verdict.layer, asked, decisions)
        why = next((one.why for one in decisions if one.why is not None), None)
        verdict = replace(
            verdict,
            how=", ".join(dict.fromkeys(one.how for one in decisions if one.how)),
            numbers=sum(one.count for one in decisions),
            lanes=max(len(one.lanes.places) for one in asked),
            apart=max(len(one.apart) for one in decisions),
        )
        pairs = zip(asked, decisions, strict=True)
        apart = [(one, found) for one, found in pairs if found.intervals]
        if not apart and why is None:
            return verdict
        widest = [
            [(one.lanes.index(at.lane), at.first, at.last) for at in found.intervals]
            for one, found in apart
        ]
        for (question, _), intervals in zip(apart, widest, strict=True):
            example = self._example(question, intervals, runs[0], values)
            if example is not None:
                return replace(verdict, verdict="differs", counterexample=example)
        possible = [possible_differences(one, runs[0]) for one, _ in apart]
        if why is None and all(one is not None and not one for one in possible):
            how = f"{verdict.how}; where they differ there is no sum of the weights"
            return replace(verdict, how=how, apart=0)
        for (question, _), intervals in zip(apart, possible, strict=True):
            example = self._example(question, intervals or (), runs[0], values)
            if example is not None:
                return replace(verdict, verdict="differs", counterexample=example)
        if apart:
            index, first, _ = widest[0][0]
            why = f"differs at {first:,} in {list(index)}, no input found"
        return self._drawn(verdict, values, why or "")

    def _example(
        self,
        question: Question,
        intervals: Sequence[tuple[Index, int, int]],
        run: LayerRun,
        values: Values,
    ) -> Counterexample | None:
        """A counterexample with a number in one of the intervals, if it is found."""
        name = layer_name(run.op)
        assert name is not None
        for index, first, last in intervals[:_TRIED]:
            found = question.reach and question.reach(index, first, last)
            if found:
                given = {**values, **self._named(run, found[0])}
                example = self._try(name, given, found[1], index)
                if example is not None:
                    return example
        return None

    def _named(self, run: LayerRun, operands: Operands) -> dict[str, Array]:
        """Operands by the names of what the layer reads."""
        name = layer_name(run.op)
        assert name is not None
        specs = list(layer_inputs(self.model, name).items())
        found: dict[str, Array] = {}
        for value, array in operands.items():
            if isinstance(value, BlockArgument):
                source, spec = specs[value.index]
                found[source] = array.view(spec.numpy_dtype)
        return found

    def _try(
        self, name: str, values: Values, number: int | None, index: Index | None
    ) -> Counterexample | None:
        """The results of both sides for inputs of a layer, if they differ."""
        a, b = (side.layer(name, values).result for side in self.sides)
        apart = np.argwhere(~same(a, b))
        if not len(apart):
            return None
        places = [tuple(int(at) for at in place) for place in apart]
        like = [place for place in places if index and place[-1] == index[-1]]
        place = index if index in places else (like or places)[0]
        assert place is not None
        pair = a[place].item(), b[place].item()
        return Counterexample(place, number, pair, values, ["interp"])

    def _drawn(self, verdict: LayerVerdict, values: Values, why: str) -> LayerVerdict:
        """Look for a counterexample among drawn inputs; undecided without one."""
        elements = sum(array.size for array in values.values())
        count = max(FEWEST_DRAWN, min(MOST_DRAWN, _ELEMENTS // max(elements, 1)))
        draws = (draw_inputs(self.model, verdict.layer, n, n % 8) for n in range(count))
        for drawn in chain(_ends(self.model, verdict.layer), draws):
            example = self._try(verdict.layer, drawn, None, None)
            if example is not None:
                return replace(
                    verdict, verdict="differs", how=why, counterexample=example
                )
        return replace(verdict, verdict="undecided", how=why)


def draw_inputs(model: Model, layer: str, seed: int, nearer: int = 0) -> Values:
    """Inputs of a layer, drawn by a seed: stored integers in the range of their type.

    They lie in a part of it that is a power of two smaller, if that is to bring them
    `nearer` to each other: all elements of a row matter then.
    """
    check_size([model.index.layer(layer)])
    draw = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for name, (spec, type) in typed_inputs(model, layer).items():
        drawn = random_input(spec, draw)
        if drawn.dtype.kind in "iu":
            drawn >>= nearer
        if type is not None:
            size = type.storage_max - type.storage_min + 1
            places = (drawn.astype(np.int64) - type.storage_min) % size
            drawn = (places + type.storage_min).astype(drawn.dtype)
        found[name] = drawn
    return found


def _ends(model: Model, layer: str) -> Iterator[Values]:
    """Inputs that are full of the greatest stored integer, or of the least: sums that
    can wrap do then."""
    inputs = typed_inputs(model, layer)
    types = [type for _, type in inputs.values() if type is not None]
    if len(types) == len(inputs):
        for ends in ([t.storage_max for t in types], [t.storage_min for t in types]):
            yield {
                name: np.full(spec.shape, end, spec.numpy_dtype)
                for (name, (spec, _)), end in zip(inputs.items(), ends, strict=True)
            }


def typed_inputs(
    model: Model, layer: str
) -> dict[str, tuple[TensorSpec, QuantizedType | None]]:
    """The names that a layer reads, and their types if those are quantized."""
    module, sources, _ = model.index.detach([layer])
    elements = (element_type(value.type) for value in main_function(module).args)
    types = (type if isinstance(type, QuantizedType) else None for type in elements)
    inputs = signature_of(module).inputs
    return dict(zip(sources, zip(inputs, types, strict=True), strict=True))


def _confirm(
    sides: tuple[Computed, Computed], verdicts: list[LayerVerdict]
) -> Iterator[LayerVerdict]:
    """The verdicts that machine code confirms."""
    inputs = {
        verdict.layer: verdict.counterexample.inputs
        for verdict in verdicts
        if verdict.counterexample is not None
    }
    outputs = [replace(side, executor="jit").each_alone(inputs) for side in sides]
    for verdict in verdicts:
        example = verdict.counterexample
        if example is None:
            yield verdict
            continue
        results = tuple(side[verdict.layer][example.index].item() for side in outputs)
        if results == example.results:
            confirmed = replace(example, confirmed=[*example.confirmed, "jit"])
            yield replace(verdict, counterexample=confirmed)
        else:
            yield replace(
                verdict,
                verdict="undecided",
                how=f"{example}, but machine code gives {results[0]} | {results[1]}",
                counterexample=None,
            )
