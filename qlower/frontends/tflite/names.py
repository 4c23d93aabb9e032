"""Names of tensors, each of its own."""

from __future__ import annotations

from collections.abc import Iterator

from ..graph.values import distinct
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


def computed_tensors(model: Model, names: dict[int, str]) -> dict[int, str]:
    """The names of the tensors that are computed, by index."""
    return {
        index: names[index]
        for operator in model.operators
        for index in operator.outputs
        if index in names
    }
