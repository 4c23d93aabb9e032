"""Which copies nests can do by themselves: every reason against it, one at a time."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp

from qlower.text.parsing import parse_module
from qlower.transforms.boxes import writable_boxes

MAP = "affine_map<(d0, d1) -> (d0, d1)>"
ROWS = "tensor<4x8xi8>"


def mapped(name: str, results: int = 1) -> str:
    """A nest that computes its elements in place."""
    types = ", ".join([ROWS] * results)
    names = f"%{name}" if results == 1 else f"%{name}:2"
    maps = ", ".join([MAP] * (results + 1))
    yielded = ", ".join(["%v"] * results)
    return f"""
      {names} = kernel.nest map parallel [4, 8] maps [{maps}]
        ins(%x : {ROWS}) epilogue {{
        ^bb0(%v: i8):
          kernel.yield {yielded} : {", ".join(["i8"] * results)}
        }} -> {types}"""


def summed(name: str, read: str, source: str) -> str:
    """Sums of products with weights, of what is read of a source."""
    return f"""
      %{name} = kernel.nest contraction parallel [4, 8] reduction [2]
        maps [affine_map<(d0, d1, d2) -> ({read})>,
              affine_map<(d0, d1, d2) -> (d1, d2)>,
              affine_map<(d0, d1, d2) -> (d0, d1)>]
        ins({source}, tensor<8x2xi8>) init {{
        ^bb0(%v: i8, %f: i8):
          %zero = arith.constant 0 : i8
          kernel.yield %zero : i8
        }} body {{
        ^bb0(%v: i8, %f: i8, %s: i8):
          %p = arith.muli %v, %f : i8
          %t = arith.addi %s, %p : i8
          kernel.yield %t : i8
        }} epilogue {{
        ^bb0(%v: i8, %f: i8, %s: i8):
          kernel.yield %s : i8
        }} -> {ROWS}"""


PRODUCT = summed("a", "d0, d2", "%k, %w : tensor<4x2xi8>")
WINDOWS = summed("a", "d0 + d2", "%line, %w : tensor<5xi8>")


def copied(
    name: str,
    source: str,
    into: str,
    result: str = "8x8",
    box: str = "[0, 0] [4, 8] [1, 1]",
    where: str = "",
) -> str:
    """Such as `into`: empty[0, 0] [1, 1]."""
    return f"""
      %{name} = kernel.copy %{source}{box} into {into}
        : {ROWS} into tensor<{result}xi8> {where}"""


A, B, C = map(mapped, "abc")
FIRST = copied("p", "a", "empty[0, 0] [1, 1]")
BELOW = copied("q", "b", "%p[4, 0] [1, 1]")
PADDED = copied("p", "a", "fill(0 : i8)[1, 2] [1, 1]", "6x12")
TALL = copied("p", "a", "empty[0, 0] [1, 1]", "12x8")
SPREAD = copied("s", "p", "empty[0, 0] [1, 1]", box="[0, 0] [8, 8] [1, 1]").replace(
    ROWS, "tensor<8x8xi8>"
)
TWICE = copied("s", "a", "empty[0, 0] [1, 1]")


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([A, PADDED], {"p": ["p"]}),
        ([A, FIRST], {"p": ["p"]}),
        ([A, B, FIRST, BELOW], {"p": ["p", "q"]}),
        # boxes of two chains, and of three copies
        (
            [A, B, FIRST, copied("q", "b", "empty[0, 0] [1, 1]")],
            {"p": ["p"], "q": ["q"]},
        ),
        (
            [
                *(A, B, C, TALL, copied("q", "b", "%p[4, 0] [1, 1]", "12x8")),
                copied("r", "c", "%q[8, 0] [1, 1]", "12x8"),
            ],
            {"p": ["p", "q", "r"]},
        ),
        (
            [
                *(A, B, C, TALL, copied("q", "b", "%p[4, 0] [1, 1]", "12x8")),
                copied("r", "c", "%q[3, 0] [1, 1]", "12x8"),
            ],
            {},
        ),
        # apart in columns, or rows between rows, whose ends overlap
        (
            [
                *(A, B, copied("p", "a", "empty[0, 0] [1, 1]", "4x16")),
                copied("q", "b", "%p[0, 8] [1, 1]", "4x16"),
            ],
            {"p": ["p", "q"]},
        ),
        (
            [
                *(A, B, copied("p", "a", "empty[0, 0] [1, 1]", "4x16")),
                copied("q", "b", "%p[0, 7] [1, 1]", "4x16"),
            ],
            {},
        ),
        ([A, B, FIRST, copied("q", "b", "%p[3, 0] [1, 1]")], {}),
        (
            [
                *(A, B, copied("p", "a", "empty[0, 0] [2, 1]")),
                copied("q", "b", "%p[1, 0] [2, 1]"),
            ],
            {},
        ),
        (
            [
                *(A, B, copied("p", "a", "empty[4, 0] [1, 1]")),
                copied("q", "b", "%p[1, 0] [1, 1]"),
            ],
            {},
        ),
        # of a border and a box one must be written first
        (
            [
                *(A, B, copied("p", "a", "fill(0 : i8)[0, 0] [1, 1]", "9x8")),
                copied("q", "b", "%p[4, 0] [1, 1]", "9x8"),
            ],
            {},
        ),
        # a source that is something else's, or no nest's, or not whole
        ([A, B, FIRST, BELOW, TWICE], {"p": ["q"]}),
        ([B, copied("p", "x", "empty[0, 0] [1, 1]"), BELOW], {"p": ["q"]}),
        ([copied("p", "x", "empty[0, 0] [1, 1]")], {}),
        ([A, copied("p", "a", "empty[0, 0] [2, 1]")], {}),
        ([A, copied("p", "a", "empty[0, 0] [1, 1]", box="[0, 0] [3, 8] [1, 1]")], {}),
        ([mapped("a", 2), FIRST.replace("%a", "%a#0")], {}),
        ([A, PADDED + "in [#kernel.unstored]"], {}),
        # a result that something reads in between, or as a source, ends the chain
        ([A, B, FIRST, BELOW, SPREAD], {"p": ["p"]}),
        ([A, FIRST, SPREAD], {"p": ["p"]}),
        # a product's rows are one row of pixels, those of windows aren't
        ([PRODUCT, FIRST], {"p": ["p"]}),
        ([PRODUCT, PADDED], {}),
        ([WINDOWS, PADDED], {"p": ["p"]}),
    ],
)
def test_boxes(lines: list[str], found: dict[str, list[str]]) -> None:
    text = f"""func.func @main(%x: {ROWS}, %k: tensor<4x2xi8>, %line: tensor<5xi8>,
        %w: tensor<8x2xi8>) {{{"".join(lines)}
      return
    }}"""
    module = parse_module(text, "test.mlir")
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    chains = writable_boxes(function.body.block)
    assert found == {
        first.result.name_hint: [copy.result.name_hint for copy in copies]
        for first, copies in chains
    }
