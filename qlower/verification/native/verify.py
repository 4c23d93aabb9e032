"""Whether the machine code of a model gives what its contract says, for all inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from time import perf_counter
from typing import TypeGuard

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.targets.resolve import Target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import NestOp, ScanOp
from qlower.dialects.qnn.attributes import module_contract
from qlower.explain.diff import Progress, no_progress
from qlower.frontends.load import ModelOrPath
from qlower.interp import Array
from qlower.model.entry import main_function
from qlower.model.layers import layer_name, layer_names, layer_title, layers
from qlower.model.made_up_sizes import check_size
from qlower.process.float_environment import default_floats
from qlower.sides.sides import Computed
from qlower.verification.hashes import hashes_of
from qlower.verification.native.found import Found
from qlower.verification.native.on_bytes import decide_bytes
from qlower.verification.native.on_rows import look_at_rows
from qlower.verification.native.on_sums import decide_sums
from qlower.verification.native.products import StoredBytes, decide_products
from qlower.verification.native.reference import References
from qlower.verification.native.sweep import Bind, bind_code
from qlower.verification.native.verdict import Level, Native, NativeVerdict
from qlower.verification.native.whole import WholeModel
from qlower.verification.sum_rule import SUMMING, Unfit


@default_floats()
def native(
    model: ModelOrPath,
    levels: Mapping[str, Target],
    *,
    contract: str | None = None,
    layer_contracts: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    with_whole: bool = False,
    bind: Bind = bind_code,
    progress: Progress = no_progress,
) -> Native:
    """Whether code for some targets, by their names, gives what the contract says.

    Each function of the code, a layer or several in one, is decided by itself, for all
    that it could be given; then the whole code is run on drawn inputs. `bind` runs
    code; with `only` no other layers' functions are looked at, nor the whole. The whole
    is `with_whole`, and the other functions are then listed as undecided.
    """
    start = perf_counter()
    chosen = dict(layer_contracts or {})
    shared = Compilation(model, contract, layer_contracts=chosen)
    default = contract or module_contract(shared.model.module)
    references = References(Computed(default or "", shared.model, contract))
    every = [
        (level, nests)
        for level, target in levels.items()
        for nests in _functions(shared.for_target(target).kernels)
    ]
    computed = {name for _, (nest, *_) in every for name in layer_names(nest)}
    names = (layer_name(op) or op.name for op in layers(shared.model.module))
    is_whole = with_whole or only is None
    looked_at = (n for n in names if only is None or with_whole or n in only)
    moved = [name for name in looked_at if name not in computed]

    def is_asked_for(nests: Sequence[NestOp | ScanOp]) -> bool:
        return only is None or not set(layer_names(nests[0])).isdisjoint(only)

    work = [one for one in every if is_whole or is_asked_for(one[1])]
    code = {level: sha256() for level in levels}
    stored = {level: StoredBytes() for level in levels}

    def decided(number: int) -> NativeVerdict:
        level, nests = work[number]

        def hashed(
            compiled: CompiledObject, inputs: Sequence[Array], outputs: Sequence[Array]
        ) -> Callable[[], object]:
            for one in compiled.objects:
                code[level].update(one)
            return bind(compiled, inputs, outputs)

        verdict = _verdict(level, nests[0], references)
        if not is_asked_for(nests):
            return replace(verdict, how="not looked at")
        try:
            check_size(references.operations[one] for one in layer_names(nests[0]))
            found = _decide(nests, references, levels[level], hashed, stored[level])
        except Unfit as reason:
            return replace(verdict, how=str(reason))
        except QlowerError as reason:
            return replace(verdict, how=reason.message)
        nothing = "equal" if found.is_decided else verdict.verdict
        return replace(
            verdict,
            verdict=nothing if found.difference is None else "differs",
            how=found.how,
            numbers=found.numbers,
            channels=found.channels,
            difference=found.difference,
        )

    rows = [decided(number) for number in progress(range(len(work)), "verify")]
    model_by_contract = WholeModel(shared)
    whole = {
        level: found
        for level, target in levels.items()
        if is_whole
        and (found := model_by_contract.on(shared.for_target(target), bind)) is not None
    }
    hashes = hashes_of(shared.model, shared.model, *([default] if default else []))
    hashes |= {f"code for {level}": one.hexdigest() for level, one in code.items()}
    named = {level: Level.of(target) for level, target in levels.items()}
    seconds = perf_counter() - start
    return Native(default or "", rows, named, hashes, chosen, seconds, whole, moved)


def _verdict(
    level: str, nest: NestOp | ScanOp, references: References
) -> NativeVerdict:
    """The verdict for a function where nothing is decided."""
    operations = [references.operations[name] for name in layer_names(nest)]
    kind = " + ".join(op.name.removeprefix("qnn.") for op in operations)
    return NativeVerdict(level, layer_title(nest) or nest.name, kind, "undecided", "")


def _decide(
    functions: Sequence[NestOp | ScanOp],
    references: References,
    target: Target,
    bind: Bind,
    stored: StoredBytes,
) -> Found:
    """Decide a nest that alone computes its layers: what it adds up, and what it makes
    of that; or look at those that compute a layer together. `stored` are the bytes of
    nests before it, as they were found. Raises Unfit."""
    nests = [nest for nest in functions if isinstance(nest, NestOp)]
    if len({layer_names(nest) for nest in functions}) > 1 or nests != [*functions]:
        raise Unfit("several functions compute the layer")
    nest = nests[-1]
    first, *_ = layer_names(nest)
    if len(nests) > 1:
        found = look_at_rows(nests, references, target, bind, stored)
    elif not nest.reduction_bounds:
        found = decide_bytes(nest, references, target, bind, stored)
    elif isinstance(references.operations[first], SUMMING):
        try:
            wrong = decide_products(nest, references, target, bind, stored)
        except Unfit as reason:
            wrong, unseen = None, f", not of which products: {reason}"
        else:
            unseen = ""
        if wrong is not None:
            return wrong
        found = decide_sums(nest, references, target, bind, stored)
        found = replace(found, how=f"{found.how}{unseen}")
    else:
        raise Unfit("its results are no functions of a sum")
    if found.difference is None:
        stored.settle(nest.res[0], found.flip)
    return found


def _functions(kernels: ModuleOp) -> Iterator[Sequence[NestOp | ScanOp]]:
    """The nests and scans that compute something, the first of those for the same
    layers, each followed by the others that compute any of its layers."""
    nests = [op for op in main_function(kernels).body.block.ops if _computes(op)]
    told: set[tuple[str, ...]] = set()
    for nest in nests:
        names = layer_names(nest)
        if names not in told:
            told.add(names)
            others = (
                one for one in nests if not set(names).isdisjoint(layer_names(one))
            )
            yield [nest, *(one for one in others if one is not nest)]


def _computes(nest: Operation) -> TypeGuard[NestOp | ScanOp]:
    """Whether an operation does more than move elements."""
    if not isinstance(nest, NestOp):
        return isinstance(nest, ScanOp)
    return bool(nest.reduction_bounds) or len(nest.epilogue.block.ops) > 1
