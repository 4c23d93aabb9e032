"""Pools of real numbers leave out what lies around the image, whatever its sign."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_general_cases import model
from support.values.same_numbers import assert_same

import qlower
from qlower.interp.values import Array

OF_WINDOWS: dict[str, Callable[[Array], Array]] = {
    "MAX_POOL_2D": lambda inside: inside.max((0, 1)),
    "AVERAGE_POOL_2D": lambda inside: inside.mean((0, 1)),
    "L2_POOL_2D": lambda inside: np.sqrt(np.square(inside).mean((0, 1))),
}


@pytest.mark.parts(6)
@pytest.mark.parametrize("operator", OF_WINDOWS)
@pytest.mark.parametrize("sign", [-1, 1])
def test_padding_counts_for_nothing(operator: str, sign: int, tmp_path: Path) -> None:
    path = tmp_path / "pool.tflite"
    options = {"stride_h": 1, "stride_w": 1, "filter_height": 3, "filter_width": 3}
    build = model(
        operator,
        ["float32 1x4x5x2"],
        "float32 1x4x5x2",
        options={**options, "padding": 0},
    )
    path.write_bytes(build())
    random = np.random.default_rng(0)
    x = (sign * random.uniform(1, 2, (1, 4, 5, 2))).astype(np.float32)
    expected = np.empty_like(x)
    for row, column in np.ndindex(4, 5):
        rows = slice(max(row - 1, 0), row + 2)
        inside = x[0, rows, max(column - 1, 0) : column + 2].astype(np.float64)
        expected[0, row, column] = OF_WINDOWS[operator](inside)
    found = qlower.interpret(path, x)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert_same(qlower.jit(path)(x), found)
