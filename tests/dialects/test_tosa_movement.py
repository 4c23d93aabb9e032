"""Boxes that `tosa.slice` takes: ends, and what is refused in which words."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.utils.exceptions import VerifyException

from qlower.text.parsing import parse_module


def slice_of(start: tuple[int, ...], size: tuple[int, ...]) -> Any:
    lists = (
        f"%{name} = tosa.const_shape {{values = dense<{[*values]}> : "
        f"tensor<{len(values)}xindex>}} : () -> !tosa.shape<{len(values)}>\n"
        for name, values in (("a", start), ("b", size))
    )
    ranks = ", ".join(f"!tosa.shape<{len(values)}>" for values in (start, size))
    text = (
        f"func.func @main(%x: tensor<4x5xi8>) {{\n{''.join(lists)}"
        f"%y = tosa.slice %x, %a, %b : (tensor<4x5xi8>, {ranks}) -> tensor<4x5xi8>\n"
        "return\n}"
    )
    return next(op for op in parse_module(text).walk() if op.name == "tosa.slice")


@pytest.mark.parametrize(
    ("start", "size", "wanted"),
    [
        ((0, 0), (4, 5), (4, 5)),
        ((1, 2), (1, 1), (1, 1)),
        ((1, 2), (-1, 3), (3, 3)),
        ((3, 4), (-1, -1), (1, 1)),
        ((0, 0), (0, 5), "size 0 is less than 1"),
        ((4, 0), (-1, 5), "size 0 is less than 1"),
        ((0, 0), (-2, 5), "size -2 is less than 1"),
        ((1, 2, 0), (1, 1), "start [1, 2, 0] has length 3, expected 2"),
        ((1,), (1, 1), "start [1] has length 1, expected 2"),
        ((1, 2), (1,), "size [1] has length 1, expected 2"),
        ((1, 2), (1, 1, 1), "size [1, 1, 1] has length 3, expected 2"),
    ],
)
def test_boxes(
    start: tuple[int, ...], size: tuple[int, ...], wanted: tuple[int, ...] | str
) -> None:
    op = slice_of(start, size)
    if not isinstance(wanted, str):
        found = op.movement
        assert (tuple(found.start), tuple(found.size)) == (start, wanted)
        assert found.stride == [1, 1]
        return
    with pytest.raises(VerifyException) as refused:
        _ = op.movement
    assert str(refused.value) == wanted
