"""Each order of summation adds each term once, which whole numbers show exactly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from qlower.interp.ordered_sums import ArraySums
from qlower.interp.values import Array
from qlower.operators.orders import ELEMENT_ORDERS, ORDERS, Order

COUNTS = [*range(1, 18), 31, 32, 37, 64, 257]


def summed(order: Order, starts: bool) -> Iterator[tuple[Array, Array]]:
    """Sums of five rows of many sizes in an order, and what they are."""
    random = np.random.default_rng(0)
    for count in COUNTS:
        one, other = random.integers(-8, 9, (2, 5, count)).astype(np.float32)
        other = one if order.squares else other
        start = np.arange(5, dtype=np.float32) * 7 if starts else None
        sums = ArraySums([one, other], [count], start)
        sums.block, sums.columns = 5, 3
        expected = (one * other).sum(1)
        yield sums.ordered(order), expected if start is None else expected + start


@pytest.mark.parametrize("starts", [False, True])
@pytest.mark.parametrize("name", ORDERS)
def test_products_are_added_once(name: str, starts: bool) -> None:
    """Sums from 0, or from a number of each row."""
    for found, expected in summed(ORDERS[name], starts):
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ELEMENT_ORDERS)
def test_elements_are_added_once(name: str) -> None:
    """Rows that begin at any distance from an aligned number."""
    for found, expected in summed(ELEMENT_ORDERS[name], starts=False):
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("count", [6, 7, 8, 11])
def test_rows_begin_where_those_before_end(count: int) -> None:
    """Rows lie one behind the other in memory, where each fourth number is aligned, and
    each is summed as if alone."""
    order = ELEMENT_ORDERS["packets"]
    assert order.build is not None
    rows = np.random.default_rng(1).standard_normal((2, 3, count)).astype(np.float32)
    found = ArraySums([rows], [count]).ordered(order)
    for at, row in enumerate(rows.reshape(6, 1, count)):
        alone = ArraySums([row], [count])
        alone.first = -at * count % 4
        assert order.build(alone).tolist() == [found.reshape(-1)[at]]


@pytest.mark.parametrize(
    ("shape", "last"), [((1, 1), 1), ((5, 1), 5), ((3, 2), 2), ((2, 3, 1, 1), 3)]
)
def test_the_last_of_several_is_of_a_dimension_that_has_some(
    shape: tuple[int, ...], last: int
) -> None:
    assert ArraySums([np.zeros((*shape, 4), np.float32)], [4]).last == last
