"""How windows lie that are seen as rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.layers.built import built
from xdsl.dialects.builtin import TensorType, UnknownLoc, f32
from xdsl.ir import Block, SSAValue

from qlower.dialects.types import shape_of
from qlower.emit.ordered_sums import Factors
from qlower.emit.window_rows import as_rows
from qlower.model.nests import Emitter
from qlower.operators.products import Products
from qlower.operators.sums import (
    CONV_2D,
    DEPTHWISE_CONV_2D,
    FLAT_DEPTHWISE_CONV_2D,
    GROUPED_CONV_2D,
    Slide,
    Sums,
    matrix_rows,
)

STEPS = [Slide(), Slide()]
SHAPES = tuple[int, ...]
CASES: dict[str, tuple[Sums, SHAPES, SHAPES, bool, SHAPES, SHAPES]] = {
    # operands, whether weights are known, and the rows and weights that come of them
    "conv": (
        Sums(CONV_2D, STEPS),
        (2, 5, 4, 3),
        (6, 2, 2, 3),
        False,
        (24, 12),
        (12, 6),
    ),
    "one place": (
        Sums(CONV_2D, STEPS),
        (1, 2, 2, 3),
        (6, 2, 2, 3),
        False,
        (1, 12),
        (6, 12),
    ),
    "one place, one result": (
        *(Sums(CONV_2D, STEPS), (1, 2, 2, 3), (1, 2, 2, 3), False, (1, 12), (12, 1)),
    ),
    "groups": (
        *(Sums(GROUPED_CONV_2D, STEPS, 2), (1, 3, 3, 4), (6, 2, 2, 2), False),
        *((4, 2, 8), (8, 2, 3)),
    ),
    "groups at one place": (
        *(Sums(GROUPED_CONV_2D, STEPS, 2), (1, 2, 2, 4), (6, 2, 2, 2), False),
        *((1, 2, 8), (2, 3, 8)),
    ),
    "depthwise": (
        *(Sums(DEPTHWISE_CONV_2D, STEPS), (1, 3, 3, 5), (2, 2, 5, 1), False),
        *((4, 4, 5), (4, 5, 1)),
    ),
    "several a channel": (
        *(Sums(FLAT_DEPTHWISE_CONV_2D, STEPS), (1, 3, 3, 5), (1, 2, 2, 10), False),
        *((4, 5, 4), (4, 5, 2)),
    ),
    "rows": (Sums(matrix_rows(2)), (3, 5), (32, 5), False, (3, 5), (32, 5)),
    "rows, known": (Sums(matrix_rows(2)), (3, 5), (32, 5), True, (3, 5), (5, 32)),
    "row, known": (Sums(matrix_rows(2)), (1, 5), (32, 5), True, (1, 5), (2, 5, 16)),
    "odd row, known": (Sums(matrix_rows(2)), (1, 5), (33, 5), True, (1, 5), (5, 33)),
}


@pytest.mark.parametrize("name", CASES)
def test_layouts(name: str) -> None:
    sums, first, second, is_known, rows, weights = CASES[name]
    products = Products.of(sums, first, second)
    shapes: list[Any] = [products.lhs.shape, products.rhs.shape]
    block = Block(arg_types=[TensorType(f32, shape) for shape in shapes])
    emit = Emitter(block.add_op, UnknownLoc())
    lhs, rhs = block.args
    given: Any = rhs
    if is_known:
        given = emit.constant(np.zeros(shapes[1], np.float32), f32)
    found = as_rows(emit, Factors(products, lhs, given))
    assert (shape_of(found.lhs), shape_of(found.rhs)) == (rows, weights)
    assert found.products.rhs.shape == weights


MOVED = {
    # whether the image's elements move, and the weights'
    "conv": (True, True),
    "one place": (False, False),
    "one place, one result": (False, False),
    "groups": (True, True),
    "groups at one place": (True, False),
    "depthwise": (True, False),
    "several a channel": (True, False),
}


@pytest.mark.parametrize("name", MOVED)
@pytest.mark.parametrize("known", [None, 0, 1])
def test_elements_that_stay(name: str, known: int | None) -> None:
    """An operand whose elements lie in this order gets another shape, no more; known
    elements that move are a new constant, others are moved by a nest."""
    sums, first, second, *_ = CASES[name]
    products = Products.of(sums, first, second)

    def rows(emit: Emitter, lhs: SSAValue, rhs: SSAValue) -> list[SSAValue]:
        found = as_rows(emit, Factors(products, lhs, rhs))
        return [found.lhs, found.rhs]

    shapes = products.lhs.shape, products.rhs.shape
    arrays = [np.zeros(shape, np.float32) for shape in shapes]
    _, made = built(rows, *arrays, known=[] if known is None else [known])
    nests = sum(moves and side != known for side, moves in enumerate(MOVED[name]))
    assert made.count("linalg.generic") == nests
    assert made.count("tensor.empty") == nests
    assert made.count("arith.constant") == (known is not None and MOVED[name][known])
