"""`.pt2` files that say something else: names, sizes, types, arguments, entries."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Iterator
from io import BytesIO

from qlower.frontends.pt2.calls import TABLE
from support.pt2_builder import archive

NUMBERS = (0, 1, -1, 2, 7, 255, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 70)
STRINGS = ("", "x", "v3", "p0", "no such value", "../x", "\n", "\u202e", "\ud800")
TARGETS = tuple(f"torch.ops.{target}" for target in TABLE)
KINDS = ("as_none", "as_int", "as_ints", "as_float", "as_tensor", "as_tensors", "as_x")

Json = object


def mutant(data: bytes, choice: random.Random) -> bytes:
    """A copy of the archive in which one to three fields or entries are others."""
    with zipfile.ZipFile(BytesIO(data)) as file:
        entries = {
            name.removeprefix("model/"): file.read(name) for name in file.namelist()
        }
    compression = zipfile.ZIP_STORED
    for _ in range(choice.choice((1, 1, 2, 3))):
        turn = choice.random()
        texts = [name for name in entries if name.endswith(".json")]
        if turn < 0.75 and texts:
            name = choice.choice(texts)
            entries[name] = _changed(entries[name], choice)
        elif turn < 0.9:
            name = choice.choice([*entries])
            entries[name] = entries[name][: choice.randrange(len(entries[name]) + 1)]
        elif turn < 0.97:
            del entries[choice.choice([*entries])]
        else:
            compression = zipfile.ZIP_DEFLATED
    return archive(entries, compression=compression)


def _changed(text: bytes, choice: random.Random) -> bytes:
    """JSON with one value, key or item of another kind or place."""
    try:
        root: Json = json.loads(text)
    except ValueError:
        return text
    holders = list(_holders(root))
    if not holders:
        return text
    holder = choice.choice(holders)
    if isinstance(holder, list):
        _change_list(holder, choice)
    else:
        key = choice.choice([*holder])
        turn = choice.random()
        if turn < 0.15:
            del holder[key]
        elif turn < 0.3:
            holder[choice.choice(KINDS)] = holder.pop(key)
        else:
            holder[key] = _other(holder[key], choice)
    return json.dumps(root).encode()


def _holders(value: Json) -> Iterator[list[Json] | dict[str, Json]]:
    """Every list and object that isn't empty."""
    if isinstance(value, list | dict) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _holders(inner)


def _change_list(held: list[Json], choice: random.Random) -> None:
    place = choice.randrange(len(held))
    turn = choice.random()
    if turn < 0.2:
        del held[place]
    elif turn < 0.4:
        held.append(held[place])
    elif turn < 0.6:
        choice.shuffle(held)
    else:
        held[place] = _other(held[place], choice)


def _other(value: Json, choice: random.Random) -> Json:
    """Mostly another value of the same kind."""
    if choice.random() < 0.1:
        return choice.choice((None, [], {}, True, "x", 3, float("nan")))
    if isinstance(value, str):
        return choice.choice(TARGETS if value.startswith("torch.") else STRINGS)
    if isinstance(value, float):
        return choice.choice((0.0, -1.0, 1e30, float("nan"), float("inf")))
    if isinstance(value, int):
        return choice.choice(NUMBERS)
    return value
