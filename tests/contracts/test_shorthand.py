"""What a contract's text leaves out, beside the MLIR that it stands for."""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.func import FuncOp

from qlower.contracts.shorthand import parse_contract_module
from qlower.diagnostics import QlowerError

ABOVE = """
func.func private @declared(f32) -> f32
func.func private @g(%a: f64, %b: i32) -> i64 { %result = arith.extsi %b : i32 to i64 }
func.func private @h() -> (f32, i32) { return 1.0, 2 : f32, i32 }
"""


def parsed(function: str) -> FuncOp:
    """The last function of a module that has `ABOVE`, too."""
    module = parse_contract_module(f"module {{\n{ABOVE}{function}\n}}", "mine.mlir")
    last = module.body.block.last_op
    assert isinstance(last, FuncOp)
    return last


def lines(function: str) -> list[str]:
    return [
        re.sub(r"\s+", " ", line).strip() for line in str(parsed(function)).split("\n")
    ]


@pytest.mark.parametrize(
    ("short", "long"),
    [
        # Numbers, and what is widened.
        ("%result = arith.subi %n, 0x10 : i32", ["constant 16 : i32", "subi %n, 0"]),
        ("%result = arith.addi %m, %n : i64", ["extsi %n : i32 to i64", "addi %m, 0"]),
        ("%result = arith.mulf %w, %n : f64", ["sitofp %n : i32 to f64", "mulf %w, 0"]),
        ("%result = arith.mulf %w, %x : f64", ["extf %x : f32 to f64", "mulf %w, 0"]),
        (
            "%result = arith.addf %x, 0x3F800000 : f32",
            ["constant 1.000000e+00 : f32", "addf %x, 0"],
        ),
        (
            "%result = arith.select true, %x, -1.5 : f32",
            ["constant true", "constant -1.500000e+00 : f32", "select 0, %x, 1"],
        ),
        # Steps: of the function above, of its own arguments, and without any.
        ("%result = arith.addi @g, 1 : i64", ["call @g() : () -> i64", "constant 1"]),
        (
            "%result = arith.addi @g(1.0, 2), 1 : i64",
            [
                *("constant 1.000000e+00 : f64", "constant 2 : i32"),
                *("call @g(0, 1) : (f64, i32) -> i64", "constant 1 : i64"),
            ],
        ),
        (
            "%result = arith.addi @g(%x, %n, %n), 1 : i64",
            ["extf %x : f32 to f64", "call @g(0, %n, %n) : (f64, i32, i32)"],
        ),
        ("%result = @g(%w, %n)", ["call @g(%w, %n) : (f64, i32) -> i64", "return"]),
        ("%result = @h * %x", ["call @h() : () -> f32", "mulf"]),
        ("%result = arith.addf @k(%x), %x : f32", ["call @k(%x) : (f32) -> f32"]),
        # Constants of the layer.
        ("%result = %x / %input_scale", ["divf %x, %input_scale : f32"]),
        (
            "%result = %m - %output_zero_point",
            ["extsi %output_zero_point : i32 to i64"],
        ),
        # Types: by the first operand that has one, by a choice's values, or written.
        ("%result = 1.5 + %x", ["constant 1.5", "addf 0, %x : f32"]),
        ("%result = 1 if %c else %m", ["constant 1 : i64", "select %c, 0, %m : i64"]),
        ("%result = %n * %n : i64", ["extsi %n", "extsi %n", "muli 0, 1 : i64"]),
        ("%result = - 2 + %n", ["constant -2 : i32", "addi 0, %n : i32"]),
        ("%result = -%x - -2.0", ["negf %x", "constant -2.0", "subf 0, 1"]),
        ("%result = (%n + 1) * (%n - 1)", ["constant 1", "addi", "constant 1", "subi"]),
        ("%result = %x <= 2.0", ["constant 2.0", "cmpf ole, %x, 0"]),
        ("%result = 2 >= %n", ["constant 2", "cmpi sge, 0, %n"]),
        ("%result = %n > 1 and not %c", ["constant 1", "cmpi sgt", "constant false"]),
    ],
)
def test_operations(short: str, long: list[str]) -> None:
    """Values are numbered as they come, without their names."""
    body = lines(
        "func.func private @f(%x: f32, %w: f64, %n: i32, %m: i64, %c: i1) {\n"
        f"  {short}\n  return\n}}"
    )[1:-1]
    names: dict[str, str] = {}
    for number, line in enumerate(body):
        if (made := re.match(r"(%\w+) =", line)) is not None:
            names[made[1]] = str(number)
    plain = [
        re.sub(r"%\w+", lambda name: names.get(name[0], name[0]), line) for line in body
    ]
    stripped = [re.sub(r"^\d+ = (\w+\.)?|^func\.", "", line) for line in plain]
    for line, expected in zip(stripped, long, strict=False):
        assert line.startswith(expected.replace(".0", ".000000e+00")) or (
            line.startswith(expected)
        ), (stripped, expected)


@pytest.mark.parametrize(
    ("function", "first", "last"),
    [
        (
            "func.func @f(%x: i32) -> i32 serves clamp, requantize { "
            "%result = %x + 1 }",
            "func.func @f(%x: i32) -> i32 attributes "
            '{contract.rules = ["clamp", "requantize"]} {',
            "func.return %result : i32",
        ),
        (
            "func.func private @f(%x: i32) -> i32 replaces { return %x : i32 }",
            "func.func private @f(%x: i32) -> i32 attributes {contract.replaces} {",
            "func.return %x : i32",
        ),
        (
            "func.func @f(%x: i32) -> i32 replaces serves clamp "
            "attributes {contract.product = 1 : i32} { return %x : i32 }",
            "func.func @f(%x: i32) -> i32 attributes {contract.product = 1 : i32, "
            'contract.replaces, contract.rules = ["clamp"]} {',
            "func.return %x : i32",
        ),
        (
            'func.func private @f(%c: i1) { cf.assert %c, "no" }',
            "func.func private @f(%c: i1) {",
            "func.return",
        ),
        (
            'func.func @f(%x: i32 {contract.value = "input"}) -> i32 {\n'
            "  %result = %x + %input_zero_point\n}",
            'func.func @f(%x: i32 {contract.value = "input"}, '
            "%input_zero_point: i32) -> i32 {",
            "func.return %result : i32",
        ),
        (
            "func.func @f(%x: i32) -> i32 {\n  %y = %x + %input_zero_point\n"
            "  %result = %y * %input_zero_point\n}",
            "func.func @f(%x: i32, %input_zero_point: i32) -> i32 {",
            "func.return %result : i32",
        ),
    ],
)
def test_functions(function: str, first: str, last: str) -> None:
    found = lines(function)
    assert (found[0], found[-2]) == (first, last)


def test_a_step_gives_its_name_to_its_value() -> None:
    body = parsed("func.func @f() -> i64 { %result = arith.addi @g, 1 : i64 }").body
    assert [value.name_hint for op in body.block.ops for value in op.results] == [
        *("g", None, "result")
    ]


def test_only_a_result_is_returned() -> None:
    body = parsed("func.func @f(%x: i32) -> i32 { %y = %x + 1 }").body.block
    assert [op.name for op in body.ops] == ["arith.constant", "arith.addi"]


def test_added_operations_have_the_place_of_what_they_are_of() -> None:
    function = parsed(
        "func.func private @f(%x: f32) -> f32 {\n  %result = %x * (1.5 +\n    2.5)\n}"
    )
    assert [f"{op.name} {op.location}" for op in function.body.block.ops] == [
        'arith.constant loc("mine.mlir":7:19)',
        'arith.constant loc("mine.mlir":8:5)',
        'arith.addf loc("mine.mlir":7:23)',
        'arith.mulf loc("mine.mlir":7:16)',
        'func.return loc("mine.mlir":7:16)',
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"builtin.module"() ({}) : () -> ()', "are in one block, not 0"),
        (
            "module {\n^a:\n^b:\n}",
            "mine.mlir:1:1: error: a contract's functions are in ",
        ),
        (
            "func.func @f(%x: f32) { %p:2 = func.call @g() : () -> (i32, i32)\n"
            "%y = arith.addi %p#1, %p#2 : i32 }",
            "mine.mlir:2:23: error: ",
        ),
        ("func.func @f() -> i32 { %x = arith.addi 1, 2.0 : i32 }", "2.0 is no i32"),
        ("func.func @f() -> f32 { %x = arith.addf 1, 2.0 : f32 }", "1 is no f32"),
        ("func.func @f() -> f32 { %x = arith.addf 1.0, true : f32 }", "true is no f32"),
        ("func.func @f() { %x = fma(1.0, 2.0) : f32 }", "fma takes 3 operands, not 2"),
        ("func.func @f(%a: f32) { %x = %a if %a else %a }", "used with type i1"),
        ("func.func @f(%a: f32) { %x = %a < %a : i32 }", "`<` gives i1, not i32"),
        ("func.func @f(%a: f32) { %x = %a and %a }", "there is no `and` of f32"),
        ("func.func @f(%a: i32) { %x = fma(%a, %a, %a) }", "there is no `fma` of i32"),
        ("func.func @f(%a: f32) { %x = f64(%a) }", "there is no `f64` of f32"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        parse_contract_module(text, "mine.mlir")
    assert message in str(caught.value)
