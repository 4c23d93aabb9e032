"""One model on qlower and its peers: what is run, and the result as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from qlower.bench.measure import Spread, interleave
from qlower.bench.peers import PEERS, Unavailable, peer_version, prepare_peer
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import LOGGER, QlowerError
from qlower.model.random_inputs import random_input
from qlower.model.signature import Array, TensorSpec
from qlower.runtime.profiling import Profile
from qlower.runtime.roof import Roof
from qlower.version import __version__

OURS = "qlower"


@dataclass(frozen=True)
class Options:
    """The settings of a comparison. `against` names peers, each with its file of the
    model, or None for the one next to `model`."""

    against: Mapping[str, Path | None]
    rounds: int


@dataclass(frozen=True)
class PeerDifference:
    """The number of a model's `outputs` on one drawn input in which a peer differs from
    the code that is timed, and from `contract`, which has the peer's arithmetic, where
    there is one that takes the model."""

    outputs: int
    differing: int
    contract: str | None = None
    differing_by_contract: int | None = None


@dataclass(frozen=True)
class Comparison:
    """A model with one number of threads.

    `times` are microseconds by contestant; `ratios` the peers' times over qlower's in
    the same round, above 1 where qlower is faster; `differences` are of those peers
    that run on qlower's inputs; `absent` says why a peer is missing.
    """

    model: str
    threads: int
    times: Mapping[str, Spread]
    ratios: Mapping[str, Spread]
    absent: Mapping[str, str]
    differences: Mapping[str, PeerDifference] = field(
        default_factory=dict[str, PeerDifference]
    )

    def ratio_of_medians(self, peer: str) -> float:
        return self.times[peer].median / self.times[OURS].median


@dataclass(frozen=True)
class Machine:
    """The machine and software of a measurement. `load` is the average number of
    runnable threads over the last minute: if it exceeds the threads that took part,
    cores were shared. `roof` is that of one core."""

    cpu: str
    cores: int
    load: float
    roof: Roof | None
    versions: Mapping[str, str]


@dataclass
class Report:
    """All that one run has measured; `layers` by model, of one thread."""

    machine: Machine
    comparisons: list[Comparison] = field(default_factory=list[Comparison])
    layers: dict[str, Profile] = field(default_factory=dict[str, Profile])


def compare(model: Path, compilation: Compilation, options: Options) -> Comparison:
    """Time the compilation of the model in a file on random inputs."""
    name, threads = model_name(model), compilation.flavour.threads
    LOGGER.info("bench %s with %d threads", name, threads)
    run = compilation.function()
    inputs = drawn_inputs(run.inputs)
    calls: dict[str, Callable[[], object]] = {OURS: run.bind(*inputs)}
    absent: dict[str, str] = {}
    differences: dict[str, PeerDifference] = {}
    for peer, file in options.against.items():
        try:
            prepared = prepare_peer(peer, model, file, inputs, threads)
        except Unavailable as reason:
            absent[peer] = str(reason)
            continue
        calls[peer] = prepared.call
        if prepared.outputs is not None:
            contract = PEERS[peer].contract
            found = prepared.outputs()
            differences[peer] = _difference(found, compilation, contract, inputs)
    timings = interleave(calls, options.rounds, threads=threads)
    return Comparison(
        name,
        threads,
        {contestant: timings.time(contestant) for contestant in calls},
        {peer: timings.ratio(peer, OURS) for peer in calls if peer != OURS},
        absent,
        differences,
    )


def _difference(
    found: Sequence[Array],
    compilation: Compilation,
    contract: str | None,
    inputs: Sequence[Array],
) -> PeerDifference:
    """Differences of a peer's outputs from a compilation's, and from those of the
    peer's contract."""
    outputs = sum(array.size for array in found)
    timed = _differing(found, compilation, inputs)
    if contract is None:
        return PeerDifference(outputs, timed)
    try:
        own = replace(compilation, contract=contract, layer_contracts={})
        return PeerDifference(outputs, timed, contract, _differing(found, own, inputs))
    except QlowerError as error:
        LOGGER.info("%s", error)
        return PeerDifference(outputs, timed, contract)


def _differing(
    found: Sequence[Array], compilation: Compilation, inputs: Sequence[Array]
) -> int:
    """The numbers that differ; all of an output with another shape or type."""
    ours, _ = compilation.function().run(inputs, {})
    return sum(
        int(np.count_nonzero(theirs != own))
        if (theirs.shape, theirs.dtype) == (own.shape, own.dtype)
        else theirs.size
        for theirs, own in zip(found, ours, strict=True)
    )


def layer_times(compilation: Compilation, rounds: int) -> Profile:
    """The time of every nest and copy of a profiled compilation."""
    run = compilation.function()
    return run.profile(*drawn_inputs(run.inputs), calls=rounds)


def drawn_inputs(specs: Sequence[TensorSpec]) -> list[Array]:
    """An array of each input, drawn by a fixed seed: any numbers of its type, but 0 or
    1 of 32 and 64 bits, which are places in tables, such as of words: other runtimes
    refuse those that there aren't."""
    random = np.random.default_rng(0)
    drawn = [random_input(spec, random) for spec in specs]
    return [
        array % 2 if array.dtype.kind == "i" and array.itemsize >= 4 else array
        for array in drawn
    ]


def installed_versions(peers: Sequence[str]) -> dict[str, str]:
    """The versions of qlower and of those peers that took part."""
    return {OURS: __version__, **{peer: peer_version(peer) for peer in peers}}


def model_name(model: Path) -> str:
    """The file's stem, or the folder's name where all files are called `model`."""
    return model.resolve().parent.name if model.stem == "model" else model.stem
