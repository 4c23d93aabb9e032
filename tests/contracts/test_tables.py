"""Helpers of a contract that are tables: compiled to look-ups, and how mistakes are
reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.compilation.to_arith import lower_to_arith
from qlower.contracts import parse_contract
from qlower.diagnostics import QlowerError
from qlower.text.parsing import parse_module

MODEL = """\
!x = tensor<256x!quant.uniform<i8:f32, 1.0>>
func.func @main(%x: !x) -> !x {
  %y = qnn.requantize %x : (!x) -> !x
  return %y : !x
}
"""
SQUARES = """\
func.func @requantize(%input: i32) -> i32 {
  %half = arith.constant 128 : i32
  %place = arith.addi %input, %half : i32
  %four = arith.constant 4 : i32
  %index = arith.shrui %place, %four : i32
  %square = func.call @square(%index) : (i32) -> i32
  %result = arith.subi %square, %half : i32
  return %result : i32
}
func.func private @square(%index: i32) -> i32
    attributes {contract.table = 16} {
  %result = arith.muli %index, %index : i32
  return %result : i32
}
"""


def test_entries_are_looked_up(tmp_path: Path) -> None:
    contract, model = tmp_path / "squares.mlir", tmp_path / "model.mlir"
    contract.write_text(SQUARES)
    model.write_text(MODEL)
    x = np.arange(-128, 128, dtype=np.int8)
    expected = (np.arange(256) // 16) ** 2 - 128
    module = lower_to_arith(qlower.load(model).module, str(contract))
    assert "tensor<16xi8>" in str(module)
    for found in (
        qlower.jit(model, contract=str(contract))(x),
        qlower.interpret(model, x, contract=str(contract), at="qnn"),
        qlower.interpret(model, x, contract=str(contract), at="kernel"),
    ):
        np.testing.assert_array_equal(found, np.minimum(expected, 127))


def test_entries_depend_on_numbers_that_are_known(tmp_path: Path) -> None:
    contract = tmp_path / "squares.mlir"
    text = SQUARES.replace("@square(%index)", "@square(%index, %half)")
    text = text.replace("(i32) -> i32\n  %result", "(i32, i32) -> i32\n  %result")
    text = text.replace("@square(%index: i32)", "@square(%index: i32, %less: i32)")
    text = text.replace("arith.subi %square, %half", "arith.addi %square, %four")
    lowered = (
        "%square = arith.muli %index, %index : i32\n  %result = arith.subi %square"
    )
    text = text.replace("%result = arith.muli %index, %index", f"{lowered}, %less")
    contract.write_text(text)
    model = qlower.Model(parse_module(MODEL))
    x = np.arange(-128, 128, dtype=np.int8)
    module = lower_to_arith(model.module, str(contract))
    assert "tensor<16xi8>" in str(module)
    expected = np.minimum((np.arange(256) // 16) ** 2 - 124, 127)
    found = qlower.interpret(model, x, contract=str(contract), at="arith")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    ("first", "step", "stored"),
    [
        (0, 1, "16xi8"),
        (7, 8, "16xi8"),  # to 127
        (8, 8, "16xi8"),  # to 128, unsigned
        (0, 17, "16xi8"),  # to 255
        (1, 17, "16xi16"),
        (-8, -8, "16xi8"),  # to -128
        (-9, -8, "16xi16"),
        (-2183, -2039, "16xi16"),  # to -32768
        (-2184, -2039, "16xi32"),
        (0, 4369, "16xi16"),  # to 65535
        (1, 4369, "16xi32"),
    ],
)
def test_entries_are_stored_in_the_fewest_bytes(
    tmp_path: Path, first: int, step: int, stored: str
) -> None:
    contract = tmp_path / "line.mlir"
    entry = f"""\
  %first = arith.constant {first} : i32
  %step = arith.constant {step} : i32
  %scaled = arith.muli %index, %step : i32
  %result = arith.addi %scaled, %first : i32"""
    contract.write_text(
        SQUARES.replace("  %result = arith.muli %index, %index : i32", entry)
    )
    model = qlower.Model(parse_module(MODEL))
    module = lower_to_arith(model.module, str(contract))
    assert f"tensor<{stored}>" in str(module)
    x = np.arange(-128, 128, dtype=np.int8)
    expected = np.clip(np.arange(256) // 16 * step + first - 128, -128, 127)
    found = qlower.interpret(model, x, contract=str(contract), at="arith")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("= 16", "= 0", r"contract.table must be an integer in \[1, 65536\], not 0"),
        ("= 16", '= "all"', r'an integer in \[1, 65536\], not "all"'),
        (
            "index: i32) -> i32\n",
            "index: i32) -> (i32, i32)\n",
            "its one result is an integer or a float",
        ),
        (
            "= 16",
            "= 8",
            r"'tensor.extract' has no result where its index of axis 0 is outside of "
            r"\[0, 7\], and it may be in \[0, 15\]",
        ),
    ],
)
def test_mistakes(old: str, new: str, expected: str, tmp_path: Path) -> None:
    text = SQUARES.replace(old, new)
    assert text != SQUARES
    contract, model = tmp_path / "squares.mlir", tmp_path / "model.mlir"
    contract.write_text(text)
    model.write_text(MODEL)
    with pytest.raises(QlowerError, match=expected):
        qlower.jit(model, contract=str(contract))
    if new != "= 8":
        with pytest.raises(QlowerError, match=expected):
            parse_contract(text, "squares", "squares.mlir")
