"""What a model says of its inputs, and arrays that don't fit it."""

from __future__ import annotations

import numpy as np
import pytest
from support.small_model import SMALL_MODEL

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.text.parsing import parse_module


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((1, 2, 2, 1), np.uint8), "input 'image' has type uint8"),
        (np.zeros((1, 2, 2, 1), np.float64), "input 'image' has type float64"),
        (np.zeros((1, 2, 1, 2), np.int8), r"input 'image' has shape"),
    ],
)
def test_other_arrays_are_refused(array: Array, message: str) -> None:
    (spec,) = qlower.Model(parse_module(SMALL_MODEL)).inputs
    with pytest.raises(QlowerError, match=message):
        spec.check(array)


def test_an_array_that_fits_is_given_back() -> None:
    (spec,) = qlower.Model(parse_module(SMALL_MODEL)).inputs
    array = np.zeros((1, 2, 2, 1), np.int8)
    assert spec.check(array) is array
