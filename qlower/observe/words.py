"""Operations of a contract in words, and numbers next to a tie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction

from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.ir import Operation

from qlower.dialects import fixed

NEAREST = "nearest, "

MODES: Mapping[str, str] = {
    "half_up": NEAREST + "ties up",
    "half_down": NEAREST + "ties down",
    "half_away": NEAREST + "ties away from zero",
    "half_toward_zero": NEAREST + "ties toward zero",
    "half_even": NEAREST + "ties to even",
    "floor": "down",
    "ceil": "up",
    "toward_zero": "toward zero",
}
"""Rounding modes of `fixed`."""

GLOSSES: Mapping[type[Operation], str] = {
    **dict.fromkeys((arith.AddiOp, arith.AddfOp), "add {1}"),
    **dict.fromkeys((arith.SubiOp, arith.SubfOp), "subtract {1}"),
    **dict.fromkeys((arith.MuliOp, arith.MulfOp), "multiply by {1}"),
    arith.DivfOp: "divide by {1}",
    arith.DivSIOp: "divide by {1}, toward zero",
    arith.FloorDivSIOp: "divide by {1}, down",
    arith.CeilDivSIOp: "divide by {1}, up",
    arith.ShLIOp: "shift left by {1}",
    arith.ShRSIOp: "shift right by {1}, down",
    **dict.fromkeys((arith.MaxSIOp, arith.MaximumfOp), "at least {1}"),
    **dict.fromkeys((arith.MinSIOp, arith.MinimumfOp), "at most {1}"),
    **dict.fromkeys((arith.CmpiOp, arith.CmpfOp), "compare with {1}"),
    arith.SelectOp: "choose {1}",
    arith.TruncIOp: "keep the low bits, {type}",
    **dict.fromkeys((arith.ExtSIOp, arith.ExtUIOp, arith.ExtFOp), "widen to {type}"),
    arith.TruncFOp: "round to {type}",
    **dict.fromkeys((arith.SIToFPOp, arith.UIToFPOp), "convert to {type}"),
    arith.FPToSIOp: "round toward zero",
    arith.NegfOp: "negate",
    math_dialect.AbsFOp: "take the magnitude",
    math_dialect.FmaOp: "multiply by {1}, add {2}, round once",
    math_dialect.FloorOp: "round down",
    math_dialect.CeilOp: "round up",
    math_dialect.TruncOp: "round toward zero",
    math_dialect.RoundOp: "round, " + MODES["half_away"],
    math_dialect.RoundEvenOp: "round, " + MODES["half_even"],
    fixed.ShiftRightOp: "shift right by {1}, {mode}",
    fixed.ConvertOp: "round, {mode}",
    fixed.SaturateOp: "saturate to {type}",
}
"""Ops as people say them: `{1}` and `{2}` are operands, the number at hand is not
named."""

SWAPPED: Mapping[type[Operation], str] = {
    **dict.fromkeys((arith.SubiOp, arith.SubfOp), "subtract from {1}"),
    arith.DivfOp: "divide {1} by it",
}
"""The words where the first operand is known and the second is the number at hand."""

FEWEST_DIGITS, MOST_DIGITS = 6, 40


def gloss(op: Operation, operands: Sequence[str], *, is_swapped: bool) -> str:
    """The op in words, with its operands as texts; `is_swapped` where the first one is
    a constant and the second one is not."""
    if is_swapped:
        operands = [operands[1], operands[0], *operands[2:]]
    text = GLOSSES.get(type(op))
    if is_swapped:
        text = SWAPPED.get(type(op), text)
    if text is None:
        name = op.name.rpartition(".")[2].replace("_", " ")
        return " ".join([name, *operands[1:]])
    mode = ""
    if isinstance(op, fixed.ShiftRightOp | fixed.ConvertOp):
        mode = MODES[op.rounding.data.value]
    return text.format(*operands, mode=mode, type=op.results[0].type)


def side_of_tie(number: Fraction) -> tuple[int, bool]:
    """The two halves that enclose a number, as the lower one's integer part, and
    whether the number is the lower one itself: numbers with equal results round
    alike."""
    shifted = number - Fraction(1, 2)
    floor = math.floor(shifted)
    return floor, shifted == floor


def show_beside_tie(number: Fraction) -> str:
    """The number with six digits, or with enough to show its side of a tie."""
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        context = Context(prec=digits)
        shown = context.divide(Decimal(number.numerator), Decimal(number.denominator))
        if side_of_tie(Fraction(shown)) == side_of_tie(number):
            return f"{shown.normalize(context):f}"
    return f"{float(number):.17g}"
