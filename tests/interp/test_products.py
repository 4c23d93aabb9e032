"""The products of sums one by one, against the sums as they are evaluated at once."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from qlower.operators.products import Operand, Products
from qlower.operators.sums import (
    CONV_2D,
    DEPTHWISE_CONV_2D,
    FLAT_DEPTHWISE_CONV_2D,
    GROUPED_CONV_2D,
    Slide,
    Sums,
    matrix_product,
    matrix_rows,
)

WINDOW = [Slide(2, 1, 0, 1), Slide(1, 0, 2, 2)]
CASES: dict[str, tuple[Sums, tuple[int, ...], tuple[int, ...]]] = {
    "conv": (Sums(CONV_2D, WINDOW), (2, 5, 6, 3), (4, 3, 2, 3)),
    "of groups": (Sums(GROUPED_CONV_2D, WINDOW, groups=2), (1, 4, 5, 6), (4, 2, 2, 3)),
    "depthwise": (Sums(DEPTHWISE_CONV_2D, WINDOW), (1, 5, 6, 3), (3, 2, 3, 2)),
    "flat": (Sums(FLAT_DEPTHWISE_CONV_2D, WINDOW), (1, 5, 6, 3), (1, 3, 2, 6)),
    "rows": (Sums(matrix_rows(3)), (2, 3, 5), (4, 5)),
    "row": (Sums(matrix_rows(1)), (5,), (4, 5)),
    "matrices": (Sums(matrix_product(3)), (2, 3, 5), (2, 5, 4)),
}


def places(operand: Operand, loops: dict[str, int]) -> int:
    """The element that an iteration reads, by the index of each dimension."""
    found = 0
    for size, index in zip(operand.shape, operand.indices, strict=True):
        found = found * size + sum(loops[loop] * step for loop, step in index.items())
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_sums_of_all_iterations(name: str) -> None:
    """The result in row-major order of its loops; steps are the indices in elements."""
    sums, first, second = CASES[name]
    random = np.random.default_rng(0)
    lhs, rhs = (random.integers(-9, 9, shape) for shape in (first, second))
    found = Products.of(sums, first, second)
    padded = np.pad(lhs, list(zip(*sums.padding(), strict=True)))
    assert found.lhs.shape == padded.shape
    assert math.prod(found.rhs.shape) == rhs.size
    result: list[int] = []
    for outer in np.ndindex(*found.result.values()):
        total = 0
        for inner in np.ndindex(*found.depth.values()):
            numbers = dict(zip(found.loops, (*outer, *inner), strict=True))
            read = [places(one, numbers) for one in (found.lhs, found.rhs)]
            by_steps = [
                sum(numbers[loop] * step for loop, step in one.steps.items())
                for one in (found.lhs, found.rhs)
            ]
            assert by_steps == read
            total += int(padded.reshape(-1)[read[0]]) * int(rhs.reshape(-1)[read[1]])
        result.append(total)
    shape = sums.result_shape(first, second)
    wanted = [*direct(name, padded, rhs, shape).reshape(-1)]
    assert result == wanted


def direct(
    name: str, x: np.ndarray, w: np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    """The definition, an element at a time."""
    if name in ("row", "rows"):
        return x @ w.T
    if name == "matrices":
        return x @ w
    found = np.zeros(shape, np.int64)
    rows, columns = w.shape[{"depthwise": 0, "flat": 1}.get(name, 1) :][:2]
    if name == "depthwise":
        rows, columns = w.shape[:2]
    for n, y, z, f in product(*map(range, shape)):
        window = x[n, 2 * y : 2 * y + rows, z : z + 2 * columns - 1 : 2]
        if name == "conv":
            found[n, y, z, f] = (window * w[f]).sum()
        elif name == "of groups":
            found[n, y, z, f] = (window[..., 3 * (f // 2) :][..., :3] * w[f]).sum()
        elif name == "depthwise":
            found[n, y, z, f] = (window[..., f // 2] * w[:, :, f // 2, f % 2]).sum()
        else:
            found[n, y, z, f] = (window[..., f // 2] * w[0, :, :, f]).sum()
    return found


FACTS: dict[str, tuple[int, int, int, int, int, int]] = {
    # channels, count, group_channels, groups, last, places
    "conv": (1, 18, 4, 1, 4, 12),
    "of groups": (2, 12, 2, 2, 2, 10),
    "depthwise": (2, 6, 2, 3, 2, 12),
    "rows": (1, 5, 4, 1, 4, 6),
    "row": (1, 5, 4, 1, 4, 1),
    "matrices": (1, 5, 4, 1, 4, 3),
}


@pytest.mark.parametrize("name", FACTS)
def test_sizes(name: str) -> None:
    sums, first, second = CASES[name]
    found = Products.of(sums, first, second)
    result = [*found.result.values()]
    told = (found.channels, found.count, found.group_channels, found.groups)
    assert (*told, found.last, found.places) == FACTS[name]
    assert found.bounds == (*result, *found.depth.values())
    assert [*found.loops.values()] == [*range(len(found.bounds))]
    assert found.count == math.prod(found.depth.values())


def test_loops_in_another_order() -> None:
    found = Products.of(*CASES["conv"])
    assert [*found.depth] == [*"ijc"]
    assert [*found.in_order("cji").depth.items()] == [("c", 3), ("j", 2), ("i", 3)]
    assert found.in_order("xyz") == found
    assert found.in_order("cx").depth == {"c": 3}
    single = Products.of(Sums(matrix_rows(2)), (1, 3), (1, 3))
    assert (single.last, single.places) == (1, 1)
    single = Products.of(Sums(matrix_rows(2)), (6, 3), (1, 3))
    assert (single.last, single.places) == (6, 6)
