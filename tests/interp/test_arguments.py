"""What functions are given, and what is said of other arguments."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from qlower.interp import InterpretationError, evaluate_function, run_function
from qlower.text.parsing import parse_module

TEXT = """\
func.func @twice(%x: i8, %y: tensor<2xi8>) -> (i8, tensor<2xi8>) {
  %s = arith.addi %x, %x : i8
  return %s, %y : i8, tensor<2xi8>
}
func.func @calls(%x: i8) -> i8 {
  %c = arith.constant dense<7> : tensor<2xi8>
  %s, %t = func.call @twice(%x, %c) : (i8, tensor<2xi8>) -> (i8, tensor<2xi8>)
  return %s : i8
}
func.func private @none(%x: i8) -> i8
func.func @asks(%x: i8) -> i8 {
  %s = func.call @none(%x) : (i8) -> i8
  return %s : i8
}
"""
PAIR = np.array([1, 2], np.int8)


def function(name: str) -> FuncOp:
    module = parse_module(TEXT, "m.mlir")
    found = [op for op in module.body.ops if isinstance(op, FuncOp)]
    return next(op for op in found if op.sym_name.data == name)


def test_functions_that_are_called() -> None:
    found = evaluate_function(function("twice"), [np.array([3, 4, 5], np.int8), PAIR])
    assert [one.tolist() for one in found] == [[6, 8, 10], [1, 2]]
    (found,) = evaluate_function(function("calls"), [5])
    assert found == 10
    given = PAIR.copy()
    results = run_function(parse_module(TEXT, "m.mlir"), "twice", [3, given])
    assert results[1] is not given
    assert [one.tolist() for one in results] == [6, [1, 2]]


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("twice", [3], "@twice takes 2 arguments, got 1"),
        ("twice", [3, PAIR, 4], "@twice takes 2 arguments, got 3"),
        ("twice", [], "@twice takes 2 arguments, got 0"),
        (
            "twice",
            [300, PAIR],
            "argument 0 of @twice has type i8, got 300, which is out of its range",
        ),
        (
            "twice",
            [3, PAIR[:1]],
            "argument 1 of @twice has type tensor<2xi8>, got an array of shape (1,)",
        ),
        ("asks", [3], "@none is called, but has no body"),
    ],
)
def test_other_arguments(name: str, given: list[object], text: str) -> None:
    with pytest.raises(InterpretationError) as caught:
        evaluate_function(function(name), given)
    assert caught.value.message == text


def test_a_function_that_there_is_not() -> None:
    with pytest.raises(InterpretationError) as caught:
        run_function(parse_module(TEXT, "m.mlir"), "other", [])
    assert caught.value.message == "the module has no function @other"
