"""Work that many commands share, done once: the judged file changes each time, the
model that it is given to doesn't.

Most commands on a fixed model take 2 to 4 ms of processor time then, 25 to 35 without.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from xdsl.irdl import base
from xdsl.parser import attribute_parser

import qlower.cli
from qlower import contracts
from qlower.frontends import load

SLOW = {"identify": 0.03, "--equal": 0.1, "vectors": 0.1, "report": 0.1, "bisect": 0.3}
"""Words of commands that take far longer than others, and how often they are drawn."""


def weight(command: Sequence[str]) -> float:
    return min((share for word, share in SLOW.items() if word in command), default=1.0)


def keep_work(patch: pytest.MonkeyPatch, models: Sequence[str]) -> None:
    """Build parsers and read `models` once, whatever command asks for them."""
    patch.setattr(qlower.cli, "make_parser", cache(qlower.cli.make_parser))
    patch.setattr(contracts, "_shipped_names", cache(vars(contracts)["_shipped_names"]))
    patch.setattr(attribute_parser, "base", cache(base))
    read, known = load.as_read, dict[tuple[str, str], load.Model]()

    def as_read(path: Any, options: Any) -> load.Model:
        if str(path) not in models:
            return read(path, options)
        key = str(path), repr(options)
        if key not in known:
            known[key] = read(path, options)
        return known[key]

    patch.setattr(load, "as_read", as_read)
