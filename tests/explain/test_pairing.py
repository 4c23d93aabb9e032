"""Steps of two chains side by side, from rows that are given."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qlower.explain.pairing import Pair, pair_rows, pair_table
from qlower.observe.rows import SUM, Row

F = Fraction
pairing: Any = import_module("qlower.explain.pairing")


def row(name: str, text: str = "", so_far: Any = None, **others: Any) -> Row:
    """A step; `value` is stored in 32 bits."""
    value = others.pop("value", None)
    given: dict[str, Any] = {
        **{"words": f"{name} in words", "exact": None, "how": "", "error": None},
        **{"place": "", "is_runtime": True, "is_plain": False, **others},
    }
    stored = None if value is None else np.array(value, np.int32)
    number = None if so_far is None else F(so_far)
    return Row(name=name, text=text, value=stored, so_far=number, **given)


LIKENESS: list[tuple[Row, Row, float]] = [
    # nothing is known: one kind and one op
    (row("a", "x"), row("b", "x"), 1 + 0.5 - 1),
    (row("a", "x"), row("b", "y"), 0.5 - 1),
    (row("a", "x 1"), row("b", "x 2"), 1 + 0.5 - 1),
    # results so far: the same, within 2^-12, that far, one apart, farther
    (row("a", "x", 3), row("b", "y", 3), 2 + 0.5),
    (row("a", "x", 0), row("b", "y", F(1, 2**13)), 2 + 0.5 - 2**-13),
    (row("a", "x", 0), row("b", "y", F(1, 2**12)), 0.5 - 2**-12),
    (row("a", "x", 0), row("b", "y", F(1, 2)), 0.5 - 0.5),
    (row("a", "x", 1), row("b", "y", 2), 0.5 - 1),
    (row("a", "x", 2), row("b", "y", -7), 0.5 - 1),
    (row("a", "x", 2), row("b", "y"), 0.5 - 1),
    # what is given is known by its name
    (row("a", "given", 3), row("a", "given", 3), 2 + 3 + 1 + 0.5),
    (row("a", "given", 3), row("b", "given", 3), 2 + 1 + 0.5),
    (row("a", "x", 3), row("a", "x", 3), 2 + 1 + 0.5),
    (row("a", "given", 3), row("a", "x", 3), 2 + 0.5),
    # the place in the text
    (row("a", "x", 3, place="f:1"), row("b", "y", 3, place="f:1"), 2 + 2 + 0.5),
    (row("a", "x", 3, place="f:1"), row("b", "y", 3, place="f:2"), 2 + 0.5),
    (row("a", "x", 3), row("b", "y", 3, place="f:2"), 2 + 0.5),
    # kinds
    (row("a", "x", 3, how="floor"), row("b", "y", 3, how="half_up"), 2 + 1.5),
    (row("a", "x", 3, how="wraps"), row("b", "y", 3, how="wraps"), 2 + 0.5),
    (row("a", "x", 3, how="floor"), row("b", "y", 3), 2 - 1),
    # nearly the same number: within 1, or a 16th of the left one
    (row("a", "x", 3, value=5), row("b", "y", 3, value=6), 2 + 1 + 0.5),
    (row("a", "x", 3, value=5), row("b", "y", 3, value=7), 2 + 0.5),
    (row("a", "x", 3, value=-64), row("b", "y", 3, value=-68), 2 + 1 + 0.5),
    (row("a", "x", 3, value=64), row("b", "y", 3, value=69), 2 + 0.5),
    (row("a", "x", 3, value=64), row("b", "y", 3, value=-64), 2 + 0.5),
    (row("a", "x", 3, value=64), row("b", "y", 3), 2 + 0.5),
    (row("a", "x", 3), row("b", "y", 3, value=64), 2 + 0.5),
]


@pytest.mark.parametrize(("a", "b", "expected"), LIKENESS)
def test_likeness_of_steps(a: Row, b: Row, expected: float) -> None:
    assert pairing._likeness(a, b) == expected


MULTIPLY = row("product", "fixed.mul", 6, value=6, place="f:1")
SHIFT = row("shifted", "fixed.shift", 3, value=3, place="f:2", how="floor")
GIVEN = row("input", "given", 0, value=2)


def names(pairs: list[Pair]) -> list[tuple[str | None, str | None, bool]]:
    return [
        (p.left and p.left.name, p.right and p.right.name, p.is_parting) for p in pairs
    ]


FLOAT = row("scaled", "arith.mulf", F(7, 2), value=3)
ROUND = row("rounded", "math.roundeven", 4, value=4, how="half_even")
LATER = row("shifted", "fixed.shift", 4, value=4, place="f:2", how="floor")
CHAINS: list[tuple[list[Row], list[Row], list[tuple[str | None, str | None, bool]]]] = [
    ([], [], []),
    ([GIVEN], [], [("input", None, False)]),
    ([], [GIVEN, SHIFT], [(None, "input", False), (None, "shifted", True)]),
    (
        [GIVEN, MULTIPLY, SHIFT],
        [GIVEN, MULTIPLY, SHIFT],
        [
            ("input", "input", False),
            ("product", "product", False),
            ("shifted", "shifted", False),
        ],
    ),
    # the same ops, and one of them gives another value
    (
        [GIVEN, MULTIPLY, SHIFT],
        [GIVEN, MULTIPLY, LATER],
        [
            ("input", "input", False),
            ("product", "product", False),
            ("shifted", "shifted", True),
        ],
    ),
    # other ops: where the results so far go apart the most
    (
        [GIVEN, MULTIPLY, SHIFT],
        [GIVEN, FLOAT, ROUND],
        [
            ("input", "input", False),
            ("product", None, True),
            (None, "scaled", False),
            ("shifted", "rounded", False),
        ],
    ),
    # alone costs two fifths: a likeness of -0.2 is a pair, one of -0.5 isn't
    (
        [row("a", "x", 0)],
        [row("b", "y", F(7, 10))],
        [("a", "b", True)],
    ),
    (
        [row("a", "x", 0)],
        [row("b", "y", 1)],
        [("a", None, False), (None, "b", True)],
    ),
    # one side takes a step more
    (
        [GIVEN, SHIFT],
        [GIVEN, MULTIPLY, SHIFT],
        [
            ("input", "input", False),
            (None, "product", True),
            ("shifted", "shifted", False),
        ],
    ),
]


@pytest.mark.parametrize(("left", "right", "expected"), CHAINS)
def test_chains_side_by_side(
    left: list[Row],
    right: list[Row],
    expected: list[tuple[str | None, str | None, bool]],
) -> None:
    assert names(pair_rows(left, right, F(0))) == expected


def test_sums_that_differ_part_before_any_step() -> None:
    a, b = (row(SUM, "products and bias", n, how="saturates") for n in (0, 4))
    rows = [Pair(a, None), Pair(SHIFT, LATER)]
    assert [p.is_parting for p in pairing._with_parting(rows, F(0))] == [True, False]
    rows = [Pair(a, b), Pair(SHIFT, SHIFT)]
    assert [p.is_parting for p in pairing._with_parting(rows, F(4))] == [True, False]
    # nothing differs, and nothing parts
    rows = [Pair(GIVEN, GIVEN), Pair(SHIFT, SHIFT)]
    assert not any(p.is_parting for p in pairing._with_parting(rows, F(0)))


STEPS: list[tuple[list[tuple[Any, Any]], Any, int | None]] = [
    # results so far of the left and the right, the exact one, and where they part
    ([], 0, None),
    ([([1], [1])], 0, None),
    ([([1], [2])], 0, 0),
    ([([1], [2]), ([1], [3])], 0, 0),  # the first of equals
    ([([1], [2]), ([1], [4])], 0, 1),
    ([([5], [2]), ([5], [5])], 0, 0),
    ([([5], [2]), ([2], [2]), ([7], [2])], 0, 2),
    ([([None], [2]), ([1], [9])], 0, 1),  # what isn't known is passed over
    ([([3], None), ([3], [10])], 0, 1),  # a side without the step stays where it was
    ([(None, [3]), ([10], [3])], 0, 1),
    ([(None, [3]), ([4], [3])], None, 1),
]


@pytest.mark.parametrize(("pairs", "exact", "expected"), STEPS)
def test_where_results_go_apart_the_most(
    pairs: list[tuple[Any, Any]], exact: Any, expected: int | None
) -> None:
    rows = [
        Pair(left and row("x", "y", *left), right and row("x", "y", *right))
        for left, right in pairs
    ]
    start = None if exact is None else F(exact)
    assert pairing._largest_step(rows, start) == expected


DIFFERING: list[tuple[Row | None, Row | None, bool]] = [
    (None, SHIFT, True),
    (SHIFT, None, True),
    (SHIFT, SHIFT, False),
    (SHIFT, LATER, True),
    (row("a"), row("b"), False),
    (row("a", value=1), row("b"), True),
    (row("a"), row("b", value=1), True),
    (row("a", value=1, how="floor"), row("b", value=1, how="ceil"), True),
    (row("a", value=1, how="floor"), row("b", value=1, how="floor"), False),
]


@pytest.mark.parametrize(("a", "b", "expected"), DIFFERING)
def test_pairs_that_differ(a: Row | None, b: Row | None, expected: bool) -> None:
    pair = Pair(a, b)
    assert pair.differs is expected
    assert list(pair.rows) == [one for one in (a, b) if one is not None]


def test_pairs_about_sums() -> None:
    total = row(SUM)
    assert [Pair(a, b).is_sum for a, b in ((total, None), (None, total))] == [True] * 2
    assert Pair(SHIFT, total).is_sum
    assert not Pair(SHIFT, LATER).is_sum
    assert [Pair(None, None).both(t) for t in (["a", "a"], ["a", ""], ["a", "b"])] == [
        *("a", "a", "a | b")
    ]


def test_the_table() -> None:
    left = row("a", "x", F(5, 2), value=5, exact=F(1, 3), how="floor", place="f:1")
    right = row("b", "x", F(3, 2), value=4, how="ceil", place="f:1")
    table = pair_table([Pair(left, right, True), Pair(None, right)], "A", "B")
    assert table.records() == [
        {
            **{"parts": True, "step": "a | b", "op": "x", "left": 5, "right": 4},
            **{"words": "a in words | b in words", "exact": "0.3333333333"},
            **{"rounding": "floor | ceil", "so_far": "2.5 | 1.5", "where": "f:1"},
        },
        {
            **{"parts": False, "step": "b", "op": "x", "left": None, "right": 4},
            **{"words": "b in words", "exact": "", "rounding": "ceil"},
            **{"so_far": "1.5", "where": "f:1"},
        },
    ]
    lines = [" ".join(line.split()) for line in table.render().splitlines()]
    assert lines[2:] == [
        "> a | b a in words | b in words 5 4 0.3333333333 floor | ceil 2.5 | 1.5 f:1",
        "b b in words 4 ceil 1.5 f:1",
    ]
    heads = {w: table.render("plain", w).splitlines()[0].split() for w in (60, 80, 99)}
    known = {w: [one in heads[w] for one in ("where", "step", "so")] for w in heads}
    assert known[60] == [False, False, False]
    assert known[80] == [False, True, True]
    assert known[99] == [True, True, True]
