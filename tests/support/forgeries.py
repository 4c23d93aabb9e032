"""Verdicts' files in which one entry says something else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

Leaf = tuple[tuple[str | int, ...], object]


def forgeries(data: object, path: tuple[str | int, ...] = ()) -> Iterator[Leaf]:
    """What may be said instead at each place of a record; DELETED for nothing."""
    match data:
        case dict():
            for key, value in cast(dict[str, object], data).items():
                yield (*path, key), DELETED
                yield from forgeries(value, (*path, key))
            yield (*path, "more"), 1
        case list():
            items = cast(list[object], data)
            yield path, [*items, items[-1] if items else "more"]
            if items:
                yield path, items[:-1]
                yield path, []
            for place, value in enumerate(items):
                yield from forgeries(value, (*path, place))
        case bool():
            yield path, not data
        case int() | float():
            yield from ((path, data + 1), (path, str(data)), (path, None))
        case str():
            flipped = {"equal": "differs", "fits": "leaves", "any": "memory"}
            back = {new: old for old, new in flipped.items()}
            yield path, {**flipped, **back, "undecided": "equal"}.get(data, data + "x")
            yield from ((path, None), (path, [data]))
        case _:
            yield from ((path, "something"), (path, 0))


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
