"""What is said of explanations: of all, of most, of a device and of nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.identification.replay import Explanation
from qlower.identification.result import Alike, Identification
from qlower.tables.table import Column, Table

RECORDED = np.arange(20, dtype=np.int8).reshape(2, 10)


def explanation(name: str, missed: int = 0, refusal: str = "") -> Explanation:
    """Of two runs of a layer whose last results it misses, and of one of another."""
    contract: Any = None
    found = Explanation(name, contract)
    given = RECORDED.copy()
    given.reshape(-1)[20 - missed :] += 1
    found.add("conv", 3, 2, RECORDED, given)
    found.add("add", 0, 1, RECORDED[0], refusal or RECORDED[0])
    return found


def device(explained: int, whole: Explanation) -> Any:
    columns: list[Column[str]] = [Column("step", "step", lambda row: row)]
    return SimpleNamespace(
        is_near=explained >= 90,
        found=SimpleNamespace(tried=1234, explained=explained, elements=100),
        explanation=whole,
        text="the device's text",
        table=Table("steps", ["rounds up"], columns),
    )


ALL = explanation("first")
MOST = explanation("most", 1)
HALF = explanation("half", 20)


def test_counts() -> None:
    """What is missed first is named by its run, of an input that there is."""
    assert (ALL.outputs, ALL.explained, ALL.share, ALL.is_complete) == (30, 30, 1, True)
    assert (MOST.outputs, MOST.explained, MOST.is_complete) == (30, 29, False)
    miss = explanation("mine", 12).layers["conv"].miss
    assert miss is not None
    assert (miss.run, miss.index, miss.recorded, miss.given) == (3, (0, 8), 8, 9)
    miss = MOST.layers["conv"].miss
    assert miss is not None
    assert (miss.run, miss.index, miss.recorded, miss.given) == (4, (0, 9), 19, 20)
    refused = explanation("mine", 0, "no rule")
    assert (refused.explained, refused.layers["add"].missed) == (20, 10)
    assert ALL.digest == explanation("other").digest != MOST.digest
    assert Explanation("none", ALL.contract).share == 0


def identified(*contracts: Explanation, **more: Any) -> Identification:
    alike: list[Alike] = more.pop("alike", [])
    return Identification("dump.npz", 2, contracts, alike, **more)


ANOTHER = explanation("another")
DIFFERS = Alike("b", ["l1", "l2", "l3", "l4", "l5"], ["l6"])
OPEN = Alike("c", [], ["l1"])
EQUAL = Alike("d", [], [])
EVIDENCE = (
    "nothing in the family of arithmetics comes near: the best of 1,234 explains 89.0% "
    "of 100 elements of convolutions and linear layers, and below 90% its steps are no "
    "evidence (--json has them)"
)
COMPOSED = "an arithmetic put together of these steps explains"
NONE = "no contract explains all of the 30 outputs"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (identified(ALL, MOST), ["first explains all of the 30 outputs"]),
        (
            identified(ALL, ANOTHER, MOST),
            [
                "first explains all of the 30 outputs",
                "these give the same bits: another",
                "other inputs may distinguish them: qlower identify --probe has some",
            ],
        ),
        (
            identified(ALL, ANOTHER, alike=[DIFFERS, OPEN, EQUAL, Alike("e", [], [])]),
            [
                "first explains all of the 30 outputs",
                "b gives the same bits here: other inputs give different outputs, in "
                "l1, l2, l3, l4, ...",
                "c gives the same bits here: equal for all inputs, except in l1: "
                "undecided",
                "d, e give the same bits here: equal for all inputs of these layers",
            ],
        ),
        (identified(MOST, HALF), [NONE, "most explains the most, 96.667 %"]),
        (
            identified(explanation("least", 20, "no rule"), doubt="of another day"),
            [
                "no contract explains any of the 30 outputs: is the input theirs?",
                "the reason may be the model: of another day",
            ],
        ),
        (
            identified(HALF, doubt="of another day", causes="later halves"),
            [
                NONE,
                "half explains the most, 33.333 %: below 90% that is no identification",
                "the reason may be the model: of another day",
                "conv: later halves",
            ],
        ),
        (
            identified(MOST, device=device(89, HALF)),
            [NONE, "most explains the most, 96.667 %", EVIDENCE],
        ),
        (
            identified(MOST, device=device(90, ALL)),
            [NONE, "most explains the most, 96.667 %", f"{COMPOSED} all of them"],
        ),
        (
            identified(HALF, device=device(90, MOST)),
            [
                NONE,
                "half explains the most, 33.333 %: below 90% that is no identification",
                f"{COMPOSED} 96.667 % of them, but conv[0,9] of input 4: 20, recorded "
                "19",
            ],
        ),
    ],
)
def test_the_verdict(found: Identification, told: list[str]) -> None:
    assert list(found.verdict) == told
    lines = found.render().splitlines()
    assert lines[-len(told) :] == told
    assert lines[-len(told) - 1] == ""
    noted = replace(found, notes=["noted"]).render().splitlines()
    assert noted == ["noted", *lines]
    assert lines[0] == ""
    narrow = replace(found, notes=["many words " * 9]).render(40).splitlines()
    assert max(map(len, narrow[:3])) <= 40
    assert narrow[-1].strip() in told[-1]
    html = found._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert all(f"<p>{line}</p>" in html for line in told)
    is_near = found.device is not None and found.device.is_near
    assert ("rounds up" in html) == ("rounds up" in lines) == is_near
    assert html.count("<table") == 1 + is_near


START = "// A start for the arithmetic in dump.npz: most explains 96"


@pytest.mark.parametrize(
    ("best", "device", "start", "is_found"),
    [
        (ALL, device(90, ALL), "// The arithmetic in dump.npz, as", True),
        (MOST, None, START, False),
        (MOST, device(90, ALL), "the device's text", True),
        (MOST, device(89, ALL), START, True),
        (MOST, device(90, MOST), START, False),
    ],
)
def test_the_contract_to_start_from(
    best: Explanation, device: Any, start: str, is_found: bool
) -> None:
    """That of a device, if it is near and explains more."""
    found = identified(best, device=device)
    assert found.text.startswith(start)
    assert found.is_found == is_found


def test_the_table() -> None:
    refused = explanation("refuses", 0, "no rule add")
    (notes,) = identified(ALL, refused).table.notes
    assert notes.startswith("layers: those that are explained entirely")
    rows = identified(ALL, MOST, refused).table.records()
    assert [row["explained"] for row in rows] == [30, 29, 20]
    assert [row["layers_explained"] for row in rows] == [2, 1, 1]
    assert [row["layers"] for row in rows] == [2, 2, 2]
    assert [row["miss"] for row in rows] == [
        None,
        "conv[0,9] of input 4: 20, recorded 19",
        "add: no rule add",
    ]
    less = Explanation("behind", ALL.contract)
    less.add("conv", 0, 1, RECORDED[0], RECORDED[0])
    assert "the first 2 inputs were run" in identified(ALL, less).table.notes[1]
