"""The layers of a model that a user's text means."""

from __future__ import annotations

from difflib import get_close_matches
from fnmatch import fnmatchcase

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.model.layers import full_name, layer_name, layers

MOST_SUGGESTIONS = 3


def select_layers(module: ModuleOp, wanted: str) -> list[str]:
    """The names of the layers that `wanted` means, in the model's order.

    That is a layer's number (from 0, as tables have it), its name, its full name, or a
    glob of either kind of name. Raises `QlowerError` where there is none.
    """
    names = {layer_name(op) or "": full_name(op) or "" for op in layers(module)}
    exact = [
        name
        for number, (name, full) in enumerate(names.items())
        if wanted in (str(number), name, full)
    ]
    found = exact or [
        name
        for name, full in names.items()
        if fnmatchcase(name, wanted) or fnmatchcase(full, wanted)
    ]
    if not found:
        raise QlowerError(
            f"the model has no layer {wanted!r}", help=_suggestion(names, wanted)
        )
    return found


def _suggestion(names: dict[str, str], wanted: str) -> str:
    """The names closest to `wanted`, or how to see them all."""
    text = wanted.strip("*").lower()
    close = [
        name
        for name, full in names.items()
        if text and (text in name.lower() or text in full.lower())
    ] or get_close_matches(wanted, names, n=MOST_SUGGESTIONS, cutoff=0.4)
    if close:
        return f"did you mean {', '.join(map(repr, close[:MOST_SUGGESTIONS]))}?"
    if not names:
        return "it has no layers"
    if len(names) <= MOST_SUGGESTIONS:
        return f"it has {', '.join(map(repr, names))}"
    return f"it has layers 0 to {len(names) - 1}, see qlower inspect --stats"
