"""What differences have in common, in words, from elements that are given."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.explain import causes as module
from qlower.explain.causes import Causes, Examined
from qlower.explain.difference import Difference
from qlower.explain.reach import inputs_for
from qlower.explain.targets import Aim, candidates, count
from qlower.interp.values import Array
from qlower.observe import account
from qlower.observe.account import last_mode, moves, path, sentence
from qlower.observe.rows import BEFORE, SUM, Row

F = Fraction
QUARTER, START = F(1, 4), F(9, 4)


def int8(values: Any) -> Array:
    return np.array(values, np.int8)


def float32(values: Any) -> Array:
    return np.array(values, np.float32)


def one(exact: Fraction, a: int, b: int, kind: Any = "rounding") -> Examined:
    return Examined((a, b), exact, kind)


def causes(
    *found: Examined,
    total: int | None = None,
    modes: tuple[str | None, str | None] = (None, None),
    zeros: tuple[int, int] = (0, 0),
    computed: tuple[bool, bool] = (True, True),
) -> str:
    given = Causes(
        ("A", "B"),
        computed,
        len(found) if total is None else total,
        list(found),
        list(modes),
        list(zeros),
    )
    return str(given)


TIES = [
    one(F(5, 2), 3, 2, "tie"),
    one(F(-5, 2), -2, -2, "tie"),
    one(F(7, 2), 4, 4, "tie"),
]
TOLD: list[tuple[str, str]] = [
    (causes(), ""),
    (
        causes(*TIES),
        "all 3 differences are roundings of ties: A rounds them up; B rounds them to "
        "even",
    ),
    (
        causes(*TIES, modes=("half_away", "half_even")),
        "all 3 differences are roundings of ties: A rounds them up; B rounds them to "
        "even",
    ),
    (
        causes(TIES[0]),
        "the only difference is a rounded tie: A rounds them away from zero; B rounds "
        "them to even",
    ),
    (
        causes(TIES[0], modes=("half_up", "half_down")),
        "the only difference is a rounded tie: A rounds them up; B rounds them down",
    ),
    (
        causes(one(F(5, 2), 3, 2, "tie"), one(F(7, 2), 3, 4, "tie"), total=9),
        "all 2 differences that were examined, of 9, are roundings of ties: A rounds "
        "them both ways; B rounds them to even",
    ),
    (
        # the zero point is 3: -1/2 before it
        causes(one(F(5, 2), 3, 2, "tie"), zeros=(3, 3)),
        "the only difference is a rounded tie: A rounds them to even; B rounds them "
        "away from zero",
    ),
    (
        causes(one(F(249, 100), 3, 2, "next to a tie")),
        "the only difference is within 0.010 of a tie, where one step of the "
        "arithmetic "
        "decides: A rounds 1 of them to the farther side",
    ),
    (
        causes(
            one(F(249, 100), 3, 2, "next to a tie"),
            one(F(5, 2), 3, 2, "tie"),
            one(F(251, 100), 3, 2, "next to a tie"),
            one(F(349, 100), 4, 3, "next to a tie"),
        ),
        "all 4 differences are within 0.010 of a tie (1 exactly on it), where one step "
        "of the arithmetic decides: A rounds 2 of them to the farther side; B rounds 1 "
        "of them to the farther side",
    ),
    (
        causes(one(F(9, 4), 3, 2), one(F(13, 4), 4, 3)),
        "all 2 differences are roundings: A is up to 0.75 from the exact result; B "
        "takes the nearest number",
    ),
    (
        causes(one(F(9, 4), 3, 2), one(F(-11, 4), -2, -3), modes=("half_up", None)),
        "all 2 differences are roundings: A is up to 0.75 from the exact result; B "
        "takes the nearest number",
    ),
    (
        causes(
            one(F(9, 4), 3, 2),
            one(F(-11, 4), -2, -3),
            modes=("half_up", None),
            computed=(False, True),
        ),
        "all 2 differences are roundings: A rounds them up; B takes the nearest number",
    ),
    (
        causes(one(F(9, 4), 3, 2), modes=("ceil", None)),
        "the only difference is a rounding: A rounds them up; B takes the nearest "
        "number",
    ),
    (
        causes(one(F(9, 4), 3, 2), one(F(11, 4), 2, 3)),
        "all 2 differences are roundings: A is up to 0.75 from the exact result; B "
        "takes the nearest number",
    ),
    (
        causes(one(F(515, 1000), 0, 1), one(F(485, 1000), 1, 0)),
        "all 2 differences are roundings: A takes the nearest number; B takes the "
        "nearest number",
    ),
    (
        causes(one(F(9, 4), 5, 2, "sum")),
        "the only difference comes from sums that saturate or wrap before anything is "
        "rounded",
    ),
    (
        causes(one(F(9, 4), 5, 2, "sum"), one(F(9, 4), 5, 2, "sum"), total=3),
        "all 2 differences that were examined, of 3, come from sums that saturate or "
        "wrap before anything is rounded",
    ),
    (
        causes(one(F(9, 4), 5, 2, "sum"), one(F(9, 4), 3, 2)),
        "1 of the 2 differences come from sums that saturate or wrap before anything "
        "is rounded",
    ),
    (
        causes(one(F(9, 4), 5, 2, "sum"), one(F(9, 4), 3, 2), total=5),
        "1 of the 2 differences that were examined come from sums that saturate or "
        "wrap before anything is rounded",
    ),
    (
        causes(one(F(9, 4), 9, 2, "far"), one(F(9, 4), 3, 2, "sum")),
        "1 of the 2 differences are more than a rounding: A is up to 6.8 from "
        "the exact "
        "result",
    ),
    (
        causes(
            one(F(9, 4), 9, 4, "far"), one(F(9, 4), 2, 1, "far"), computed=(True, False)
        ),
        "all 2 differences are more than a rounding: A is up to 6.8 from the exact "
        "result; B is up to 1.8 from the exact result",
    ),
    (
        causes(one(F(9, 4), 9, 2, "far"), computed=(False, True)),
        "the only difference is more than a rounding: A is up to 6.8 from the exact "
        f"result. {module.SUSPECT}",
    ),
    (
        causes(one(F(0), 2, 1, "far"), computed=(False, True)),
        "the only difference is more than a rounding: A is up to 2.0 from the exact "
        f"result; B is up to 1.0 from the exact result. {module.SUSPECT}",
    ),
]


@pytest.mark.parametrize(("found", "expected"), TOLD)
def test_causes_in_words(found: str, expected: str) -> None:
    assert found == expected


def inner(name: str) -> Any:
    return vars(module)[name]


@pytest.mark.parametrize(
    ("exact", "pair", "is_exact_sum", "kind"),
    [
        (F(5, 2), (3, 2), True, "tie"),
        (F(5, 2), (3, 2), False, "sum"),
        (F(5, 2) + F(1, 64), (3, 2), True, "next to a tie"),
        (F(5, 2) - F(1, 64), (3, 2), True, "next to a tie"),
        (F(5, 2) + F(1, 63), (3, 2), True, "rounding"),
        (F(5, 2) - F(1, 63), (3, 2), True, "rounding"),
        (F(-5, 2), (-3, -2), True, "tie"),
        (F(2), (3, 2), True, "far"),
        (F(2) + F(1, 999), (3, 2), True, "rounding"),
        (F(2) - F(1, 999), (2, 3), True, "far"),
    ],
)
def test_kinds_of_differences(
    exact: Fraction, pair: tuple[int, int], is_exact_sum: bool, kind: str
) -> None:
    runs = [
        SimpleNamespace(has_exact_sum=lambda index, n=n: is_exact_sum or n)
        for n in (1, 0)
    ]
    assert inner("_kind")(runs, (0,), pair, exact) == kind


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (F(0), "0"),
        (F(3, 4), "0.75"),
        (F(2, 3), "0.67"),
        (F(1, 100), "0.010"),
        (F(1, 3000), "0.00034"),
        (F(27, 4), "6.8"),
        (F(1), "1.0"),
        (F(10), "10"),
        (F(1001, 10), "101"),
        (F(99, 10), "9.9"),
    ],
)
def test_bounds_of_two_digits(number: Fraction, shown: str) -> None:
    assert inner("_up")(number) == shown


def test_roundings_of_ties_by_name() -> None:
    found = {
        name: [mode(F(n, 2)) for n in (-5, -3, -1, 1, 3, 5)]
        for name, mode in module.TIES.items()
    }
    assert found == {
        "half_away": [-3, -2, -1, 1, 2, 3],
        "half_even": [-2, -2, 0, 0, 2, 2],
        "half_up": [-2, -1, 0, 1, 2, 3],
        "half_down": [-3, -2, -1, 0, 1, 2],
        "half_toward_zero": [-2, -1, 0, 0, 1, 2],
    }


def test_differences_are_looked_at_up_to_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    monkeypatch.setattr(module, "last_mode", lambda chain: chain)
    monkeypatch.setattr(module, "zero_point", lambda chain: len(chain))
    seen: list[tuple[int, ...]] = []

    def difference(runs: Any, index: Any, results: Any) -> Examined | None:
        seen.append(index)
        return None if index == (0, 1) else one(F(0), 0, 1)

    monkeypatch.setattr(module, "_difference", difference)
    a = int8([[1, 2, 3], [4, 5, 6]])
    run: Any = SimpleNamespace(chains=lambda index: ["first", f"at {index}"])
    found = Causes(("A", "B"), (False, True), 9)
    found.add([run], (a.astype(np.float32), a + 1.0))
    assert (seen, found.modes) == ([], [])
    assert not found.is_full
    found.add([run], (a, a + int8([[0, 1, 1], [1, 0, 0]])))
    assert seen == [(0, 1), (0, 2), (1, 0)]
    assert found.modes == [None, "at (0, 1)"]
    assert found.zeros == [9, 9]
    assert not found.is_full
    found.add([run], (a, a + 1))
    assert seen[3:] == [(0, 0)]
    assert found.is_full
    few = Causes(("A", "B"), (False, True), 1)
    few.add([run], (a, a + 1))
    assert len(few.looked_at) == 1


def test_tensors_that_differ() -> None:
    found = Difference()
    a, b = int8([[1, -2], [3, 4]]), int8([[1, -2], [3, 4]])
    found.add(0, a, b, zero_point=1)
    assert (found.elements, found.differing, found.first) == (4, 0, None)
    assert (found.signal, found.own, found.product) == (22, 22, 22)
    assert found.cosine == pytest.approx(1)
    assert found.decibels is None
    found.add(1, a, int8([[1, 1], [3, 127]]), zero_point=1)
    assert (found.elements, found.differing, found.largest) == (8, 2, 123)
    assert found.first == (1, (0, 1))
    assert found.noise == 9 + 123**2
    assert found.signal == 44
    assert found.own == 22 + 4 + 126**2
    assert found.product == 22 + 4 + 3 * 126
    assert found.decibels == pytest.approx(10 * math.log10(44 / (9 + 123**2)))
    found.add(2, int8([127]), int8([-128]))
    assert found.largest == 255
    assert found.first == (1, (0, 1))
    real = Difference()
    nan = np.float32(np.nan)
    real.add(0, float32([nan, 1, nan]), float32([nan, 1, 2]))
    assert (real.differing, real.first) == (1, (0, (2,)))
    zero = Difference()
    zero.add(0, np.zeros(2, np.int8), int8([1, 0]))
    assert (zero.cosine, zero.decibels) == (None, None)
    infinite = Difference()
    infinite.add(0, float32([np.inf, 1]), float32([1, 1]))
    assert (infinite.cosine, infinite.decibels) == (None, None)


WEIGHTS = (
    *([5], [0, 0], [3, -2], [127, 90, 1], [4, 6, 8], [0, 7, -3, 50]),
    *([6, 10, 15], [127, -126, 125], [64, 48, 36]),
)
MET: dict[int, dict[str, int]] = {
    -128: {
        "[5]": 40,
        "[0, 0]": 40,
        "[3, -2]": 40,
        "[127, 90, 1]": 40,
        "[4, 6, 8]": 39,
        "[0, 7, -3, 50]": 40,
        "[6, 10, 15]": 18,
        "[127, -126, 125]": 40,
        "[64, 48, 36]": 26,
    },
    0: {
        "[5]": 40,
        "[0, 0]": 40,
        "[3, -2]": 40,
        "[127, 90, 1]": 40,
        "[4, 6, 8]": 39,
        "[0, 7, -3, 50]": 40,
        "[6, 10, 15]": 23,
        "[127, -126, 125]": 40,
        "[64, 48, 36]": 26,
    },
    3: {
        "[5]": 40,
        "[0, 0]": 40,
        "[3, -2]": 40,
        "[127, 90, 1]": 40,
        "[4, 6, 8]": 38,
        "[0, 7, -3, 50]": 40,
        "[6, 10, 15]": 25,
        "[127, -126, 125]": 40,
        "[64, 48, 36]": 22,
    },
}
"""How many of 40 sums that there are inputs for are met."""


@pytest.mark.parametrize("low", [-128, 0, 3])
def test_inputs_that_give_sums(low: int) -> None:
    """Met ones are met, and with small weights all that can be are."""
    random = np.random.default_rng(2)
    found: dict[str, int] = {}
    for weights in WEIGHTS:
        factors = np.array(weights, np.int64)
        given = random.integers(low, 128, (40, len(weights)))
        sums = np.concatenate([given @ factors, [10**6]])
        inputs, met = inputs_for(factors, sums, low, 127)
        assert inputs.shape == (41, len(weights))
        assert ((inputs >= low) & (inputs <= 127)).all()
        assert (inputs @ factors == sums).tolist() == met.tolist()
        assert not met[-1]
        found[str(weights)] = int(met.sum())
    assert found == MET[low]


def test_sums_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = np.array([-2, 0]), np.array([2, 1])
    edges = np.array([[0.5, 0.5]])
    found, is_all = candidates(low, high, edges)
    assert is_all
    assert found.tolist() == [[-2, 0], [-1, 1], [0, 1], [1, 1], [2, 1]]
    monkeypatch.setattr("qlower.explain.targets.FEW_SUMS", 10)
    assert candidates(low, high, edges)[1]
    monkeypatch.setattr("qlower.explain.targets.FEW_SUMS", 9)
    monkeypatch.setattr("qlower.explain.targets.SAMPLES", 3)
    found, is_all = candidates(
        np.array([-100]), np.array([100]), np.array([[7.5], [999]])
    )
    assert not is_all
    assert found[:, 0].tolist() == [-100, 0, 100, 6, 99, 7, 100, 8, 100, 9, 100]


def test_targets_that_are_shown() -> None:
    aims = [
        Aim("a", np.array([[1, 5], [2, 6]]), np.array([True, True])),
        Aim("b", np.array([[3, 3]]), np.array([False, True])),
        Aim("c", np.array([[3, 3]]), np.array([False, False])),
    ]
    found = count(aims, np.array([[[2, 3]], [[9, 9]]]), True)
    assert (found.channels, found.is_exhaustive) == (2, True)
    assert found.possible == {"a": 2, "b": 1}
    assert found.shown == {"a": 1, "b": 1}
    assert found.total == (2, 3)
    assert found.missing == ["a in 1 channel"]
    assert count(aims, np.array([[7, 7]]), False).missing == [
        *("a in 2 channels", "b in 1 channel"),
    ]


# An account of steps, from rows that are given.


def row(
    how: str,
    so_far: Fraction | None,
    error: Fraction | None = QUARTER,
    *,
    name: str = "x",
    value: Any = None,
    is_runtime: bool = True,
    is_plain: bool = False,
) -> Row:
    return Row(
        *(name, "", "", value, None, how, error, so_far, "a.mlir:7"),
        is_runtime=is_runtime,
        is_plain=is_plain,
    )


def chain(
    *rows: Row, exact: Fraction | None = START, zero: int = 0, kind: Any = np.int8
) -> Any:
    steps = [SimpleNamespace(op=None, name="output_zero_point", value=zero)]
    return SimpleNamespace(
        rows=rows, exact=exact, result=np.zeros((), kind), steps=steps
    )


@pytest.fixture(autouse=True)
def given_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "rows_of", lambda chain: list(chain.rows))


ACTS = [
    (row("half_up, tie", F(3)), "rounds", "a tie, up"),
    (row("half_even", F(3)), "rounds", "to the nearest"),
    (row("floor", F(3)), "rounds", "down"),
    (row("floor", F(3), is_runtime=False), "rounds a constant", ""),
    (row(BEFORE, F(3)), "rounds the ratio of the scales", ""),
    (row("", F(3)), "computes in ", ""),
    (row("float32", F(3)), "computes in float32", ""),
    (row("clamps", F(3)), "clamps", ""),
    (row("saturates", F(3)), "saturates", ""),
    (row("wraps", F(3)), "wraps", ""),
    (row("saturates", F(3), name=SUM), "saturates", ""),
    (row("pairs of products", F(3), name=SUM), "saturates pairs of products", ""),
    (row("narrow sum", F(3), name=SUM), "has the narrow sum", ""),
]


@pytest.mark.parametrize(("given", "act", "remark"), ACTS)
def test_acts_of_steps(given: Row, act: str, remark: str) -> None:
    move = account.Move(given, F(3))
    assert (move.act, move.remark) == (act, remark)


def test_steps_that_are_shown() -> None:
    def shown(*rows: Row, kind: Any = np.int8, zero: int = 0) -> list[str]:
        return [m.row.how for m in moves(chain(*rows, kind=kind, zero=zero))]

    small = F(1, 512)
    assert shown(row("float a", F(9, 4) + small, small)) == []
    assert shown(row("float a", F(9, 4) + F(1, 256), F(1, 256))) == ["float a"]
    assert shown(row("float a", F(9, 4), F(-1, 256))) == ["float a"]
    assert shown(row("float a", F(5, 2), small)) == ["float a"]
    assert shown(row("float a", F(3), F(1), is_plain=True)) == []
    assert shown(row("float a", None, F(1))) == []
    assert shown(row("float a", F(3), None)) == []
    assert shown(row("float a", F(3), F(0))) == []
    # of few roundings all are shown, of more the last one
    roundings = [row("floor", F(9, 4) + small, small) for _ in range(4)]
    assert shown(*roundings[:3]) == ["floor"] * 3
    assert len(shown(*roundings)) == 1
    # of real results what decides nothing is left out, but for the sum
    real = row("floor", F(5, 2), small)
    assert shown(real, kind=np.float32) == []
    assert shown(row("a", F(5, 2), small, name=SUM), kind=np.float32) == ["a"]
    assert shown(row("a", F(5, 2), small, name=SUM)) == ["a"]


def test_zero_points_are_added_after_the_last_rounding() -> None:
    last = row("half_up", F(3), value=np.int32(0))
    zero = account.zero_point
    assert zero(chain(last, zero=3)) == 3
    with_zero = row("half_up", F(3), value=np.int32(3))
    assert zero(chain(with_zero, zero=3)) == 0
    assert zero(chain(row("half_up", F(3), F(0), value=np.int32(3)), zero=3)) == 3
    constant = row("half_up", F(3), value=np.int32(3), is_runtime=False)
    assert zero(chain(constant, zero=3)) == 3
    assert zero(chain(zero=3)) == 3
    without: Any = SimpleNamespace(rows=[], steps=[])
    assert zero(without) == 0


def test_steps_in_a_line_and_in_words() -> None:
    up = chain(row("float32", F(5, 2)), row("half_up, tie", F(3)))
    even = chain(row("half_even", F(2)))
    assert path([up], F(9, 4)) == (
        "exact 2.25 -> 2.5 (float32, a.mlir:7) -> 3 (half_up, tie, a.mlir:7)"
    )
    assert path([up], None) == "2.5 (float32, a.mlir:7) -> 3 (half_up, tie, a.mlir:7)"
    assert last_mode(up) == "half_up"
    assert last_mode(chain(row("clamps", F(3)))) is None
    assert last_mode(even) == "half_even"
    assert sentence([("A", up), ("B", even)]) == (
        "A computes in float32: 2.25 -> 2.5, then rounds once: 2.5 -> 3 (a tie, up); B "
        "rounds once: 2.25 -> 2 (to the nearest)"
    )
    twice = chain(row("floor", F(5, 2)), row("floor", F(2)))
    thrice = chain(*[row("floor", F(n)) for n in (5, 4, 3)])
    assert sentence([("A", twice)]) == "A rounds twice: 2.25 -> 2.5 -> 2 (down)"
    assert sentence([("A", thrice)]) == "A rounds 3 times: 2.25 -> 5 -> 4 -> 3 (down)"
    assert sentence([("A", chain())]) == "A keeps 2.25"
    shifted = chain(row("half_up", F(5), value=np.int32(2)), exact=F(21, 4), zero=3)
    assert path([shifted], F(21, 4)) == (
        "exact 2.25 before the zero point 3 -> 2 (half_up, a.mlir:7)"
    )
    assert sentence([("A", shifted)]) == (
        "before the zero point 3 is added: A rounds once: 2.25 -> 2 (to the nearest)"
    )
    assert sentence([("A", shifted), ("B", even)]) == (
        "A, before the zero point 3 is added, rounds once: 2.25 -> 2 (to the nearest); "
        "B, with the zero point 3 added, rounds once: 2.25 -> 2 (to the nearest)"
    )
    tiny = F(5, 2) - F(1, 10**14)
    near = chain(row("floor", F(2)), exact=tiny)
    assert path([near], tiny).startswith("exact 2.49999999999999 -> 2")


def test_modes_in_words() -> None:
    assert account.in_words("half_up") == "up"
    assert account.in_words("half_even") == "to even"
    assert account.in_words("floor") == "down"
    assert account.in_words("other") == "other"


# The first step that differs.


def test_the_first_step_that_differs() -> None:
    steps = import_module("qlower.explain.steps")
    difference = vars(steps)["_difference"]

    def step(*operands: Any, properties: Any = None) -> Any:
        op = SimpleNamespace(properties=properties or {})
        return steps.RunStep(op, operands)

    assert difference(step(1, np.int32(5)), step(1, np.int32(5))) is None
    assert difference(step(1, 2), step(1, 3)) == "other operands"
    assert difference(step(1), step(np.int32(5))) == "other operands"
    assert difference(step(np.int32(5)), step(np.int32(6))) == "5 | 6"
    pair = np.array([5, 7], np.int32)
    found = difference(step(pair), step(np.array([5, 8], np.int32)))
    assert found == "7 | 8 in channel 1"
    assert difference(step(pair), step(np.int32(5))) == "7 | 5 in channel 1"
    properties = {"a": "x", "b": "y"}
    other = {"a": "x", "b": "z"}
    assert difference(step(properties=properties), step(properties=other)) == (
        "b y | b z"
    )
