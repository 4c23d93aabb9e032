"""Operands of products of plain integers, with their zero points: what is taken."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.dialects.quant import QuantizedType
from qlower.frontends.graph.operators.integer_products import (
    stored_operand,
    weights_type,
)

CODES = QuantizedType.per_tensor(8, False, 0.5, 9)


class Node:
    """A node whose operands are given: constants as arrays, values by their types."""

    def __init__(self, *operands: Any, types: Any = ()) -> None:
        self._operands, self._types = operands, dict(types)
        self.charged: list[int] = []
        self.importer = SimpleNamespace(charge=self.charged.append)
        self.builder = SimpleNamespace(
            as_stored=lambda value, element, place: (value, element),
        )

    def has(self, number: int) -> bool:
        return number < len(self._operands) and self._operands[number] is not None

    def is_constant(self, number: int) -> bool:
        return self.has(number) and isinstance(self._operands[number], np.ndarray)

    def value(self, number: int) -> Any:
        return self._operands[number]

    def array(self, number: int, what: str) -> Any:
        return self._operands[number]

    def constant(self, number: int, what: str) -> Any:
        return SimpleNamespace(type=self._types.get(number, "INT8"))

    def name(self, number: int) -> str:
        return f"operand{number}"

    def place(self, name: str = "") -> str:
        return name

    def error(self, message: str) -> Exception:
        return ValueError(message)


def value(element: Any = CODES, is_real: bool = False) -> Any:
    return SimpleNamespace(is_real=is_real, element=element)


@pytest.mark.parametrize(
    ("point", "zero", "found"),
    [
        ((), 0, None),
        ((np.array(7, np.uint8),), 7, None),
        ((np.array([250], np.uint8),), 250, None),
        (("open",), 0, "open"),
    ],
)
def test_zero_points_of_activations(point: Any, zero: int, found: Any) -> None:
    """A number becomes a part of the type; another is handed on."""
    given: Any = Node(value(), *point)
    found_value: Any
    found_value, open_point = stored_operand(given, 0, 1)
    assert found_value[1] == QuantizedType.per_tensor(8, False, 1.0, zero)
    assert open_point == found


@pytest.mark.parametrize(
    ("operands", "told"),
    [
        ((value(is_real=True),), "operand 'operand0' is not of 8-bit integers"),
        ((value(element="i32"),), "operand 'operand0' is not of 8-bit integers"),
        (
            (value(), np.zeros(2, np.uint8)),
            "2 zero points of activations; expected one",
        ),
        (
            (value(), np.zeros(0, np.uint8)),
            "0 zero points of activations; expected one",
        ),
    ],
)
def test_activations_that_are_refused(operands: Any, told: str) -> None:
    given: Any = Node(*operands)
    with pytest.raises(ValueError, match=told):
        stored_operand(given, 0, 1)


def test_a_constant_of_another_type() -> None:
    given: Any = Node(np.zeros(3, np.int32), types={0: "INT32"})
    told = "a constant 'operand0' of type INT32 is not supported here; expected INT8 or"
    with pytest.raises(ValueError, match=told):
        stored_operand(given, 0, 1)


ROWS = np.array([[1, 2], [-3, 4]], np.int8)


@pytest.mark.parametrize(
    ("points", "direction", "zero_points", "charged"),
    [
        ((), None, (0,), []),
        ((np.array(5, np.int8),), None, (5,), []),
        ((np.array([-5], np.int8),), None, (-5,), []),
        ((np.array([1, 2], np.int8),), None, (1, 2), [2]),
        ((ROWS,), 0, (1, 2), [2]),
        ((ROWS,), 1, (-3, 4), [2]),
        ((ROWS[:, :1],), 1, (-3,), []),
    ],
)
def test_zero_points_of_weights(
    points: Any, direction: int | None, zero_points: Any, charged: list[int]
) -> None:
    """One for all, or one for each of an axis; of a direction its own row."""
    given: Any = Node(np.zeros((2, 3), np.int8), *points)
    found = weights_type(given, 0, 1, 3, 2, direction)
    assert found.zero_points == zero_points
    assert found.scales == (1.0,) * len(zero_points)
    assert found.axis == (3 if len(zero_points) > 1 else None)
    assert (found.signed, given.charged) == (True, charged)


def test_weights_that_are_refused() -> None:
    for count in (0, 3):
        given: Any = Node(np.zeros((2, 3), np.int8), np.zeros(count, np.int8))
        told = f"{count} zero points of weights; expected 1 or 2"
        with pytest.raises(ValueError, match=told):
            weights_type(given, 0, 1, 0, 2)
    other: Any = Node(np.zeros(2, np.int16), types={0: "INT16"})
    with pytest.raises(ValueError, match="weights of type INT16 are not supported; ex"):
        weights_type(other, 0, 1, 0, 2)
