"""What helpers of emitted code decide, by hand: places, axes, tables, terms."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import smt
from xdsl.dialects.builtin import IntegerAttr, i64

from qlower.dialects.quant import QuantizedType
from qlower.dialects.smtlib import FloatType
from qlower.emit.reassociation import reassociation
from qlower.emit.smtlib import bit_vector, sort
from qlower.emit.tables import stored_values
from qlower.emit.tensors import constant_of
from qlower.text.parsing import parse_module


def inner(module: str, name: str) -> Any:
    return vars(import_module(f"qlower.emit.{module}"))[name]


@pytest.mark.parametrize(
    ("places", "size", "step"),
    [
        (range(5), 5, 1),
        (range(4), 5, None),
        (range(1, 5), 5, 1),
        ([0, 2, 4], 5, 2),
        ([1, 1, 1], 5, 0),
        ([3], 5, 0),
        ([0], 5, 0),
        ([0, 1, 3], 5, None),
        ([3, 2, 1], 5, None),
    ],
)
def test_places_that_are_equally_far_apart(
    places: list[int], size: int, step: int | None
) -> None:
    """The step by which an index takes them; a loop by itself would take all."""
    assert inner("movement", "_step")(list(places), size) == step


@pytest.mark.parametrize(
    ("large", "small", "groups"),
    [
        ((2, 3, 4), (6, 4), [[0, 1], [2]]),
        ((2, 3, 4), (2, 12), [[0], [1, 2]]),
        ((2, 3, 4), (24,), [[0, 1, 2]]),
        ((2, 3, 4), (3, 8), None),
        ((2, 3, 4), (6,), None),
        ((2, 3, 1, 1), (2, 3), [[0], [1, 2, 3]]),
        ((1, 1, 5), (1, 5), [[0], [1, 2]]),
        ((6,), (2, 3), None),
        ((0, 3), (0, 3), [[0], [1]]),
    ],
)
def test_runs_of_axes(
    large: tuple[int, ...], small: tuple[int, ...], groups: list[list[int]] | None
) -> None:
    """Axes of the larger shape whose sizes multiply to each of the smaller one; those
    of size 1 at the end join the last."""
    assert inner("tensors", "_grouping")(large, small) == groups


def test_axes_as_an_attribute() -> None:
    found = reassociation([[0, 1], [2]])
    assert [[one for one in group] for group in found] == [
        [IntegerAttr(0, i64), IntegerAttr(1, i64)],
        [IntegerAttr(2, i64)],
    ]


def test_stored_integers_in_the_order_of_their_bits() -> None:
    signed = stored_values(QuantizedType.per_tensor(8, True, 1.0, 0))
    assert signed.tolist() == [*range(128), *range(-128, 0)]
    assert signed.dtype == np.int32
    assert stored_values(QuantizedType.per_tensor(8, False, 1.0, 0)).tolist() == [
        *range(256),
    ]
    words = stored_values(QuantizedType.per_tensor(16, True, 1.0, 0))
    assert (len(words), words[32767], words[32768]) == (65536, 32767, -32768)


def test_terms_of_smt_lib() -> None:
    assert bit_vector(5, 8) == "(_ bv5 8)"
    assert bit_vector(-1, 8) == "(_ bv255 8)"
    assert bit_vector(256, 8) == "(_ bv0 8)"
    assert sort(smt.BoolType()) == "Bool"
    assert sort(smt.BitVectorType(12)) == "(_ BitVec 12)"
    assert sort(FloatType(8, 24)) == "(_ FloatingPoint 8 24)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dense<5> : tensor<3xi8>", [5, 5, 5]),
        ("dense<-7> : tensor<1xi32>", [-7]),
        ("dense<2.5> : tensor<2x2xf32>", [[2.5, 2.5], [2.5, 2.5]]),
        ("dense<[1, -2]> : tensor<2xi16>", [1, -2]),
        ("dense<3> : tensor<i64>", 3),
    ],
)
def test_elements_of_a_constant(text: str, expected: Any) -> None:
    function = f"func.func @f() {{\n  %c = arith.constant {text}\n  return\n}}"
    (made,) = (o for o in parse_module(function).walk() if o.name == "arith.constant")
    found = constant_of(made.results[0])
    assert found is not None
    assert found.tolist() == expected
    assert found.dtype.itemsize == {"8": 1, "6": 2, "2": 4, "4": 8}[text[-2]]
