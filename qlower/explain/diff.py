"""The differences between two systems on a model: layer by layer, and step by step."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from qlower.compilation.compilation import Compilation
from qlower.contracts import is_contract
from qlower.diagnostics import QlowerError
from qlower.explain.causes import Causes
from qlower.explain.diff_result import ChainPair, Diff, LayerDifference, trace_rows
from qlower.explain.difference import Difference
from qlower.explain.pairing import Pair, pair_rows
from qlower.explain.steps import other_step
from qlower.explain.trace import Trace, trace_of
from qlower.frontends.load import ModelOrPath, as_model
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.input_sets import ordered_input_set
from qlower.model.layers import layer_name, layers
from qlower.model.made_up_sizes import inputs_for_layers
from qlower.model.signature import TensorSpec, assign_inputs
from qlower.observe.axes import unusual_axes
from qlower.observe.place import Place, parse_place
from qlower.process.float_environment import default_floats
from qlower.sides.live import Live
from qlower.sides.make_side import SideLike, make_side, short_titles
from qlower.sides.sides import Computed, Side, Values, result_specs
from qlower.sides.versions import Version

EXAMINED = 16
"""The number of inputs for which all differences of a layer are looked at."""

Progress: TypeAlias = Callable[[Iterable[int], str], Iterable[int]]
"""Goes through numbers, and shows how far it is."""


def no_progress(numbers: Iterable[int], title: str) -> Iterable[int]:
    """Shows nothing."""
    return numbers


@default_floats()
def diff(
    a: SideLike,
    b: SideLike,
    model: ModelOrPath,
    *inputs: Array,
    contract: str | None = None,
    at: str | None = None,
    random: int | None = None,
    layer_contracts: Mapping[str, str] | None = None,
    b_layer_contracts: Mapping[str, str] | None = None,
    match: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
    **named_inputs: Array,
) -> Diff:
    """Find where two systems differ on a model.

    `a` and `b` are what `make_side` takes: contracts, executors, live systems, dumps.
    Inputs are as for `interpret`, one or a set; with `random` one is drawn by that
    seed. `contract` holds for sides that name none. The chain is that of the first
    element that differs when layers run alone, or of `at`, `LAYER[n,h,w,c]`.
    `layer_contracts` is as in `lower`, for both sides; `b_layer_contracts` for the
    second only. `match` gives tensors of a float model by layers.
    """
    words = [one.split(":")[0] for one in (a, b, contract) if isinstance(one, str)]
    read = as_model(model, [word for word in words if is_contract(word)])
    loaded = Compilation(read, contract, layer_contracts=layer_contracts or {}).model
    other = Compilation(loaded, layer_contracts=b_layer_contracts or {}).model
    specs = loaded.inputs
    if random is not None:
        inputs = inputs_for_layers(loaded, random)
    arrays = assign_inputs(specs, inputs, named_inputs)
    examples = ordered_input_set(specs, arrays)
    place = None if at is None else parse_place(loaded.module, at)
    runs = len(examples.runs)
    titles = short_titles(a, b)
    first = make_side(a, loaded, contract, runs, match, titles[0])
    second = make_side(b, other, contract, runs, match, titles[1])
    if isinstance(second, Version) and b_layer_contracts:
        raise QlowerError("layers of another version have that model's contracts")
    comparison = _Comparison(first, second, loaded, examples.runs)
    for number in progress(range(runs), "diff"):
        comparison.add(number)
    comparison.compare_steps()
    return comparison.finish(place)


@dataclass(frozen=True)
class _Comparison:
    """A comparison under way, of two sides on the inputs of some runs."""

    first: Side
    second: Side
    model: Model
    runs: Sequence[Values]

    @cached_property
    def kept(self) -> dict[int, tuple[Values, Values]]:
        """The values of `_values` for the first input, which are asked for again."""
        return {}

    def _values(self, number: int) -> tuple[Values, Values]:
        """The values that the layers are given for an input, and the results of each
        layer alone."""
        assert self.alone is not None
        if number not in self.kept:
            known = self.reference.values(number, self.runs[number])
            given = self.alone.completed(known)
            return given, self.alone.alone(given)
        return self.kept[number]

    @cached_property
    def layers(self) -> frozenset[str]:
        """The names of layers with one result, or of those that have several."""
        return frozenset(layer_name(op) or "" for op in layers(self.model.module))

    @cached_property
    def rows(self) -> list[LayerDifference]:
        """All layers' results, in order."""
        return _layers_of(self.model, self.specs)

    @cached_property
    def specs(self) -> dict[str, TensorSpec]:
        """The specification of each side."""
        return result_specs(self.model)

    @property
    def alone(self) -> Computed | None:
        """The side whose layers run alone, on the values of the other one."""
        sides = (self.second, self.first)
        return next((side for side in sides if isinstance(side, Computed)), None)

    @property
    def reference(self) -> Side:
        """The side whose values the layers of the other are given."""
        return self.first if self.alone is self.second else self.second

    def add(self, number: int) -> None:
        """Compare on one input, whole networks and layers alone."""
        inputs = self.runs[number]
        a = self.first.values(number, inputs)
        b = self.second.values(number, inputs)
        for row in self.rows:
            if row.name in a and row.name in b:
                row.carried = row.carried or Difference()
                row.carried.add(number, a[row.name], b[row.name], self._zero(row))
        if self.alone is None:
            return
        given = self.alone.completed(a if self.alone is self.second else b)
        local = self.alone.alone(given)
        if number == 0:
            self.kept[0] = given, local
        for row in self.rows:
            known = a if self.alone is self.second else b
            if row.name in known and row.name in local:
                row.alone = row.alone or Difference()
                pair = given[row.name], local[row.name]
                row.alone.add(number, *self._in_order(pair), self._zero(row))

    def _zero(self, row: LayerDifference) -> int:
        return self.specs[row.name].zero_point or 0

    def _in_order(self, pair: tuple[Array, Array]) -> tuple[Array, Array]:
        """Reference and other value as those of the first and the second side."""
        return pair if self.alone is self.second else (pair[1], pair[0])

    def compare_steps(self) -> None:
        """Look for layers with other constants, on the first input."""
        a, b = self.first, self.second
        if not (isinstance(a, Computed) and isinstance(b, Computed)):
            return
        others = [row for row in self.rows if not a.has_same_rules(b, row.name)]
        for row in others:
            values, _ = self._values(0)
            if row.name in self.layers and b.is_ready(row.name, values):
                left, right = a.layer(row.name, values), b.layer(row.name, values)
                row.steps = other_step(left, right)

    def finish(self, place: Place | None) -> Diff:
        """All of it, with the chain of one element."""
        return Diff(
            self.first.title,
            self.second.title,
            len(self.runs),
            self.rows,
            None if self.alone is None else self.reference.title,
            self._chain(place),
            tuple(note for side in (self.first, self.second) for note in side.notes),
            self._causes(),
            any(isinstance(s, Live) and s.is_real for s in (self.first, self.second)),
        )

    def _causes(self) -> Causes | None:
        """The common cause of the differences of the first layer that differs alone."""
        row = next((r for r in self.rows if r.alone and r.alone.differing), None)
        if row is None or row.alone is None or row.alone.first is None:
            return None
        if isinstance(self.second, Version):
            return None  # each version has an exact result of its own
        sides = self.first, self.second
        names = self.first.title, self.second.title
        computed = [isinstance(side, Computed) for side in sides]
        found = Causes(names, (computed[0], computed[1]), row.alone.differing)
        numbers = range(row.alone.first[0], len(self.runs))
        for number in numbers[:EXAMINED] if ":" not in row.name else ():
            values, local = self._values(number)
            pair = self._in_order((values[row.name], local[row.name]))
            runs = [s.layer(row.name, values) for s in sides if isinstance(s, Computed)]
            found.add(runs, pair)
            if found.is_full:
                break
        return found

    def _chain(self, wanted: Place | None) -> ChainPair | None:
        found = self._place(wanted)
        if found is None or self.alone is None:
            return None
        place, number = found
        assert place.index is not None
        values, local = self._values(number)
        layer = place.layer
        if layer not in self.layers:  # a result of several: files have colons, too
            layer = layer.rpartition(":")[0]
        if place.layer not in values or not self.alone.is_ready(layer, values):
            return None
        traces: list[Trace | None] = []
        for side in (self.first, self.second):
            if isinstance(side, Computed) and layer == place.layer:
                run = side.layer(layer, values)
                traces.append(trace_of(run, layer, place.index))
            else:
                traces.append(None)
        pair = values[place.layer][place.index], local[place.layer][place.index]
        pairs = line_up(*traces, is_equal=bool(pair[0] == pair[1]))
        return ChainPair(
            place,
            number,
            self._in_order(pair),
            (traces[0], traces[1]),
            tuple(pairs),
            unusual_axes(self.model.module, layer),
        )

    def _place(self, wanted: Place | None) -> tuple[Place, int] | None:
        """The wanted element, or the first that differs alone, and in which input."""
        rows = [row for row in self.rows if wanted is None or row.name == wanted.layer]
        if wanted is not None and wanted.index is not None:
            return wanted, 0
        for row in rows:
            if row.alone is not None and row.alone.first is not None:
                number, index = row.alone.first
                return Place(row.name, index), number
        if wanted is None:
            return None
        return Place(wanted.layer, (0,) * len(self.specs[wanted.layer].shape)), 0


def line_up(a: Trace | None, b: Trace | None, *, is_equal: bool) -> list[Pair]:
    """The steps of one element on two sides, given the same values; those of one side
    where the other isn't computed here. None where both take the same steps; no step
    is marked where the results are equal."""
    left, right = (trace_rows(trace) if trace else [] for trace in (a, b))
    if not (left and right):
        return [*(Pair(row, None) for row in left), *(Pair(None, r) for r in right)]
    exact = next((trace.exact for trace in (a, b) if trace is not None), None)
    pairs = pair_rows(left, right, exact)
    if not any(pair.differs for pair in pairs):
        return []
    return [replace(p, is_parting=False) for p in pairs] if is_equal else pairs


def _layers_of(model: Model, specs: Mapping[str, TensorSpec]) -> list[LayerDifference]:
    results: defaultdict[str, list[str]] = defaultdict(list)
    for name in specs:
        for layer in {name, name.rpartition(":")[0]}:
            results[layer].append(name)
    return [
        LayerDifference(
            number, name, op.name.removeprefix("qnn."), math.prod(specs[name].shape)
        )
        for number, op in enumerate(layers(model.module))
        for name in results[layer_name(op) or ""]
    ]
