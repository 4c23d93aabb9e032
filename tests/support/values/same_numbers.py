"""Equality of numbers in which 0 and -0 differ."""

from __future__ import annotations

import numpy as np

from qlower.interp.values import Array


def assert_same(found: Array, wanted: Array) -> None:
    """Assert equal elements and equal signs of zeros; all NaN are equal."""
    np.testing.assert_array_equal(found, wanted)
    if wanted.dtype.kind == "f":
        signs = np.signbit(found) == np.signbit(wanted)
        assert (signs | np.isnan(wanted)).all(), "signs of zeros differ"
