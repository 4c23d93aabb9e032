"""One model on qlower and its peers: what is run, and the result as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from qlower.bench.measure import Spread, interleave
from qlower.bench.peers import Unavailable, peer_version, prepare_peer
from qlower.compilation import Compilation
from qlower.diagnostics import LOGGER
from qlower.model.random_inputs import random_input
from qlower.runtime.profiling import Profile
from qlower.version import __version__

OURS = "qlower"


@dataclass(frozen=True)
class Options:
    """How to compare. `against` names the peers, each with its file of the model or
    None for the one beside it."""

    against: Mapping[str, Path | None]
    rounds: int


@dataclass(frozen=True)
class Comparison:
    """A model with one number of threads.

    `times` are microseconds by contestant; `ratios` the peers' times over qlower's in
    the same round, above 1 where qlower is faster; `absent` says why a peer is missing.
    """

    model: str
    threads: int
    times: Mapping[str, Spread]
    ratios: Mapping[str, Spread]
    absent: Mapping[str, str]

    def ratio_of_medians(self, peer: str) -> float:
        return self.times[peer].median / self.times[OURS].median


@dataclass(frozen=True)
class Machine:
    """Where it was measured, and by what. `load` is how many threads wanted to run, on
    average over the last minute: with more than took part, the cores were shared.
    `peak` is that of one core's dot product, in G multiply-accumulates a second."""

    cpu: str
    cores: int
    load: float
    peak: float | None
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
    random = np.random.default_rng(0)
    inputs = [random_input(spec, random) for spec in run.inputs]
    calls: dict[str, Callable[[], object]] = {OURS: run.bind(*inputs)}
    absent: dict[str, str] = {}
    for peer, file in options.against.items():
        try:
            calls[peer] = prepare_peer(peer, model, file, inputs, threads)
        except Unavailable as reason:
            absent[peer] = str(reason)
    timings = interleave(calls, options.rounds, threads=threads)
    return Comparison(
        name,
        threads,
        {contestant: timings.time(contestant) for contestant in calls},
        {peer: timings.ratio(peer, OURS) for peer in calls if peer != OURS},
        absent,
    )


def layer_times(compilation: Compilation, rounds: int) -> Profile:
    """The time of every nest and copy of a profiled compilation."""
    run = compilation.function()
    random = np.random.default_rng(0)
    inputs = [random_input(spec, random) for spec in run.inputs]
    return run.profile(*inputs, calls=rounds)


def installed_versions(peers: Sequence[str]) -> dict[str, str]:
    """The versions of qlower and of those peers that took part."""
    return {OURS: __version__, **{peer: peer_version(peer) for peer in peers}}


def model_name(model: Path) -> str:
    """The file's stem, or the folder's name where all files are called `model`."""
    return model.resolve().parent.name if model.stem == "model" else model.stem
