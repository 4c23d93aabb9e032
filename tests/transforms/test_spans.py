"""The bytes that channels can hold, against all that small modules compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from qlower.codegen.nests.content import classes_of_equal
from qlower.dialects.kernel import NestOp
from qlower.interp import run_function
from qlower.text.parsing import parse_module
from qlower.transforms.drop_channels.needs import Needs
from qlower.transforms.drop_channels.spans import find_spans

SAME = "affine_map<(n, i) -> (n, i)>"
EVERY = 256


def nest(result: str, source: str, size: int, lines: str, ins: str = "") -> str:
    """A nest over [256, size] bytes that yields %out of %in."""
    more = "".join(f", {one.split(':')[1]}" for one in filter(None, [ins]))
    names = f"%{source}" + (f", {ins.split(':')[0]}" if ins else "")
    maps = f"{SAME}, " + ("affine_map<(n, i) -> (i)>, " if ins else "") + SAME
    arguments = "%in: i8" + (", %lane: i32" if ins else "")
    return f"""
  %{result} = kernel.nest map parallel [{EVERY}, {size}] maps [{maps}]
    ins({names} : tensor<{EVERY}x{size}xi8>{more}) epilogue {{
  ^bb0({arguments}):
    {lines}
    kernel.yield %out : i8
  }} -> tensor<{EVERY}x{size}xi8>"""


RECTIFIED = """%least = arith.constant -3 : i8
    %out = arith.maxsi %in, %least : i8"""
WIDER = """%wide = arith.extsi %in : i8 to i32
    %sum = arith.addi %wide, %lane : i32
    %four = arith.constant 2 : i32
    %high = arith.shrsi %sum, %four : i32
    %out = arith.trunci %high : i32 to i8"""
COUNTED = """%loop = kernel.index 1 : index
    %number = arith.index_cast %loop : index to i8
    %part = arith.constant 3 : i8
    %low = arith.andi %in, %part : i8
    %out = arith.addi %low, %number : i8"""
LANES = "%lanes = arith.constant dense<[-40, 0, 100]> : tensor<3xi32>"
MAPPED = nest("a", "x", 3, RECTIFIED)


def copied(line: str, source: str, result: str) -> str:
    return f"""
  %y = kernel.copy {line} : tensor<{source}xi8> into tensor<{result}xi8>"""


def sums(epilogue: str, argument: str = "a") -> str:
    """Products with three channels of bytes, whose second result has no weights."""
    return f"""
  %w = arith.constant dense<[[3, -2, 1], [0, 0, 0]]> : tensor<2x3xi8>
  %y = kernel.nest contraction parallel [{EVERY}, 2] reduction [3]
    maps [affine_map<(n, o, i) -> (n, i)>, affine_map<(n, o, i) -> (o, i)>,
          affine_map<(n, o, i) -> (n, o)>]
    ins(%{argument}, %w : tensor<{EVERY}x3xi8>, tensor<2x3xi8>) init {{
  ^bb0(%in: i8, %f: i8):
    %start = arith.constant 7 : i32
    kernel.yield %start : i32
  }} body {{
  ^bb0(%in: i8, %f: i8, %sum: i32):
    %wide = arith.extsi %in : i8 to i32
    %weight = arith.extsi %f : i8 to i32
    %product = arith.muli %wide, %weight : i32
    %next = arith.addi %sum, %product : i32
    kernel.yield %next : i32
  }} epilogue {{
  ^bb0(%in: i8, %f: i8, %sum: i32):
    {epilogue}
    kernel.yield %out : i8
  }} -> tensor<{EVERY}x2xi8>"""


CUT = """%shift = arith.constant 3 : i32
    %high = arith.shrsi %sum, %shift : i32
    %least = arith.constant -128 : i32
    %most = arith.constant 100 : i32
    %up = arith.maxsi %high, %least : i32
    %down = arith.minsi %up, %most : i32
    %out = arith.trunci %down : i32 to i8"""
WRAPPED = "%out = arith.trunci %sum : i32 to i8"


def pooled(operation: str, start: int) -> str:
    return f"""
  %window = tensor.empty() : tensor<2xi8>
  %y = kernel.nest reduction parallel [{EVERY // 2}, 3] reduction [2]
    maps [affine_map<(n, c, i) -> (n * 2 + i, c)>, affine_map<(n, c, i) -> (n, c)>]
    ins(%a : tensor<{EVERY}x3xi8>) init {{
  ^bb0(%in: i8):
    %start = arith.constant {start} : i8
    kernel.yield %start : i8
  }} body {{
  ^bb0(%in: i8, %best: i8):
    %next = arith.{operation} %in, %best : i8
    kernel.yield %next : i8
  }} epilogue {{
  ^bb0(%in: i8, %best: i8):
    kernel.yield %best : i8
  }} -> tensor<{EVERY // 2}x3xi8>"""


ALL = (-128, 127)
CASES: dict[str, tuple[str, str, list[tuple[int, int]] | None]] = {
    # how %y is made, its shape, and the span of each channel if one is known
    "one number is least": (nest("y", "x", 3, RECTIFIED), "256x3", [(-3, 127)] * 3),
    "a number for each channel": (
        f"\n  {LANES}" + nest("y", "x", 3, WIDER, "%lanes : tensor<3xi32>"),
        "256x3",
        [(-42, 21), (-32, 31), (-7, 56)],
    ),
    "with the channel's number": (
        nest("y", "x", 3, COUNTED),
        "256x3",
        [(0, 3), (1, 4), (2, 5)],
    ),
    "a part": (
        MAPPED
        + copied("%a[0, 1] [256, 2] [1, 1] into empty[0, 0] [1, 1]", "256x3", "256x2"),
        "256x2",
        [(-3, 127)] * 2,
    ),
    "between a number": (
        MAPPED
        + copied(
            "%a[0, 0] [256, 3] [1, 1] into fill(9 : i8)[0, 1] [1, 1]", "256x3", "256x5"
        ),
        "256x5",
        [(9, 9), *[(-3, 127)] * 3, (9, 9)],
    ),
    "every other": (
        MAPPED
        + copied(
            "%a[0, 0] [256, 2] [1, 2] into fill(9 : i8)[0, 1] [1, 2]", "256x3", "256x5"
        ),
        "256x5",
        [(9, 9), (-3, 127), (9, 9), (-3, 127), (9, 9)],
    ),
    "below a number": (
        MAPPED
        + copied(
            "%a[0, 0] [255, 3] [1, 1] into fill(-9 : i8)[1, 0] [1, 1]", "256x3", "256x3"
        ),
        "256x3",
        [(-9, 127)] * 3,
    ),
    "in an unsigned number": (
        MAPPED
        + copied(
            "%a[0, 0] [255, 3] [1, 1] into fill(127 : i8)[1, 0] [1, 1]",
            "256x3",
            "256x3",
        ),
        "256x3",
        [(-3, 127)] * 3,
    ),
    "into others": (
        MAPPED
        + nest("b", "x", 3, COUNTED)
        + copied("%b[0, 0] [256, 1] [1, 1] into %a[0, 1] [1, 1]", "256x3", "256x3"),
        "256x3",
        [(-3, 127), (0, 3), (-3, 127)],
    ),
    "into a part of others": (
        nest("b", "x", 3, COUNTED)
        + MAPPED
        + copied("%a[0, 0] [100, 1] [1, 1] into %b[7, 1] [1, 1]", "256x3", "256x3"),
        "256x3",
        [(0, 3), (-3, 127), (2, 5)],
    ),
    "into an argument": (
        MAPPED
        + copied("%a[0, 0] [256, 1] [1, 1] into %x[0, 1] [1, 1]", "256x3", "256x3"),
        "256x3",
        [ALL, (-3, 127), ALL],
    ),
    "an argument into others": (
        MAPPED
        + copied("%x[0, 0] [256, 1] [1, 1] into %a[0, 1] [1, 1]", "256x3", "256x3"),
        "256x3",
        [(-3, 127), ALL, (-3, 127)],
    ),
    "more channels": (
        nest("b", "x", 3, COUNTED)
        + """
  %y = tensor.collapse_shape %b [[0, 1]] : tensor<256x3xi8> into tensor<768xi8>""",
        "768",
        [(0, 3), (1, 4), (2, 5)] * 256,
    ),
    "fewer channels": (
        nest("b", "x", 3, COUNTED)
        + """
  %y = tensor.expand_shape %b [[0], [1, 2]] output_shape [256, 3, 1]
    : tensor<256x3xi8> into tensor<256x3x1xi8>""",
        "256x3x1",
        [(0, 5)],
    ),
    "sums": (MAPPED + sums(CUT), "256x2", [(-33, 65), (0, 0)]),
    "sums of anything": (sums(CUT, "x"), "256x2", [(-95, 96), (0, 0)]),
    "sums that wrap": (MAPPED + sums(WRAPPED), "256x2", [ALL, (7, 7)]),
    "the largest": (MAPPED + pooled("maxsi", -7), "128x3", [(-3, 127)] * 3),
    "the largest above a number": (
        MAPPED + pooled("maxsi", 5),
        "128x3",
        [(5, 127)] * 3,
    ),
    "the smallest": (MAPPED + pooled("minsi", 99), "128x3", [(-3, 99)] * 3),
}


def parsed(lines: str, shape: str) -> Any:
    return parse_module(
        f"func.func @main(%x: tensor<{EVERY}x3xi8>) -> tensor<{shape}xi8> {{{lines}\n"
        f"  func.return %y : tensor<{shape}xi8>\n}}"
    )


def block_of(module: Any) -> tuple[Any, dict[NestOp, int]]:
    """A function's body, and which of its nests are equal."""
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    block = function.body.block
    return block, classes_of_equal(op for op in block.ops if isinstance(op, NestOp))


@pytest.mark.parts(6)
@pytest.mark.parametrize("name", CASES)
def test_spans(name: str) -> None:
    """As they are written, and no result is outside of them."""
    lines, shape, expected = CASES[name]
    module = parsed(lines, shape)
    block, equal = block_of(module)
    result = block.last_op.operands[0]
    spans = find_spans(block, equal)
    low, high = spans[result]
    assert [*zip(low.tolist(), high.tolist(), strict=True)] == expected
    every = np.arange(-128, 128)
    draw = np.random.default_rng(3)
    x = np.stack([draw.permutation(every) for _ in range(3)], axis=1).astype(np.int8)
    for given in (x, np.full_like(x, 127), np.full_like(x, -128)):
        (found,) = run_function(module, "main", [given])
        rows = found.reshape(-1, len(low))
        assert (rows >= low).all()
        assert (rows <= high).all()


LINEAR = (
    sums(CUT, "x")
    .replace("[[3, -2, 1], [0, 0, 0]]", "[[3, -2, 1], [1, 1, 1], [4, 0, 2]]")
    .replace("[256, 2]", "[256, 3]")
    .replace("tensor<2x3xi8>", "tensor<3x3xi8>")
    .replace("tensor<256x2xi8>", "tensor<256x3xi8>")
    .replace("%w", "%v")
    .replace("%y", "%a")
)
"""What depends on an argument's channels, which all stay, by weights alone."""


def weighted(weights: str) -> str:
    return sums(CUT, "b").replace("[[3, -2, 1], [0, 0, 0]]", weights)


SOME = "[[3, 0, 1], [0, 0, 2]]"
FILLED = copied(
    "%a[0, 0] [256, 1] [1, 1] into fill(9 : i8)[0, 1] [1, 1]", "256x3", "256x3"
).replace("%y", "%b")
PASSED = copied("%a[0, 0] [256, 3] [1, 1] into empty[0, 0] [1, 1]", "256x3", "256x3")
LINE = """
  %line = tensor.collapse_shape %a [[0, 1]] : tensor<256x3xi8> into tensor<768xi8>
  %b = tensor.expand_shape %line [[0, 1]] output_shape [256, 3]
    : tensor<768xi8> into tensor<256x3xi8>"""
OTHER = nest("b", "a", 3, RECTIFIED.replace("-3", "-7"))
NEEDS: dict[str, tuple[str, int, dict[str, str]]] = {
    # what is summed, the unit, and for each value the channels that are needed
    "no weights": (OTHER + weighted(SOME), 1, {"a": "101", "b": "101", "x": "111"}),
    "none at all": (OTHER + weighted("[[0, 0, 0], [0, 0, 0]]"), 1, {"a": "100"}),
    "two at a time": (OTHER + weighted("[[0, 0, 1], [0, 0, 2]]"), 2, {"b": "101"}),
    "one, of two": (OTHER + weighted("[[0, 2, 0], [0, 1, 0]]"), 2, {"a": "110"}),
    "four at a time": (OTHER + weighted(SOME), 4, {"a": "111", "b": "111"}),
    "a number beside": (
        FILLED + weighted("[[1, 2, 3], [4, 5, 6]]"),
        1,
        {"b": "010", "a": "100"},
    ),
    "a copy": (
        PASSED.replace("%y", "%b") + weighted(SOME),
        1,
        {"a": "101", "b": "101"},
    ),
    "a copy that is returned": (PASSED, 1, {"a": "111", "y": "111"}),
    "a line": (LINE + weighted(SOME), 1, {"a": "101", "b": "101"}),
    "every weight": (OTHER + weighted("[[1, 2, 3], [0, 0, 0]]"), 1, {"b": "111"}),
}


@pytest.mark.parts(6)
@pytest.mark.parametrize("name", NEEDS)
def test_needs(name: str) -> None:
    lines, unit, expected = NEEDS[name]
    shape = "256x3" if "returned" in name else "256x2"
    module = parsed(LINEAR + lines, shape)
    block, equal = block_of(module)
    needs = Needs(block, find_spans(block, equal), equal, unit)
    values = [*block.args, *(value for op in block.ops for value in op.results)]
    found = {
        value.name_hint: "".join("01"[int(one)] for one in needs[value])
        for value in values
        if value.name_hint in expected
    }
    assert found == expected


def test_what_is_to_stay_is_needed() -> None:
    module = parsed(LINEAR + OTHER + weighted(SOME), "256x2")
    block, equal = block_of(module)
    spans = find_spans(block, equal)
    (b,) = (
        op.results[0]
        for op in block.ops
        if op.results and op.results[0].name_hint == "b"
    )
    needs = Needs(block, spans, equal, 1, [b])
    assert needs[b].all()
    assert needs[b.owner.operands[0]].all()
