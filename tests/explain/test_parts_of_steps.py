"""Steps that differ whatever a layer is given, and elements by other values, from
operations that are given."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i1, i32
from xdsl.utils.test_value import create_ssa_value

from qlower.diagnostics import QlowerError
from qlower.dialects.fixed import RoundingMode, RoundingModeAttr
from qlower.explain.difference import Difference
from qlower.explain.steps import RunStep, StepDifference, other_step
from qlower.explain.supposed import Supposed, suppose
from qlower.interp.values import Array

steps: Any = import_module("qlower.explain.steps")
supposing: Any = import_module("qlower.explain.supposed")


def int32(values: Any) -> Array:
    return np.array(values, np.int32)


def step(*operands: Any, name: str = "fixed.mul", **properties: Any) -> RunStep:
    op: Any = SimpleNamespace(name=name, properties=properties)
    return RunStep(op, operands)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([], [], None),
        ([1, 2], [1, 2], None),
        ([1, 2], [1, 3], "other operands"),
        ([-1], [-2], "other operands"),
        ([1], [int32(1)], "other operands"),
        ([1], [int32([1, 2])], "other operands"),
        ([int32([1, 2])], [1], "other operands"),
        ([int32(1)], [1], "other operands"),
        ([int32(7)], [int32(7)], None),
        ([int32(7)], [int32(8)], "7 | 8"),
        ([int32([7, 8, 9])], [int32([7, 8, 9])], None),
        ([int32([7, 8, 9])], [int32([7, 5, 6])], "8 | 5 in channel 1"),
        ([int32([[7, 8], [9, 1]])], [int32([[7, 8], [9, 2]])], "1 | 2 in channel 1"),
        ([int32([7, 7])], [int32(7)], None),
        ([int32(7)], [int32([7, 7, 6])], "7 | 6 in channel 2"),
        ([3, int32(1), int32(2)], [3, int32(1), int32(4)], "2 | 4"),
    ],
)
def test_operands_that_differ(left: Any, right: Any, expected: str | None) -> None:
    assert steps._difference(step(*left), step(*right)) == expected


def test_attributes_that_differ() -> None:
    """Before operands; roundings by their words."""
    one, two = (IntegerAttr(n, i32) for n in (1, 2))
    assert steps._difference(step(1, a=one), step(2, a=two)) == (
        "a 1 : i32 | a 2 : i32"
    )
    assert steps._difference(step(a=one, b=one), step(a=one, b=two)) == (
        "b 1 : i32 | b 2 : i32"
    )
    assert steps._difference(step(a=one, b=one), step(a=two, b=two)) == (
        "a 1 : i32 | a 2 : i32, b 1 : i32 | b 2 : i32"
    )
    assert steps._difference(step(a=one), step(a=one, b=two)) == ""
    for mode in RoundingMode:
        assert steps._text(RoundingModeAttr(mode)) == mode.value
    assert steps._text(StringAttr("x")) == '"x"'


@pytest.mark.parametrize(
    ("left", "right", "what"),
    [
        ([[step(1)]], [[step(1)]], None),
        ([[step(1)]], [[step(2)]], "other operands"),
        ([[step(1), step(2)]], [[step(1), step(3)]], "other operands"),
        ([[step(1)]], [[step(1), step(2)]], None),  # other steps altogether
        ([[step(1)]], [[step(2, name="fixed.shift")]], None),
        ([[step(5)], [step(1)]], [[step(5)], [step(2)]], "other operands"),
        ([[step(1)]], [[step(1)], [step(2)]], None),
        # the first rule has other steps: nothing is said of the second
        ([[step(1)], [step(1)]], [[], [step(2)]], None),
    ],
)
def test_the_first_step_with_another_constant(
    left: Any, right: Any, what: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "_run_steps", lambda evaluation: evaluation)
    runs: list[Any] = [SimpleNamespace(evaluations=one) for one in (left, right)]
    found = other_step(*runs)
    assert (found and found.what) == what


def test_a_step_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "line_of", lambda op: op.line)
    ops: list[Any] = [
        SimpleNamespace(
            name="fixed.mul", line=line, results=[SimpleNamespace(name_hint="scaled")]
        )
        for line in ("f:1", "g:2", "f:1")
    ]
    first, second, third = (RunStep(op, ()) for op in ops)
    assert str(StepDifference(first, second, "1 | 2")) == (
        "%scaled = fixed.mul: 1 | 2 (f:1 | g:2)"
    )
    assert str(StepDifference(first, third, "1 | 2")) == (
        "%scaled = fixed.mul: 1 | 2 (f:1)"
    )


def test_what_is_left_of_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants are computed, and choices that are the same for all channels made; the
    rest are steps, by the numbers of those that they read."""
    x, y, flag = (create_ssa_value(type) for type in (i32, i32, i1))
    add, select = arith.AddiOp(x, y), arith.SelectOp(flag, x, y)
    given: list[Any] = []

    class Runs:
        def run_op(self, op: Any, operands: Any) -> Any:
            return [operands[0] + operands[1]]

    def walk(function: Any, arguments: Any, run: Any) -> None:
        given.append(arguments)
        runtime, constant, other = arguments
        (known,) = run(add, [constant, other])
        assert known.tolist() == [11, 22]
        assert run(add, [runtime, known]) == [1]
        assert run(add, [1, runtime]) == [2]
        for condition, chosen in (([1, 1], 1), ([0, 0], 2), ([0, 1], 3)):
            flags = np.array(condition, bool)
            assert run(select, [flags, 1, 2]) == [chosen]
        assert run(select, [3, constant, other]) == [4]

    monkeypatch.setattr(steps, "ModuleOp", object)
    monkeypatch.setattr(steps, "make_interpreter", lambda module: Runs())
    monkeypatch.setattr(steps, "walk_function", walk)
    monkeypatch.setattr(steps, "RULES", {"r": SimpleNamespace(runtime=["input", "z"])})
    rule = SimpleNamespace(
        name="r",
        values=["input", "scale", "point"],
        function=SimpleNamespace(parent_op=lambda: "module"),
    )
    values = {"input": None, "scale": int32([1, 2]), "point": int32([10, 20])}
    found = steps._run_steps(SimpleNamespace(rule=rule, values=values))
    assert given[0][0] == -1
    assert [one.tolist() for one in given[0][1:]] == [[1, 2], [10, 20]]
    assert [one.op for one in found] == [add, add, select, select]
    assert found[1].operands == (1, -1)


# Other values


class Chain(SimpleNamespace):
    """A rule's steps on an element, which add up."""


def chain(**values: Array) -> Any:
    given = [SimpleNamespace(name=n, value=v, op=None) for n, v in values.items()]
    made = SimpleNamespace(name="total", value=int32(0), op="op")
    total = sum(float(value) for value in values.values())
    return Chain(
        rule="requantize",
        steps=[*given, made],
        result=int32(round(total)),
        exact=Fraction(total),
    )


OWN = {"input": int32(5), "output_scale": np.array(0.5, np.float32)}


def run(**values: Array) -> Any:
    def chain_given(index: Any, changed: Any) -> Any:
        assert index == (0, 1)
        return chain(**{**OWN, **values, **changed})

    return SimpleNamespace(chain_given=chain_given)


def test_an_element_by_other_values() -> None:
    """With all of them, then with each alone if there are several."""
    assert suppose(run(), (0, 1), {}) == ()
    (one,) = suppose(run(), (0, 1), {"input": "7"})
    assert (int(one.result), one.exact) == (8, Fraction(15, 2))
    assert str(one) == "with input 7 for 5: 8, exact 7.5"
    assert one.to_dict() == {"given": {"input": 7}, "result": 8, "exact": "15/2"}
    every, first, second = suppose(run(), (0, 1), {"input": 7, "output_scale": 2})
    assert str(every) == "with input 7 for 5, output_scale 2.0 for 0.5: 9, exact 9"
    assert [list(x.values) for x in (first, second)] == [["input"], ["output_scale"]]
    assert [int(x.result) for x in (first, second)] == [8, 7]
    bare = Supposed({"input": int32(7)}, OWN, int32(8), None)
    assert str(bare) == "with input 7 for 5: 8"
    assert bare.to_dict()["exact"] is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"input": "x"}, "input=x is not an integer of type int32"),
        ({"input": "1.5"}, "input=1.5 is not an integer of type int32"),
        ({"input": 1 << 31}, "input=2147483648 is not an integer of type int32"),
        ({"output_scale": "x"}, "output_scale=x is not a number of type float32"),
        ({"output_scale": 0}, "output_scale=0 must be positive and finite"),
        ({"output_scale": -1}, "output_scale=-1 must be positive and finite"),
        ({"output_scale": "nan"}, "output_scale=nan must be positive and finite"),
        ({"output_scale": "inf"}, "output_scale=inf must be positive and finite"),
        ({"real": "inf"}, "real=inf must be finite"),
    ],
)
def test_values_that_are_refused(given: Any, message: str) -> None:
    real = run(real=np.array(1.0, np.float32))
    with pytest.raises(QlowerError) as refused:
        suppose(real, (0, 1), given)
    assert refused.value.message == message
    (fine,) = suppose(real, (0, 1), {"real": -1.0})
    assert float(fine.values["real"]) == -1
    (least,) = suppose(real, (0, 1), {"input": -(1 << 31)})
    assert int(least.values["input"]) == -(1 << 31)


def test_names_that_the_rule_is_not_given() -> None:
    with pytest.raises(QlowerError) as refused:
        suppose(run(), (0, 1), {"output_scal": 1})
    error = refused.value
    assert error.message == (
        "rule requantize computes this element without a value 'output_scal'"
    )
    assert list(error.notes) == ["it is given input, output_scale"]
    assert error.help == "did you mean output_scale?"
    with pytest.raises(QlowerError) as refused:
        suppose(run(), (0, 1), {"zzz": 1})
    assert refused.value.help is None
    without: Any = SimpleNamespace(chain_given=lambda index, given: None)
    with pytest.raises(QlowerError, match="no rule of the contract makes this element"):
        suppose(without, (0, 1), {"input": 1})


# Differences


def test_sums_of_differences() -> None:
    one = Difference()
    a, b = np.array([[1, 5], [3, 4]], np.int8), np.array([[1, 2], [3, 8]], np.int8)
    one.add(3, a, b, 1)
    assert (one.elements, one.differing, one.largest) == (4, 2, 4.0)
    assert one.first == (3, (0, 1))
    assert (one.signal, one.own) == (0 + 16 + 4 + 9, 0 + 1 + 4 + 49)
    assert (one.noise, one.product) == (9 + 16, 0 + 4 + 4 + 21)
    one.add(4, a, a, 1)
    assert (one.elements, one.differing, one.first) == (8, 2, (3, (0, 1)))
    assert one.signal == 2 * 29
    wide = Difference()
    ends = np.array([-128, 127], np.int8)
    wide.add(0, ends, ends[::-1])
    assert (wide.largest, wide.noise) == (255.0, 2 * 255.0**2)


def test_real_numbers_that_are_no_numbers() -> None:
    nan, inf = np.nan, np.inf
    one = Difference()
    one.add(0, np.array([nan, 1.0, 2.0]), np.array([nan, 1.0, 5.0]))
    assert (one.differing, one.first, one.largest) == (1, (0, (2,)), 3.0)
    assert (one.signal, one.own, one.product) == (5.0, 26.0, 11.0)
    other = Difference()
    other.add(0, np.array([inf, inf, 0.0]), np.array([inf, 1.0, 0.0]))
    assert (other.differing, other.largest) == (1, inf)
    assert (other.decibels, other.cosine) == (None, None)


@pytest.mark.parametrize(
    ("signal", "noise", "own", "product", "decibels", "cosine"),
    [
        (100.0, 1.0, 4.0, 10.0, 20.0, 0.5),
        (1.0, 10.0, 1.0, -1.0, -10.0, -1.0),
        (0.0, 1.0, 4.0, 0.0, None, None),
        (100.0, 0.0, 4.0, 10.0, None, 0.5),
        (100.0, 1.0, 0.0, 0.0, 20.0, None),
        (100.0, float("inf"), 4.0, 10.0, None, 0.5),
        (float("inf"), 1.0, 4.0, 10.0, float("inf"), None),
    ],
)
def test_ratios_of_sums(
    signal: float, noise: float, own: float, product: float, decibels: Any, cosine: Any
) -> None:
    found = Difference(4, 1, 1.0, signal, noise, own, product)
    assert found.decibels == decibels
    assert found.cosine == cosine
