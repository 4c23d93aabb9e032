"""Sizes that `tosa.resize` gives, and which numbers it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.utils.exceptions import VerifyException

from qlower.text.parsing import parse_module

Numbers = tuple[int, ...]


def resize(*lists: Numbers) -> Any:
    constants = "".join(
        f"%{number} = tosa.const_shape {{values = dense<{[*values]}> : "
        f"tensor<{len(values)}xindex>}} : () -> !tosa.shape<{len(values)}>\n"
        for number, values in enumerate(lists)
    )
    ranks = ", ".join(f"!tosa.shape<{len(values)}>" for values in lists)
    text = (
        f"func.func @main(%x: tensor<1x4x5x3xf32>) {{\n{constants}"
        f"%y = tosa.resize %x, %0, %1, %2 {{mode = BILINEAR}} : "
        f"(tensor<1x4x5x3xf32>, {ranks}) -> tensor<1x1x1x3xf32>\nreturn\n}}"
    )
    return next(op for op in parse_module(text).walk() if op.name == "tosa.resize")


@pytest.mark.parametrize(
    ("scale", "offset", "border", "wanted"),
    [
        ((2, 1, 3, 1), (0, 0), (0, 0), (7, 13)),
        ((2, 1, 3, 1), (1, -3), (1, 2), (7, 18)),
        ((2, 1, 3, 1), (-2, 0), (0, 0), (9, 13)),
        ((2, 3, 3, 4), (0, 0), (0, 0), (3, 4)),
        ((2048, 1, 3, 1), (0, 0), (0, 0), (6145, 13)),
        ((1, 1, 1, 1), (3, 4), (0, 0), (1, 1)),
        ((1, 1, 1, 1), (4, 4), (0, 0), "a span of -1 is not a whole number of steps"),
        ((2, 4, 3, 1), (0, 0), (0, 0), "a span of 6 is not a whole number of steps of"),
        ((1, 2, 1, 2), (15, 0), (0, 0), "a span of -12 is not a whole number of steps"),
        ((2, 1, 3, 1), (0, 0), (-32, 0), "a span of -26 is not a whole number of"),
        ((1, 15, 3, 1), (0, 0), (0, 0), "a span of 3 is not a whole number of steps"),
        ((1, 16, 3, 1), (0, 0), (0, 0), "denominator 16 is outside [1, 15]"),
        ((2049, 1, 3, 1), (0, 0), (0, 0), "numerator 2049 is outside [1, 2048]"),
        ((2, 1, 3, 0), (0, 0), (0, 0), "scale 0 is less than 1"),
        ((2, 1, 3, 1), (-3, 0), (0, 0), "offset -3 is outside [-2, 31]"),
        ((2, 1, 3, 1), (0, 48), (0, 0), "offset 48 is outside [-3, 47]"),
        ((2, 1, 3, 1), (0, 0), (2, 0), "border 2 is outside [-32, 1]"),
        ((2, 1, 3, 1), (0, 0), (0, -49), "border -49 is outside [-48, 2]"),
        ((2, 1, 3), (0, 0), (0, 0), "expected 4"),
        ((2, 1, 3, 1), (0, 0, 0), (0, 0), "expected 2"),
        ((2, 1, 3, 1), (0, 0), (0, 0, 0), "expected 2"),
    ],
)
def test_sizes(
    scale: Numbers, offset: Numbers, border: Numbers, wanted: Numbers | str
) -> None:
    op = resize(scale, offset, border)
    if not isinstance(wanted, str):
        assert op.result_shape() == (1, *wanted, 3)
        return
    with pytest.raises(VerifyException) as refused:
        op.result_shape()
    assert wanted in str(refused.value)
