"""Roundings in vectors, with instructions for them and by additions, against fractions;
and what numbers that are known to be small allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf, nan

import numpy as np
import pytest
from support.machines.straight_code import computed
from support.values.rounding import rounded

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import Type, Value
from qlower.codegen.targets.resolve import Target, host_target
from qlower.codegen.values import rounding
from qlower.dialects.fixed import RoundingMode
from qlower.model.signature import Array

PLAIN = replace(
    host_target(),
    rounds_in_hardware=False,
    converts_in_hardware=False,
    adds_to_round=False,
    orders_floats=False,
    extremes=None,
    fuses=False,
)
ADDING = replace(PLAIN, adds_to_round=True)
TARGETS = {"host": host_target(), "plain": PLAIN, "adding": ADDING}

TYPES = {"f4": 24, "f8": 53}
"""Floats, and the bits of their significands."""


def floats(type: str) -> Array:
    """Ties, their neighbours, the ends of fractions, and no numbers."""
    bits = TYPES[type]
    ties = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.5, 127.5, 128.5, 32767.5]
    ties += [2.0 ** (bits - 2) + 0.5, 2.0 ** (bits - 2) + 1.5, 2.0 ** (bits - 1) - 0.5]
    ties += [2.0 ** (bits - 1), 2.0 ** (bits - 1) + 1, 2.0**bits, 1e30, 1e-30]
    near = np.array(ties, type)
    every = np.concatenate(
        [near, np.nextafter(near, near.dtype.type(inf)), np.nextafter(near, near * 0)]
    )
    return np.concatenate([every, -every, np.array([inf, -inf, nan], type)])


INTEGRAL = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "roundeven": round,
    "round": lambda x: rounded(Fraction(x), RoundingMode.HALF_AWAY),
}


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("mode", INTEGRAL)
def test_integral_floats(mode: str, type: str) -> None:
    """Of the sign that the number has, zeros' too."""
    x = floats(type)
    wanted = [
        math.copysign(float(INTEGRAL[mode](one)), one) if math.isfinite(one) else one
        for one in x.tolist()
    ]
    for name, target in TARGETS.items():
        found = computed(partial(round_float, target, mode), x)
        np.testing.assert_array_equal(found, np.array(wanted, type), name)
        is_number = ~np.isnan(x)
        assert (np.signbit(found) == np.signbit(x))[is_number].all(), name


def converted(target: Target, mode: str, x: Array, scalar: str, most: float) -> Array:
    is_number = not np.isnan(x).any()

    def make(f: Function, value: Value) -> Value:
        return rounding.convert_float(
            f, target, mode, value, scalar, most, is_number=is_number
        )

    return computed(make, x)


def saturated(mode: str, x: Array, bits: int) -> list[int]:
    limit = 1 << bits - 1
    made: list[int] = []
    for one in x.tolist():
        if math.isnan(one):
            made.append(0)
        elif math.isinf(one):
            made.append(limit - 1 if one > 0 else -limit)
        else:
            whole = rounded(Fraction(one), RoundingMode(mode))
            made.append(min(max(whole, -limit), limit - 1))
    return made


MODES = [mode.value for mode in RoundingMode]


@pytest.mark.parametrize("mode", MODES)
def test_floats_become_integers(mode: str) -> None:
    """All numbers, saturated."""
    for type, scalar in (("f4", "i32"), ("f8", "i32"), ("f8", "i64")):
        ends = 2.0 ** (int(scalar[1:]) - 1) * np.array([1, -1, 0.99, -0.99, 3])
        x = np.concatenate([floats(type), ends.astype(type)])
        wanted = saturated(mode, x, int(scalar[1:]))
        for name, target in (("host", host_target()), ("plain", PLAIN)):
            found = converted(target, mode, x, scalar, inf)
            np.testing.assert_array_equal(found, wanted, f"{name} {type} {scalar}")


@pytest.mark.parametrize("most", [2**31 - 2**12, 2**31 - 2**13, 2**22 - 8, 2**22 - 9])
def test_floats_that_fit_words_or_sums(most: int) -> None:
    x = floats("f4")
    x = np.concatenate([x[np.abs(x) <= most], np.array([most, -most], np.float32)])
    for mode in ("half_even", "half_away", "half_up"):
        for name, target in TARGETS.items():
            found = converted(target, mode, x, "i32", most)
            np.testing.assert_array_equal(found, saturated(mode, x, 32), name)


@pytest.mark.parametrize("name", ["minimum", "maximum"])
@pytest.mark.parametrize("type", TYPES)
def test_extremes(name: str, type: str) -> None:
    """NaN wins, and -0 is below 0."""
    ends = [0.0, -0.0, 1.0, -1.0, 2.5, inf, -inf, nan]
    a, b = (
        np.array(one, type)
        for one in zip(*((p, q) for p in ends for q in ends), strict=True)
    )

    def one(p: float, q: float) -> float:
        if math.isnan(p) or math.isnan(q):
            return nan
        low, high = sorted((p, q), key=lambda x: (x, math.copysign(1, x)))
        return low if name == "minimum" else high

    wanted = np.array([one(p, q) for p, q in zip(a.tolist(), b.tolist(), strict=True)])
    ordering = replace(host_target(), extremes=None, orders_floats=True)
    for target in (host_target(), PLAIN, ordering):
        found = computed(partial(extreme, target, name), a, b)
        np.testing.assert_array_equal(found, wanted)
        signs = np.signbit(found) == np.signbit(wanted)
        assert signs[~np.isnan(wanted)].all()


def test_extremes_are_an_instruction_where_there_is_one() -> None:
    for orders in (True, False):
        f = Function(Module("", ""), "f", [Type("double")] * 2, ["", ""])
        extreme(replace(PLAIN, orders_floats=orders), "minimum", f, *f.arguments)
        assert ("llvm.minimum.f64" in str(f)) is orders
        assert ("select" in str(f)) is not orders


def test_products_are_added_with_one_rounding() -> None:
    """Also where a rounding in float64 between makes a tie of float32."""
    random = np.random.default_rng(7)
    a, b, c = random.standard_normal((3, 500)).astype(np.float32)
    c[:250] = -(a * b)[:250]
    tie = 1 + 2.0**-12
    a[:4], b[:4] = tie, (tie, -tie, tie, -tie)
    c[:4] = 2.0**-60, 2.0**-60, -(2.0**-60), -(2.0**-60)
    a[4:8], b[4:8], c[4:8] = 2.0**-12, (1, -1, 1, -1), (1 + 2.0**-11, -1, 2.0**-70, 0)
    wanted = [
        nearest(Fraction(p) * Fraction(q) + Fraction(r))
        for p, q, r in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    ]
    for target in (PLAIN, host_target()):
        found = computed(partial(multiply_add, target), a, b, c)
        np.testing.assert_array_equal(found, np.array(wanted, np.float32))


def multiply_add(target: Target, f: Function, a: Value, b: Value, c: Value) -> Value:
    return rounding.fused_multiply_add(f, target, a, b, c)


def nearest(exact: Fraction) -> np.float32:
    """The float32 that is nearest, of two the even one."""
    around = np.float32(float(exact))
    near: Sequence[np.float32] = [
        np.nextafter(around, np.float32(-inf)),
        around,
        np.nextafter(around, np.float32(inf)),
    ]
    return min(
        near, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.int32)) & 1)
    )


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize(("wide", "bits"), [(64, 32), (32, 8), (32, 16), (16, 8)])
def test_saturation(wide: int, bits: int, unsigned: bool) -> None:
    low = 0 if unsigned else -1 << bits - 1
    high = low + (1 << bits) - 1
    near = [end + step for end in (low, high, 0) for step in (-1, 0, 1)]
    x = np.array([*near, (1 << wide - 1) - 1, -1 << wide - 1], f"i{wide // 8}")
    found = computed(
        lambda f, a: rounding.saturate(f, a, f"i{bits}", unsigned=unsigned), x
    )
    wanted = np.clip(x, low, high).astype(f"i{bits // 8}")
    np.testing.assert_array_equal(found, wanted)


HIDDEN = {("i1", 16): 4, ("i1", 2): 0, ("i2", 4): 1, ("i2", 8): 2, ("i4", 8): 0}
"""Registers of words that a machine that hides them casts, by lanes and their type."""


@pytest.mark.parametrize(("type", "lanes"), HIDDEN)
@pytest.mark.parametrize("opcode", ["sitofp", "uitofp"])
def test_integers_become_floats(
    opcode: str, type: str, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one cast, or narrow ones a register at a time."""
    hidden: list[Type] = []

    def hide(_: Function, value: Value) -> Value:
        hidden.append(value.type)
        return value

    monkeypatch.setattr(Function, "hidden", hide)
    ends = np.iinfo(type)
    x = np.resize(np.array([ends.min, -1, ends.max, 0, 5, -7, 100], type), lanes)
    wanted = x if opcode == "sitofp" else x.view(f"u{x.itemsize}")
    for hides in (True, False):
        target = replace(host_target(), vector_bits=128, hides_addresses=hides)
        make = partial(from_integer, target, opcode)
        found = computed(make, x, lanes=lanes)
        np.testing.assert_array_equal(found, wanted.astype(np.float32))
        assert hidden == ([Type("i32", 4)] * HIDDEN[type, lanes] if hides else [])
        hidden.clear()


def from_integer(target: Target, opcode: str, f: Function, x: Value) -> Value:
    return rounding.from_integer(f, target, opcode, x, "float")


def round_float(target: Target, mode: str, f: Function, x: Value) -> Value:
    return rounding.round_float(f, target, mode, x)


def extreme(target: Target, name: str, f: Function, a: Value, b: Value) -> Value:
    return rounding.extreme(f, target, name, a, b)
