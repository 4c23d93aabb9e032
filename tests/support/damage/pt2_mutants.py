"""`.pt2` files that say something else: names, sizes, types, arguments, entries."""

from __future__ import annotations

import random
import zipfile
from io import BytesIO

from qlower.frontends.pt2.calls import TABLE
from support.damage.json_damage import NUMBERS, Json, changed_json
from support.formats.pt2_builder import archive

STRINGS = ("", "x", "v3", "p0", "no such value", "../x", "\n", "\u202e", "\ud800")
TARGETS = tuple(f"torch.ops.{target}" for target in TABLE)
KINDS = ("as_none", "as_int", "as_ints", "as_float", "as_tensor", "as_tensors", "as_x")


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
            entries[name] = changed_json(entries[name], choice, _other, KINDS)
        elif turn < 0.9:
            name = choice.choice([*entries])
            entries[name] = entries[name][: choice.randrange(len(entries[name]) + 1)]
        elif turn < 0.97:
            del entries[choice.choice([*entries])]
        else:
            compression = zipfile.ZIP_DEFLATED
    return archive(entries, compression=compression)


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
