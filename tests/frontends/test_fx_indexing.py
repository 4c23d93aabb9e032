"""Indices in brackets as operators, which give what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest

from qlower.frontends.fx.indexing import steps_of
from qlower.interp.values import Array

ARRAY = np.arange(60).reshape(3, 4, 5)
INDICES: dict[str, tuple[object, ...]] = {
    "nothing": (),
    "all": (..., slice(None)),
    "a number": (2,),
    "from the end": (-1, slice(None), -5),
    "of all": (0, 3, 4),
    "slices": (slice(1, 3), slice(None, None, 2), slice(-3, None)),
    "an empty one": (slice(2, 2), slice(0, 9)),
    "all but in steps": (slice(None, None, 2),),
    "of the last": (..., 1),
    "of the first and the last": (1, ..., slice(1, 3)),
    "new dimensions": (None, 1, None, slice(0, 2), None),
    "new ones at the end": (..., None),
    "an ellipsis of none": (slice(0, 1), 2, ..., slice(4)),
    "a new one behind an ellipsis": (..., None, 3),
}


def applied(array: Array, index: tuple[object, ...]) -> tuple[Array, int]:
    """The array after all steps, and how many these are."""
    steps = steps_of(array.shape, index)
    assert steps is not None
    for operator, given in steps:
        axis = int(str(given["dim"]))
        if operator == "aten.unsqueeze.default":
            array = np.expand_dims(array, axis)
            continue
        number = {name: int(str(value)) for name, value in given.items()}
        if operator == "aten.select.int":
            assert 0 <= number["index"] < array.shape[axis]
            array = array.take(number["index"], axis)
            continue
        assert operator == "aten.slice.Tensor"
        picked = slice(number["start"], number["end"], number["step"])
        array = array[(slice(None),) * axis + (picked,)]
    return array, len(steps)


@pytest.mark.parametrize("name", INDICES)
def test_indices(name: str) -> None:
    index = INDICES[name]
    found, _ = applied(ARRAY, index)
    wanted = ARRAY[index]  # pyright: ignore[reportArgumentType, reportCallIssue]
    np.testing.assert_array_equal(found, wanted)
    assert found.shape == wanted.shape


def test_whole_dimensions_have_no_step() -> None:
    for index, count in (
        ((), 0),
        ((slice(None), slice(0, 4), ...), 0),
        ((slice(0, 3), slice(1, 4)), 1),
        ((slice(0, 2),), 1),
        ((slice(None, None, 2), slice(None)), 1),
        ((None, ..., None), 2),
    ):
        assert applied(ARRAY, index)[1] == count


@pytest.mark.parametrize("item", [True, 1.0, "x", (1,), np.array([1])])
def test_other_indices(item: object) -> None:
    assert steps_of((3, 4, 5), (0, item)) is None
