"""Rounding instructions of vectors: which are called, on which registers, and where
there are none."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from xdsl.ir import Operation, SSAValue

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I32, Type, Value, constant
from qlower.codegen.targets.resolve import Target, resolve_target
from qlower.codegen.values import fixed_point
from qlower.text.parsing import parse_module

NEON = resolve_target("aarch64-linux-gnu", "neoverse-n1")
MVE = resolve_target("thumbv8.1m.main-none-eabi", "cortex-m55")
WASM = resolve_target("wasm32-unknown-unknown", "bleeding-edge")
FLOATS = resolve_target("thumbv7em-none-eabi", "cortex-m4")
NONE = resolve_target("riscv64-linux-gnu", None)

Make = Callable[[Function, Target, Value], Value | None]


def calls(target: Target, make: Make, type: str, lanes: int) -> list[str] | None:
    """The intrinsics that are called on a vector, and the result's type; None if there
    are no instructions for it."""
    f = Function(Module("", ""), "f", [Type(type, lanes)], [""])
    found = make(f, target, f.arguments[0])
    if found is None:
        assert "call" not in str(f)
        return None
    names = re.findall(r"call .*? @llvm\.([\w.]+)\(", str(f))
    return [*names, str(found.type)]


def product(mode: str) -> Make:
    return lambda f, target, x: fixed_point.multiply_high(f, target, mode, x, x)


def shift(mode: str) -> Make:
    return lambda f, target, x: fixed_point.shift_right(
        f, target, mode, x, constant(Type(x.type.scalar), 3)
    )


def saturation(scalar: str, *, unsigned: bool = False) -> Make:
    return lambda f, target, x: fixed_point.saturate(
        f, target, x, scalar, unsigned=unsigned
    )


def conversion(mode: str, scalar: str) -> Make:
    return lambda f, target, x: fixed_point.convert_float(f, target, mode, x, scalar)


N, V, W = "aarch64.neon", "arm.mve", "wasm.narrow"
up, down, away = product("half_up"), product("floor"), shift("half_away")
CASES: list[tuple[Target, Make, str, int, list[str] | None]] = [
    (NEON, up, "i32", 4, [f"{N}.sqrdmulh.v4i32", "<4 x i32>"]),
    (NEON, up, "i32", 2, [f"{N}.sqrdmulh.v2i32", "<2 x i32>"]),
    (NEON, up, "i32", 8, [f"{N}.sqrdmulh.v4i32"] * 2 + ["<8 x i32>"]),
    (NEON, down, "i16", 8, [f"{N}.sqdmulh.v8i16", "<8 x i16>"]),
    (NEON, up, "i32", 1, None),
    (NEON, up, "i16", 2, None),
    (NEON, up, "i64", 2, None),
    (NEON, up, "i8", 16, None),
    (NEON, product("ceil"), "i32", 4, None),
    (NONE, up, "i32", 4, None),
    (MVE, up, "i32", 4, [f"{V}.vqrdmulh.v4i32", "<4 x i32>"]),
    (MVE, down, "i16", 8, [f"{V}.vqdmulh.v8i16", "<8 x i16>"]),
    (MVE, up, "i32", 2, None),
    (NEON, shift("half_up"), "i32", 4, [f"{N}.srshl.v4i32", "<4 x i32>"]),
    (NEON, away, "i8", 8, ["sadd.sat.v8i8", f"{N}.srshl.v8i8", "<8 x i8>"]),
    (NEON, away, "i64", 2, ["sadd.sat.v2i64", f"{N}.srshl.v2i64", "<2 x i64>"]),
    (NEON, shift("half_even"), "i32", 4, None),
    (NEON, shift("half_up"), "i32", 1, None),
    (NEON, shift("half_up"), "i24", 4, None),
    (NONE, shift("half_up"), "i32", 4, None),
    (MVE, shift("half_up"), "i32", 4, [f"{V}.vshl.vector.v4i32.v4i32", "<4 x i32>"]),
    (MVE, shift("half_up"), "i64", 2, None),
    (NEON, saturation("i8"), "i16", 8, [f"{N}.sqxtn.v8i8", "<8 x i8>"]),
    (NEON, saturation("i8"), "i16", 4, [f"{N}.sqxtn.v8i8", "<4 x i8>"]),
    (NEON, saturation("i16"), "i32", 8, [f"{N}.sqxtn.v4i16"] * 2 + ["<8 x i16>"]),
    (
        *(NEON, saturation("i8", unsigned=True), "i32", 8),
        [*[f"{N}.sqxtn.v4i16"] * 2, f"{N}.sqxtun.v8i8", "<8 x i8>"],
    ),
    (
        *(NEON, saturation("i8", unsigned=True), "i16", 8),
        [f"{N}.sqxtun.v8i8", "<8 x i8>"],
    ),
    (NEON, saturation("i8"), "i16", 2, None),
    (NEON, saturation("i8"), "i16", 1, None),
    (NEON, saturation("i4"), "i16", 8, None),
    (NEON, saturation("i8"), "i12", 8, None),
    (MVE, saturation("i8"), "i16", 8, None),
    (NONE, saturation("i8"), "i16", 8, None),
    (WASM, saturation("i16"), "i32", 8, [f"{W}.signed.v8i16.v4i32", "<8 x i16>"]),
    (WASM, saturation("i8"), "i16", 16, [f"{W}.signed.v16i8.v8i16", "<16 x i8>"]),
    (
        *(WASM, saturation("i8", unsigned=True), "i16", 16),
        [f"{W}.unsigned.v16i8.v8i16", "<16 x i8>"],
    ),
    (
        *(WASM, saturation("i8", unsigned=True), "i32", 16),
        [
            *[f"{W}.signed.v8i16.v4i32"] * 2,
            *(f"{W}.unsigned.v16i8.v8i16", "<16 x i8>"),
        ],
    ),
    (
        *(WASM, saturation("i8"), "i32", 8),
        [f"{W}.signed.v8i16.v4i32", f"{W}.signed.v16i8.v8i16", "<8 x i8>"],
    ),
    (WASM, saturation("i8"), "i32", 4, None),
    (WASM, saturation("i8"), "i16", 8, None),
    (WASM, saturation("i8"), "i16", 32, None),
    (WASM, saturation("i8"), "i16", 12, None),
    (WASM, saturation("i32"), "i64", 4, None),
    (WASM, saturation("i16", unsigned=True), "i32", 8, None),
    (
        *(NEON, conversion("half_even", "i32"), "float", 4),
        [f"{N}.fcvtns.v4i32.v4f32", "<4 x i32>"],
    ),
    (
        *(NEON, conversion("half_away", "i16"), "float", 4),
        [f"{N}.fcvtas.v4i32.v4f32", f"{N}.sqxtn.v4i16", "<4 x i16>"],
    ),
    (
        *(NEON, conversion("floor", "i64"), "double", 2),
        [f"{N}.fcvtms.v2i64.v2f64", "<2 x i64>"],
    ),
    (NEON, conversion("half_up", "i32"), "float", 4, None),
    (NEON, conversion("floor", "i64"), "float", 4, None),
    (NEON, conversion("floor", "i4"), "float", 4, None),
    (NEON, conversion("floor", "i32"), "float", 1, None),
    (NONE, conversion("floor", "i32"), "float", 4, None),
]


@pytest.mark.parametrize(("target", "make", "type", "lanes", "wanted"), CASES)
def test_instructions_on_registers(
    target: Target, make: Make, type: str, lanes: int, wanted: list[str] | None
) -> None:
    assert calls(target, make, type, lanes) == wanted


def test_amounts_and_flags_of_a_shift() -> None:
    """It goes to the left by a negative amount, known or not."""
    f = Function(Module("", ""), "f", [Type("i32", 4), I32], ["", ""])
    x, amount = f.arguments
    for by in (constant(I32, 5), amount):
        fixed_point.shift_right(f, MVE, "half_up", x, by)
    known, unknown = (line for line in str(f).splitlines() if " call " in line)
    assert "(<4 x i32> %a0, <4 x i32> splat (i32 -5), i32 0, i32 1, i32 0)" in known
    assert re.search(r"%a0, <4 x i32> %\w+, i32 0, i32 1, i32 0\)", unknown)
    assert re.search(r"sub <4 x i32> zeroinitializer, %", str(f))


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("lanes", [1, 2])
def test_words_are_saturated_on_from_an_instruction(bits: int, lanes: int) -> None:
    make = conversion("half_even", f"i{bits}")
    f = Function(Module("", ""), "f", [Type("float", lanes)], [""])
    found = make(f, FLOATS, f.arguments[0])
    assert found is not None
    assert found.type == Type(f"i{bits}", lanes)
    text = str(f)
    assert text.count("@llvm.arm.vcvtr.f32(") == lanes
    clamps = 0 if bits == 32 else lanes
    limit = 1 << bits - 1
    for name, end in (("smax", -limit), ("smin", limit - 1)):
        assert len(re.findall(rf"@llvm\.{name}\.i32\(.*, i32 {end}\)", text)) == clamps
    assert text.count(" trunc ") == clamps
    for mode, type, scalar in (
        *(("half_up", "float", "i8"), ("half_even", "double", "i8")),
        ("half_even", "float", "i64"),
    ):
        assert calls(FLOATS, conversion(mode, scalar), type, lanes) is None


STEPS = """
  %places = arith.constant 15 : i32
  %x = arith.extsi %a : i16 to i32
  %y = arith.extsi %b : i16 to i32
  %p = arith.muli %x, %y : i32
  %s = fixed.shift_right %p, %places {rounding = half_up} : i32
  %r = fixed.saturate %s : i32 to i16"""
"""The upper half of a product of a and b, doubled."""

SATURATED, SHIFTED = "fixed.saturate %s : i32 to i16", "fixed.shift_right %p, %places"
FIRST = "%x = arith.extsi %a : i16 to i32"


def steps(text: str) -> dict[str | None, Operation]:
    """Operations by the names of their results."""
    arguments = "%a: i16, %b: i16, %c: i8, %n: i32"
    whole = f"func.func @f({arguments}) -> i16 {{\n{text}\nreturn %r : i16\n}}"
    ops = parse_module(whole).walk()
    return {op.results[0].name_hint: op for op in ops if op.results}


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", True),
        ("constant 15", "constant 14", False),
        ("constant 15", "constant 16", False),
        ("muli", "addi", False),
        (SHIFTED + " {rounding = half_up}", "arith.shrsi %p, %places", False),
        (SATURATED, "fixed.saturate %s {unsigned} : i32 to i16", False),
        (SATURATED, "arith.trunci %s : i32 to i16", False),
        (FIRST, "%x = arith.extui %a : i16 to i32", False),
        # a number of fewer bits is small, whatever it comes from
        (FIRST, "%x = arith.extsi %c : i8 to i32", True),
        (FIRST, "%x = arith.extui %c : i8 to i32", True),
    ],
)
def test_which_steps_are_the_upper_half_of_a_product(
    old: str, new: str, found: bool
) -> None:
    assert old in STEPS
    text = f"""func.func @f(%a: i16, %b: i16, %c: i8) -> i16 {{
      {STEPS.replace(old, new) if old else STEPS}
      return %r : i16
    }}"""
    ops = {
        op.results[0].name_hint: op for op in parse_module(text).walk() if op.results
    }
    last = ops["r"]
    if found:
        x, y = (ops[name].results[0] for name in "xy")
        assert fixed_point.doubling_product(last, {}) == ("half_up", x, y)
    else:
        assert fixed_point.doubling_product(last, {}) is None


@pytest.mark.parametrize("most", [(1 << 15) - 1, 1 << 15])
def test_factors_may_be_known_to_be_small(most: int) -> None:
    """In place of being extended from as many bits as the result has."""
    ops = steps(STEPS.replace(FIRST, "").replace("muli %x", "muli %n"))
    bounds: dict[SSAValue, float] = {ops["p"].operands[0]: most}
    found = fixed_point.doubling_product(ops["r"], bounds)
    assert (found is not None) is (most < 1 << 15)


def test_a_product_that_does_not_fit_is_another() -> None:
    """Of 31 bits for two factors of 16."""
    ops = steps(STEPS.replace("i32", "i31"))
    assert fixed_point.doubling_product(ops["r"], {}) is None


def test_what_a_number_is_extended_from() -> None:
    ops = steps(STEPS)
    (x,) = ops["x"].results
    a = ops["x"].operands[0]
    assert fixed_point.extended_from(x, 16) is a
    assert fixed_point.extended_from(x, 8) is None
    assert fixed_point.extended_from(a, 16) is None
    assert fixed_point.extended_from(ops["p"].results[0], 16) is None
