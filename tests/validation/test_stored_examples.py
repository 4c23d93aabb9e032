"""What an example becomes before a model runs on it, here or in another system."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.model.signature import TensorSpec
from qlower.validation.preprocessing import Preprocessing

BYTES = TensorSpec("x", (1, 2, 2, 3), "int8", (0.5,), (-3,))
CODES = np.arange(12, dtype=np.int8).reshape(1, 2, 2, 3)
FIRST = CODES.transpose(0, 3, 1, 2)
"""With channels first."""

REAL = (CODES.astype(np.float32) + 3) / 2


def spec(shape: tuple[int, ...], dtype: str, *scale: tuple[Any, ...]) -> TensorSpec:
    return TensorSpec("other", shape, dtype, *scale)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (spec((1, 2, 2, 3), "int8", (0.5,), (-3,)), CODES),
        (spec((1, 2, 2, 3), "uint8", (0.5,), (125,)), CODES.astype(int) + 128),
        (spec((1, 2, 2, 3), "int8", (0.25,), (-3,)), CODES.astype(int) * 2 + 3),
        (spec((1, 2, 2, 3), "int8", (0.5,), (0,)), CODES + 3),
        (spec((1, 2, 2, 3), "float32"), REAL),
        (spec((1, 2, 2, 3), "float64"), REAL),
        (spec((1, 2, 2, 3), "int8"), CODES),
        (spec((1, 3, 2, 2), "int8", (0.5,), (-3,)), FIRST),
        (spec((1, 3, 2, 2), "float32"), (FIRST.astype(np.float32) + 3) / 2),
        (spec((4, 3), "int8", (0.5,), (-3,)), CODES.reshape(4, 3)),
        (spec((1, 3, 4), "int8", (0.5,), (-3,)), CODES.reshape(1, 3, 4)),
    ],
)
def test_inputs_of_other_systems(other: TensorSpec, expected: Array) -> None:
    """The same numbers, in the other's type, codes and order."""
    converted = vars(import_module("qlower.validation.references"))["_converted"]
    found = converted(BYTES, other, CODES)
    assert found.dtype == np.dtype(other.dtype)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)


def test_inputs_of_another_size() -> None:
    converted = vars(import_module("qlower.validation.references"))["_converted"]
    other = spec((1, 3, 2, 3), "int8", (0.5,), (-3,))
    told = (
        r"input 'x' has shape \[1, 2, 2, 3\], 'other' of the reference \[1, 3, 2, 3\]"
    )
    with pytest.raises(QlowerError, match=told):
        converted(BYTES, other, CODES)


PIXELS = np.arange(0, 240, 20, dtype=np.uint8).reshape(2, 2, 3)
PLAIN = TensorSpec("x", (1, 2, 2, 3), "float32")
ALL = TensorSpec("x", (1, 2, 2, 3), "uint8", (0.5,), (3,))


@pytest.mark.parametrize(
    ("way", "array", "to", "expected"),
    [
        ({}, CODES[0], BYTES, CODES),
        ({}, CODES, BYTES, CODES),
        ({}, REAL, BYTES, CODES),
        ({}, REAL[0], PLAIN, REAL),
        ({}, REAL.astype(np.float64), PLAIN, REAL),
        ({"mean": (1.0,)}, REAL + 1, BYTES, CODES),
        ({"mean": (1.0,), "deviation": (2.0,)}, 2 * REAL + 1, BYTES, CODES),
        ({"mean": (0.0, 1.0, 2.0)}, REAL + np.arange(3, dtype=np.float32), PLAIN, REAL),
        ({"deviation": (2.0,)}, CODES[0], PLAIN, CODES / 2),
        ({"is_stored": True}, PIXELS, ALL, PIXELS[np.newaxis]),
        ({"is_stored": True}, PIXELS, BYTES, PIXELS.astype(int)[np.newaxis] - 128),
        (
            {"is_stored": True},
            PIXELS,
            TensorSpec("x", (1, 3, 2, 2), "uint8", (0.5,), (3,)),
            PIXELS.transpose(2, 0, 1)[np.newaxis],
        ),
    ],
)
def test_arrays(way: dict[str, Any], array: Array, to: TensorSpec, expected: Array):
    """Stored values as they are; others are normalized and quantized."""
    found = Preprocessing(**way).of_array(array, to, is_picture=False)
    assert (found.dtype, found.shape) == (np.dtype(to.dtype), to.shape)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("way", "array", "to", "told"),
    [
        ({}, PIXELS, BYTES, "it holds uint8, the input stores int8"),
        ({}, REAL * np.inf, BYTES, "element 0 is inf"),
        ({}, np.where(REAL[0, 0, 1, 1] == REAL, np.nan, REAL), BYTES, "element 4 is"),
        ({}, np.array([True]), BYTES, "it holds bool, not numbers of up to 64 bits"),
        ({}, REAL.astype(np.longdouble), BYTES, "not numbers of up to 64 bits"),
        ({}, REAL[:, :1], PLAIN, "shape"),
        ({}, REAL.transpose(0, 2, 3, 1)[..., :1], PLAIN, "shape"),
        ({"mean": (0.0, 1.0, 2.0)}, REAL[..., :2], PLAIN, "it has 2 channels, not 3"),
        ({"is_stored": True}, REAL, ALL, "pixels are stored in 8 bits, it holds float"),
        ({"is_stored": True}, PIXELS, PLAIN, "it holds uint8 for float32"),
    ],
)
def test_refusals(way: dict[str, Any], array: Array, to: TensorSpec, told: str) -> None:
    with pytest.raises(Exception, match=told) as caught:
        Preprocessing(**way).of_array(array, to, is_picture=False)
    assert "validation" in type(caught.value).__module__ or caught.type is QlowerError
