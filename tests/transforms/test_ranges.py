"""The ends of a type are in a range like other numbers."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    TensorType,
    f32,
    i1,
    i8,
)
from xdsl.ir import Attribute

from qlower.transforms.ranges import tensor_ranges, type_range


@pytest.mark.parametrize("width", [4, 8, 16, 32, 64])
@pytest.mark.parametrize("ends", [(-1, 1), (1, 3), (-3, -2), (2, 2)])
def test_a_constant_has_the_range_of_its_numbers(
    width: int, ends: tuple[int, int]
) -> None:
    """Also where one end is that of the type, or both are."""
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    for least, most in (ends, (low, ends[1]), (ends[0], high), (low, high)):
        numbers = np.array([most, least, most], object)
        type = TensorType(IntegerType(width), (3,))
        dense = DenseIntOrFPElementsAttr.from_list(type, numbers.tolist())
        assert tensor_ranges({}, arith.ConstantOp(dense)) == (least, most)


@pytest.mark.parametrize(
    ("type", "wanted"),
    [
        (i1, (-1, 0)),
        (i8, (-128, 127)),
        (IndexType(), (-(2**63), 2**63 - 1)),
        (f32, None),
    ],
    ids=str,
)
def test_numbers_of_types(type: Attribute, wanted: tuple[int, int] | None) -> None:
    assert type_range(type) == wanted
