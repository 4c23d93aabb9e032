"""Instructions of operations, with and without a rounding shift that is one."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp

from qlower.text.parsing import parse_module
from qlower.transforms.prove_epilogues.costs import cost

HALF = """
  %e = arith.extsi %a : i32 to i64
  %f = arith.extsi %b : i32 to i64
  %p = arith.muli %e, %f : i64
  %n = arith.constant 31 : i64
  %s = fixed.shift_right %p, %n {rounding = half_away} : i64
  %r = fixed.saturate %s : i64 to i32"""
"""The upper half of a doubled product."""


def shifted(rounding: str, type: str = "i32", value: str = "%a") -> str:
    return f"%r = fixed.shift_right {value}, {value} {{rounding = {rounding}}} : {type}"


def converted(rounding: str, type: str = "f32") -> str:
    value = type.replace("f", "%r")
    return f"%r = fixed.convert {value} {{rounding = {rounding}}} : {type} to i32"


@pytest.mark.parametrize(
    ("lines", "plain", "fast"),
    [
        ("%r = arith.constant 3 : i64", 0, 0),
        ("%r = arith.addi %a, %b : i32", 1, 1),
        ("%r = arith.addi %w, %w : i64", 2, 2),
        ("%r = arith.extsi %a : i32 to i64", 2, 2),
        ("%r = arith.trunci %w : i64 to i32", 2, 2),
        ("%r = arith.extsi %a : i32 to i33", 2, 2),
        ("%r = arith.mulf %r32, %r32 : f32", 1, 1),
        ("%r = arith.mulf %r64, %r64 : f64", 2, 2),
        ("%r = arith.cmpf olt, %r64, %r64 : f64", 2, 2),
        (shifted("half_up"), 4, 1),
        (shifted("half_away"), 4, 3),
        (shifted("half_even"), 4, 4),
        (shifted("floor", "i64", "%w"), 8, 8),
        (shifted("half_up", "i64", "%w"), 8, 2),
        (converted("half_even"), 1, 1),
        (converted("half_away"), 4, 4),
        (converted("half_even", "f64"), 2, 2),
        (converted("floor", "f64"), 8, 8),
        ("%r = fixed.saturate %a : i32 to i8", 2, 0),
        ("%r = fixed.saturate %w : i64 to i8", 4, 0),
        ("%r = fixed.saturate %a : i32 to i16", 2, 2),
        ("%r = fixed.saturate %w : i64 to i32", 4, 4),
        # what one instruction does costs nothing more
        (HALF, 2 + 2 + 2 + 8 + 4, 1),
        (HALF + "\n%z = arith.addi %r, %b : i32", 19, 2),
        (HALF.replace("%e, %f", "%e, %w"), 18, 1 + 2),
        (HALF.replace("%e, %f", "%w, %w"), 18, 1 + 4),
        # other amounts, products and results are none
        (HALF.replace("31", "30"), 18, 6 + 6 + 4),
        (HALF.replace("%p, %n", "%p, %w"), 18, 6 + 6 + 4),
        (HALF.replace("muli", "addi"), 18, 6 + 6 + 4),
        (HALF.replace("%s : i64 to i32", "%s : i64 to i16"), 18, 6 + 6 + 4),
        (HALF.replace("saturate %s", "saturate %p"), 18, 6 + 6 + 4),
    ],
)
def test_costs(lines: str, plain: int, fast: int) -> None:
    module = parse_module(f"""
      func.func @f(%a: i32, %b: i32, %w: i64, %r32: f32, %r64: f64) {{
        {lines}
        return
      }}""")
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    *ops, _ = function.body.block.ops
    assert cost(ops) == plain
    assert cost(ops, rounds_fast=True) == fast
