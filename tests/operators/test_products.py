"""The loops of sums of products, and the element of each operand that they read."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from qlower.operators.products import Products
from qlower.operators.sums import (
    CONV_2D,
    FLAT_DEPTHWISE_CONV_2D,
    GROUPED_CONV_2D,
    Slide,
    Sums,
    matrix_product,
    matrix_rows,
)

SLIDES = [Slide(2, 1, 0, 1), Slide(1, 0, 2, 2)]
Loops = Mapping[str, int]
CASES: dict[str, tuple[Any, Loops, Loops, Any, Any]] = {
    # operands; loops of the result and of a sum; steps in both operands, in elements;
    # channel loops, products in a sum, results of a group, groups, last and places
    "windows": (
        (Sums(CONV_2D, SLIDES), (1, 5, 4, 2), (3, 3, 2, 2)),
        {"n": 1, "h": 2, "w": 4, "f": 3},
        {"i": 3, "j": 2, "c": 2},
        (
            {"n": 72, "h": 24, "i": 12, "w": 2, "j": 4, "c": 1},
            {"f": 12, "i": 4, "j": 2, "c": 1},
        ),
        (1, 12, 3, 1, 3, 8),
    ),
    "groups": (
        (Sums(GROUPED_CONV_2D, SLIDES, 2), (2, 4, 5, 4), (4, 2, 2, 2)),
        {"n": 2, "h": 2, "w": 5, "g": 2, "f": 2},
        {"i": 2, "j": 2, "c": 2},
        (
            {"n": 140, "h": 56, "i": 28, "w": 4, "j": 8, "g": 2, "c": 1},
            {"g": 16, "f": 8, "i": 4, "j": 2, "c": 1},
        ),
        (2, 8, 2, 2, 2, 10),
    ),
    "several a channel": (
        (Sums(FLAT_DEPTHWISE_CONV_2D, SLIDES), (1, 5, 4, 3), (1, 3, 2, 6)),
        {"n": 1, "h": 2, "w": 4, "c": 3, "m": 2},
        {"i": 3, "j": 2},
        (
            {"n": 108, "h": 36, "i": 18, "w": 3, "j": 6, "c": 1},
            {"i": 12, "j": 6, "c": 2, "m": 1},
        ),
        (2, 6, 2, 3, 2, 8),
    ),
    "rows": (
        (Sums(matrix_rows(3)), (2, 3, 5), (4, 5)),
        {"a": 2, "b": 3, "f": 4},
        {"s": 5},
        ({"a": 15, "b": 5, "s": 1}, {"f": 5, "s": 1}),
        (1, 5, 4, 1, 4, 6),
    ),
    "matrices": (
        (Sums(matrix_product(3)), (2, 3, 5), (2, 5, 4)),
        {"a": 2, "m": 3, "f": 4},
        {"s": 5},
        ({"a": 15, "m": 5, "s": 1}, {"a": 20, "f": 1, "s": 4}),
        (1, 5, 4, 1, 4, 3),
    ),
    "one result an image": (
        (Sums(CONV_2D, [Slide(), Slide()]), (2, 3, 2, 3), (1, 3, 2, 3)),
        {"n": 2, "h": 1, "w": 1, "f": 1},
        {"i": 3, "j": 2, "c": 3},
        (
            {"n": 18, "h": 6, "i": 6, "w": 3, "j": 3, "c": 1},
            {"f": 18, "i": 6, "j": 3, "c": 1},
        ),
        (1, 18, 1, 1, 2, 1),
    ),
    "one result": (
        (Sums(matrix_rows(2)), (1, 3), (1, 3)),
        {"a": 1, "f": 1},
        {"s": 3},
        ({"a": 3, "s": 1}, {"f": 3, "s": 1}),
        (1, 3, 1, 1, 1, 1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_loops(name: str) -> None:
    operands, result, depth, steps, numbers = CASES[name]
    products = Products.of(*operands)
    assert [*products.result.items()] == [*result.items()]
    assert [*products.depth.items()] == [*depth.items()]
    assert (products.lhs.steps, products.rhs.steps) == steps
    found = products.channels, products.count, products.group_channels
    assert (*found, products.groups, products.last, products.places) == numbers
    assert products.bounds == (*result.values(), *depth.values())
    assert products.loops == {loop: at for at, loop in enumerate([*result, *depth])}


@pytest.mark.parametrize("name", CASES)
def test_sums_over_the_loops(name: str) -> None:
    """Elements at these steps are those of the operator."""
    (sums, first, second), *_ = CASES[name]
    products = Products.of(sums, first, second)
    draw = np.random.default_rng(2)
    x, w = (draw.integers(-9, 10, shape) for shape in (first, second))
    image = np.pad(x, list(zip(*sums.padding(), strict=True)))
    assert products.lhs.shape == image.shape
    flat = image.reshape(-1), w.reshape(-1)
    expected = sums.evaluate(x, w).reshape(-1)
    places = product(*map(range, products.result.values()))
    for place, total in zip(places, expected, strict=True):
        found = 0
        for taps in product(*map(range, products.depth.values())):
            at = dict(zip(products.loops, (*place, *taps), strict=True))
            one, other = (
                numbers[sum(at[loop] * step for loop, step in side.steps.items())]
                for numbers, side in zip(
                    flat, (products.lhs, products.rhs), strict=True
                )
            )
            found += one * other
        assert found == total


def test_sums_in_another_order() -> None:
    products = Products.of(*CASES["windows"][0])
    assert [*products.in_order("jic").depth.items()] == [("j", 2), ("i", 3), ("c", 2)]
    assert [*products.in_order("cij").depth.items()] == [("c", 2), ("i", 3), ("j", 2)]
    assert products.in_order("") == products
    rows = Products.of(*CASES["rows"][0])
    assert rows.in_order("jic") == rows
