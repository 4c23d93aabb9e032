"""Operands that broadcast: their common shape and order, and added dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from qlower.diagnostics import QlowerError
from qlower.frontends.graph.operators.elementwise import (
    broadcast,
    common_order,
    expanded,
)


@dataclass(frozen=True)
class Shaped:
    """A value, as far as it is looked at: `shape` is the model's."""

    shape: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def type(self) -> Shaped:
        return self

    def get_shape(self) -> tuple[int, ...]:
        return tuple(self.shape[dimension] for dimension in self.order)


class Steps:
    """A node that notes what is asked of it."""

    def reshaped(self, value: Shaped, shape: Any, order: Any) -> Shaped:
        assert len(shape) == len(order)
        return Shaped(tuple(shape), tuple(order))

    def in_order(self, value: Shaped, order: Any) -> tuple[str, Shaped, Any]:
        return "in order", value, tuple(order)

    def error(self, message: str) -> QlowerError:
        return QlowerError(message)


STEPS: Any = Steps()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (3,), (2, 3)),
        ((3,), (2, 1), (2, 3)),
        ((2, 1), (1, 3), (2, 3)),
        ((), (4,), (4,)),
        ((), (), ()),
        ((2, 3), (2,), "shapes [2, 3] and [2] do not broadcast"),
    ],
)
def test_common_shapes(one: Any, other: Any, expected: object) -> None:
    if isinstance(expected, str):
        with pytest.raises(QlowerError) as caught:
            broadcast(STEPS, one, other)
        assert caught.value.message == expected
    else:
        assert broadcast(STEPS, one, other) == expected


def test_the_order_of_the_largest() -> None:
    """One that isn't the model's own comes first; of several that of the largest."""
    plain, moved = Shaped((2, 3), (0, 1)), Shaped((1, 3), (1, 0))
    larger, row = Shaped((2, 5), (1, 0)), Shaped((9,), (0,))
    orders: Any = common_order
    assert orders([plain], 2) == (0, 1)
    assert orders([plain, moved, row], 2) == (1, 0)
    assert orders([plain, row], 2) == (0, 1)
    small = Shaped((1, 1, 3), (0, 2, 1))
    large = Shaped((4, 1, 3), (2, 0, 1))
    assert orders([small, large], 3) == (2, 0, 1)  # stored as 1x3x1 and 3x4x1
    assert orders([larger, moved], 2) == (1, 0)


def test_dimensions_that_are_added() -> None:
    add: Any = expanded
    value = Shaped((3, 4), (1, 0))
    shifted = Shaped((1, 3, 4), (0, 2, 1))
    assert add(STEPS, value, (0, 1, 2)) == ("in order", shifted, (0, 1, 2))
    assert add(STEPS, value, (0, 1)) == ("in order", value, (0, 1))
    # numbers have any order at once
    assert add(STEPS, Shaped((1,), (0,)), (1, 0)) == Shaped((1, 1), (1, 0))
    assert add(STEPS, Shaped((), ()), (1, 0)) == Shaped((1, 1), (1, 0))
    number = Shaped((1, 1), (0, 1))
    assert add(STEPS, number, (1, 0)) == ("in order", number, (1, 0))
