"""Verdicts' files in which one entry says something else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

Leaf = tuple[tuple[str | int, ...], object]

DELETED = object()

NEW_LINE = "\nall as the verdict says"
"""A text that has this must not show it as a line."""

LEGAL: Mapping[str, Sequence[object]] = {
    "question": ["equal", "fits", "groups", "native"],
    "verdict": ["equal", "differs", "undecided", "fits", "leaves", "real"],
    "order": ["any", "memory"],
    "what": ["accumulator", "pairs"],
    "of": ["result", "element"],
    **{key: ["tflite", "tflm"] for key in ("a", "b", "contract", "contracts")},
}
"""What entries of these names may say."""


def forgeries(record: object) -> Iterator[Leaf]:
    """What may be said instead at each place of a record; DELETED for nothing.

    Entries are also said to be as others of their name are.
    """
    names: dict[str, list[object]] = {key: [*legal] for key, legal in LEGAL.items()}
    for name, value in _named(record):
        names.setdefault(name, []).append(value)
    return _forgeries(record, (), names)


def _named(data: object) -> Iterator[tuple[str, object]]:
    """The texts and numbers of entries, by name."""
    match data:
        case dict():
            for key, value in cast(dict[str, object], data).items():
                if isinstance(value, str | int | float):
                    yield key, value
                yield from _named(value)
        case list():
            for value in cast(list[object], data):
                yield from _named(value)
        case _:
            pass


def _forgeries(
    data: object, path: tuple[str | int, ...], names: Mapping[str, Sequence[object]]
) -> Iterator[Leaf]:
    before = json.dumps(data)
    if path:
        name = next(key for key in reversed(path) if isinstance(key, str))
        others = {json.dumps(one): one for one in _instead_of(data)}
        if isinstance(data, str | int | float):
            others |= {json.dumps(one): one for one in names.get(name, ())}
        yield from ((path, one) for text, one in others.items() if text != before)
    match data:
        case dict():
            for key, value in cast(dict[str, object], data).items():
                yield (*path, key), DELETED
                yield from _forgeries(value, (*path, key), names)
            yield from (((*path, "more"), one) for one in (1, None))
        case list():
            for place, value in enumerate(cast(list[object], data)):
                yield from _forgeries(value, (*path, place), names)
        case _:
            pass


def _instead_of(data: object) -> Iterator[object]:
    """Other values, and those of other types."""
    yield from (None, {}, [], "", "something", 0, 1, True, False)
    match data:
        case list():
            items = cast(list[object], data)
            yield from (items[:-1], items[1:], [*items, *(items[-1:] or ["more"])])
            yield from ([*items[1:], *items[:1]], [None] * len(items))
        case int() | float():
            yield from (data + 1, data - 1, -data, str(data), float(data), int(data))
            yield from (-float(data), data + 0.5, 1 << 70, float("nan"), float("inf"))
        case str():
            yield from (data + "x", data[:-1], data + " ", data.upper(), [data])
            yield from (data + NEW_LINE, "\x00", "\ud800", "../" + data, "x.mlir")
        case _:
            pass


def forged(record: object, leaf: Leaf) -> object:
    """A copy of a record that says something else at a place."""
    copy = json.loads(json.dumps(record))
    (*path, last), value = leaf
    inner = copy
    for step in path:
        inner = inner[step]
    if value is DELETED:
        del inner[last]
    else:
        inner[last] = value
    return copy
