"""Whose arithmetic made the outputs that a dump has of a model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from qlower.contracts import contract_names, load_contract, parse_contract
from qlower.diagnostics import QlowerError
from qlower.explain.diff import Progress, no_progress
from qlower.explain.make_side import SideLike, make_side
from qlower.explain.sides import Values
from qlower.float_environment import default_floats
from qlower.frontends.load import ModelOrPath, as_model
from qlower.frontends.onnx.remarks import TRUNCATED_BIASES
from qlower.identification.device import NAME, Device, device_text
from qlower.identification.replay import Explanation, Replay
from qlower.identification.result import Alike, Identification
from qlower.identification.search import search
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.input_sets import ordered_input_set
from qlower.model.layers import layer_name
from qlower.model.random_inputs import random_inputs
from qlower.model.signature import assign_inputs
from qlower.verification.equal import equal

MOST_VERIFIED = 6
"""Maximum number of equally good contracts to compare; beyond it the outputs are too
weak to decide."""


@default_floats()
def identify(
    dump: SideLike,
    model: ModelOrPath,
    *inputs: Array,
    contracts: Sequence[str] | None = None,
    random: int | None = None,
    verify: bool = True,
    family: bool | None = None,
    progress: Progress = no_progress,
    **named_inputs: Array,
) -> Identification:
    """Whose arithmetic made a dump: every contract by the outputs that it explains.

    `dump` is what `diff` takes as a side: a file or folder of outputs, of the whole
    model or of each layer, arrays by name, or a live system. Inputs are as for
    `interpret`, one or a set; with `random` one is drawn by that seed. Each layer gets
    what the dump has of the layers before it, and a new state. `contracts` are those
    that are tried, all by default; those that explain the same are compared for all
    inputs if `verify`. The family of arithmetics that are composed of steps is
    searched if `family`, by default where no contract explains everything and the
    model's own remarks give no other reason for that.

    Raises `QlowerError` for a dump without anything that a contract computes.
    """
    loaded = as_model(model)
    specs = loaded.inputs
    if random is not None:
        inputs = random_inputs(specs, random)
    arrays = assign_inputs(specs, inputs, named_inputs)
    examples = ordered_input_set(specs, arrays)
    side = make_side(dump, loaded, None, len(examples.runs))
    names = contract_names() if contracts is None else contracts
    replay = Replay(loaded, {name: load_contract(name) for name in names})
    states = loaded.new_state().by_name
    known = [
        {**states, **side.values(number, run)}
        for number, run in enumerate(examples.runs)
    ]
    for number in progress(range(len(known)), "identify"):
        replay.run(number, known[number])
    ranked = sorted(replay.explanations, key=lambda one: -one.explained)
    best = ranked[0]
    if not best.outputs:
        raise QlowerError(f"{side.title} has no result that a contract computes")
    found = Identification(side.title, len(known), ranked, [], side.notes)
    is_told = verify and found.is_found and len(found.same) <= MOST_VERIFIED
    same = found.same if is_told else []
    alike = [
        compare(best.name, same[number], loaded, replay.computed)
        for number in progress(range(len(same)), "verify")
    ]
    doubt = TRUNCATED_BIASES if TRUNCATED_BIASES in loaded.remarks else None
    if family is None:
        family = not found.is_found and doubt is None
    device = None
    if replay.observed and family:
        device = _device(replay, ranked, known, side.title, progress)
    return replace(found, alike=alike, device=device, doubt=doubt)


def _device(
    replay: Replay,
    ranked: Sequence[Explanation],
    known: Sequence[Values],
    title: str,
    progress: Progress,
) -> Device:
    """The best arithmetic for convolutions and linear layers; the contract that best
    explains all other layers has the rest."""
    searched = {layer_name(one.op) for one in replay.observed}

    def elsewhere(one: Explanation) -> int:
        rest = (layer for name, layer in one.layers.items() if name not in searched)
        return sum(layer.explained for layer in rest)

    base = max(ranked, key=elsewhere)
    found = search(replay.observed, base.contract, progress)
    text = device_text(found, base.name, title)
    again = Replay(replay.model, {NAME: parse_contract(text, NAME, f"{NAME}.mlir")})
    for number, values in enumerate(known):
        again.run(number, values)
    return Device(found, text, again.explanations[0])


def compare(best: str, other: str, model: Model, layers: Collection[str]) -> Alike:
    """Whether two contracts that explain the same are so for all inputs of layers."""
    found = equal(best, other, model, only=layers, native=False)
    apart = {
        verdict: [row.layer for row in found.layers if row.verdict == verdict]
        for verdict in ("differs", "undecided")
    }
    return Alike(other, apart["differs"], apart["undecided"])
