"""Verdicts' files in which one entry says something else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

Leaf = tuple[tuple[str | int, ...], object]


def forgeries(data: object, path: tuple[str | int, ...] = ()) -> Iterator[Leaf]:
    """What may be said instead at each place of a record; DELETED for nothing."""
    before = json.dumps(data)
    if path:
        others = (one for one in _instead_of(data) if json.dumps(one) != before)
        yield from ((path, one) for one in others)
    match data:
        case dict():
            for key, value in cast(dict[str, object], data).items():
                yield (*path, key), DELETED
                yield from forgeries(value, (*path, key))
            yield (*path, "more"), 1
        case list():
            for place, value in enumerate(cast(list[object], data)):
                yield from forgeries(value, (*path, place))
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
        case str():
            flipped = {"equal": "differs", "fits": "leaves", "any": "memory"}
            back = {new: old for old, new in flipped.items()}
            yield {**flipped, **back, "undecided": "equal"}.get(data, data + "x")
            yield from (data[:-1], data + " ", data.upper(), [data])
        case _:
            pass


DELETED = object()


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
