"""Which functions are proved to be non-decreasing, and why others aren't."""

from __future__ import annotations

import numpy as np
import pytest

from qlower.contracts import parse_contract
from qlower.verification.decide import AFFORDABLE, Domain, decide
from qlower.verification.functions import NO_OFFSET, WHOLE, Given, RuleFunction
from qlower.verification.proof import prove


def function_of(body: str) -> RuleFunction:
    """A rule of an accumulator %x, a real %r of it, and three and minus three."""
    text = f"""module {{
    func.func @sum(%x: i32 {{contract.value = "accumulator"}}) -> i32 {{
      %three = arith.constant 3 : i32
      %below = arith.constant -3 : i32
      %two = arith.constant 2.0 : f32
      %under = arith.constant -2.0 : f32
      %r = arith.sitofp %x : i32 to f32
      {body}
      return %y : i32
    }} }}"""
    rule = parse_contract(text, "mine", "mine.mlir").rule("sum")

    given = Given(WHOLE, {"accumulator": (0, NO_OFFSET, np.dtype(np.int32))})
    return RuleFunction(rule, {}, given)


def real(operation: str) -> str:
    rounded = "%y = fixed.convert %z {rounding = half_even} : f32 to i32"
    return f"%z = {operation} : f32\n{rounded}"


@pytest.mark.parametrize(
    ("body", "is_proved"),
    [
        ("%y = arith.divsi %x, %three : i32", True),
        ("%y = arith.divsi %x, %below : i32", False),
        ("%y = arith.divsi %three, %x : i32", False),
        (real("arith.divf %r, %two"), True),
        (real("arith.divf %r, %under"), False),
        (real("arith.divf %two, %r"), False),
        (real("math.fma %r, %two, %under"), True),
        (real("math.fma %two, %r, %r"), True),
        (real("math.fma %r, %under, %two"), False),
        (real("math.fma %r, %r, %two"), False),
        ("%y = arith.addi %x, %three : i32", True),
        ("%y = arith.subi %three, %x : i32", False),
        ("%y = arith.muli %x, %below : i32", False),
        ("%y = arith.muli %x, %x : i32", False),
    ],
)
def test_quotients_and_products(body: str, is_proved: bool) -> None:
    """Where a constant's sign and place decide; the numbers are 1 to 1,000."""
    ends = np.array([1], np.int64), np.array([1000], np.int64)
    domain = Domain(np.array([0], np.int64), *ends)
    fault = prove(function_of(body), domain)
    assert (fault is None) == is_proved


@pytest.mark.parametrize(
    ("body", "low", "high", "is_proved"),
    [
        ("%y = arith.addi %x, %three : i32", (1 << 31) - 3, (1 << 31) - 1, True),
        ("%y = arith.addi %x, %three : i32", (1 << 31) - 4, (1 << 31) - 1, False),
        ("%y = arith.addi %x, %below : i32", -(1 << 31), 2 - (1 << 31), True),
        ("%y = arith.addi %x, %below : i32", -(1 << 31), 3 - (1 << 31), False),
        ("%y = arith.subi %x, %three : i32", -(1 << 31), 2 - (1 << 31), True),
        ("%y = arith.subi %x, %three : i32", -(1 << 31), 3 - (1 << 31), False),
        ("%y = arith.muli %x, %three : i32", 1 << 30, (1 << 30) + 999, True),
        ("%y = arith.muli %x, %three : i32", 1 << 29, 1 << 30, False),
        ("%y = arith.shli %x, %three : i32", (1 << 28) - 1, 1 << 28, False),
        ("%y = arith.shli %x, %three : i32", 1 << 29, (1 << 29) + 9, True),
    ],
)
def test_what_wraps_alike_everywhere(
    body: str, low: int, high: int, is_proved: bool
) -> None:
    """Which looking at each number, or at 2,000 of them, agrees with."""
    function = function_of(body)
    ends = np.array([low], np.int64), np.array([high], np.int64)
    fault = prove(function, Domain(np.array([0], np.int64), *ends))
    assert (fault is None) == is_proved
    x = np.unique(np.linspace(low, high, 2000).astype(np.int64))
    found = function(np.zeros_like(x), x)
    assert (np.diff(found) >= 0).all() == is_proved


def choice(condition: str) -> str:
    """%x, or three below where the condition holds."""
    return f"{condition} : i32\n%y = arith.select %c, %below, %x : i32"


@pytest.mark.parametrize(
    ("body", "low", "is_proved"),
    [
        (choice("%c = arith.cmpi slt, %x, %three"), 3, True),
        (choice("%c = arith.cmpi slt, %x, %three"), 2, False),
        (choice("%c = arith.cmpi sge, %three, %x"), 4, True),
        (choice("%c = arith.cmpi eq, %x, %three"), 1, False),
        (choice("%c = arith.cmpi ne, %x, %three"), 4, False),
        (choice("%c = arith.cmpi slt, %x, %x"), 1, False),
        (
            "%z = arith.minsi %x, %three : i32\n"
            + choice("%c = arith.cmpi eq, %z, %below"),
            3,
            True,
        ),
        (
            "%z = arith.minsi %x, %three : i32\n"
            + choice("%c = arith.cmpi eq, %z, %below"),
            2,
            False,
        ),
    ],
)
def test_choices(body: str, low: int, is_proved: bool) -> None:
    """By a condition that is the same for all numbers: of an order, at both ends."""
    ends = np.array([low], np.int64), np.array([1000], np.int64)
    domain = Domain(np.array([0], np.int64), *ends)
    assert (prove(function_of(body), domain) is None) == is_proved


def test_a_number_without_a_result() -> None:
    """Nothing is decided then, and the contract's reason is said."""
    refused = function_of(
        """%y = arith.divsi %x, %three : i32
        %legal = arith.cmpi sge, %x, %three : i32
        cf.assert %legal, "too small" """
    )
    for low in (1, 3):
        ends = np.array([low], np.int64), np.array([1000], np.int64)
        found = decide([refused, refused], Domain(np.array([0], np.int64), *ends))
        if low == 3:
            assert (found.count, found.why) == (998, None)
        else:
            assert found.count == 0
            assert found.why is not None
            assert found.why.startswith("some value has no result: too small")


def test_too_many_numbers() -> None:
    """Without a proof none counts as looked at, however many there are."""
    squares = function_of("%y = arith.muli %x, %x : i32")
    ends = np.array([-AFFORDABLE], np.int64), np.array([AFFORDABLE], np.int64)
    found = decide([squares, squares], Domain(np.array([0], np.int64), *ends))
    assert (found.count, found.intervals, found.apart) == (0, (), frozenset())
    assert found.why is not None
    assert found.why.endswith(f"; {2 * AFFORDABLE + 1:,} numbers are too many")
