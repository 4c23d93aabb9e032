"""C's text for single operations on integers, and around the functions of a file."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from qlower.codegen.program.interface import Interface
from qlower.diagnostics import QlowerError
from qlower.model.signature import Signature, StateSpec, TensorSpec
from qlower.packages.c_source.helpers import Helpers
from qlower.packages.c_source.scalars import EXPRESSIONS
from qlower.text.parsing import parse_module

program: Any = vars(import_module("qlower.packages.c_source.program"))


def expression(text: str, largest: float = 1 << 62, arguments: str = "") -> str:
    """The C of the last operation of a body, whose operands are no greater."""
    given = arguments or "%x: i32, %y: i32"
    (function,) = parse_module(f"func.func @f({given}) {{\n{text}\nreturn\n}}").ops
    assert isinstance(function, FuncOp)
    *_, op, _ = function.body.block.ops
    names = dict[SSAValue, str](zip(op.operands, "abcd", strict=False))
    step: Any = SimpleNamespace(
        magnitude=lambda value: largest, helpers=Helpers(), values=names
    )
    return EXPRESSIONS[op.name](step, op, [*names.values()])


def wrapping(operator: str) -> str:
    return f"(int32_t)((uint32_t)a {operator} (uint32_t)b)"


@pytest.mark.parametrize(
    ("text", "largest", "wanted"),
    [
        ("%r = arith.addi %x, %y : i32", (1 << 30) - 1, "a + b"),
        ("%r = arith.addi %x, %y : i32", 1 << 30, wrapping("+")),
        ("%r = arith.subi %x, %y : i32", (1 << 30) - 1, "a - b"),
        ("%r = arith.subi %x, %y : i32", 1 << 30, wrapping("-")),
        ("%r = arith.muli %x, %y : i32", 46340, "a * b"),
        ("%r = arith.muli %x, %y : i32", 46341, wrapping("*")),
        ("%r = arith.andi %x, %y : i32", 1, wrapping("&")),
    ],
)
def test_numbers_that_may_wrap(text: str, largest: int, wanted: str) -> None:
    """They are computed without a sign; others as they are."""
    assert expression(text, largest) == wanted


def test_narrow_numbers_and_known_ones() -> None:
    """What C would compute as int, or itself, is computed without a sign."""
    narrow = expression("%r = arith.addi %x, %y : i8", 1, "%x: i8, %y: i8")
    assert narrow != "a + b"
    assert "uint" in narrow
    numbers = "%x = arith.constant 1 : i32\n%y = arith.constant 2 : i32\n"
    one = "%y = arith.constant 2 : i32\n"
    add = "%r = arith.addi %x, %y : i32"
    assert expression(numbers + add, 1, "%n: i8") == wrapping("+")
    assert expression(one + add, 1, "%x: i32") == "a + b"


SHIFT = (
    "%n = arith.constant 3 : i32\n%r = fixed.shift_right %x, %n {rounding = MODE} : i32"
)


@pytest.mark.parametrize(
    ("mode", "largest", "wanted"),
    [
        ("half_up", (1 << 31) - 5, "(a + 4) >> b"),
        ("floor", 1 << 40, "(int32_t)(a >> b)"),
    ],
)
def test_shifts_without_a_function(mode: str, largest: int, wanted: str) -> None:
    assert expression(SHIFT.replace("MODE", mode), largest) == wanted


@pytest.mark.parametrize(
    ("mode", "largest"), [("half_up", (1 << 31) - 4), ("half_even", 1)]
)
def test_shifts_by_a_function(mode: str, largest: int) -> None:
    found = expression(SHIFT.replace("MODE", mode), largest)
    assert found.endswith("(a, b)")
    assert found != "(a, b)"


@pytest.mark.parametrize(
    ("text", "largest", "wanted"),
    [
        ("%r = fixed.saturate %x : i32 to i8", 127, "(int8_t)a"),
        ("%r = fixed.saturate %x : i32 to i8", 128, "NAME(a)"),
        ("%r = fixed.saturate %x {unsigned} : i32 to i8", 100, "NAME(a)"),
        ("%r = fixed.saturate %x : i32 to i1", 100, "a < 0"),
        ("%r = fixed.saturate %x {unsigned} : i32 to i1", 100, "a > 0"),
    ],
)
def test_saturation(text: str, largest: int, wanted: str) -> None:
    found = expression(text, largest)
    if "NAME" in wanted:
        assert "(a)" in found
        assert found != "(int8_t)a"
    else:
        assert found == wanted


@pytest.mark.parametrize("name", ["divsi", "divui", "remsi", "remui"])
def test_bits_are_not_divided(name: str) -> None:
    with pytest.raises(QlowerError, match=f"arith.{name} of i1"):
        expression(f"%r = arith.{name} %x, %y : i1", 1, "%x: i1, %y: i1")


SIGNATURE = Signature(
    (TensorSpec("x", (2,), "int8"),),
    (TensorSpec("y", (3,), "int16"),),
    (
        StateSpec("count", (3,), "int8", initial=b"\1\2\3"),
        StateSpec("sum", (2,), "int32", initial=b"\4\0\0\0\5\0\0\0"),
    ),
)
KEEPING = Interface(
    *("toy", SIGNATURE, 112, 64, "tflm", "0" * 64, "c99-none"), ("c99",)
)
PLAIN = replace(KEEPING, signature=replace(SIGNATURE, states=()))


def part(interface: Interface, *calls: str) -> Any:
    """A file of these calls."""
    made = object.__new__(program["_Program"])
    made.interface, made.calls = interface, list(calls)
    return made


MEMORY = "  unsigned char *const memory = (unsigned char *)arena;"


@pytest.mark.parametrize(
    ("interface", "call", "has_memory"),
    [
        (PLAIN, "layer(input_0, output_0);", False),
        (PLAIN, "layer(input_0, memory + 64);", True),
        (KEEPING, "layer(input_0, output_0);", True),
    ],
)
def test_the_arena_as_bytes(interface: Interface, call: str, has_memory: bool) -> None:
    """Named where it is used: a call has part of it, or what is left of states."""
    lines = [*part(interface, "first();", call)._entry()]
    assert (MEMORY in lines) is has_memory
    assert lines.index("  first();") + 1 == lines.index(f"  {call}")
    assert lines[-3:] == ["  return TOY_OK;", "}", ""]


def test_states_are_copied_at_the_end() -> None:
    """From the end of the arena, each from a multiple of 8."""
    lines = [*part(KEEPING, "layer();")._entry()]
    at = lines.index("  layer();")
    assert lines[at - 2 : at] == [
        MEMORY,
        "  unsigned char *const state_bytes = (unsigned char *)state;",
    ]
    assert lines[at + 1 : -3] == [
        "  copy_bytes(state_bytes + 0, memory + 96, 3u);",
        "  copy_bytes(state_bytes + 8, memory + 104, 8u);",
    ]
    assert "  if (((uintptr_t)state % 8u) != 0u) {" in lines
    plain = [*part(PLAIN, "layer();")._entry()]
    assert "state" not in "\n".join(plain)


def test_failures_in_the_order_of_their_codes() -> None:
    lines = [*part(KEEPING)._entry()]
    assert lines[:4] == [
        "int32_t toy_run_checked(uint64_t identity,",
        "    const int8_t *input,",
        "    int16_t *output,",
        "    void *state,",
    ]
    conditions = [line for line in lines if line.startswith("  if (")]
    assert conditions == [
        "  if (identity != TOY_IDENTITY) {",
        "  if ((input == NULL) || (output == NULL) || (state == NULL) || "
        "(arena == NULL)) {",
        "  if (arena_bytes < 112u) {",
        "  if (((uintptr_t)arena % 64u) != 0u) {",
        "  if (((uintptr_t)state % 8u) != 0u) {",
    ]
    returns = [line.strip() for line in lines if "return TOY_ERROR" in line]
    assert returns == [
        f"return TOY_ERROR_{name};"
        for name in (
            "VERSION",
            "NULL",
            "ARENA_SIZE",
            "ARENA_ALIGNMENT",
            "STATE_ALIGNMENT",
        )
    ]


def test_a_new_state() -> None:
    lines = [*part(KEEPING)._reset()]
    assert lines[:4] == [
        "static const unsigned char toy_initial[16] = {",
        "  1, 2, 3, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0,",
        "};",
        "",
    ]
    assert "  copy_bytes(state, toy_initial, 16u);" in lines
    assert [line for line in lines if "if (" in line] == [
        *("  if (identity != TOY_IDENTITY) {", "  if (state == NULL) {"),
        "  if (((uintptr_t)state % 8u) != 0u) {",
    ]


@pytest.mark.parametrize("length", [4095, 4096])
def test_the_interface_as_a_string_or_bytes(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C99 promises strings of 4095 characters."""
    text = "x" * length
    interface: Any = SimpleNamespace(metadata="toy_interface", to_json=lambda: text)
    first, *lines = program["_metadata"](interface)
    if length == 4095:
        assert first == "const char toy_interface[] ="
        assert lines[-1] == "    ;"
        assert [len(line) for line in lines[:-1]] == [4 + 2 + 64] * 63 + [4 + 2 + 63]
        return
    assert first == "const char toy_interface[4097] = {"
    numbers = [line.strip().rstrip(",").split(", ") for line in lines[:-1]]
    assert [len(row) for row in numbers] == [16] * 256 + [1]
    assert numbers[-1] == ["0"]
    assert lines[-1] == "};"


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("", "#define W"),
        (".flash", '#define W __attribute__((section(".flash")))'),
    ],
)
def test_where_weights_lie(section: str, line: str) -> None:
    assert [*program["_weights_attribute"]("W", section)][1] == line
