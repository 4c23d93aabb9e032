"""Circuits of single steps, on all integers of small ranges, beside the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from support.circuits.verilog_text import evaluate, ports_of
from xdsl.dialects.func import FuncOp

from qlower.diagnostics import QlowerError
from qlower.dialects.fixed import RoundingMode
from qlower.emit.systemverilog import systemverilog
from qlower.interp import evaluate_function
from qlower.text.parsing import parse_module
from qlower.transforms.arith_to_comb import to_comb

Ends = tuple[int, int]
SIGNED, NATURAL, AMOUNT, POSITIVE = (-5, 5), (0, 6), (0, 3), (1, 3)


@dataclass(frozen=True)
class Case:
    """A step `%r` of `%x` and `%y`, by the integers that these have."""

    step: str
    x: Ends = SIGNED
    y: Ends = SIGNED
    result: str = "i8"


def constant(number: int) -> str:
    return f"%c = arith.constant {number} : i8\n"


def rounded(mode: RoundingMode, amount: str = "%y") -> str:
    return f"%r = fixed.shift_right %x, {amount} {{rounding = {mode.value}}} : i8"


def binary(op: str, other: str = "%y") -> str:
    return f"%r = arith.{op} %x, {other} : i8"


PAIRS = {
    "signed": (SIGNED, SIGNED),
    "natural": (NATURAL, (2, 5)),
    "mixed": (SIGNED, NATURAL),
    "below": ((-4, 1), (1, 4)),
    "above": ((3, 6), (-3, 3)),
}
"""Two ranges with and without signs, across each other and apart."""
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
TABLE = "arith.constant dense<[7, -3, 5, 0]> : tensor<4xi8>"

CASES: Mapping[str, Case] = {
    **{
        f"{op} {word}": Case(binary(op), *ends)
        for op in (
            *("addi", "subi", "muli", "andi", "ori", "xori"),
            *("minsi", "maxsi", "minui", "maxui"),
        )
        for word, ends in PAIRS.items()
    },
    **{
        f"{op} {word}": Case(binary(op), x, POSITIVE)
        for op in ("divsi", "remsi", "divui", "remui")
        for word, x in (("signed", SIGNED), ("natural", NATURAL))
    },
    **{
        f"{op} by negative": Case(binary(op), SIGNED, (-3, -1))
        for op in ("divsi", "remsi")
    },
    **{
        f"cmpi {word} {kind}": Case(
            f"%r = arith.cmpi {word}, %x, %y : i8", *ends, result="i1"
        )
        for word in PREDICATES
        for kind, ends in PAIRS.items()
    },
    **{
        f"{op} by any {word}": Case(binary(op), x, AMOUNT)
        for op in ("shli", "shrsi", "shrui")
        for word, x in (("signed", SIGNED), ("natural", NATURAL))
    },
    **{
        f"{op} by {by}": Case(constant(by) + binary(op, "%c"), x, (0, 0))
        for op, x in (("shli", SIGNED), ("shrsi", SIGNED), ("shrui", NATURAL))
        for by in (0, 1, 3, 6)
    },
    **{
        f"{mode.value} by {by} {word}": Case(
            constant(by) + rounded(mode, "%c"), x, (0, 0)
        )
        for mode in RoundingMode
        for by in (0, 1, 2, 5)
        for word, x in (("signed", (-9, 9)), ("natural", (0, 9)))
    },
    **{
        f"{mode.value} by any {word}": Case(rounded(mode), x, AMOUNT)
        for mode in RoundingMode
        for word, x in (("signed", SIGNED), ("natural", NATURAL))
    },
    "shift that leaves nothing": Case(
        constant(7) + binary("shli", "%c"), (-128, -127), (0, 0)
    ),
    "one bit of result": Case(rounded(RoundingMode.HALF_UP), (0, 1), (1, 2)),
    "select": Case(
        "%b = arith.cmpi slt, %x, %y : i8\n%r = arith.select %b, %x, %y : i8"
    ),
    **{
        f"select by {word}": Case(
            f"%b = arith.constant {word}\n%r = arith.select %b, %x, %y : i8",
            NATURAL,
            AMOUNT,
        )
        for word in ("true", "false")
    },
    "sign": Case("%r = arith.extsi %x : i8 to i16", result="i16"),
    "zeros": Case("%r = arith.extui %x : i8 to i16", result="i16"),
    "low bits": Case("%r = arith.trunci %x : i8 to i3", result="i3"),
    "saturated": Case("%r = fixed.saturate %x : i8 to i3", (-9, 9), result="i3"),
    "saturated above": Case("%r = fixed.saturate %x : i8 to i3", (0, 9), result="i3"),
    "magnitude": Case("%r = math.absi %x : i8"),
    "magnitude of naturals": Case("%r = math.absi %x : i8", NATURAL),
    "leading zeros": Case("%r = math.ctlz %x : i8", (-3, 9)),
    "leading zeros of naturals": Case("%r = math.ctlz %x : i8", (1, 9)),
    **{
        f"table {word}": Case(
            f"%t = {TABLE}\n%i = arith.index_cast %x : i8 to index\n"
            "%r = tensor.extract %t[%i] : tensor<4xi8>",
            x,
        )
        for word, x in (("whole", (0, 3)), ("its start", (0, 1)), ("one", (2, 2)))
    },
}


def function_of(case: Case) -> FuncOp:
    arguments = ", ".join(
        f"%{name}: i8 {{qlower.low = array<i64: {low}>,"
        f" qlower.high = array<i64: {high}>}}"
        for name, (low, high) in (("x", case.x), ("y", case.y))
    )
    module = parse_module(
        f"func.func @f({arguments}) -> {case.result} {{\n{case.step}\n"
        f"func.return %r : {case.result} }}",
        "step.mlir",
    )
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    function.detach()
    return function


@pytest.mark.parametrize("name", CASES)
def test_a_step(name: str) -> None:
    case = CASES[name]
    function = function_of(case)
    ranges = [np.arange(low, high + 1) for low, high in (case.x, case.y)]
    x, y = (grid.reshape(-1) for grid in np.meshgrid(*ranges))
    (wanted,) = evaluate_function(function, [x.astype(np.int8), y.astype(np.int8)])
    text = systemverilog(to_comb(function))
    found = evaluate(text, {"x": x, "y": y})
    mask = (1 << ports_of(text)["result"].width) - 1
    np.testing.assert_array_equal(found, wanted.astype(np.int64) & mask)


@pytest.mark.parametrize(
    ("step", "x", "y", "message"),
    [
        (binary("shli"), SIGNED, (9, 11), "arith.shli shifts by 9 or more"),
        (
            "%t = arith.constant dense<[[7, 1]]> : tensor<1x2xi8>\n"
            "%i = arith.index_cast %x : i8 to index\n"
            "%r = tensor.extract %t[%i, %i] : tensor<1x2xi8>",
            (0, 0),
            (0, 0),
            "a circuit's table is a constant list of integers",
        ),
        (
            "%a = arith.sitofp %x : i8 to f32\n%r = arith.fptosi %a : f32 to i8",
            SIGNED,
            SIGNED,
            "arith.sitofp is no step of a circuit of integers",
        ),
    ],
)
def test_refusals(step: str, x: Ends, y: Ends, message: str) -> None:
    with pytest.raises(QlowerError) as refusal:
        to_comb(function_of(Case(step, x, y)))
    assert refusal.value.message == message


@pytest.mark.parametrize("least", [6, 7])
def test_an_amount_beyond_the_type_is_never_asked(least: int) -> None:
    """Amounts that some inputs have are cut to those that are defined."""
    function = function_of(Case(binary("shrsi"), SIGNED, (least, 9)))
    text = systemverilog(to_comb(function))
    x = np.repeat(np.arange(-5, 6), 2)
    y = np.tile([least, 7], 11)
    found = evaluate(text, {"x": x, "y": y})
    width = ports_of(text)["result"].width
    np.testing.assert_array_equal(found, (x >> y) % (1 << width))


def test_several_results() -> None:
    """Each has a port of its own."""
    module = parse_module(
        "func.func @f(%x: i4, %y: i4) -> (i4, i4) { func.return %y, %x : i4, i4 }"
    )
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    text = systemverilog(to_comb(function))
    assert list(ports_of(text)) == ["x", "y", "result0", "result1"]
    assert "assign result0 = y;" in text
    assert "assign result1 = x;" in text
