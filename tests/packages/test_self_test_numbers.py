"""Numbers of a device's test when it starts, by their formulas alone."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from qlower.model.signature import TensorSpec
from qlower.packages.self_test import digest, drawn_inputs, room

DRAWN = {
    "bool": lambda word: word >> 31,
    "uint8": lambda word: word >> 24,
    "int8": lambda word: (word >> 24) - 128,
    "int16": lambda word: (word >> 16) - 32768,
    "int32": lambda word: word >> 24,
    "float32": lambda word: (word >> 24) / 256,
}
"""Its number of each type, from the upper bits of a word."""


def test_inputs_go_on_where_the_last_ended() -> None:
    specs = [TensorSpec(type, (2, 3), type) for type in DRAWN]
    words = [7]
    for _ in range(6 * len(specs)):
        words.append((words[-1] * 1664525 + 1013904223) % 2**32)
    expected = iter(words[1:])
    for spec, array in zip(specs, drawn_inputs(specs, 7), strict=True):
        assert (array.dtype, array.shape) == (np.dtype(spec.dtype), (2, 3))
        assert array.reshape(-1).tolist() == [
            DRAWN[spec.dtype](next(expected)) for _ in range(6)
        ]


@pytest.mark.parametrize("order", ["<", ">"])
def test_outputs_are_hashed_from_the_lowest_byte(order: str) -> None:
    """FNV-1a, of all outputs in turn; NaN is 0."""
    outputs = [
        np.array([-2, 300], f"{order}i2"),
        np.array([np.nan, -1.5], f"{order}f4"),
        np.array([[True]]),
    ]
    value = 2166136261
    for byte in struct.pack("<2h2f?", -2, 300, 0, -1.5, True):
        value = (value ^ byte) * 16777619 % 2**32
    assert digest(outputs) == value
    assert digest([]) == 2166136261
    assert np.isnan(outputs[1][0])


def test_room_is_what_is_left_to_saturate() -> None:
    signed, plain = np.array([-128, -120, 127, 0], np.int8), np.array([1, 250], "u1")
    assert room([signed]) == 0 + 8 + 0 + 127
    assert room([plain]) == 1 + 5
    assert room([signed, plain, np.array([3.5], np.float32)]) == 135 + 6
