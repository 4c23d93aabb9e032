"""Substitutes of functions of one byte: the cheapest one, with all results."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from qlower.text.parsing import parse_module
from qlower.transforms.prove_epilogues.byte_functions import byte_functions
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.substitutes import find_substitute


def limited(low: int, high: int, unsigned: str = "") -> str:
    return f"""
      %low = arith.constant {low} : i32
      %high = arith.constant {high} : i32
      %raised = arith.maxsi %x, %low : i32
      %limited = arith.minsi %raised, %high : i32
      %y = fixed.saturate %limited {unsigned} : i32 to i8"""


def moved(by: int) -> str:
    return f"""
      %by = arith.constant {by} : i32
      %moved = arith.addi %x, %by : i32
      %y = arith.trunci %moved : i32 to i8"""


COPY = "%y = fixed.saturate %x : i32 to i8"
SQUARE = """
  %square = arith.muli %x, %x : i32
  %c7 = arith.constant 7 : i32
  %high = arith.shrsi %square, %c7 : i32
  %y = fixed.saturate %high : i32 to i8"""
"""Five instructions."""
SCALED = """
  %five = arith.constant 5 : i32
  %four = arith.constant 4 : i32
  %product = arith.muli %x, %five : i32
  %sum = arith.addi %product, %four : i32
  %high = fixed.shift_right %sum, %four {rounding = half_up} : i32
  %y = fixed.saturate %high : i32 to i8"""
"""A plane takes fewer instructions."""


@pytest.mark.parametrize(
    ("lines", "kind", "tables", "name"),
    [
        (COPY, "extsi", 0, "copy"),
        (COPY, "extsi", 1, "copy"),
        (moved(128), "extsi", 0, "xor"),
        (moved(-128), "extui", 0, "xor"),
        (limited(-17, 99), "extsi", 0, "clamp"),
        (limited(-200, 99), "extsi", 1, "clamp"),
        (limited(7, 200, "{unsigned}"), "extui", 0, "clamp"),
        # of an unsigned number to a signed one
        (limited(0, 120), "extui", 0, None),
        (SQUARE, "extsi", 2, "table"),
        (SQUARE, "extsi", 4, "table"),
        (SQUARE, "extui", 4, "table"),
        (SQUARE, "extsi", 5, None),
        (SQUARE, "extsi", 0, None),
        (SQUARE, "extsi", 1, "table"),
        (SCALED, "extsi", 0, "fma"),
        (SCALED, "extsi", 7, "table"),
        # a clamp takes four, which is all that is there
        (limited(-17, 99).replace("fixed.saturate", "arith.trunci"), "extsi", 0, None),
        ("%y = arith.trunci %x : i32 to i8", "extsi", 0, "copy"),
    ],
)
def test_substitutes(lines: str, kind: str, tables: int, name: str | None) -> None:
    module = parse_module(f"""func.func @f(%a: i8) -> i8 {{
      %x = arith.{kind} %a : i8 to i32
      {lines}
      return %y : i8
    }}""")
    (op,) = module.ops
    assert isinstance(op, FuncOp)
    (function,) = byte_functions(op.body.block)
    found = find_substitute(function, fused=True, tables=tables, rounds_fast=False)
    assert (found and found.name) == name
    if found is None:
        return
    values: Values = {function.sources[0]: function.grid[0]}
    if found.table is not None:
        run_scalars([found.table], values)
    run_scalars(found.ops, values)
    result = found.ops[-1].results[0] if found.ops else function.sources[0]
    np.testing.assert_array_equal(np.ravel(values[result]), function.bits)
