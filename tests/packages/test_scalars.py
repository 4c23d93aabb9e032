"""Small decisions of the C source, by hand."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import SSAValue

from qlower.diagnostics import QlowerError
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


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("%r = math.tanh %x : f32", "operation math.tanh"),
        ("%r = math.exp %x : f32", "operation math.exp"),
    ],
)
def test_operations_without_a_form(operation: str, message: str) -> None:
    """They are refused where they stand."""
    module = parse_module(
        f"func.func @f(%x: f32) {{\n{operation}\nreturn\n}}", "layer.mlir"
    )
    (op,) = (one for one in module.walk() if one.name.startswith("math."))
    scalars = vars(import_module("qlower.packages.c_source.scalars"))["Scalars"]
    statement = vars(scalars)["_statement"]
    with pytest.raises(QlowerError) as caught:
        statement(None, None, op)
    assert message in caught.value.message
    assert caught.value.location == op.location


@pytest.mark.parametrize(
    ("lines", "results", "used"),
    [
        (["const int32_t a = x;", "const int32_t b = a + y;"], ["b"], 2),
        (["const int32_t a = x;", "const int32_t b = y;"], ["b"], 1),
        (["const int32_t a = x;", "const int32_t b = a;"], ["x"], 0),
        (["const int32_t a = x;", "const int32_t ab = y;"], ["f(a, 3)"], 1),
    ],
)
def test_statements_that_nothing_uses(
    lines: list[str], results: list[str], used: int
) -> None:
    """From the last to the first, whole names alone."""
    found = vars(import_module("qlower.packages.c_source.scalars"))["_used"]
    assert len([*found(lines, results)]) == used


@pytest.mark.parametrize(
    ("run", "groups", "stride", "pixels", "channels", "wanted"),
    [
        *(
            (3, (), 1, 5, 7, True),
            (None, (), 1, 5, 7, False),
            (3, (0,), 1, 5, 7, False),
        ),
        *((3, (), 2, 5, 7, False), (3, (), 1, 1, 7, False), (3, (), 1, 1, 8, True)),
        *((3, (), 1, 1, 6, False), (3, (), 1, 2, 6, True)),
    ],
)
def test_sums_in_blocks(
    run: int | None,
    groups: tuple[int, ...],
    stride: int,
    pixels: int,
    channels: int,
    wanted: bool,
) -> None:
    """Of two pixels, or of four channels; a pixel by itself is no loop."""
    nest = SimpleNamespace(bounds=[9, pixels, channels, 30])
    given = SimpleNamespace(
        **{"run": run, "groups": groups, "nest": nest, "pixels": (1,), "lane": 2},
        weight=SimpleNamespace(operand=SimpleNamespace(strides=[0, 0, 30, stride])),
    )
    products = vars(import_module("qlower.packages.c_source.products"))
    assert products["_has_blocks"](given) is wanted
    dots = products["_Dots"](SimpleNamespace(counters="abcd", nest=nest), given)
    assert dots.pixel == (1 if pixels > 1 else None)
