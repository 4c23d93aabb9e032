"""Identify the arithmetic of a dump of a model's outputs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from qlower.contracts import contract_names, load_contract, parse_contract
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import module_contract
from qlower.explain.causes import Causes
from qlower.explain.diff import EXAMINED, Progress, no_progress
from qlower.frontends.load import ModelOrPath, as_model
from qlower.frontends.onnx.remarks import TRUNCATED_BIASES, ZERO_BIASES
from qlower.identification.device import NAME, Device, device_text
from qlower.identification.replay import Explanation, Replay
from qlower.identification.result import Alike, Identification
from qlower.identification.search import search
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.input_sets import ordered_input_set
from qlower.model.layers import layer_name, layers
from qlower.model.made_up_sizes import inputs_for_layers
from qlower.model.signature import assign_inputs
from qlower.process.float_environment import default_floats
from qlower.sides.make_side import SideLike, make_side
from qlower.sides.sides import Computed, Side, Values
from qlower.verification.equal import equal

LIVE_FAMILIES = {
    "torch": "pytorch",
    "litert": "tflite",
    "live:onnxruntime": "onnxruntime",
}
"""The contracts of live systems, by how their names begin."""

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
    """Identify the arithmetic of a dump: rank contracts by the outputs that they
    explain.

    `dump` is what `diff` takes as a side: a file or folder of outputs, of the whole
    model or of each layer, arrays by name, or a live system. Inputs are as for
    `interpret`, one or a set; with `random` one is drawn by that seed. Each layer gets
    what the dump has of the layers before it, and a new state. `contracts` are those
    that are tried, all by default; those that explain the same are compared for all
    inputs if `verify`. The family of arithmetics that are composed of steps is searched
    if `family`, by default where no contract explains everything and the model's own
    remarks give no other reason for that.

    Raises `QlowerError` for a dump without anything that a contract computes.
    """
    loaded = as_model(model)
    specs = loaded.inputs
    if random is not None:
        inputs = inputs_for_layers(loaded, random)
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
    replay.run_all(known, progress)
    own = _families(side, loaded)
    ranked = sorted(replay.explanations, key=partial(_rank, own=own))
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
    doubts = (one for one in (TRUNCATED_BIASES, ZERO_BIASES) if one in loaded.remarks)
    doubt = next(doubts, None)
    if family is None:
        family = not found.is_found and doubt != TRUNCATED_BIASES
    device = None
    if replay.observed and family:
        device = _device(replay, ranked, known, side.title, progress)
    causes = None if best.is_complete else _causes(best, loaded, known, side.title)
    return replace(found, alike=alike, device=device, doubt=doubt, causes=causes)


def _families(side: Side, model: Model) -> list[str]:
    """The families of contracts that the outputs may be of, the likeliest first: the
    one of a live system, and the one of the model's own contract."""
    live = next((name for name in LIVE_FAMILIES if side.title.startswith(name)), "")
    own = module_contract(model.module) or ""
    return list(filter(None, [LIVE_FAMILIES.get(live, ""), own]))


def _rank(one: Explanation, own: Sequence[str]) -> tuple[float, int, bool]:
    """The order of contracts: by what they explain; of equals the own families come
    first, and `exact`, which is nobody's arithmetic, last."""
    places = [
        2 * place + (one.name != name)
        for place, name in enumerate(own)
        if one.name.partition("-")[0] == name.partition("-")[0]
    ]
    return -one.share, min(places, default=2 * len(own)), one.name == "exact"


def _completed(side: Computed, known: Values, name: str) -> Values:
    """The values, and what the contract makes of those for the layers before one."""
    values = dict(known)
    for op in layers(side.model.module):
        layer = layer_name(op) or ""
        if layer == name:
            break
        if layer not in values:
            values[layer] = side.layer(layer, values).result
    return values


def _causes(
    best: Explanation, model: Model, known: Sequence[Values], title: str
) -> Causes | None:
    """The common cause of the outputs that a contract misses, in the first layer with
    misses; None for a layer with several results."""
    name, layer = next((n, one) for n, one in best.layers.items() if one.missed)
    side = Computed(best.name, model, best.name)
    several = any(":" in layer_result for layer_result in known[0])
    if layer.miss is None or several:
        return None
    found = Causes((title, best.name), (False, True), layer.missed)
    for values in known[layer.miss.run :][:EXAMINED]:
        run = side.layer(name, _completed(side, values, name))
        found.add([run], (values[name], run.result))
        if found.is_full:
            break
    return found


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
    again.run_all(known, no_progress)
    return Device(found, text, again.explanations[0])


def compare(best: str, other: str, model: Model, layers: Collection[str]) -> Alike:
    """Whether two contracts that explain the same are so for all inputs of layers."""
    found = equal(best, other, model, only=layers, native=False)
    apart = {
        verdict: [row.layer for row in found.layers if row.verdict == verdict]
        for verdict in ("differs", "undecided")
    }
    return Alike(other, apart["differs"], apart["undecided"])
