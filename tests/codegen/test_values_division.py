"""Divisions in vectors by themselves: right where they are defined, and none traps."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import inf

import numpy as np
import pytest
from support.machines.straight_code import computed

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import Type, Value, constant
from qlower.codegen.values.division import divide


def divided(
    opcode: str, most: tuple[float, float], f: Function, a: Value, b: Value
) -> Value:
    return divide(f, opcode, a, b, *most)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("opcode", ["sdiv", "srem", "udiv", "urem"])
def test_no_division_traps(opcode: str, bits: int) -> None:
    """By 0, or of the least number by -1; what that gives is left open."""
    limit = 1 << bits - 1
    ends = [0, 1, -1, 2, -2, 7, -8, 100, limit - 1, 1 - limit, -limit]
    type = f"{opcode[0].replace('s', 'i')}{bits // 8}"
    a, b = np.array(list(product(ends, ends))).astype(type).T
    for lanes in (1, 4):
        make = partial(divided, opcode, (inf, inf))
        found = computed(make, a, b, lanes=lanes).astype(type)
        for x, y, number in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
            if y == 0 or (x, y) == (-limit, -1):
                continue
            quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            wanted = quotient if opcode.endswith("div") else x - quotient * y
            assert number == wanted, (x, y)


SMALL = 1 << 24


@pytest.mark.parametrize(
    ("opcode", "type", "most", "by_floats"),
    [
        ("sdiv", Type("i32", 4), (SMALL - 1, SMALL), True),
        ("sdiv", Type("i32", 4), (SMALL, SMALL), False),
        ("sdiv", Type("i32", 4), (SMALL - 1, SMALL + 1), False),
        ("sdiv", Type("i32", 2), (1, 1), True),
        ("sdiv", Type("i32"), (1, 1), False),
        ("sdiv", Type("i64", 4), (1, 1), False),
        ("sdiv", Type("i16", 4), (1, 1), False),
        ("srem", Type("i32", 4), (1, 1), False),
        ("udiv", Type("i32", 4), (1, 1), False),
        ("urem", Type("i32", 4), (1, 1), False),
    ],
)
def test_which_divisions_are_those_of_floats(
    opcode: str, type: Type, most: tuple[float, float], by_floats: bool
) -> None:
    """And what is checked before: of floats 0 alone, of unsigned numbers, too."""
    f = Function(Module("", ""), "f", [type, type], ["", ""])
    divided(opcode, most, f, *f.arguments)
    text = str(f)
    assert (" fdiv " in text, f" {opcode} " in text) == (by_floats, not by_floats)
    is_signed = opcode.startswith("s") and not by_floats
    assert text.count("icmp eq") == (3 if is_signed else 1)
    assert text.count(" or ") == is_signed


def test_a_known_divisor_is_not_checked() -> None:
    f = Function(Module("", ""), "f", [Type("i32", 4)], [""])
    (a,) = f.arguments
    divided("sdiv", (1, 1), f, a, constant(a.type, 3))
    assert "  %v1 = sdiv <4 x i32> %a0, splat (i32 3)" in str(f).splitlines()
    assert "icmp" not in str(f)


@pytest.mark.parametrize("divisor", [1, 3, 255, 4096, SMALL - 1, SMALL])
def test_quotients_of_floats(divisor: int) -> None:
    """At multiples, and next to them."""
    whole = np.unique(np.linspace(0, (SMALL - 1) // divisor, 40).astype(np.int64))
    near = np.concatenate([whole * divisor + step for step in (-1, 0, 1)])
    near = near[np.abs(near) < SMALL]
    a = np.concatenate([near, -near]).astype(np.int32)
    for b in (divisor, -divisor):
        make = partial(divided, "sdiv", (SMALL - 1, SMALL))
        found = computed(make, a, np.full_like(a, b))
        np.testing.assert_array_equal(found, np.trunc(a / b))
