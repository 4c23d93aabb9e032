"""The table of passes: their order, options and what they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass

from qlower.cli.tables.pass_table import PassSummary, pass_table
from qlower.transforms.tidying import CsePass, DcePass


class Plain(ModulePass):
    name = "plain"


@dataclass(frozen=True)
class Chosen(ModulePass):
    """Chooses. A second
    sentence.

    More.
    """

    name = "chosen"
    mode: Literal["fast", "slow"] = "fast"
    count: int | None = None
    size: int = 3


@dataclass(frozen=True)
class Unsaid(ModulePass):
    name = "unsaid"
    size: int = 3


Chosen.__module__ = Plain.__module__ = "another.package"


def test_a_pass() -> None:
    assert PassSummary.of("c", Chosen) == PassSummary(
        "c", "another", ("mode=fast", "count", "size=3"), "Chooses"
    )
    assert PassSummary.of("p", Plain).what is None
    # A dataclass without a docstring has its signature there.
    assert PassSummary.of("u", Unsaid).what is None


def test_our_own_passes_come_first() -> None:
    passes = {
        **{"z": Plain, "canonicalize": CanonicalizePass, "dce": DcePass},
        **{"a": Chosen, "cse": CsePass},
    }
    table = pass_table({name: lambda step=step: step for name, step in passes.items()})
    found = [(row.package, row.name) for row in table.rows]
    assert found == [
        *(("qlower", "cse"), ("qlower", "dce")),
        *(("another", "a"), ("another", "z"), ("xdsl", "canonicalize")),
    ]
