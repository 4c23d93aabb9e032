"""Names of tensors, each of its own, and what users mean by one."""

from __future__ import annotations

from collections.abc import Iterator

from qlower.model.names import short_names

from ..graph.values import distinct
from ..import_options import unknown_output
from .schema import Model


def unique_names(model: Model) -> dict[int, str]:
    """A name of its own for every tensor, by index.

    Of tensors with the same name the first computed one keeps it plain.
    """
    names: dict[int, str] = {}
    taken: set[str] = set()
    for index in _naming_order(model):
        if index not in names and 0 <= index < len(model.tensors):
            names[index] = distinct(model.tensors[index].name, f"#{index}", taken)
    return names


def _naming_order(model: Model) -> Iterator[int]:
    yield from model.inputs
    for operator in model.operators:
        yield from operator.outputs
    yield from range(len(model.tensors))


def short_tensor_names(model: Model, names: dict[int, str]) -> dict[int, str]:
    """Short names, as tables have them, of the tensors that are computed."""
    computed = [
        index
        for operator in model.operators
        for index in operator.outputs
        if index in names
    ]
    short = short_names([names[index] for index in computed])
    return dict(zip(computed, short, strict=True))


def find_tensor(wanted: str, names: dict[int, str], short: dict[int, str]) -> int:
    """The computed tensor of this name, or of this short name."""
    for known in ({index: names[index] for index in short}, short):
        for index, name in known.items():
            if name == wanted:
                return index
    raise unknown_output(wanted, [*short.values()])
