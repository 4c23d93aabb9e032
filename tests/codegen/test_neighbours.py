"""Operations next to another one, and facts of regions, as they decide code."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects import arith
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from qlower.codegen.targets.base import Target
from qlower.codegen.targets.resolve import resolve_target
from qlower.codegen.values.byte_tables import table_codes
from qlower.codegen.values.facts import divides, indexed_loops, widest_scalar
from qlower.codegen.values.neighbours import (
    before_clamps,
    is_extended,
    is_limit,
    is_of_line,
    is_zero_point,
)
from qlower.text.parsing import parse_module


def function(body: str, arguments: str = "%x: i32, %y: i32") -> FuncOp:
    (found,) = parse_module(f"func.func @f({arguments}) {{\n{body}\nreturn\n}}").ops
    assert isinstance(found, FuncOp)
    return found


def named(found: FuncOp) -> dict[str | None, SSAValue]:
    block = found.body.block
    results = [result for op in block.ops for result in op.results]
    return {value.name_hint: value for value in (*block.args, *results)}


def constant(body: str) -> arith.ConstantOp:
    """The number `%c` of a body."""
    owner = named(function(body))["c"].owner
    assert isinstance(owner, arith.ConstantOp)
    return owner


C = "%c = arith.constant 3 : i32\n%d = arith.constant 4 : i32\n"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("", True),
        ("%a = arith.addi %x, %c : i32", True),
        ("%a = arith.addi %c, %x : i32\n%b = arith.addi %y, %c : i32", True),
        ("%a = arith.subi %x, %c : i32", False),
        ("%a = arith.addi %x, %c : i32\n%b = arith.muli %y, %c : i32", False),
        ("%a = arith.addi %x, %c : i32\n%b = arith.addi %a, %d : i32", False),
        ("%b = arith.addi %x, %d : i32\n%a = arith.addi %b, %c : i32", False),
        ("%a = arith.addi %x, %c : i32\n%b = arith.addi %a, %y : i32", True),
        ("%a = arith.addi %x, %c : i32\n%b = arith.muli %a, %d : i32", True),
    ],
)
def test_zero_points(body: str, wanted: bool) -> None:
    """Added, and next to no other sum with a number."""
    assert is_zero_point(constant(C + body)) is wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("", True),
        ("%a = arith.maxsi %x, %c : i32\n%b = arith.addi %a, %d : i32", True),
        (
            "%a = arith.minsi %x, %c : i32\n%m = arith.maxsi %a, %y : i32\n"
            "%b = arith.addi %m, %d : i32",
            True,
        ),
        ("%a = arith.maxsi %x, %c : i32\n%b = arith.addi %a, %y : i32", False),
        ("%a = arith.maxsi %x, %c : i32\n%b = arith.muli %a, %d : i32", False),
        ("%a = arith.maxui %x, %c : i32\n%b = arith.addi %a, %d : i32", False),
        ("%a = arith.addi %x, %c : i32", False),
        (
            "%a = arith.maxsi %x, %c : i32\n%b = arith.addi %a, %d : i32\n"
            "%e = arith.addi %b, %d : i32",
            False,
        ),
        (
            "%a = arith.maxsi %x, %c : i32\n%b = arith.addi %a, %d : i32\n"
            "%e = arith.subi %a, %y : i32",
            False,
        ),
    ],
)
def test_limits(body: str, wanted: bool) -> None:
    """Of what zero points are added to next, and nothing else reads."""
    assert is_limit(constant(C + body)) is wanted


LINE = (
    "%c = arith.constant 3.0 : f32\n%z = arith.constant 2.0 : f32\n"
    "%r = arith.sitofp %x : i32 to f32\n%u = arith.uitofp %x : i32 to f32\n"
)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("", True),
        ("%a = arith.mulf %r, %c : f32", True),
        ("%a = arith.mulf %c, %r : f32", True),
        ("%a = arith.mulf %u, %c : f32", False),
        ("%a = arith.mulf %c, %z : f32", False),
        ("%a = arith.addf %r, %c : f32", False),
        ("%a = math.fma %r, %c, %z : f32", True),
        ("%a = math.fma %r, %z, %c : f32", True),
        ("%a = math.fma %c, %r, %z : f32", False),
        ("%a = math.fma %u, %c, %z : f32", False),
        ("%a = arith.mulf %r, %c : f32\n%b = arith.addf %a, %c : f32", False),
    ],
)
def test_lines(body: str, wanted: bool) -> None:
    """A slope or an offset of a signed integer."""
    assert is_of_line(constant(LINE + body)) is wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("", True),
        ("%a = arith.extsi %n : i8 to i32", True),
        ("%a = arith.extui %n : i8 to i32\n%b = arith.sitofp %n : i8 to f32", True),
        ("%a = arith.uitofp %n : i8 to f32", True),
        ("%a = arith.extsi %n : i8 to i32\n%b = arith.addi %n, %n : i8", False),
    ],
)
def test_narrow_numbers(body: str, wanted: bool) -> None:
    assert is_extended(named(function(body, "%n: i8"))["n"]) is wanted


CLAMPS: list[tuple[str, str, list[tuple[bool, int]]]] = [
    ("", "x", []),
    ("%v = arith.minsi %x, %c : i32", "x", [(True, 3)]),
    ("%v = arith.maxsi %c, %x : i32", "x", [(False, 3)]),
    (
        "%a = arith.maxsi %x, %d : i32\n%v = arith.minsi %a, %c : i32",
        "x",
        [(False, 4), (True, 3)],
    ),
    (
        "%a = arith.maxsi %x, %y : i32\n%v = arith.minsi %a, %c : i32",
        "a",
        [(True, 3)],
    ),
    (
        "%a = arith.maxsi %x, %y : i32\n%b = arith.minsi %a, %c : i32\n"
        "%v = arith.maxsi %b, %d : i32",
        "a",
        [(True, 3), (False, 4)],
    ),
    ("%v = arith.minui %x, %c : i32", "v", []),
    ("%v = arith.addi %x, %c : i32", "v", []),
]


@pytest.mark.parametrize(("body", "start", "clamps"), CLAMPS)
def test_clamps(body: str, start: str, clamps: list[tuple[bool, int]]) -> None:
    """From the first on, up to a limit that isn't known."""
    found = named(function(C + body))
    value, limits = before_clamps(found.get("v", found["x"]))
    assert value is found[start]
    assert limits == clamps


def test_facts_of_regions() -> None:
    """The widest number that is used or computed, as it lies in memory; loops whose
    index counts; divisions."""
    narrow = function("%a = arith.addi %n, %n : i4", "%n: i4, %unused: i64")
    assert widest_scalar(narrow.body.block) == 8
    assert not divides(narrow.body)
    wide = "%a = arith.extsi %n : i4 to i12\n%b = arith.index_cast %a : i12 to index"
    assert widest_scalar(function(wide, "%n: i4").body.block) == 16
    assert (
        widest_scalar(function("%b = arith.extf %n : f32 to f64", "%n: f32").body.block)
        == 64
    )
    assert widest_scalar(function("", "%n: f64").body.block) == 8
    assert (
        widest_scalar(function("%a = arith.negf %n : f32", "%n: f32").body.block) == 32
    )
    divided = function("%a = arith.divsi %x, %y : i32")
    assert divides(divided.body)
    assert not divides(function("%a = arith.divui %x, %y : i32").body)
    assert indexed_loops(divided.body) == set()


TABLE = """
%u = arith.extui %n : i8 to i32
%i = arith.index_cast %u : i32 to index
%s = arith.extsi %n : i8 to i32
%j = arith.index_cast %s : i32 to index
%w = arith.extui %k : i16 to i32
%l = arith.index_cast %w : i32 to index
"""
GIVEN = (
    "%n: i8, %k: i16, %t: tensor<256xi8>, %short: tensor<128xi8>, "
    "%words: tensor<256xi16>, %any: index"
)


@pytest.mark.parametrize(
    ("table", "type", "index", "wanted"),
    [
        ("t", "256xi8", "i", True),
        *(("t", "256xi8", other, False) for other in ("j", "l", "any")),
        ("short", "128xi8", "i", False),
        ("words", "256xi16", "i", False),
    ],
)
def test_tables_that_registers_hold(
    table: str, type: str, index: str, wanted: bool
) -> None:
    """All 256 bytes, by the bits of one; where there is an instruction."""
    body = f"{TABLE}%r = tensor.extract %{table}[%{index}] : tensor<{type}>"
    found = named(function(body, GIVEN))
    op = found["r"].owner
    targets: Sequence[tuple[Target, bool]] = [
        (resolve_target("x86_64-linux-gnu", "x86-64-v3"), wanted),
        (resolve_target("x86_64-linux-gnu", "x86-64"), False),
    ]
    for target, has_one in targets:
        codes = table_codes(op, target)  # pyright: ignore[reportArgumentType]
        assert (codes is found["n"]) is has_one
        assert (codes is None) is not has_one
