"""The elements of constants that a nest reads, with an axis for each of its loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import i8, i32
from xdsl.ir.affine import AffineMap

from qlower.interp.values import Array
from qlower.model.nests import dense
from qlower.transforms.prove_epilogues.channels import constant_lanes

NUMBERS = np.arange(24).reshape(2, 3, 4)

CASES: list[tuple[Sequence[int], Callable[..., tuple[Any, ...]], Array]] = [
    ((2, 3, 4), lambda a, b, c: (a, b, c), NUMBERS),
    ((4, 2, 3), lambda a, b, c: (b, c, a), NUMBERS.transpose(2, 0, 1)),
    # a loop that reads the same again, and one of every second element
    ((5, 2, 2), lambda a, b, c: (b, 1, c * 2), NUMBERS[:, 1, ::2][np.newaxis]),
    # from an element on, of several axes
    ((2, 3), lambda a, b: (1, a + 1, b + 1), NUMBERS[1, 1:, 1:]),
    ((2,), lambda a: (0, 2, a + 2), NUMBERS[0, 2, 2:]),
]


@pytest.mark.parametrize("type", [i8, i32], ids=str)
@pytest.mark.parametrize(("bounds", "places", "wanted"), CASES, ids=range(len(CASES)))
def test_constant_lanes(
    bounds: Sequence[int],
    places: Callable[..., tuple[Any, ...]],
    wanted: Array,
    type: Any,
) -> None:
    map = AffineMap.from_callable(places)
    constant = arith.ConstantOp(dense(NUMBERS, type)).result
    nest: Any = SimpleNamespace(inputs=[constant], input_maps=[map], bounds=bounds)
    found = constant_lanes(nest, 0)
    assert found is not None
    assert found.dtype.itemsize == type.width.data // 8
    np.testing.assert_array_equal(found, wanted)
