"""Names of values in the module's text."""

from __future__ import annotations

import pytest
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, i32

from qlower.frontends.graph.values import hint


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [
        ("x" * 24, True),
        ("x" * 25, False),
        ("layer1", True),
        ("_0", False),
        ("layer/1", False),
        ("größe", False),
        ("", False),
    ],
)
def test_short_words_are_kept(name: str, is_kept: bool) -> None:
    (value,) = ConstantOp(IntegerAttr(0, i32)).results
    hint(value, name)
    assert value.name_hint == (name if is_kept else None)
