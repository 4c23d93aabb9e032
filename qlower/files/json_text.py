"""JSON from files that anyone may have written."""

from __future__ import annotations

import json
from typing import Any

from qlower.files.digits import reason


def parse_json(text: str | bytes) -> Any:
    """The value of a text; ValueError for one that is malformed or nested too deeply,
    or that has a key twice, so that readers may see different values, or a number that
    is too long."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        if (told := reason(error)) == str(error):
            raise
        raise ValueError(told) from None


def _object(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) < len(items):
        names = [name for name, _ in items]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found
