"""Functions gone through op by op: calls, tables and helpers on rows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qlower.contracts.shorthand import parse_contract_module
from qlower.contracts.tables import TABLE
from qlower.contracts.walk import ROWS, callees, used_arguments, walk_function

TEXT = f"""
func.func private @table(%a: i32) -> i32 attributes {{{TABLE}}} {{
  %result = arith.addi %a, 7 : i32
}}
func.func private @row(%a: i32, %b: i32, %c: i32) -> (i32, i32) attributes {{{ROWS}}} {{
  %d = arith.subi %a, %c : i32
  return %d, %b : i32, i32
}}
func.func private @pair(%a: i32, %b: i32) -> (i32, i32) {{
  %sum = arith.addi %a, %b : i32
  %difference = arith.subi %a, %b : i32
  return %difference, %sum : i32, i32
}}
func.func private @twice(%a: i32, %b: i32) -> i32 {{
  %p:2 = func.call @pair(%b, %a) : (i32, i32) -> (i32, i32)
  %q:2 = func.call @pair(%p#0, %p#1) : (i32, i32) -> (i32, i32)
  %result = func.call @table(%q#0) : (i32) -> i32
}}
func.func private @rows(%a: i32, %b: i32, %c: i32, %d: i32, %e: i32) -> (i32, i32) {{
  %r:2 = func.call @row(%c, %b, %d) : (i32, i32, i32) -> (i32, i32)
  %s = arith.addi %r#0, %r#1 : i32
  return %s, %a : i32, i32
}}
func.func private @direct(%a: i32, %b: i32) -> i32 {{
  %result = func.call @table(%b) : (i32) -> i32
}}
func.func private @same(%a: i32, %b: i32) -> (i32, i32, i32) {{
  return %b, %a, %b : i32, i32, i32
}}
"""


@pytest.fixture(scope="module")
def functions() -> dict[str, FuncOp]:
    module = parse_contract_module(f"module {{{TEXT}}}", "mine.mlir")
    return {op.sym_name.data: op for op in module.walk() if isinstance(op, FuncOp)}


def run(op: Operation, given: Sequence[int]) -> Sequence[int]:
    """Integer arithmetic."""
    match op.name.removeprefix("arith."), given:
        case "constant", []:
            value = op.properties["value"]
            assert isinstance(value, IntegerAttr)
            return [value.value.data]
        case "addi", [a, b]:
            return [a + b]
        case "subi", [a, b]:
            return [a - b]
        case _:
            raise AssertionError(op.name)


def ten(function: FuncOp, given: Sequence[int]) -> Sequence[int]:
    """Ten times what is given."""
    return [10 * number for number in given][: len(function.function_type.outputs)]


def none(function: FuncOp, given: Sequence[int]) -> None:
    """Nothing is known of any function."""


@pytest.mark.parametrize(
    ("name", "given", "plain", "looked_up"),
    [
        # (b - a, a + b) of 3 and 5 is (2, 8), and that of these (-6, 10).
        ("twice", [3, 5], [1], [-60]),
        ("pair", [3, 5], [-2, 8], [-2, 8]),
        ("rows", [1, 2, 30, 4, 5], [28, 1], [320, 1]),
        ("same", [1, 2], [2, 1, 2], [2, 1, 2]),
    ],
)
def test_results(
    functions: dict[str, FuncOp],
    name: str,
    given: list[int],
    plain: list[int],
    looked_up: list[int],
) -> None:
    function = functions[name]
    assert walk_function(function, given, run) == plain
    assert walk_function(function, given, run, none) == plain
    assert walk_function(function, given, run, ten) == looked_up


@pytest.mark.parametrize(
    ("name", "called", "used", "of_starts"),
    [
        ("twice", ["table"], {0, 1}, {}),
        ("rows", ["row"], {0}, {1: {0, 2}, 2: {0, 1, 2}, 3: {0, 1, 2, 3}}),
        ("same", [], {0, 1}, {1: {0, 1}}),
        ("direct", ["table"], {1}, {}),
        ("table", [], {0}, {}),
    ],
)
def test_what_is_called_and_used(
    functions: dict[str, FuncOp],
    name: str,
    called: list[str],
    used: set[int],
    of_starts: dict[int, set[int]],
) -> None:
    """Numbers above those of arguments are values of the function's own."""
    function = functions[name]
    count = len(function.body.block.args)
    assert [one.sym_name.data for one in callees(function)] == called
    assert {n for n in used_arguments(function) if n < count} == used
    for starts, expected in of_starts.items():
        found = used_arguments(function, starts)
        assert {number for number in found if number < count} == expected
