"""The order of a walk, its front, and how points are shown: by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.table_forms import forms

from qlower.contracts.family import Arithmetic
from qlower.contracts.family.choices import AFTER, BYTE, INSIDE, ONCE
from qlower.diagnostics import QlowerError
from qlower.exploration import explore
from qlower.exploration.explore import plan
from qlower.exploration.result import Exploration, Point
from qlower.exploration.walk import (
    AXES,
    Figures,
    checked_axes,
    front,
    generations,
    name_of,
)
from qlower.exploration.work import AREA, BITS, REFUSED
from qlower.validation.counts import Counts, Signal


def names(batch: Sequence[Arithmetic]) -> list[str]:
    return [name_of(one, "tflite").removeprefix("arithmetic: ") for one in batch]


def test_the_axes_are_those_of_integer_circuits() -> None:
    assert list(AXES) == [
        "multiplier",
        "rounding",
        "first",
        "accumulator",
        "zero_point",
    ]
    assert AXES["first"] == (ONCE, "half_up", "half_away")
    assert AXES["zero_point"] == (AFTER, INSIDE, BYTE)
    widths = [int(one.split()[0]) for one in AXES["accumulator"]]
    assert widths[0] == 32
    assert min(widths) == 16
    assert max(widths[1:]) == 24


def test_neighbours_differ_in_one_choice_the_nearest_first() -> None:
    """Of each choice in turn; then those of the best, each only once."""
    values, rounds = AXES["multiplier"][:3], AXES["rounding"][:2]
    axes = {
        **{"multiplier": values, "rounding": rounds, "first": [ONCE]},
        **{"accumulator": ["32 bits"], "zero_point": [AFTER]},
    }
    found: dict[int, Figures] = {}
    walk = generations(axes, 100, lambda: found)

    def following() -> list[tuple[int, int]]:
        return [
            (values.index(one.multiplier), rounds.index(one.rounding))
            for one in next(walk)
        ]

    assert following() == [(0, 0), (1, 0), (0, 1), (2, 0)]
    found.update({n: Figures(n == 3, 1, 1) for n in range(4)})
    assert following() == [(2, 1)]  # (1, 0) and (0, 0) are known
    found[4] = Figures(2, 1, 1)
    assert following() == [(1, 1)]
    found[5] = Figures(0, 1, 1)
    assert next(walk, None) is None


def test_neighbours_of_a_value_are_on_both_sides() -> None:
    values, rounds = AXES["multiplier"][:6], AXES["rounding"][:2]
    axes = {**AXES, "multiplier": values, "rounding": rounds, "first": [ONCE]}
    axes |= {"accumulator": ["32 bits"], "zero_point": [AFTER]}
    found: dict[int, Figures] = {}
    walk = generations(axes, 100, lambda: found)
    first = next(walk)
    best = [one.multiplier for one in first].index(values[3])
    found.update({n: Figures(n == best, 1, 1) for n in range(len(first))})
    (turned,) = next(walk)
    assert (turned.multiplier, turned.rounding) == (values[3], rounds[1])
    found[len(first)] = Figures(2, 1, 1)
    around = [values.index(one.multiplier) for one in next(walk)]
    assert around == [2, 4, 1, 5]


def test_points_are_counted_and_generations_are_of_64() -> None:
    axes = {**AXES, "multiplier": AXES["multiplier"][:9], "first": AXES["first"][:2]}
    walked: list[Arithmetic] = []
    seen: list[int] = []

    def figures() -> dict[int, Figures]:
        seen.append(len(walked))
        return {n: Figures(n, n, n) for n in range(len(walked))}

    for batch in generations(axes, 120, figures):
        walked += batch
    assert seen == [37, 37 + 64, 120]
    assert len(walked) == len(set(walked)) == 120
    assert [len(one) for one in islice(generations(axes, 5, dict), 1)] == [5]


def test_a_figure_beats_another_in_one_and_is_as_good_in_all() -> None:
    own = Figures(0.5, 10, 20)
    assert not own.beats(own)
    for better in (Figures(0.6, 10, 20), Figures(0.5, 9, 20), Figures(0.5, 10, 19)):
        assert better.beats(own)
        assert not own.beats(better)
    for mixed in (Figures(0.6, 11, 20), Figures(0.6, 10, 21), Figures(0.4, 9, 19)):
        assert not mixed.beats(own)
    # the largest area first, of one area by number, of equals the first
    figures = {
        **{0: Figures(0.1, 5, 30), 1: Figures(0.9, 50, 9), 2: Figures(0.2, 5, 31)},
        **{3: Figures(0.2, 5, 31), 4: Figures(0.2, 6, 31)},
    }
    assert front(figures) == [1, 0, 2]


@pytest.mark.parametrize(
    ("given", "axis", "kept"),
    [
        ("zero_point=after", "zero_point", [AFTER, BYTE]),
        ("first=half_away, once", "first", [ONCE, "half_away"]),
        ("accumulator=32,", "accumulator", ["32 bits"]),
    ],
)
def test_axes_are_cut_to_what_is_given(given: str, axis: str, kept: list[str]) -> None:
    axes = checked_axes([given])
    assert list(axes[axis]) == kept
    assert all(axes[name] == AXES[name] for name in AXES if name != axis)


def test_an_axis_value_is_given_by_its_first_words() -> None:
    multipliers = checked_axes(["multiplier=8 bits"])["multiplier"]
    assert multipliers
    assert all(one.split()[0] == "8" for one in multipliers)
    with pytest.raises(QlowerError) as refused:
        checked_axes(["first=bytes"])
    assert refused.value.help == f"it may be {'; '.join(AXES['first'])}"


def counts(
    *, equal: int = 0, top1: int = 0, agreeing: int = 0, labelled: int = 0
) -> Counts:
    found = Counts(examples=4, labelled=labelled, top1=top1)
    found.compared, found.agreeing = 4, agreeing
    found.output = Signal(elements=40, differing=40 - equal)
    return found


def points() -> list[Point]:
    """The base, a smaller one, one that is refused, and one that is beaten."""
    usual = next(generations(AXES, 1, dict))[0]
    rows = [
        (
            "arithmetic: base tflite; multiplier 32 bits half_up",
            counts(equal=40),
            (900, 80),
        ),
        ("arithmetic: base tflite; multiplier 8 bits", counts(equal=39), (500, 60)),
        (
            "arithmetic: base tflite; rounding floor",
            Counts(custom={REFUSED: Fraction(1)}),
            None,
        ),
        ("arithmetic: base tflite; rounding half_even", counts(equal=20), (600, 70)),
    ]
    shares = (1.0, 39 / 40, 0.0, 0.5)
    return [
        Point(n, usual, name, one, None if of is None else Figures(shares[n], *of))
        for n, (name, one, of) in enumerate(rows)
    ]


def test_the_front_as_a_table() -> None:
    found = Exploration("tflite", "exact", "equal", "luts", points())
    lines = [
        re.split(r"\s{2,}", line.strip())
        for line in found.table.render("plain").splitlines()
    ]
    assert lines[0] == ["arithmetic", "argmax agrees", "equal outputs", "LUTs", "bits"]
    assert lines[2:4] == [
        ["multiplier 32 bits half_up", "0.00%", "100.00%", "900", "80"],
        ["multiplier 8 bits", "0.00%", "97.50%", "500", "60"],
    ]
    text = " ".join(found.table.render("plain").split())
    assert (
        "2 of 4 arithmetics that no other beats in equal outputs, LUTs and bits; base "
        "tflite; 1 refuse the model"
    ) in text
    assert "held against exact" in text
    assert forms(found.table) == [
        *("arithmetic, left", "argmax agrees, right", "equal outputs, right"),
        *("LUTs, right", "bits, right"),
    ]
    data: Any = found.to_dict()
    assert data["front"] == [0, 1]
    assert [row["area"] for row in data["points"]] == [900, 500, None, 600]
    assert [row["bits"] for row in data["points"]] == [80, 60, None, 70]
    assert data["points"][2]["equal"] is None
    assert data["points"][1]["choices"] == "multiplier 8 bits"
    assert (data["base"], data["against"], data["by"], data["unit"]) == (
        *("tflite", "exact", "equal", "luts"),
    )


def test_columns_are_of_what_is_known() -> None:
    labelled = [
        Point(
            0,
            points()[0].arithmetic,
            "a; b",
            counts(top1=3, labelled=4),
            Figures(0.75, 7, 7),
        )
    ]
    found = Exploration("exact", None, "top1", "bits", labelled)
    text = found.table.render("plain")
    assert text.splitlines()[0].split("  ")[-1].strip() == "bits of wires"
    assert "75.00%" in text
    assert "argmax agrees" not in text
    assert "refuse" not in text
    assert "held against" not in text
    assert found.table.records()[0]["bits"] == 7


def test_the_picture_and_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All points that run, those of the front with names that don't lie on each other,
    and the base."""
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    drawn: list[Any] = []
    module: Any = __import__("qlower.exploration.result", fromlist=["save"])
    monkeypatch.setattr(
        module,
        "save",
        lambda figure, path: (drawn.append(figure), path.write_text("<?xml?><svg/>")),
    )
    rows = points()
    near = Point(
        4, rows[0].arithmetic, "x; near", counts(equal=38), Figures(0.95, 460, 50)
    )
    found = Exploration("tflite", "exact", "equal", "cells", [*rows, near])
    page = found.html()
    (axes,) = drawn[0].axes
    lines = [list(zip(*line.get_data(), strict=True)) for line in axes.lines]
    assert lines == [
        [(900, 100), (500, 97.5), (600, 50), (460, 95)],
        [(900, 100), (500, 97.5), (460, 95)],
        [(900, 100)],
    ]
    texts = [(text.get_text(), text.xy) for text in axes.texts]
    assert texts == [
        ("multiplier 32 bits half_up", (900, 100)),
        ("multiplier 8 bits", (500, 97.5)),
        ("the base", (900, 100)),
    ]
    assert axes.get_xlabel() == "cells of a requantizer"
    assert axes.get_ylabel() == "equal outputs in %"
    assert axes.get_xlim()[0] == 0
    head, front_table, every = page.split("<h2>")
    assert head.endswith("<svg/>")
    assert front_table.startswith("front</h2>")
    assert every.startswith("all arithmetics</h2>")
    assert every.count("rounding half_even") == 1
    assert "rounding half_even" not in front_table
    Exploration("tflite", None, "equal", "bits", [rows[2]]).plot(tmp_path / "none.svg")
    assert not drawn[1].axes[0].texts


def figures_of(one: Counts, by: str) -> Figures | None:
    own: Any = vars(explore)["_figures"]
    return own(one, by)


def test_figures_are_shares_of_what_was_counted() -> None:
    one = counts(equal=30, top1=1, agreeing=3, labelled=2)
    one.custom = {AREA: Fraction(120), BITS: Fraction(17)}
    assert figures_of(one, "top1") == Figures(1 / 2, 120, 17)
    assert figures_of(one, "agreement") == Figures(3 / 4, 120, 17)
    assert figures_of(one, "equal") == Figures(30 / 40, 120, 17)
    one.labelled = 0
    assert figures_of(one, "top1") == Figures(1.0, 120, 17)
    one.examples = 0
    assert figures_of(one, "equal") is None
    refused = counts(equal=30)
    refused.custom = {REFUSED: Fraction(1)}
    assert figures_of(refused, "equal") is None


def job(
    *, classes: object = None, against: str | None = "exact", identity: str = "x"
) -> Any:
    source = SimpleNamespace(identity=identity, classes=lambda row: classes)
    return SimpleNamespace(source=source, against=against, key=lambda: {"rows": "8"})


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ({}, {"points": 0}, "0 points: at least 1"),
        ({}, {"unit": "luts"}, "yosys"),
        ({}, {"unit": "cells"}, "yosys"),
        ({"identity": ""}, {}, "the rows of a stream can be read once"),
        ({}, {"by": "top1"}, "--by top1: the examples have no labels"),
        ({"against": None}, {"by": "agreement"}, "--by agreement needs --against"),
        ({"against": None}, {"by": "equal"}, "--by equal needs --against"),
        ({"against": None}, {}, "nothing says which outputs are good"),
    ],
)
def test_what_is_refused(
    given: Any, options: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explore, "is_installed", lambda _: False)
    with pytest.raises(QlowerError, match=f"(?i){message}"):
        plan(job(**given), Path("m"), **options)


def test_a_plan_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """By top-1 where there are labels; in LUTs where Yosys is installed."""
    monkeypatch.setattr(explore, "is_installed", lambda _: False)
    without = plan(job(), Path("m"))
    assert (without.by, without.unit, without.points, without.base) == (
        *("equal", "bits", 500, "tflite"),
    )
    monkeypatch.setattr(explore, "is_installed", lambda name: name == "yosys")
    found = plan(job(classes={1}, against=None), Path("m"), points=1)
    assert (found.by, found.unit, found.points) == ("top1", "luts", 1)
    assert plan(job(), Path("m"), unit="cells").unit == "cells"
    others: list[dict[str, Any]] = [
        *({}, {"base": "exact"}, {"choices": ["first=once"]}, {"unit": "bits"}),
        {"by": "agreement"},
    ]
    keys = {plan(job(), Path("m"), **one).key()["the walk"] for one in others}
    assert len(keys) == 5
    assert without.key()["rows"] == "8"
