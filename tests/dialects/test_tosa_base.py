"""Signatures of TOSA's operations, and operands that have to be constants."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from xdsl.dialects.builtin import DenseArrayBase, TensorType, f32, i8, i32, i64
from xdsl.dialects.tosa import NanMode, NanModeAttr
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from qlower.dialects.tosa.base import (
    check_nan_mode,
    check_rank,
    check_zero_point,
    constant_integers,
    is_constant,
    is_tensor,
    known_integers,
    of_types,
    sizes,
)
from qlower.model.entry import main_function
from qlower.text.parsing import parse_module

own: dict[str, Any] = vars(import_module("qlower.dialects.tosa.base"))


@pytest.mark.parametrize(
    ("given", "signature", "fits"),
    [
        ("i8 i8 -> i32", "i8 i8 -> i32", True),
        ("i8 -> i32", "i8 i8 -> i32", False),
        ("i8 i8 -> i8", "i8 i8 -> i32", False),
        ("i8 -> i8", "i8* -> i8", True),
        ("i8 i8 i8 -> i8", "i8* -> i8", True),
        ("i8 i16 -> i8", "i8* -> i8", False),
        ("i8 i8 -> i16", "i8* -> i8", False),
        ("i8 i8 -> i8 i8", "i8* -> i8", False),
    ],
)
def test_signatures(given: str, signature: str, fits: bool) -> None:
    assert own["_fits"](given, signature) is fits


def test_signatures_in_text() -> None:
    shape = own["ShapeType"].new([own["IntAttr"](2)])
    rows = TensorType(i8, (2,))
    assert own["_signature"]([rows, shape], [TensorType(f32, ())]) == "i8 shape -> f32"
    assert own["_signature"]([], [rows]) == "-> i8"
    assert of_types("T shape -> T", ("i8", "f32")) == (
        *("i8 shape -> i8", "f32 shape -> f32"),
    )
    assert is_tensor(create_ssa_value(rows))
    assert not is_tensor(create_ssa_value(shape))


CONSTANTS = """
func.func @main(%x: tensor<1xi8>, %y: tensor<1xi8>) {
  %a = arith.constant dense<[3, -1]> : tensor<2xi8>
  %b = "tosa.const"() <{values = dense<[4]> : tensor<1xi8>}> : () -> tensor<1xi8>
  %c = tosa.const_shape {values = dense<[5, 6]> : tensor<2xindex>}
    : () -> !tosa.shape<2>
  %d = arith.constant dense<1.5> : tensor<1xf32>
  %e = arith.addi %x, %y : tensor<1xi8>
  %g = arith.constant dense<0> : tensor<1xi16>
  %h = arith.constant dense<2> : tensor<1xi16>
  %k = arith.constant 3 : i8
  %l = tosa.negate %x, %b, %b
    : (tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1xi8>
  %m = qnn.constant dense<7> : tensor<1xi8>
    -> tensor<1x!quant.uniform<i8:f32, 0.5>>
  return
}"""


def values() -> dict[str | None, SSAValue]:
    module = parse_module(CONSTANTS)
    block = main_function(module).body.block
    made = [*block.args, *(value for op in block.ops for value in op.results)]
    return {value.name_hint: value for value in made}


def test_constants_are_known() -> None:
    found = values()
    integers = {name: constant_integers(value) for name, value in found.items()}
    assert integers == {
        **{"a": (3, -1), "b": (4,), "c": (5, 6), "d": (1.5,), "e": None},
        **{"g": (0,), "h": (2,), "x": None, "y": None, "k": None},
        **{"l": None, "m": None},
    }
    known = {name for name, value in found.items() if is_constant(value.owner)}
    assert known == set("abcdghkm")
    assert known_integers("sizes", found["c"]) == (5, 6)
    with pytest.raises(VerifyException) as refused:
        known_integers("sizes", found["e"])
    assert str(refused.value) == "sizes is computed, it must be a constant"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("b", ""),
        ("g", ""),
        ("a", "zero has 2 elements, expected 1"),
        ("h", "zero 2 of i16 is not 0"),
        ("d", "zero 1.5 of f32 is not 0"),
        ("e", "zero is computed, it must be a constant"),
    ],
)
def test_zero_points(name: str, message: str) -> None:
    """One known number, of i8 any, of other types 0."""
    value = values()[name]
    if not message:
        check_zero_point("zero", value)
        return
    with pytest.raises(VerifyException) as refused:
        check_zero_point("zero", value)
    assert str(refused.value) == message


def test_numbers_that_may_be_passed_over() -> None:
    real, stored = (create_ssa_value(TensorType(type, (2,))) for type in (f32, i8))
    modes = (NanMode.PROPAGATE, NanMode.IGNORE)
    propagate, ignore = (NanModeAttr(mode) for mode in modes)
    for mode, value in ((None, real), (propagate, real), (ignore, stored)):
        check_nan_mode(mode, value)
    with pytest.raises(VerifyException, match="nan_mode IGNORE of f32"):
        check_nan_mode(ignore, real)


def test_lists_and_ranks() -> None:
    assert sizes(DenseArrayBase.from_list(i64, (3, -1))) == (3, -1)
    with pytest.raises(VerifyException, match="is not a list of integers"):
        sizes(DenseArrayBase.from_list(f32, (3.0,)))
    value = create_ssa_value(TensorType(i32, (2, 3)))
    assert check_rank("input", value, 2) == (2, 3)
    for rank in (1, 3):
        with pytest.raises(VerifyException) as refused:
            check_rank("input", value, rank)
        assert str(refused.value) == f"input has rank 2, expected {rank}"
