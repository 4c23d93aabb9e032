"""How far roundings of a rule are from a tie, and what it cuts, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from qlower.contracts import parse_contract
from qlower.observe.coverage import analyse

RULE = """module {{
func.func @requantize(%input: i32) -> i32 {{
  {steps}
  %result = min(max(%rounded, -3), 2)
}}
}}"""

SHIFT = "%rounded = fixed.shift_right %input, 2 {rounding = half_even} : i32"
CONVERT = """%real = f64(%input) * 0.25
  %rounded = fixed.convert %real {rounding = half_even} : f64 to i32"""


@pytest.mark.parametrize("steps", [SHIFT, CONVERT])
def test_quarters(steps: str) -> None:
    """-3, -2.75, ..., 3: fractions less a half, and results that are cut."""
    rule = parse_contract(RULE.format(steps=steps), "mine", "mine.mlir")
    given = np.arange(-14, 15, dtype=np.int32)
    lanes = analyse(rule.rule("requantize"), {"input": given})
    (rounding,) = lanes.roundings
    assert (rounding.distance == given % 4 / 4 - 0.5).all()
    assert (rounding.negative == (given < 0)).all()
    rounded = np.rint(given / 4)
    assert (lanes.low == (rounded < -3)).all()
    assert (lanes.high == (rounded > 2)).all()
    assert "%rounded" in rounding.name


def test_a_shift_by_nothing_rounds_nothing() -> None:
    steps = SHIFT.replace("%input, 2", "%input, 0")
    rule = parse_contract(RULE.format(steps=steps), "mine", "mine.mlir")
    given = np.arange(-3, 3, dtype=np.int32)
    (rounding,) = analyse(rule.rule("requantize"), {"input": given}).roundings
    assert np.isnan(rounding.distance).all()
