"""Recurrent modules as a node for each direction of each layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from .program import Tensor
from .translating import RANGED_RECURRENT, RECURRENT, TORCH, CallSite, Translate

STATES = {"LSTM": 2, "GRU": 1, "TanhRNN": 1, "ReluRNN": 1}
"""The kinds of layers, and how many states each carries from step to step."""


def recurrent(site: CallSite, *, kind: str, is_ranged: bool = False) -> None:
    """The layers, a node for each direction, and their last states.

    A direction has weights and a bias of its inputs, then those of its state; in one
    that `is_ranged` scales follow the weights. aten::lstm.input has all weights first.
    """
    name, x = site.call.results[0], site.tensor("input")
    is_turned = site.integer("batch_first")
    directions = 2 if site.integer("bidirectional") else 1
    swap = {"dim0": 0, "dim1": 1}
    if is_turned:
        site.add("TransposeTwo", [x], swap, domain=TORCH, results=[f"{name}/turned"])
        x = f"{name}/turned"
    initial = _initial(site)
    if len(initial) not in (0, STATES[kind]):
        raise site.error(f"{len(initial)} initial states; expected {STATES[kind]}")
    ends: list[list[str]] = [[] for _ in range(STATES[kind])]
    sides: list[str] = []
    parameters = _parameters(site, directions, is_ranged=is_ranged)
    for number, own in enumerate(parameters):
        results = [f"{name}/{number}/steps"]
        results += [f"{name}/{number}/end_{at}" for at in range(STATES[kind])]
        direction = ("forward", "reverse")[number % directions]
        site.add(
            kind,
            [x, *own, *initial],
            {"direction": direction, "number": number, "directions": len(parameters)},
            domain=TORCH,
            results=results,
        )
        sides.append(results[0])
        for end, one in zip(ends, results[1:], strict=True):
            end.append(one)
        if len(sides) == directions:
            x = f"{name}/{number}/layer"
            _joined(site, sides, 2, x)
            sides = []
    steps, *last = site.call.results
    if is_turned:
        site.add("TransposeTwo", [x], swap, domain=TORCH, results=[steps])
    else:
        site.add("Identity", [x], results=[steps])
    for end, one in zip(ends, last, strict=False):
        _joined(site, end, 0, one)


def _initial(site: CallSite) -> list[str]:
    """States before the first step; without them they are 0."""
    given = site.argument("hx")
    if given is None:
        return []
    return [site.tensor("hx")] if isinstance(given, Tensor) else site.tensors("hx")


def _parameters(
    site: CallSite, directions: int, *, is_ranged: bool
) -> list[Sequence[str]]:
    """The operands of each direction: weights, scales and bias, of inputs and of the
    state."""
    given = site.tensors("params")
    if is_ranged:
        return [given[at : at + 6] for at in range(0, len(given), 6)]
    site.expect("train", False)
    has_biases = bool(site.integer("has_biases"))
    count, layers = 2 + 2 * has_biases, site.integer("num_layers", None, 1)
    if len(given) != count * layers * directions:
        raise site.error(
            f"{len(given)} parameters of {layers} layers; expected {count} of each"
            " direction (projections of the state are not supported)"
        )
    groups = [given[at : at + count] for at in range(0, len(given), count)]
    return [
        (weights, "", *(biases[:1] or [""]), of_state, "", *(biases[1:] or [""]))
        for weights, of_state, *biases in groups
    ]


def _joined(site: CallSite, parts: Sequence[str], axis: int, result: str) -> None:
    kind, attributes = (
        ("Concat", {"axis": axis}) if len(parts) > 1 else ("Identity", {})
    )
    site.add(kind, parts, attributes, results=[result])


CALLS: Mapping[str, Translate] = {
    target: partial(recurrent, kind=kind) for target, kind in RECURRENT.items()
}

RANGED_CALLS: Mapping[str, Translate] = {
    target: partial(recurrent, kind=kind, is_ranged=True)
    for kind, target in RANGED_RECURRENT.items()
}
