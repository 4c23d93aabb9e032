"""Small decisions of the C source, by hand."""

from __future__ import annotations

from importlib import import_module

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import SSAValue

from qlower.text.parsing import parse_module

INDICES = """
func.func @f(%byte: i8, %word: i16, %any: index) {
  %minus = arith.constant -1 : index
  %none = arith.constant 0 : index
  %last = arith.constant 255 : index
  %behind = arith.constant 256 : index
  %wide = arith.extui %byte : i8 to i32
  %signed = arith.extsi %byte : i8 to i32
  %wider = arith.extui %word : i16 to i32
  %code = arith.index_cast %wide : i32 to index
  %below = arith.index_cast %signed : i32 to index
  %pair = arith.index_cast %wider : i32 to index
  return
}"""


@pytest.mark.parametrize(
    ("op", "text"),
    [
        (arith.MaxSIOp, "a && b"),  # true is -1, which is the smaller
        (arith.MinSIOp, "a || b"),
        (arith.MaxUIOp, "a || b"),
        (arith.MinUIOp, "a && b"),
    ],
)
def test_the_larger_of_two_booleans(op: type[arith.MaxSIOp], text: str) -> None:
    integers = import_module("qlower.packages.c_source.integers")
    (true,) = arith.ConstantOp(IntegerAttr(1, i1)).results
    table = vars(integers)["INTEGERS"]
    assert table[op.name](None, op(true, true), ["a", "b"]) == text


@pytest.mark.parametrize(
    ("name", "size", "expected"),
    [
        *(("minus", 256, False), ("none", 256, True), ("last", 256, True)),
        *(("behind", 256, False), ("none", 0, False), ("any", 1 << 20, False)),
        *(("code", 256, True), ("code", 255, False), ("code", 300, True)),
        *(("below", 256, False), ("pair", 65535, False), ("pair", 65536, True)),
    ],
)
def test_indices_that_a_table_is_large_enough_for(
    name: str, size: int, expected: bool
) -> None:
    module = parse_module(INDICES)
    values: dict[str | None, SSAValue] = {
        value.name_hint: value
        for op in module.walk()
        for value in (*op.results, *(a for r in op.regions for a in r.block.args))
    }
    is_below = vars(import_module("qlower.packages.c_source.scalars"))["_is_below"]
    assert is_below(values[name], size) is expected
