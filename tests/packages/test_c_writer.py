"""Functions and calls of a C file: parameters, copies, and loops of steps."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from support.layers.windows import Window, build
from xdsl.dialects.builtin import TensorType, f32, i8
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from qlower.packages.c_source.constants import Constants
from qlower.packages.c_source.writer import Address, Parts, Writer
from qlower.text.parsing import parse_module

inner: Any = vars(import_module("qlower.packages.c_source.writer"))


@pytest.mark.parametrize(
    ("first", "other", "overlap"),
    [
        (("a", 0, 4), ("a", 0, 4), True),
        (("a", 0, 4), ("a", 4, 4), False),
        (("a", 4, 4), ("a", 0, 4), False),
        (("a", 0, 5), ("a", 4, 4), True),
        (("a", 4, 4), ("a", 0, 5), True),
        (("a", 0, 4), ("b", 0, 4), False),
        (("a", 0, 9), ("a", 3, 1), True),
    ],
)
def test_bytes_that_are_shared(first: Any, other: Any, overlap: bool) -> None:
    buffer = inner["_Buffer"]
    assert buffer(*first).overlaps(buffer(*other)) is overlap


def test_addresses() -> None:
    buffer = inner["_Buffer"]
    assert buffer("memory", 0, 4).address == "memory"
    assert buffer("memory", 8, 4).address == "(memory + 8)"


def written(text: str, inputs: list[Address], outputs: list[Address]) -> Writer:
    parts = Parts("toy", Constants("toy"), copies_bytes=False)
    (function,) = parse_module(text).ops
    assert isinstance(function, FuncOp)
    return Writer(function, parts, inputs, outputs)


RETURNS = """
func.func @main(%x: tensor<4xi16>) -> tensor<4xi16> {{
  {}
  return %{} : tensor<4xi16>
}}"""
CONSTANT = "%c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi16>"


@pytest.mark.parametrize(
    ("text", "outputs", "calls"),
    [
        (RETURNS.format("", "x"), [("output", 0)], ["copy_bytes(output, input, 8u);"]),
        (RETURNS.format("", "x"), [("input", 0)], []),
        (
            RETURNS.format("", "x"),
            [("memory", 16)],
            ["copy_bytes((memory + 16), input, 8u);"],
        ),
        (RETURNS.format(CONSTANT, "c"), [("output", 0)], None),
    ],
)
def test_results_that_no_kernel_writes(
    text: str, outputs: list[Address], calls: list[str] | None
) -> None:
    """They are copied, unless they are there."""
    found = written(text, [("input", 0)], outputs)
    if calls is None:
        (call,) = found.calls
        assert call.startswith("copy_bytes(output, toy_")
        assert call.endswith(", 8u);")
    else:
        assert found.calls == calls
    assert found.parts.copies_bytes is (calls != [])
    assert found.parts.functions == []


@pytest.mark.parametrize("shares", [False, True])
def test_parameters_of_a_kernel(shares: bool) -> None:
    """Those that its statements name; what it overwrites is no restricted pointer."""
    text, _, _ = build(Window(1, 1, 8, 8), 0)
    place: Address = ("input", 0) if shares else ("memory", 64)
    found = written(text, [("input", 0)], [place])
    (function,) = found.parts.functions
    alone = "" if shares else "restrict "
    head = function.splitlines()[2]
    assert head == f"    const int8_t *{alone}in0, int8_t *{alone}out1) {{"
    (call,) = found.calls
    target = "input" if shares else "(memory + 64)"
    name = call.partition("(")[0]
    assert call == (
        f"{name}((const int8_t *)(const void *)input, (int8_t *)(void *){target});"
    )
    assert f"static void {name}(" in function
    assert not found.parts.copies_bytes


def scan(**given: Any) -> Any:
    """Six steps that carry two values, along a sequence to another."""
    block = Block(
        arg_types=[
            *(TensorType(i8, (5,)), TensorType(f32, (3,))),
            *(TensorType(i8, (6, 2)), TensorType(f32, (6, 7))),
        ]
    )
    carried, over, parts = block.args[:2], block.args[2:3], block.args[3:4]
    fields = {
        **{"carried": carried, "over": over, "parts": parts, "count": 6},
        **{"operands": [*carried, *over], "res": [*carried, *parts]},
        **{"is_reversed": None, "memory": SimpleNamespace(seconds=[32, 48])},
    }
    return SimpleNamespace(**fields | given)


@pytest.mark.parametrize(
    ("given", "parity", "step"),
    [
        ({}, 1, "step"),
        ({"is_reversed": True}, 1, "(5u - step)"),
        ({"count": 3}, 0, "step"),
    ],
)
def test_steps(given: dict[str, Any], parity: int, step: str) -> None:
    """The last one writes what is carried to the results."""
    op = scan(**given)
    found = [*inner["_steps"](op, "toy_0")]
    count = given.get("count", 6)
    assert found == [
        "  const unsigned char *in[3];",
        "  unsigned char *out[3];",
        "  uint32_t step;",
        "  in[0] = from0;",
        "  in[1] = from1;",
        f"  for (step = 0u; step < {count}u; ++step) {{",
        f"    out[0] = ((step % 2u) == {parity}u) ? to0 : (memory + 32);",
        f"    out[1] = ((step % 2u) == {parity}u) ? to1 : (memory + 48);",
        f"    in[2] = from2 + ({step} * {12 // count}u);",
        f"    out[2] = to2 + ({step} * {168 // count}u);",
        "    toy_0_step(in, out, memory);",
        "    in[0] = out[0];",
        "    in[1] = out[1];",
        "  }",
    ]


def test_steps_while_a_byte_says_so() -> None:
    assert [*inner["_open_steps"](scan(), "toy_0")] == [
        "  const unsigned char *in[2];",
        "  unsigned char *out[2];",
        "  copy_bytes(to0, from0, 5u);",
        "  in[0] = to0;",
        "  out[0] = memory + 32;",
        "  copy_bytes(to1, from1, 12u);",
        "  in[1] = to1;",
        "  out[1] = memory + 48;",
        "  while (to0[0] != 0u) {",
        "    toy_0_step(in, out, memory);",
        "    copy_bytes(to0, out[0], 5u);",
        "    copy_bytes(to1, out[1], 12u);",
        "  }",
    ]
