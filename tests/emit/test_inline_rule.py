"""What is left of a contract's function in a nest, where some values are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from support.layers.built import built
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from qlower.contracts import Rule
from qlower.diagnostics import QlowerError
from qlower.emit.inline_rule import call_results, inline_function, inline_rule
from qlower.interp import evaluate_function
from qlower.model.nests import Emitter, Nest
from qlower.text.parsing import parse_module


def function(text: str) -> FuncOp:
    functions = [op for op in parse_module(text).walk() if isinstance(op, FuncOp)]
    return functions[-1]


def f32(lines: str, arguments: str = "%x: f32, %y: f32, %z: f32") -> FuncOp:
    return function(
        f"func.func private @f({arguments}) -> f32 {{\n{lines}\n  return %r : f32\n}}"
    )


X = np.array([0.3, -1.5, 7.25], np.float32)
Y = np.array([1.7, 0.1, -2.5], np.float32)
Z = np.array([-0.4, 3.0, 0.2], np.float32)
NOTHING = np.array([-0.0, -0.0, -0.0], np.float32)
TEXT = {
    "sum": "%r = arith.addf %x, %y : f32",
    "fma": "%r = math.fma %x, %y, %z : f32",
    "known": "%p = arith.mulf %y, %z : f32\n%r = arith.addf %x, %p : f32",
    "choice": "%zero = arith.constant 0.0 : f32\n"
    "%c = arith.cmpf olt, %y, %zero : f32\n%r = arith.select %c, %x, %z : f32",
}
ADD, MULTIPLY = ["arith.addf"], ["arith.mulf"]
CASES: dict[str, tuple[str, Sequence[Any], list[str]]] = {
    # a function, its arguments (None is computed in the nest), and what is left of it
    "a sum": ("sum", [None, None, Z], ADD),
    "a sum of known numbers": ("sum", [X, Y, Z], []),
    "a sum with nothing": ("sum", [None, NOTHING, Z], []),
    "a sum with 0": ("sum", [None, np.zeros(3, np.float32), Z], ADD),
    "a sum with some nothing": ("sum", [None, NOTHING * [1, 1, -1], Z], ADD),
    "nothing and a sum": ("sum", [NOTHING, None, Z], ADD),
    "an fma": ("fma", [None, None, Z], ["math.fma"]),
    "an fma with nothing": ("fma", [None, None, NOTHING], MULTIPLY),
    "an fma with nothing and a known factor": ("fma", [X, None, NOTHING], MULTIPLY),
    "an fma with 0": ("fma", [None, None, np.zeros((), np.float32)], ["math.fma"]),
    "a known part": ("known", [None, Y, Z], ADD),
    "a part with one unknown": ("known", [X, None, Z], ["arith.mulf", "arith.addf"]),
    "a choice of some": ("choice", [None, Y, Z], ["arith.select"]),
    "a choice of all": ("choice", [None, np.full(3, -1, np.float32), Z], []),
    "a choice of none": ("choice", [None, np.full(3, 1, np.float32), Z], []),
    "a choice of the unknown": (
        *("choice", [X, None, Z]),
        ["arith.constant", "arith.cmpf", "arith.select"],
    ),
}


def left(build: Callable[..., Any], given: Sequence[np.ndarray]) -> tuple[Any, Any]:
    """What a nest computes, and the names of what is in it, but for its end."""
    seen: list[str] = []

    def nest_of(emit: Emitter, *values: SSAValue) -> list[SSAValue]:
        nest = Nest(emit, (3,))
        results = build(nest, [nest.input(value, [0]) for value in values])
        made = nest.build(results)
        seen.extend(op.name for op in made[0].owner.body.block.ops)  # pyright: ignore
        return list(made)

    found, _ = built(nest_of, *given)
    assert seen.pop() == "linalg.yield"
    return found, seen


@pytest.mark.parametrize("name", CASES)
def test_what_is_left(name: str) -> None:
    """And it computes what the function does."""
    text, arguments, expected = CASES[name]
    rule = f32(TEXT[text])
    numbers = [X, Y, Z]
    given = [n for n, known in enumerate(arguments) if known is None]

    def build(nest: Nest, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        here = dict(zip(given, values, strict=True))
        whole: list[Any] = [here.get(n, known) for n, known in enumerate(arguments)]
        return inline_function(rule, whole, nest)

    (found,), names = left(build, [numbers[n] for n in given])
    values = [
        numbers[n] if known is None else np.broadcast_to(known, 3).astype(np.float32)
        for n, known in enumerate(arguments)
    ]
    (wanted,) = evaluate_function(rule, values)
    assert found.tolist() == np.broadcast_to(wanted, 3).tolist()
    assert [one for one in names if one != "arith.constant" or one in expected] == (
        expected
    )


def test_a_rule_takes_values_by_name() -> None:
    """Those of the nest, and those that are known; it need not take all."""
    rule = Rule("mine", f32(TEXT["known"]), ("x", "y", "z"), ())

    def build(nest: Nest, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        runtime = {"y": values[0], "input": values[0]}
        return inline_rule(rule, runtime, {"x": X, "z": Z, "scale": Y}, nest)

    (found,), _ = left(build, [Y])
    assert found.tolist() == (X + Y * Z).tolist()


ASSERTION = """func.func private @f(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %is_less = arith.cmpf olt, %x, %one : f32
  cf.assert %is_less, "x must be below 1"
  return %x : f32
}"""


def test_assertions_are_about_known_values() -> None:
    checked = function(ASSERTION)

    def inlined(value: Any) -> Any:
        return left(lambda nest, _: inline_function(checked, [value], nest), [])[0]

    (found,) = inlined(np.float32(0.5))
    assert found.tolist() == [0.5] * 3
    with pytest.raises(QlowerError) as caught:
        inlined(np.float32(1))
    assert "x must be below 1" in caught.value.message

    def unknown(nest: Nest, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return inline_function(checked, values, nest)

    with pytest.raises(QlowerError) as caught:
        left(unknown, [X])
    assert caught.value.message == (
        "an assertion of a rule may depend on compile-time values only"
    )


LOOKED_UP = """
func.func private @entry(%index: i32, %scale: i32) -> i32
    attributes {contract.table = 5} {
  %square = arith.muli %index, %index : i32
  %entry = arith.muli %square, %scale : i32
  return %entry : i32
}
func.func private @f(%index: i32, %scale: i32) -> i32 {
  %r = func.call @entry(%index, %scale) : (i32, i32) -> i32
  return %r : i32
}"""


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (np.int32(1), ["arith.index_cast", "tensor.extract", "arith.extsi"]),
        (np.int32(8), ["arith.index_cast", "tensor.extract", "arith.extui"]),
        (np.int32(-9), ["arith.index_cast", "tensor.extract", "arith.extsi"]),
        (np.int32(5000), ["arith.index_cast", "tensor.extract"]),
        (
            np.array([2], np.int32),
            ["arith.index_cast", "tensor.extract", "arith.extsi"],
        ),
        # of several numbers there is no one table
        (np.array([1, 2, 3], np.int32), ["arith.muli", "arith.muli"]),
        (None, ["arith.muli", "arith.muli"]),
    ],
)
def test_tables(scale: Any, expected: list[str]) -> None:
    rule = function(LOOKED_UP)
    index = np.array([4, 0, 3], np.int32)
    numbers = np.array([7, -8, 9], np.int32)
    given = [index] if scale is not None else [index, numbers]

    def build(nest: Nest, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        arguments: list[Any] = [*values, scale]
        return inline_function(rule, arguments[:2], nest)

    (found,), names = left(build, given)
    factor = numbers if scale is None else scale
    assert found.tolist() == (index * index * factor).tolist()
    assert names == expected


def test_a_table_whose_index_is_known() -> None:
    rule = function(LOOKED_UP)
    known: list[Any] = [np.int32(3), np.int32(2)]
    (found,), names = left(lambda nest, _: inline_function(rule, known, nest), [])
    assert found.tolist() == [18] * 3
    assert names == ["arith.constant"]


def test_functions_of_a_library() -> None:
    """By their names; several results are in their order."""

    def build(nest: Nest, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return call_results(nest, "_glibc", "expf", *values)

    (found,), names = left(build, [np.array([0, 1, -1], np.float32)])
    assert (
        found.tolist()
        == np.array([1, 2.7182817459106445, 0.3678794503211975], np.float32).tolist()
    )
    assert len(names) > 5
