"""Bytes that are stored with the other sign: the results stay, whatever lies between
the nest that makes them and the product that reads them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from qlower.interp import run_function
from qlower.tally import Rewrites, tallied
from qlower.text.parsing import parse_module
from qlower.transforms.match_signs import match_signs

ROW = "tensor<1x4xi8>"
WHOLE = "[0, 0] [1, 4] [1, 1]"
SAME = "affine_map<(n, i) -> (n, i)>"
NESTED = "kernel.nest map parallel [1, 4]"


def one_more(name: str, source: str) -> str:
    return f"""
  %{name} = {NESTED} maps [{SAME}, {SAME}] ins(%{source} : {ROW}) epilogue {{
  ^bb0(%byte: i8):
    %one = arith.constant 1 : i8
    %next = arith.addi %byte, %one : i8
    kernel.yield %next : i8
  }} -> {ROW}"""


def product(source: str, extend: str, zero_point: str) -> str:
    centred = {
        "none": "%centred = arith.muli %wide, %wide : i32",
        "from": "%centred = arith.subi %zero, %wide : i32",
        "read": "%centred = arith.subi %wide, %sum : i32",
        "late": """%first = arith.subi %wide, %zero : i32
    %zero_point = arith.constant 3 : i32
    %centred = arith.subi %first, %zero_point : i32""",
    }.get(
        zero_point,
        f"""%zero_point = arith.constant {zero_point} : i32
    %centred = arith.subi %wide, %zero_point : i32""",
    )
    return f"""
  %y = kernel.nest contraction parallel [1, 2] reduction [4]
    maps [affine_map<(n, o, i) -> (n, i)>, affine_map<(n, o, i) -> (o, i)>,
          affine_map<(n, o, i) -> (n, o)>]
    ins(%{source}, %w : {ROW}, tensor<2x4xi8>) init {{
  ^bb0(%in: i8, %f: i8):
    %zero = arith.constant 0 : i32
    kernel.yield %zero : i32
  }} body {{
  ^bb0(%in: i8, %f: i8, %sum: i32):
    %zero = arith.constant 0 : i32
    %wide = {extend} %in : i8 to i32
    %weight = arith.extsi %f : i8 to i32
    {centred}
    %product = arith.muli %centred, %weight : i32
    %next = arith.addi %sum, %product : i32
    kernel.yield %next : i32
  }} epilogue {{
  ^bb0(%in: i8, %f: i8, %acc: i32):
    kernel.yield %acc : i32
  }} -> tensor<1x2xi32>"""


def passed_on(name: str, source: str) -> str:
    """The input as one result, and a number more than it as another."""
    return f"""
  %{name}, %more = {NESTED}
    maps [{SAME}, {SAME}, {SAME}] ins(%{source} : {ROW}) epilogue {{
  ^bb0(%byte: i8):
    %one = arith.constant 1 : i8
    %next = arith.addi %byte, %one : i8
    kernel.yield %byte, %next : i8, i8
  }} -> {ROW}, {ROW}"""


def copied(source: str, into: str) -> str:
    return f"""
  %b = kernel.copy %{source}[0, 0] [1, 2] [1, 1] into {into}[0, 1] [1, 1]
    : {ROW} into {ROW}"""


LINE = "tensor<4xi8>"
SHAPED = f"""
  %line = tensor.collapse_shape %a [[0, 1]] : {ROW} into {LINE}
  %b = tensor.expand_shape %line [[0, 1]] output_shape [1, 4] : {LINE} into {ROW}"""
LOOKED_UP = f"""
  %found = {NESTED} maps [{SAME}, {SAME}] ins(%x : {ROW}) tables(%a : {ROW}) epilogue {{
  ^bb0(%byte: i8):
    %zero = arith.constant 0 : index
    %entry = tensor.extract %a[%zero, %zero] : {ROW}
    kernel.yield %entry : i8
  }} -> {ROW}"""

A, D = one_more("a", "x"), one_more("d", "x")
RESULT = "y"
CASES: dict[str, tuple[str, str, str]] = {
    # what comes before the product, what it reads, and what is returned besides
    "at once": (A, "a", ""),
    "from an argument": ("", "x", ""),
    "returned": (A, "a", "a"),
    "two readers": (A + one_more("c", "a"), "a", "c"),
    "copied": (A + copied("a", "fill(5 : i8)") + one_more("c", "b"), "a", "c"),
    "filled": (A + copied("a", "fill(5 : i8)"), "b", ""),
    "filled below 0": (A + copied("a", "fill(-3 : i8)"), "b", ""),
    "beside": (A + one_more("c", "x") + copied("c", "fill(9 : i8)"), "a", "b"),
    "into": (A + D + copied("a", "%d"), "b", ""),
    "into, whose other reader": (
        A + D + copied("a", "%d") + one_more("c", "d"),
        "b",
        "c",
    ),
    "into an argument": (A + copied("a", "%x"), "b", ""),
    "reshaped": (A + SHAPED, "b", ""),
    "passed on": (A + passed_on("b", "a"), "b", "more"),
    "passed on beside": (A + passed_on("b", "a") + one_more("c", "b"), "a", "c"),
    "passed on and returned": (A + passed_on("b", "a"), "a", "b"),
    "a table": (A + LOOKED_UP, "a", "found"),
}


def text_of(case: str, extend: str, zero_point: str) -> str:
    before, read, also = CASES[case]
    types = "tensor<1x2xi32>" + (f", {ROW}" if also else "")
    values = "%y" + (f", %{also}" if also else "")
    weights = "arith.constant dense<[[3, -7, 1, 0], [10, 20, 0, 1]]> : tensor<2x4xi8>"
    return f"""func.func @main(%x: {ROW}) -> ({types}) {{
  %w = {weights}{before}{product(read, extend, zero_point)}
  func.return {values} : {types}
}}"""


def check(case: str, extend: str, zero_point: str) -> tuple[int, Counter[str]]:
    """How many values are flipped, and the operations that do it; the results stay."""
    module, original = (
        parse_module(text_of(case, extend, zero_point)) for _ in range(2)
    )
    rewrites = Rewrites("values flipped", None)
    (function,) = module.ops
    with tallied() as tally:
        match_signs(function.regions[0].block, extend == "arith.extsi", rewrites)
    module.verify()
    x = np.array([[-128, 127, -3, 4]], np.int8)
    for given in (x, x[:, ::-1].copy()):
        expected = run_function(original, "main", [given])
        found = run_function(module, "main", [given])
        assert [one.tolist() for one in found] == [one.tolist() for one in expected]
    names = Counter(op.name for op in module.walk())
    return tally.counts["values flipped"], names


FLIPS = {
    "at once": (1, 1),
    "from an argument": (0, 0),
    "returned": (0, 0),
    "two readers": (1, 2),
    "copied": (1, 2),
    "filled": (1, 1),
    "filled below 0": (1, 1),
    "beside": (1, 1),
    "into": (1, 2),
    "into, whose other reader": (1, 3),
    "into an argument": (0, 0),
    "reshaped": (1, 1),
    "passed on": (1, 2),
    "passed on beside": (1, 3),
    "passed on and returned": (0, 0),
    "a table": (0, 0),
}
"""Groups of values that are flipped, and the nests that flip a byte."""


@pytest.mark.parts(6)
@pytest.mark.parametrize("extend", ["arith.extsi", "arith.extui"])
@pytest.mark.parametrize("case", CASES)
def test_between(case: str, extend: str) -> None:
    count, names = check(case, extend, "-3")
    assert (count, names["arith.xori"]) == FLIPS[case]
    assert names["arith.subi"] == 1


@pytest.mark.parametrize(
    ("zero_point", "extend", "subtractions"),
    [
        *((point, "arith.extsi", count) for point, count in (("-128", 0), ("127", 1))),
        *((point, "arith.extui", count) for point, count in (("128", 0), ("0", 1))),
        *(("none", extend, 2) for extend in ("arith.extsi", "arith.extui")),
        *((point, "arith.extsi", 2) for point in ("from", "read", "late")),
    ],
)
def test_zero_points(zero_point: str, extend: str, subtractions: int) -> None:
    """Which the sign's distance is added to, or which takes their place."""
    count, names = check("at once", extend, zero_point)
    assert (count, names["arith.subi"]) == (1, subtractions)


def test_products_of_the_sign_that_they_take() -> None:
    for extend in ("arith.extsi", "arith.extui"):
        module = parse_module(text_of("at once", extend, "3"))
        before = str(module)
        (function,) = module.ops
        rewrites = Rewrites("values flipped", None)
        match_signs(function.regions[0].block, extend != "arith.extsi", rewrites)
        assert str(module) == before


def test_as_many_as_are_allowed() -> None:
    module = parse_module(text_of("two readers", "arith.extsi", "3"))
    before = str(module)
    (function,) = module.ops
    match_signs(function.regions[0].block, True, Rewrites("values flipped", 0))
    assert str(module) == before
