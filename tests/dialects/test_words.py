"""Attributes whose value is one of a few words, and where operations write them."""

from __future__ import annotations

import pytest
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from qlower.dialects.fixed import RoundingMode, RoundingModeAttr, ShiftRightOp
from qlower.text.context import make_context
from qlower.text.parsing import parse_module


def parsed(text: str) -> Attribute:
    return Parser(make_context(), text).parse_attribute()


@pytest.mark.parametrize("word", RoundingMode)
def test_words_in_brackets(word: RoundingMode) -> None:
    text = f"#fixed.rounding<{word.value}>"
    assert parsed(text) == RoundingModeAttr(word)
    assert str(RoundingModeAttr(word)) == text


def test_other_words() -> None:
    for text in ("#fixed.rounding<half>", "#fixed.rounding<>", "#fixed.rounding ceil"):
        with pytest.raises(ParseError):
            parsed(text)


@pytest.mark.parametrize("word", RoundingMode)
@pytest.mark.parametrize("more", ["", " attributes {a = 1 : i8, b}"])
def test_an_operation_with_a_bare_word(word: RoundingMode, more: str) -> None:
    line = f"%y = fixed.shift_right %x, %n {{rounding = {word.value}}}{more} : i16"
    module = parse_module(
        f"func.func @f(%x: i16, %n: i16) {{\n  {line}\n  func.return\n}}"
    )
    (op,) = (op for op in module.walk() if isinstance(op, ShiftRightOp))
    assert op.rounding == RoundingModeAttr(word)
    assert sorted(op.attributes) == (["a", "b"] if more else [])
    assert line in str(module)
