"""An engineer's modules as Yosys 0.23 has read them, in `circuits/recorded/rtl`, and
functions that they are to be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from xdsl.dialects.func import FuncOp

from qlower.circuits.functions import Argument, annotate
from qlower.circuits.rtl.design import Design, read_design
from qlower.circuits.rtl.verify import Subject
from qlower.text.parsing import parse_module

RECORDED = Path(__file__).parents[2] / "circuits" / "recorded" / "rtl"

SCALE = """
func.func @scale(%acc: i32, %multiplier: i32, %zero: i32) -> i8 {
  %five = arith.constant 5 : i32
  %product = arith.muli %acc, %multiplier : i32
  %rounded = fixed.shift_right %product, %five {rounding = half_up} : i32
  %moved = arith.addi %rounded, %zero : i32
  %result = fixed.saturate %moved : i32 to i8
  return %result : i8
}
"""
LATER = """
func.func @later(%x: i8) -> i8 {
  %wide = arith.extsi %x : i8 to i32
  %factor = arith.constant 27 : i32
  %product = arith.muli %wide, %factor : i32
  %most = arith.constant 100 : i32
  %more = arith.cmpi sgt, %product, %most : i32
  %result = arith.extui %more : i1 to i8
  return %result : i8
}
"""


def argument(name: str, low: Sequence[int], high: Sequence[int] = ()) -> Argument:
    return Argument(name, np.array(low), np.array(high or low), not high)


def function(text: str, arguments: Sequence[Argument]) -> FuncOp:
    (found,) = parse_module(text).body.block.ops
    assert isinstance(found, FuncOp)
    annotate(found, arguments)
    return found


def scale(text: str = SCALE) -> Subject:
    """Two channels with a multiplier each."""
    arguments = [
        argument("acc", [-500, -512], [500, 511]),
        *(argument("multiplier", [27, 11]), argument("zero", [0])),
    ]
    return Subject("the contract", function(text, arguments), arguments, "channel", 2)


def later() -> Subject:
    arguments = [argument("x", [-128], [127])]
    return Subject("the contract", function(LATER, arguments), arguments, "lane", 1)


def read(top: str) -> Design:
    return read_design(RECORDED / f"{top}.sv", top, 60.0)
