"""Run a model on one input, compare it, and collect the page's contents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.program.flavour import Flavour
from qlower.compilation.compilation import Compilation
from qlower.compilation.to_kernel import proofs_and_dropped
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import module_contract
from qlower.explain.diff import Progress, diff, no_progress
from qlower.explain.diff_result import Diff
from qlower.frontends.load import ModelOrPath
from qlower.inspection.layer_table import layer_statistics
from qlower.interp.values import Array
from qlower.model.input_sets import InputSet, ordered_input_set
from qlower.model.made_up_sizes import inputs_for_layers
from qlower.model.signature import assign_inputs
from qlower.process.float_environment import default_floats
from qlower.report.blocks import Block
from qlower.report.elements import cut_of, lanes_of
from qlower.report.graph import Node, graph_of
from qlower.report.layers import Limits, Seen, SeenLayer, layer_blocks
from qlower.report.levels import Levels
from qlower.report.measures import Measure, divergences, saturation, time_measure
from qlower.report.report import Report
from qlower.runtime.executable import Executable
from qlower.runtime.executors import JitFunction, Variant
from qlower.runtime.profiling import Profile
from qlower.sides.make_side import SideLike, make_side
from qlower.sides.sides import Computed, Side, Values
from qlower.tables.table import counted
from qlower.verification.equal import equal
from qlower.verification.verdict import Equality
from qlower.version import __version__


@default_floats()
def make_report(
    model: ModelOrPath,
    *inputs: Array,
    contract: str | None = None,
    against: SideLike | None = None,
    random: int = 0,
    layer_contracts: Mapping[str, str] | None = None,
    native: bool = True,
    verify: bool = False,
    match: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
    **named_inputs: Array,
) -> Report:
    """A model to look at: a page, and files for Model Explorer.

    Inputs are as for `interpret`; without any, one is drawn by the seed `random`. All
    inputs of a set are compared, and the first is shown. `against` is the side that the
    contract is compared with, as in `diff`; with `verify` it must be a contract, and
    the page also says which layers are equal for all inputs. Without `native` no
    machine code is made: there are neither times nor LLVM IR, and the same call gives
    the same report. `layer_contracts` is as in `lower`, `match` as in `diff`.
    """
    compilation = Compilation(
        model,
        contract,
        flavour=Flavour(is_profiled=native),
        layer_contracts=layer_contracts or {},
    )
    specs = compilation.model.inputs
    drawn = not (inputs or named_inputs)
    if drawn:
        inputs = inputs_for_layers(compilation.model, random)
    arrays = assign_inputs(specs, inputs, named_inputs)
    examples = ordered_input_set(specs, arrays)
    sides = _sides(compilation, contract, against, len(examples.runs), match)
    look = _Look(compilation, sides, examples.runs[0])
    found = look.diff(arrays, progress)
    equality = look.equality(against, native, progress) if verify else None
    profile, code = look.native() if native else (None, None)
    about = [
        ("contract", sides[0].title),
        *([("input", f"drawn by seed {random}")] if drawn else ()),
        *_told(examples, found),
        *([("times", f"on {compilation.target.cpu}, one thread")] if native else ()),
        ("made by", f"qlower {__version__}"),
    ]
    layers = look.layers(look.seen(found, profile, code, equality), progress)
    path = compilation.model.path
    return Report(
        "model" if path is None else path.name,
        about,
        look.nodes,
        list(_measures(found, profile, [layer for layer, _ in layers.values()])),
        {number: told for number, (_, told) in layers.items()},
        list(_verdict(look, found, equality)),
        found,
    )


def _sides(
    compilation: Compilation,
    contract: str | None,
    against: SideLike | None,
    runs: int,
    match: Mapping[str, str] | None,
) -> tuple[Computed, Side | None]:
    """The contract, and what it is compared with."""
    model = compilation.model
    name = contract or module_contract(model.module) or "interp"
    own = _Kept(name, model, contract)
    if against is None:
        return own, None
    other = make_side(against, model, contract, runs, match)
    if isinstance(other, Computed):
        how = other.executor, other.cpu, other.notes
        other = _Kept(other.title, other.model, other.contract, *how)
    return own, other


@dataclass(frozen=True)
class _Kept(Computed):
    """A side that computes the first input once, however often it is asked."""

    @cached_property
    def _known(self) -> dict[int, Values]:
        return {}

    def values(self, number: int, inputs: Values) -> Values:
        """Inputs and all layers' results."""
        if number:
            return super().values(number, inputs)
        if number not in self._known:
            self._known[number] = super().values(number, inputs)
        return self._known[number]


@dataclass(frozen=True)
class _Look:
    """A model by one side or two, looked at on one input."""

    compilation: Compilation
    sides: tuple[Computed, Side | None]
    inputs: Values

    @cached_property
    def nodes(self) -> list[Node]:
        """The model's graph."""
        return graph_of(self.compilation.model)

    def diff(self, arrays: Sequence[Array], progress: Progress) -> Diff | None:
        """The difference of the sides, on all inputs."""
        own, other = self.sides
        if other is None:
            return None
        return diff(own, other, self.compilation.model, *arrays, progress=progress)

    def equality(
        self, against: SideLike | None, native: bool, progress: Progress
    ) -> Equality:
        """The layers that are equal for all inputs."""
        if not isinstance(against, str):
            raise QlowerError("two contracts are verified: name the other one")
        own, model = self.sides[0].title, self.compilation.model
        return equal(own, against, model, native=native, progress=progress)

    def native(self) -> tuple[Profile, CompiledObject]:
        """The times of kernels, and their code."""
        code = self.compilation.code
        function = JitFunction(Executable(code), Variant.plain(code.signature))
        names = [spec.name for spec in function.inputs]
        return function.profile(*(self.inputs[name] for name in names)), code

    def seen(
        self,
        found: Diff | None,
        profile: Profile | None,
        code: CompiledObject | None,
        equality: Equality | None,
    ) -> Seen:
        """All that isn't of one layer."""
        compilation = self.compilation
        proofs, dropped = proofs_and_dropped(compilation.arith, compilation.target)
        given = compilation.model.module, proofs, compilation.contract
        rows = layer_statistics(*given, dropped)
        levels = Levels.of(compilation, code)
        statistics = {row.name: row for row in rows}
        limits = Limits.of(len(rows))
        return Seen(statistics, levels, limits, found, profile, equality)

    def layers(
        self, seen: Seen, progress: Progress
    ) -> dict[int, tuple[SeenLayer, list[Block]]]:
        """Each layer with its blocks, by the number of its node."""
        own = [node for node in self.nodes if node.op is not None]
        found: dict[int, tuple[SeenLayer, list[Block]]] = {}
        for place in progress(range(len(own)), "report"):
            layer = self._layer(own[place])
            found[own[place].number] = layer, list(layer_blocks(layer, seen))
        return found

    @cached_property
    def _given(self) -> Values:
        """The values that layers get when they are compared alone: those of the
        contract's side, or of another side if it can't be given any."""
        own, other = self.sides
        if other is None or isinstance(other, Computed):
            return own.values(0, self.inputs)
        return own.completed(other.values(0, self.inputs))

    def _layer(self, node: Node) -> SeenLayer:
        """A layer by both sides."""
        op, name, (own, other) = node.op, node.name, self.sides
        assert op is not None
        values = own.values(0, self.inputs)
        theirs: Values = {}
        if other is not None:
            theirs = other.values(0, self.inputs)
        carried = (values[name], theirs[name]) if name in theirs else None
        run = second = alone = None
        if isinstance(op, qnn.QnnOp):
            is_ready = own.is_ready(name, self._given)
            run = own.layer(name, self._given if is_ready else values)
            if isinstance(other, Computed):
                second = other.layer(name, values)
                alone = run.result, second.result
            elif carried is not None and is_ready:
                alone = run.result, theirs[name]
        lanes = None if run is None else lanes_of(run)
        cut = None if run is None else cut_of(run, lanes)
        return SeenLayer(
            name, op, values[name], run, second, lanes, cut, carried, alone
        )


def _verdict(
    look: _Look, found: Diff | None, equality: Equality | None
) -> Iterator[str]:
    """The head of the page: how much differs, in a sentence, then where."""
    if found is None:
        count = sum(node.op is not None for node in look.nodes)
        yield f"{counted(count, 'layer')} by {look.sides[0].title}"
    elif found.is_equal:
        yield f"{found.a} and {found.b}: no element differs"
    else:
        yield f"{found.a} and {found.b}: {_counts(look.nodes, found)}"
    if found is not None:
        yield from found.verdict
    if equality is not None:
        yield f"For all inputs: {equality.table.notes[0]}"


def _counts(nodes: Sequence[Node], found: Diff) -> str:
    """The number of layers that differ, and the part of the model's outputs."""
    alone = [row.alone for row in found.layers if row.alone is not None]
    each = alone or [row.carried for row in found.layers if row.carried is not None]
    count = sum(bool(one.differing) for one in each)
    verb = "differs" if count == 1 else "differ"
    how = (" by itself" if count == 1 else " by themselves") if alone else ""
    text = f"{count} of {counted(len(each), 'layer')} {verb}{how}"
    ends = [node for node in nodes if node.role == "output"]
    read = {source for node in ends for source in node.sources}
    last = {node.name for node in nodes if node.number in read}
    answers = [row.carried for row in found.layers if row.name in last and row.carried]
    if answers:
        apart = sum(one.differing for one in answers)
        size = sum(one.elements for one in answers)
        text += f"; outputs: {apart:,} of {counted(size, 'element')} differ"
    return text


def _told(examples: InputSet, found: Diff | None) -> Iterator[tuple[str, str]]:
    """The settings of the page, other than the model and its input."""
    if len(examples.runs) > 1:
        count = counted(len(examples.runs), "input")
        yield "inputs", f"{count}: all are compared, the first is shown"
    if found is not None:
        yield "compared with", found.b
        yield from (("", note) for note in found.notes)


def _measures(
    found: Diff | None, profile: Profile | None, layers: Sequence[SeenLayer]
) -> Iterator[Measure]:
    """The measures by which layers can be coloured."""
    if found is not None:
        yield from divergences(found)
    if profile is not None:
        yield time_measure(profile)
    yield saturation({one.name: one.cut for one in layers if one.cut is not None})
