"""JSON that says something else: values of other kinds, places, sizes and depths."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence

Json = object

Other = Callable[[Json, random.Random], Json]
"""Another value in place of one."""

NUMBERS = (0, 1, -1, 2, 7, 255, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 70)
REALS = (0.0, -1.0, 0.5, 1e30, float("nan"), float("inf"))
STRINGS = ("", "x", "no such value", "../x", "\n", "\u202e", "\ud800", "1", "9" * 5000)
OF_OTHER_KINDS = (None, [], {}, True, "x", 3, float("nan"), [[]], {"x": []})
DEEP = "[" * 100_000


def damaged_json(data: bytes, choice: random.Random) -> bytes:
    """A JSON file with one to three changes."""
    for _ in range(choice.choice((1, 1, 2, 3))):
        data = changed_json(data, choice, other_value)
    if choice.random() < 0.03:
        place = choice.randrange(len(data) + 1)
        return data[:place] + DEEP.encode() + data[place:]
    return data


def changed_json(
    data: bytes, choice: random.Random, other: Other, names: Sequence[str] = STRINGS
) -> bytes:
    """JSON with one value, key or item of another kind or place; keys become some of
    `names`."""
    try:
        root: Json = json.loads(data)
    except ValueError:
        return data
    holders = list(_holders(root))
    if not holders:
        return data
    holder = choice.choice(holders)
    if isinstance(holder, list):
        _change_list(holder, choice, other)
    else:
        _change_object(holder, choice, other, names)
    if choice.random() < 0.1:
        _exchange(holders, choice)
    try:
        return json.dumps(root).encode()
    except (ValueError, RecursionError):  # a value that holds itself by now
        return data


def other_value(value: Json, choice: random.Random) -> Json:
    """Mostly another value of the same kind."""
    if choice.random() < 0.15:
        return choice.choice(OF_OTHER_KINDS)
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return choice.choice((*STRINGS, value.upper(), value[:-1], f"{value}x"))
    if isinstance(value, float):
        return choice.choice(REALS)
    if isinstance(value, int):
        return choice.choice((*NUMBERS, value + 1, -value, value * 1000, float(value)))
    return [value, value] if choice.random() < 0.3 else value


def _holders(value: Json) -> Iterator[list[Json] | dict[str, Json]]:
    """Every list and object that isn't empty."""
    if isinstance(value, list | dict) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _holders(inner)


def _change_list(held: list[Json], choice: random.Random, other: Other) -> None:
    place = choice.randrange(len(held))
    turn = choice.random()
    if turn < 0.2:
        del held[place]
    elif turn < 0.4:
        held.append(held[place])
    elif turn < 0.6:
        choice.shuffle(held)
    else:
        held[place] = other(held[place], choice)


def _change_object(
    held: dict[str, Json], choice: random.Random, other: Other, names: Sequence[str]
) -> None:
    key = choice.choice([*held])
    turn = choice.random()
    if turn < 0.15:
        del held[key]
    elif turn < 0.25:
        held[choice.choice(names)] = held.pop(key)
    else:
        held[key] = other(held[key], choice)


def _exchange(
    holders: list[list[Json] | dict[str, Json]], choice: random.Random
) -> None:
    """Put what one place holds into another, too."""
    source, target = choice.choice(holders), choice.choice(holders)
    values = [*source.values()] if isinstance(source, dict) else source
    if not values or not target:
        return
    if isinstance(target, dict):
        target[choice.choice([*target])] = choice.choice(values)
    else:
        target[choice.randrange(len(target))] = choice.choice(values)
