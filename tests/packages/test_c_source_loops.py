"""Loops and indices of C, as text."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.packages.c_source.loops import linear

own: Any = vars(import_module("qlower.packages.c_source.loops"))


@pytest.mark.parametrize(
    ("strides", "first", "wanted"),
    [
        ((), 0, "0"),
        ((), 5, "5"),
        ((), -5, "0 - 5"),
        ((0, 0), 0, "0"),
        ((1, 0), 0, "i"),
        ((1, 1), 0, "i + j"),
        ((3, 1), 7, "(i * 3) + j + 7"),
        ((3, -1), -2, "(i * 3) + (j * -1) - 2"),
        ((0, 2), 1, "(j * 2) + 1"),
        ((1, 0), -1, "i - 1"),
    ],
)
def test_an_index(strides: tuple[int, ...], first: int, wanted: str) -> None:
    assert linear(strides, first, ("i", "j")[: len(strides)]) == wanted


FINITE, INFINITE = np.array([1.5], "f4"), np.array([np.inf], "f4")


@pytest.mark.parametrize(
    ("scalar", "data", "wanted"),
    [
        ("i8", None, "x[i + 4]"),
        ("i1", None, "x[i + 4] != 0u"),
        ("i1", b"\1", "x[i + 4] != 0u"),
        ("i8", b"\1", "x[i + 4]"),
        ("float", None, "x[i + 4]"),
        ("float", FINITE.tobytes(), "x[i + 4]"),
        ("float", INFINITE.tobytes(), "bits_of_f32(x[i + 4])"),
        ("double", FINITE.astype("f8").tobytes(), "x[i + 4]"),
        ("double", INFINITE.astype("f8").tobytes(), "bits_of_f64(x[i + 4])"),
    ],
)
def test_an_element(scalar: str, data: bytes | None, wanted: str) -> None:
    """Constants that no literal has are stored as their bits."""
    writer = SimpleNamespace(
        counters=["i"],
        base=lambda *_: "x",
        helpers=SimpleNamespace(of_bits="bits_of_{}".format),
    )
    operand = SimpleNamespace(strides=(1,), offset=4, data=data, scalar=scalar)
    assert own["NestWriter"].element(writer, operand, None) == wanted
