"""Operations that have no result for some numbers: the first of these on each side."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp, ReturnOp

from qlower.diagnostics import QlowerError
from qlower.text.parsing import parse_module

Range = tuple[int, int]
CHECKS: Any = vars(import_module("qlower.transforms.check_defined"))["_CHECKS"]

WHOLE = (-128, 127)
CLAMP = "clamp it: what is in range whatever comes in can be compiled"
WRAP = "leave the flag away: the sum then wraps"


def refusal(line: str, a: Range, b: Range) -> tuple[str, str] | None:
    """Message and help for operands `%a` and `%b` of i8 in these ranges."""
    module = parse_module(
        f"func.func @f(%a: i8, %b: i8) {{\n  %y = {line} : i8\n  return\n}}"
    )
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    (op,) = (one for one in function.body.block.ops if not isinstance(one, ReturnOp))
    ranges = dict(zip(function.body.block.args, (a, b), strict=True))
    try:
        CHECKS[type(op)](op, ranges)
    except QlowerError as error:
        return error.message, str(error.help)
    return None


def amount(kind: str, low: int, high: int) -> str:
    return (
        f"'{kind}' has no result where its amount is outside of [0, 7], and it may be"
        f" in [{low}, {high}]"
    )


SHIFTS = [
    "arith.shli %a, %b",
    "arith.shrsi %a, %b",
    "arith.shrui %a, %b",
    "fixed.shift_right %a, %b {rounding = half_up}",
]


@pytest.mark.parametrize("line", SHIFTS)
def test_amounts(line: str) -> None:
    kind = line.partition(" ")[0]
    assert refusal(line, WHOLE, (0, 7)) is None
    for low, high in ((0, 8), (-1, 7), (9, 9)):
        assert refusal(line, WHOLE, (low, high)) == (amount(kind, low, high), CLAMP)


def divisor(kind: str, number: int, low: int, high: int) -> str:
    return (
        f"'{kind}' has no result for a divisor of {number}, and it may be in"
        f" [{low}, {high}]"
    )


@pytest.mark.parametrize("kind", ["divsi", "remsi", "divui", "remui"])
def test_divisors(kind: str) -> None:
    """Of 0, and where numbers have a sign -1 with the least dividend."""
    line = f"arith.{kind} %a, %b"
    for b in ((1, 5), (-9, -2)):
        assert refusal(line, WHOLE, b) is None
    assert refusal(line, (-127, 127), (-9, -1)) is None
    for b in ((0, 0), (0, 3), (-3, 0), (-3, 3)):
        found = refusal(line, (5, 5), b)
        assert found == (divisor(f"arith.{kind}", 0, *b), CLAMP)
    for a, b in (((-128, 0), (-9, -1)), ((-128, -128), (-1, -1))):
        found = refusal(line, a, b)
        signed = divisor(f"arith.{kind}", -1, *b), CLAMP
        assert found == (signed if kind.endswith("si") else None)
    assert refusal(line, WHOLE, (-1, 0)) == (divisor(f"arith.{kind}", 0, -1, 0), CLAMP)


def overflow(kind: str, flag: str, low: int, high: int) -> tuple[str, str]:
    return (
        f"'{kind}' has no result where it overflows in spite of {flag}, and it may be"
        f" in [{low}, {high}]",
        WRAP,
    )


SUMS: list[tuple[str, str, Range, Range, Range | None]] = [
    ("addi", "nsw", (-64, 64), (-64, 63), None),
    ("addi", "nsw", (-64, 64), (-64, 64), (-128, 128)),
    ("addi", "nsw", (-65, 64), (-64, 63), (-129, 127)),
    ("addi", "nuw", (0, 127), (0, 127), None),
    ("addi", "nuw", (-1, 0), (1, 5), (0, 5)),
    ("subi", "nuw", (5, 9), (0, 5), None),
    ("subi", "nuw", (5, 9), (0, 6), (-1, 9)),
    ("muli", "nsw", (-15, 15), (-8, 8), None),
    ("muli", "nsw", (-16, 15), (-8, 8), (-128, 128)),
    ("muli", "nuw", (0, 51), (0, 5), None),
    ("muli", "nuw", (0, 64), (0, 4), (0, 256)),
    ("shli", "nsw", (-16, 15), (0, 3), None),
    ("shli", "nsw", (-16, 16), (0, 3), (-128, 128)),
]


@pytest.mark.parametrize(("kind", "flag", "a", "b", "found"), SUMS)
def test_overflows(
    kind: str, flag: str, a: Range, b: Range, found: Range | None
) -> None:
    line = f"arith.{kind} %a, %b"
    assert refusal(line, a, b) is None, "it wraps"
    wanted = None if found is None else overflow(f"arith.{kind}", flag, *found)
    assert refusal(f"{line} overflow<{flag}>", a, b) == wanted


@pytest.mark.parametrize(
    ("a", "b", "axis", "found"),
    [
        ((0, 2), (0, 4), None, None),
        ((0, 3), (0, 4), 0, (0, 3)),
        ((-1, 2), (0, 4), 0, (-1, 2)),
        ((0, 2), (1, 5), 1, (1, 5)),
    ],
)
def test_places_of_a_table(
    a: Range, b: Range, axis: int | None, found: Range | None
) -> None:
    module = parse_module(
        "func.func @f(%t: tensor<3x5xi8>, %a: index, %b: index) {\n"
        "  %y = tensor.extract %t[%a, %b] : tensor<3x5xi8>\n  return\n}"
    )
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    op = next(iter(function.body.block.ops))
    ranges = dict(zip(function.body.block.args[1:], (a, b), strict=True))
    if found is None:
        CHECKS[type(op)](op, ranges)
        return
    with pytest.raises(QlowerError) as caught:
        CHECKS[type(op)](op, ranges)
    last = (2, 4)[axis or 0]
    assert caught.value.message == (
        f"'tensor.extract' has no result where its index of axis {axis} is outside of"
        f" [0, {last}], and it may be in {[*found]}"
    )
