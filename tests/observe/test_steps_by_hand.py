"""Steps of small rules, whose numbers can be followed by hand, as rows, in words and in
a line."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.observe import chain as chains
from qlower.observe.account import last_mode, moves, path, sentence, zero_point
from qlower.observe.chain import Chain
from qlower.observe.rows import chain_table, rows_of
from qlower.text.parsing import parse_module

NUDGED = """
  %c4 = arith.constant 4 : i32
  %c3 = arith.constant 3 : i32
  %sum = arith.addi %x, %c4 : i32
  %q = arith.shrsi %sum, %c3 : i32
  %z = arith.addi %q, %output_zero_point : i32
  %low = arith.constant -128 : i32
  %high = arith.constant 127 : i32
  %a = arith.maxsi %z, %low : i32
  %result = arith.minsi %a, %high : i32"""
TWICE = """
  %f = arith.sitofp %x : i32 to f64
  %m = arith.mulf %f, %scale : f64
  %a = fixed.convert %m {rounding = half_even} : f64 to i32
  %c2 = arith.constant 2 : i32
  %b = fixed.shift_right %a, %c2 {rounding = half_up} : i32
  %z = arith.addi %output_zero_point, %b : i32
  %result = fixed.saturate %z : i32 to i8"""
WRAPPED = """
  %w = arith.extsi %x : i32 to i64
  %v = arith.extsi %y : i32 to i64
  %d = arith.subi %v, %w : i64
  %e = arith.subi %d, %w : i64
  %g = arith.subi %c, %e : i64
  %result = arith.trunci %g : i64 to i8"""

Given = dict[str, tuple[float, str]]


def chain(body: str, given: Given, runtime: str = "x") -> Chain:
    """The chain of a rule with these arguments, of values and types."""
    types = {"i4": "i32", "i8": "i64", "f8": "f64"}
    ports = ", ".join(f"%{name}: {types[type]}" for name, (_, type) in given.items())
    kind = body.rpartition(" ")[2]
    module = parse_module(
        f"func.func @rule({ports}) -> {kind} {{{body}\n  return %result : {kind}\n}}",
        "rule.mlir",
    )
    function = next(iter(module.body.block.ops))
    rule: Any = SimpleNamespace(name="mine", function=function, values=tuple(given))
    values = {name: np.array(value, type) for name, (value, type) in given.items()}
    with pytest.MonkeyPatch.context() as patch:
        own = SimpleNamespace(runtime=tuple(runtime))
        patch.setitem(chains.RULES, "mine", own)
        patch.setattr(chains, "exact_result", lambda *_: None)
        return chains.rule_chain(rule, values)


def nudged(x: int, zero: int = 3) -> Chain:
    """Eighths with a half added, and bounds."""
    return chain(NUDGED, {"x": (x, "i4"), "output_zero_point": (zero, "i4")})


def twice(x: int, scale: float, zero: int) -> Chain:
    given: Given = {"x": (x, "i4"), "scale": (scale, "f8")}
    return chain(TWICE, given | {"output_zero_point": (zero, "i4")})


def wrapped(x: int, runtime: str) -> Chain:
    return chain(WRAPPED, {"x": (x, "i4"), "y": (3, "i4"), "c": (100, "i8")}, runtime)


CASES: dict[str, tuple[Chain, list[str], str, str]] = {
    "a tie": (
        nudged(-12),
        [
            "%x | given: x | -12 | -12 |  | 0 | 3/2",
            "%sum | add 4 | -8 | -12 |  | 0 | 3/2",
            "%q | shift right by 3, nearest, ties up | -1 | -3/2 | half_up, tie"
            " | 1/2 | 2",
            "%z | add 3 | 2 | 3/2 |  | 0 | 2",
        ],
        "exact -1.5 before the zero point 3 -> -1 (half_up, tie, rule.mlir:5)",
        "before the zero point 3 is added: a rounds once: -1.5 -> -1 (a tie, up)",
    ),
    "no tie": (
        nudged(-13, 0),
        [
            "%x | given: x | -13 | -13 |  | 0 | -13/8",
            "%sum | add 4 | -9 | -13 |  | 0 | -13/8",
            "%q | shift right by 3, nearest, ties up | -2 | -13/8 | half_up"
            " | -3/8 | -2",
        ],
        "exact -1.625 -> -2 (half_up, rule.mlir:5)",
        "a rounds once: -1.625 -> -2 (to the nearest)",
    ),
    "a bound": (
        nudged(2000),
        [
            "%x | given: x | 2000 | 2000 |  | 0 | 253",
            "%sum | add 4 | 2004 | 2000 |  | 0 | 253",
            "%q | shift right by 3, nearest, ties up | 250 | 250 |  | 0 | 253",
            "%z | add 3 | 253 | 253 |  | 0 | 253",
            "%result | at most 127 | 127 | 253 | clamps | -126 | 127",
        ],
        "exact 250 before the zero point 3 -> 124 (clamps, rule.mlir:10)",
        "before the zero point 3 is added: a clamps: 250 -> 124",
    ),
    "a number that a float rounds": (
        twice(5, 1.25, 0),
        [
            "%x | given: x | 5 | 5 |  | 0 | 25/16",
            "%m | multiply by 1.25 | 6.25 | 25/4 |  | 0 | 25/16",
            "%a | round, nearest, ties to even | 6 | 25/4 | half_even | -1/16 | 3/2",
            "%b | shift right by 2, nearest, ties up | 2 | 25/16 | half_up, tie"
            " | 1/2 | 2",
        ],
        "exact 1.5625 -> 1.5 (half_even, rule.mlir:4) -> 2 (half_up, tie, rule.mlir:6)",
        "a rounds twice: 1.5625 -> 1.5 -> 2 (a tie, up)",
    ),
    "the tie comes first": (
        twice(18, 0.25, -7),
        [
            "%x | given: x | 18 | 18 |  | 0 | -47/8",
            "%m | multiply by 0.25 | 4.5 | 9/2 |  | 0 | -47/8",
            "%a | round, nearest, ties to even | 4 | 9/2 | half_even, tie | -1/8 | -6",
            "%b | shift right by 2, nearest, ties up | 1 | 9/8 |  | 0 | -6",
            "%z | add -7 | -6 | -47/8 |  | 0 | -6",
        ],
        "exact 1.125 before the zero point -7 -> 1 (half_even, tie, rule.mlir:4)",
        "before the zero point -7 is added: a rounds once: 1.125 -> 1 (a tie, to even)",
    ),
    "nothing": (
        wrapped(7, "x"),
        [
            "%x | given: x | 7 | 7 |  | 0 | 111",
            "%d | subtract from 3 | -4 | -4 |  | 0 | 111",
            "%e | subtract %x | -11 | -11 |  | 0 | 111",
            "%g | subtract from 100 | 111 | 111 |  | 0 | 111",
        ],
        "exact 111",
        "a keeps 111",
    ),
    "wrapping": (
        wrapped(100, "xy"),
        [
            "%x | given: x | 100 | 100 |  | 0 | 297",
            "%y | given: y | 3 | 3 |  | 0 | 297",
            "%d | subtract %x | -97 | -97 |  | 0 | 297",
            "%e | subtract %x | -197 | -197 |  | 0 | 297",
            "%g | subtract from 100 | 297 | 297 |  | 0 | 297",
            "%result | keep the low bits, i8 | 41 | 297 | wraps | -256 | 41",
        ],
        "exact 297 -> 41 (wraps, rule.mlir:7)",
        "a wraps: 297 -> 41",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_steps_of_a_rule(name: str) -> None:
    """Plain ones are left out: they pass a number on or are made once."""
    found, rows, line, words = CASES[name]
    shown = [
        " | ".join(
            *(
                [
                    *(row.name, row.words, str(row.value), str(row.exact)),
                    *(row.how, str(row.error), str(row.so_far)),
                ],
            )
        ).replace(".0 |", " |")
        for row in rows_of(found)
        if not row.is_plain
    ]
    assert shown == rows
    assert path([found], found.exact) == line
    assert sentence([("a", found)]) == words
    assert sum(filter(None, found.errors)) == int(found.result) - (found.exact or 0)


def test_names_of_numbers_that_are_passed_on() -> None:
    """Are those that they were made under."""
    rows = {row.name: row for row in rows_of(wrapped(7, "x"))}
    assert rows["%v"].text == "arith.extsi 3"
    assert rows["%v"].words == "constant 3: widen to i64"
    assert rows["%w"].text == "arith.extsi %x"
    assert rows["%d"].text == "arith.subi 3, %x"
    assert rows["%result"].is_plain
    assert not rows["%g"].is_plain
    assert [row.is_runtime for row in rows.values()] == [False] * 3 + [True] * 6
    unsigned = chain(
        """
  %u = arith.extui %x : i32 to i64
  %result = arith.addi %u, %u : i64""",
        {"x": (-1, "i4")},
    )
    (widened, last) = rows_of(unsigned)[1:]
    assert (widened.value, widened.is_plain) == (0xFFFFFFFF, True)
    assert last.text == "arith.addi %x, %x"
    twice_named = chain(
        """
  %v = arith.addi %x, %x : i32
  %v_0 = arith.addi %v, %x : i32
  %result = arith.addi %v_0, %v : i32""",
        {"x": (2, "i4")},
    )
    names = [row.name for row in rows_of(twice_named)]
    assert len({*names}) == len(names) == 4


def test_rows_of_a_table() -> None:
    found = nudged(-12)
    few, all_ = chain_table(found), chain_table(found, all_steps=True)
    assert (len(few.rows), len(all_.rows)) == (4, 11)
    assert few.notes == [
        "adds: the error of a rounding, in steps of the result. Steps that change "
        "nothing are left out."
    ]
    assert all_.notes == ["adds: the error of a rounding, in steps of the result."]
    record = few.records()[2]
    assert (record["exact"], record["so_far"], record["error"]) == ("-3/2", "2", 0.5)
    assert (record["value"], record["where"]) == (-1, "rule.mlir:5")
    assert few.rows[2].to_dict() == record
    tie, plain = few.rows[2], few.rows[0]
    assert (tie.kind, tie.is_tie, plain.kind, plain.is_tie) == (
        *("rounds", True, "computes", False),
    )


def test_what_was_rounded_before_a_rule_began() -> None:
    """Sums and ratios, whose errors come first; tiny ones of ratios are left out."""
    found = nudged(-12)
    sums = replace(found, meant=Fraction(2), given=Fraction(3, 2), before="narrow sum")
    (first, second, *_) = rows_of(sums)
    assert (first.name, first.text, first.how) == (
        *("sum", "products and bias", "narrow sum"),
    )
    assert (first.error, first.so_far, first.is_runtime, first.is_plain) == (
        *(Fraction(-1, 2), Fraction(3, 2), True, False),
    )
    assert second.name == "%output_zero_point"
    (move, *_) = moves(sums)
    assert move.act == "has the narrow sum"
    pairs = replace(sums, before="saturates pairs")
    assert moves(pairs)[0].act == "saturates pairs of products"
    assert moves(replace(sums, before="wraps"))[0].act == "wraps"
    for error, is_shown in ((Fraction(1, 2**40), True), (Fraction(1, 2**41), False)):
        given = Fraction(3, 2) + error
        ratio = replace(found, meant=given, given=given)
        (first, *_) = rows_of(ratio)
        assert (first.name == "ratio") is is_shown
        if is_shown:
            assert (first.text, first.how, first.error) == (
                *("made of the scales", "rounded before", -error),
            )
            assert first.kind == "rounded before"
    far = replace(found, meant=Fraction(2), given=Fraction(2))
    assert moves(far)[0].act == "rounds the ratio of the scales"
    assert moves(far)[0].remark == ""


def test_modes_and_zero_points() -> None:
    assert last_mode(nudged(-12)) == "half_up"
    assert last_mode(nudged(2000)) is None
    assert last_mode(twice(18, 0.25, -7)) == "half_even"
    zeros = [zero_point(one) for one in (nudged(-12), nudged(-12, 5), wrapped(7, "x"))]
    assert zeros == [3, 5, 0]


def test_sides_of_other_zero_points_say_so() -> None:
    sides = [("a", nudged(-12)), ("b", nudged(-12, 0))]
    assert sentence(sides) == (
        "a, before the zero point 3 is added, rounds once: -1.5 -> -1 (a tie, up); "
        "b, with the zero point 3 added, rounds once: -1.5 -> -1 (a tie, up)"
    )
    assert sentence([("a", nudged(2000)), ("b", nudged(-13))]) == (
        "before the zero point 3 is added: a clamps: 250 -> 124; "
        "b rounds once: -1.625 -> -2 (to the nearest)"
    )


SELECTED = """
  %c0 = arith.constant 0 : i32
  %flag = arith.cmpi sgt, %y, %c0 : i32
  %a = arith.addi %x, %y : i32
  %b = arith.subi %x, %y : i32
  %result = arith.select %flag, %a, %b : i32"""


@pytest.mark.parametrize(("y", "taken", "value"), [(3, "a", 10), (-3, "b", 10)])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_selection_has_the_steps_of_what_it_takes(
    y: int, taken: str, value: int, is_known: bool
) -> None:
    """It is a step itself only where the choice is made at run time."""
    found = chain(SELECTED, {"x": (7, "i4"), "y": (y, "i4")}, "x" if is_known else "xy")
    names = [step.name for step in found.steps]
    last = [taken] if is_known else ["flag", taken, "result"]
    assert [name for name in names if name in ("flag", "a", "b", "result")] == last
    assert found.steps[-1].value == value
    if not is_known:
        assert [names[place] for place in found.steps[-1].operands] == [
            *("flag", taken, taken),
        ]
