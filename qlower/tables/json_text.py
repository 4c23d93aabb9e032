"""Results as JSON: one object with the version of its keys."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import cast

SCHEMA = 1
"""The version of the keys of all that is written as JSON. It becomes larger when a key
is removed or changes its meaning; new keys may come at any time."""


def json_text(data: Mapping[str, object]) -> str:
    """The object as text, with its `schema`. Infinities and NaN, which JSON hasn't, are
    null."""
    whole = {"schema": SCHEMA, **data}
    return json.dumps(_finite(whole), indent=1, allow_nan=False)


def _finite(data: object) -> object:
    match data:
        case float():
            return data if math.isfinite(data) else None
        case Mapping():
            items = cast(Mapping[str, object], data).items()
            return {key: _finite(value) for key, value in items}
        case list() | tuple():
            return [_finite(value) for value in cast(Sequence[object], data)]
        case _:
            return data
