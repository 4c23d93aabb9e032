"""Places in memory as text: read as written, and numbers below 0 refused."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from qlower.text.context import make_context

TEXTS = [
    "#kernel.arena<64>",
    "#kernel.output<1>",
    "#kernel.scratch<64, 512>",
    "#kernel.scratch<0, 0>",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_read_is_written(text: str) -> None:
    assert str(Parser(make_context(), text).parse_attribute()) == text


@pytest.mark.parametrize(
    "text",
    [
        "#kernel.arena<-64>",
        "#kernel.output<-1>",
        "#kernel.scratch<-64, 512>",
        "#kernel.scratch<64, -1>",
        "#kernel.scratch<64>",
        "#kernel.scratch<1, 2, 3>",
    ],
)
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(ParseError):
        Parser(make_context(), text).parse_attribute()
